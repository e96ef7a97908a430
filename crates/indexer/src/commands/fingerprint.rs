//! `indexer fingerprint`: one line a document.

use std::io::Write;
use std::path::Path;

use features::Fingerprinter;

use super::{Item, Sink, run_over};
use crate::cli::FingerprintArgs;
use crate::output::Output;
use crate::progress::complain;
use crate::rejects::Rejects;
use crate::report::{Counts, Report};

pub(super) fn run(args: &FingerprintArgs) -> anyhow::Result<Report> {
    let dictionaries = args.recipe.dictionaries()?;
    let fingerprinter = Fingerprinter::new(args.recipe.recipe(&dictionaries), &dictionaries)?;
    let mut sink = Lines { stdout: Output::create(Path::new("-"))?, n_fingerprinted: 0 };
    let report = run_over(&args.input, &fingerprinter, false, &mut sink)?;
    if !args.input.quiet {
        complain(format_args!("done\n{report}"));
    }
    Ok(report)
}

struct Lines {
    stdout: Output,
    n_fingerprinted: u64,
}

impl Sink for Lines {
    fn take(&mut self, item: Item, _: &mut Rejects) -> anyhow::Result<()> {
        let id = &item.features.id;
        let written = match item.features.fingerprint {
            Some(fingerprint) => {
                self.n_fingerprinted += 1;
                writeln!(self.stdout, "{id}\t{fingerprint}")
            }
            None => writeln!(self.stdout, "{id}\t"),
        };
        written.map_err(|error| self.stdout.failed(error))
    }

    fn finish(&mut self, _: &mut Rejects) -> anyhow::Result<Counts> {
        self.stdout.flush().map_err(|error| self.stdout.failed(error))?;
        Ok(Counts::Fingerprinted { n: self.n_fingerprinted })
    }
}
