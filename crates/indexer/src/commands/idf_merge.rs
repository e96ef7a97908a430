//! `indexer idf-merge`: adds up what `indexer idf` counted in the parts of a corpus.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use anyhow::ensure;

use super::idf::temporary_folder;
use crate::cli::IdfMergeArgs;
use crate::document_frequencies::{Part, Runs, Target};
use crate::numbers::Grouped;
use crate::output::{is_stdout, place_of, print_to_stdout};
use crate::report::Frequencies;

pub(super) fn run(args: &IdfMergeArgs) -> anyhow::Result<()> {
    let output = &args.counting.output;
    let mut places = HashSet::new();
    let first = Part::open(&args.files[0])?;
    for path in &args.files {
        ensure!(places.insert(place_of(path)), "{} is named twice, and would count twice", path.display());
        // All of them, before there is any work: the last one may be the one that does not go with the others.
        open(path, &first)?;
    }
    let mut runs = Runs::new(temporary_folder(args.counting.temp.as_deref(), output));
    let target = Target::create(output, args.min_df)?;
    args.files.iter().try_for_each(|path| runs.add_part(open(path, &first)?))?;
    let frequencies = target.write_sum(runs.take_parts())?;
    let report = Merged { n_files: args.files.len(), frequencies };
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
