//! `indexer idf-merge`: adds up the counts of `indexer idf` for the parts of a corpus.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::{Args, value_parser};

use super::idf::CountingOptions;
use crate::document_frequencies::{Part, Runs, Target};
use crate::numbers::Grouped;
use crate::output::{Replacing, is_stdout, place_of, print_to_stdout};
use crate::report::Frequencies;

#[derive(Debug, Args)]
pub(crate) struct IdfMergeOptions {
    /// Files that `indexer idf` wrote, in any order
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) counting: CountingOptions,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
    /// Leave out terms of fewer documents; 1 keeps all, so that more can be added
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        env = "PIGEONHOLE_MIN_DF",
        value_parser = value_parser!(u64).range(1..),
        help_heading = "Counting"
    )]
    pub(crate) min_df: u64,
}

pub(super) fn run(options: &IdfMergeOptions) -> anyhow::Result<()> {
    let output = &options.counting.output;
    options.replacing.check(&[output])?;
    let mut places = HashSet::new();
    let first = Part::open(&options.files[0])?;
    for path in &options.files {
        ensure!(places.insert(place_of(path)), "{} is named twice, and would count twice", path.display());
        // Checks all files before any work: the last one may not fit the others.
        open(path, &first)?;
    }
    let mut runs = Runs::new(options.counting.temporary_folder());
    let target = Target::create(output, options.min_df)?;
    options.files.iter().try_for_each(|path| runs.add_part(open(path, &first)?))?;
    let frequencies = target.write_sum(runs.take_parts())?;
    let report = Merged { n_files: options.files.len(), frequencies };
    if is_stdout(output) {
        program::print_to_stderr(&report);
        Ok(())
    } else {
        print_to_stdout(&report)
    }
}

fn open(path: &Path, first: &Part) -> anyhow::Result<Part> {
    let part = Part::open(path)?;
    part.check_addable(first)?;
    Ok(part)
}

struct Merged {
    n_files: usize,
    frequencies: Frequencies,
}

impl fmt::Display for Merged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "files         {:>12}", Grouped(self.n_files as u64))?;
        writeln!(f, "documents     {:>12}", Grouped(self.frequencies.n_documents))?;
        write!(f, "{}", self.frequencies)
    }
}
