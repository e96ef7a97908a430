//! A pass over the input before the run itself, for a command that decides only once it has seen
//! all documents.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use corpus::{Position, RankBy};
use engine::Extractor;

use super::Job;
use crate::journal::Journal;
use crate::memory::Watch;
use crate::output::is_stdout;
use crate::pipeline::{Fingerprinted, Pipeline, Wanted};
use crate::progress::Console;
use crate::stop::Stop;

/// The consumer of the documents of a pass before the run.
pub(crate) trait Survey {
    /// Takes the next document, in the order of the input.
    fn take(&mut self, document: Fingerprinted) -> anyhow::Result<()>;

    /// Looks now and then at what was taken; the share of the input so far is given where it is
    /// known.
    fn check(&mut self, _share_read: Option<f64>, _console: &Console) -> anyhow::Result<()> {
        Ok(())
    }

    /// Does what is to be done between the passes. Hands the name of a step and the share of it
    /// that is done to `progress`.
    fn finish(&mut self, _progress: &mut dyn FnMut(&str, f64)) -> anyhow::Result<()> {
        Ok(())
    }
}

/// The pass before the run, as far as the run needs it.
#[derive(Default)]
pub(super) struct Surveyed {
    from: Option<Instant>,
    /// Documents whose features could not be made, with the reasons.
    refused: BTreeMap<Position, String>,
}

impl Surveyed {
    /// The time since its begin.
    pub(super) fn elapsed(&self) -> Duration {
        self.from.map_or(Duration::ZERO, |from| from.elapsed())
    }

    /// Takes the reason for which the pass has rejected the document of a record. The run makes no
    /// features then, and would take it.
    pub(super) fn refused(&mut self, after: Position) -> Option<String> {
        self.refused.remove(&after)
    }
}

/// The reason why an input cannot be read again, and what to do.
fn only_once(path: &Path) -> String {
    let shown = if is_stdout(path) { "standard input (-)".into() } else { path.display().to_string() };
    format!(
        "{shown} can be read only once, and there was no room on a disk for a copy; name a folder with room \
         with --temp, or write it to a file first"
    )
}

impl Job {
    /// Ranks the records. Refuses inputs that cannot be read twice.
    pub(crate) fn ranked(mut self, by: RankBy) -> anyhow::Result<Self> {
        self.inputs.again().map_err(|path| {
            anyhow!(
                "to know which documents are the best, the input must be read twice, and {}",
                only_once(path)
            )
        })?;
        self.fields = self.fields.ranked(by);
        Ok(self)
    }

    /// Returns true if the inputs can be read twice.
    pub(crate) fn can_read_twice(&self) -> bool {
        self.inputs.again().is_ok()
    }

    /// Reads and fingerprints all documents, in the order of the input, and hands them to `survey`.
    /// Skips rejected records, because the run itself rejects them, even where it makes no
    /// features. Does what the run has `wanted`, to find those that fail there.
    pub(crate) fn survey(
        &mut self,
        extractor: &Extractor,
        wanted: Wanted,
        survey: &mut impl Survey,
    ) -> anyhow::Result<()> {
        // Decisions that follow from the survey may be logged before the run.
        self.journal.as_ref().map_or(Ok(()), Journal::begin)?;
        let inputs = self.inputs.again().map_err(|path| anyhow!("{}", only_once(path)))?;
        self.surveyed.from = Some(Instant::now());
        self.progress.start(Duration::ZERO);
        self.progress.begin_pass("pass 1 of 2: ");
        let pipeline = Pipeline {
            extractor: Some(extractor),
            fields: &self.fields,
            n_threads: self.n_threads,
            wanted,
            needs: None,
            shard: self.shard,
        };
        let (mut n_documents, memory, mut alike) = (0, Watch::new(), self.alike());
        let refused = &mut self.surveyed.refused;
        pipeline.run(inputs, Position::default(), |batch| {
            for record in batch.records {
                let item = match record.item {
                    Ok(Some(item)) => item,
                    Ok(None) => continue,
                    Err(reason) => {
                        alike.rejected(&reason, &self.fields)?;
                        if record.is_read {
                            refused.insert(record.position, reason);
                        }
                        continue;
                    }
                };
                alike.read();
                survey.take(Fingerprinted {
                    excerpt: Box::default(),
                    text: Box::default(),
                    ..item.document
                })?;
                n_documents += 1;
            }
            self.progress.show(n_documents);
            survey.check(self.progress.share_read(), &self.progress.console())?;
            if !self.inputs.are_copies_whole() {
                self.inputs.again().map_err(|path| anyhow!("{}", only_once(path)))?;
            }
            Stop::check_heard()?;
            Ok(memory.check(self.journal.is_some())?)
        })?;
        survey.finish(&mut |step, share| self.progress.show_step(step, share))?;
        self.progress.begin_pass("pass 2 of 2: ");
        Ok(())
    }
}
