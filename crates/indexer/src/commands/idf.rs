//! `indexer idf`: counts the documents in which each term occurs.

use std::path::PathBuf;

use clap::{Args, value_parser};
use engine::Extractor;
use features::{Fingerprinter, Recipe};

use crate::document_frequencies::{Runs, Target, TermTable};
use crate::flag_values::path_for;
use crate::job::{Job, JobOptions, Sink};
use crate::opening::RecipeOptions;
use crate::output::{Role, folder_of, is_stdout, print_to_stdout};
use crate::pipeline::{Item, Wanted};
use crate::rejects::Rejects;
use crate::report::{Counts, Report};

/// About half of all terms occur in one document only, and as unknown terms weigh nearly the same.
const MIN_DF: u64 = 2;

#[derive(Debug)]
pub(crate) struct IdfOptions {
    pub(crate) job: JobOptions,
    /// The recipe from texts to terms. It has no weights: these are the result.
    pub(crate) recipe: RecipeOptions,
    pub(crate) flags: IdfFlags,
}

/// The flags of this command alone.
#[derive(Debug, Args)]
pub(crate) struct IdfFlags {
    #[command(flatten)]
    pub(crate) counting: CountingOptions,
    /// Leave out terms of fewer documents; 1 keeps all, as parts need that are to be added up
    /// [default: 2, and 1 with --shard]
    ///
    /// What is left out weighs by the median of what is there, as all unknown terms do.
    #[arg(
        long,
        value_name = "N",
        env = "PIGEONHOLE_MIN_DF",
        value_parser = value_parser!(u64).range(1..),
        help_heading = "Counting"
    )]
    pub(crate) min_df: Option<u64>,
    /// Hold about this many bytes of counts in memory, and more of them in temporary files
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 256 << 20,
        env = "PIGEONHOLE_MEMORY_BYTES_MAX",
        help_heading = "Counting"
    )]
    pub(crate) memory_bytes_max: usize,
}

/// Places for the counts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Counting")]
pub(crate) struct CountingOptions {
    /// Write the counts here; - for stdout
    #[arg(long, value_name = "FILE", value_parser = path_for(Role::Frequencies))]
    pub(crate) output: PathBuf,
    /// Where temporary files go: two times the counts of all terms [default: the folder of the
    /// output]
    #[arg(long, value_name = "DIR")]
    pub(crate) temp: Option<PathBuf>,
}

pub(super) fn run(options: &IdfOptions) -> anyhow::Result<Report> {
    let output = &options.flags.counting.output;
    let job = Job::new(&options.job, &[output], None, None)?;
    let RecipeOptions { recipe, dictionaries } = &options.recipe;
    let extractor = Extractor::from(Fingerprinter::new(recipe.clone(), dictionaries)?);
    let min_df = options.flags.min_df.unwrap_or(if job.has_part() { 1 } else { MIN_DF });
    let mut sink = Counting {
        recipe: recipe.clone(),
        target: Some(Target::create(output, min_df)?),
        table: TermTable::default(),
        n_in_table: 0,
        n_bytes_max: options.flags.memory_bytes_max,
        runs: Runs::new(options.flags.counting.temporary_folder()),
        n_counted: 0,
        n_without_features: 0,
    };
    let report = job.run(Some(&extractor), Wanted { terms: true, ..Wanted::default() }, &mut sink)?;
    if is_stdout(output) {
        program::print_to_stderr(&report);
    } else {
        print_to_stdout(&report)?;
    }
    Ok(report)
}

impl CountingOptions {
    /// The folder for temporary files; by default a place that must have room for the result.
    pub(super) fn temporary_folder(&self) -> PathBuf {
        match &self.temp {
            Some(folder) => folder.clone(),
            None if is_stdout(&self.output) => std::env::temp_dir(),
            None => folder_of(&self.output).to_owned(),
        }
    }
}

struct Counting {
    recipe: Recipe,
    /// `None` once written.
    target: Option<Target>,
    table: TermTable,
    /// Documents whose terms are in the table.
    n_in_table: u64,
    /// Bound on the bytes of the table.
    n_bytes_max: usize,
    runs: Runs,
    n_counted: u64,
    n_without_features: u64,
}

impl Counting {
    /// Writes the table to a temporary file and empties it.
    fn spill(&mut self) -> anyhow::Result<()> {
        let header = self.recipe.counts_header(std::mem::take(&mut self.n_in_table), 1);
        self.runs.add(&header, &self.table.take())
    }
}

impl Sink for Counting {
    fn take(&mut self, item: Item, _: &mut Rejects) -> anyhow::Result<()> {
        if item.document.terms.is_empty() {
            self.n_without_features += 1;
            return Ok(());
        }
        self.n_counted += 1;
        self.n_in_table += 1;
        item.document.terms.split_terminator('\n').for_each(|term| self.table.add(term));
        if self.table.n_bytes() >= self.n_bytes_max { self.spill() } else { Ok(()) }
    }

    fn finish(&mut self, _: &mut Rejects) -> anyhow::Result<Counts> {
        let target = self.target.take().expect("it is finished once");
        let frequencies = if self.runs.n == 0 {
            let counts = self.table.take();
            target.write(self.recipe.counts_header(self.n_counted, 1), |emit| {
                counts.iter().try_for_each(|(term, n)| emit(term, *n))
            })?
        } else {
            self.spill()?;
            target.write_sum(self.runs.take_parts())?
        };
        Ok(Counts::Counted { n: self.n_counted, n_without_features: self.n_without_features, frequencies })
    }
}
