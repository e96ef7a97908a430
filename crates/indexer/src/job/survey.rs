//! A pass over the input before the run itself, for a command that decides only once it has seen
//! all documents.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use corpus::{Position, RankBy};
use engine::Extractor;
use engine::clusters::RunTexts;

use super::Job;
use crate::journal::Journal;
use crate::memory::Watch;
use crate::pipeline::{Fingerprinted, Pipeline, Wanted};

impl Job {
    /// Ranks the records. Refuses inputs that cannot be read twice.
    pub(crate) fn ranked(mut self, by: RankBy) -> anyhow::Result<Self> {
        self.inputs.again().map_err(|path| {
            anyhow!(
                "to know which documents are the best, the input must be read twice, and {} can be read only once; write \
                 it to a file first",
                if crate::output::is_stdout(path) { "standard input (-)".into() } else { path.display().to_string() }
            )
        })?;
        self.fields = self.fields.ranked(by);
        Ok(self)
    }

    /// Reads and fingerprints all documents, in the order of the input. Skips rejected records,
    /// because the run itself rejects them. Their texts go to `texts`, in the same order.
    pub(crate) fn survey(
        &mut self,
        extractor: &Extractor,
        mut texts: Option<&mut RunTexts>,
    ) -> anyhow::Result<Vec<Fingerprinted>> {
        // Decisions that follow from the survey may be logged before the run.
        self.journal.as_ref().map_or(Ok(()), Journal::begin)?;
        let inputs = self.inputs.again().map_err(|path| anyhow!("failed to read {}", path.display()))?;
        self.surveyed_from = Some(Instant::now());
        self.progress.start(Duration::ZERO);
        self.progress.begin_pass("pass 1 of 2: ");
        let pipeline = Pipeline {
            extractor: Some(extractor),
            fields: &self.fields,
            n_threads: self.n_threads,
            wanted: Wanted::default(),
            needs: None,
            shard: self.shard,
        };
        let (mut documents, memory, mut alike) = (Vec::new(), Watch::new(), self.alike());
        pipeline.run(inputs, Position::default(), |batch| {
            for record in batch.records {
                let item = match record.item {
                    Ok(Some(item)) => item,
                    Ok(None) => continue,
                    Err(reason) => {
                        alike.rejected(&reason, &self.fields)?;
                        continue;
                    }
                };
                alike.read();
                let mut document = item.document;
                let text = document.features.as_mut().and_then(|features| features.text.take());
                texts.as_mut().map_or(Ok(()), |texts| texts.push(text.as_ref()))?;
                documents.push(document);
            }
            self.progress.show(documents.len() as u64);
            Ok(memory.check(self.journal.is_some())?)
        })?;
        self.progress.begin_pass("pass 2 of 2: ");
        Ok(documents)
    }
}
