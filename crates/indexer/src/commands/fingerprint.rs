//! `indexer fingerprint`: prints one line a document.

use std::io::Write;
use std::path::Path;

use engine::Extractor;
use features::Fingerprinter;

use crate::job::{Job, JobOptions, Sink};
use crate::opening::RecipeOptions;
use crate::output::{Output, STDOUT};
use crate::pipeline::{Item, Wanted};
use crate::rejects::Rejects;
use crate::report::{Counts, Report};

#[derive(Debug)]
pub(crate) struct FingerprintOptions {
    pub(crate) job: JobOptions,
    pub(crate) recipe: RecipeOptions,
}

pub(super) fn run(options: &FingerprintOptions) -> anyhow::Result<Report> {
    let job = Job::new(&options.job, &[Path::new(STDOUT)], None, None)?;
    let RecipeOptions { recipe, dictionaries } = &options.recipe;
    let extractor = Extractor::from(Fingerprinter::new(recipe.clone(), dictionaries)?);
    let mut sink =
        Lines { stdout: Output::create(Path::new(STDOUT))?, n_fingerprinted: 0, n_without_features: 0 };
    let report = job.run(Some(&extractor), Wanted::default(), &mut sink)?;
    if !options.job.work.quiet {
        program::print_to_stderr(&report);
    }
    Ok(report)
}

struct Lines {
    stdout: Output,
    n_fingerprinted: u64,
    n_without_features: u64,
}

impl Sink for Lines {
    fn take(&mut self, item: Item, _: &mut Rejects) -> anyhow::Result<()> {
        let id = &item.document.id;
        let written = match item.document.features {
            Some(features) => {
                let fingerprint = features.fingerprint();
                self.n_fingerprinted += 1;
                writeln!(self.stdout, "{id}\t{fingerprint}")
            }
            None => {
                self.n_without_features += 1;
                writeln!(self.stdout, "{id}\t")
            }
        };
        written.map_err(|error| self.stdout.failed(error))
    }

    fn rest(&mut self, _: &mut Rejects) -> anyhow::Result<()> {
        self.stdout.hand_on()
    }

    fn finish(&mut self, _: &mut Rejects) -> anyhow::Result<Counts> {
        self.stdout.flush().map_err(|error| self.stdout.failed(error))?;
        Ok(Counts::Fingerprinted { n: self.n_fingerprinted, n_without_features: self.n_without_features })
    }
}
