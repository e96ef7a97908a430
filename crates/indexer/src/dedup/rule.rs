//! The rule of the crate `engine`, through calls of the store that are logged if there is a
//! journal.

use std::sync::Arc;

use anyhow::Context;
use engine::Engine;
use engine::clusters::RunTexts;
use engine::dedup::{Candidate, Kept, KnownIds, Verdict};
use index::{CANDIDATES_MAX, COUNTED_MAX, DocumentId, Index, Match};

use super::decide;
use super::doubts::{Doubts, known_ids};
use super::logs::Logs;
use crate::numbers::Grouped;
use crate::pipeline::Fingerprinted;

pub(crate) struct Rule {
    /// The engine whose index decides and takes new documents; in a dry run behind an overlay,
    /// which leaves the index unchanged.
    pub(crate) engine: Arc<Engine>,
    pub(crate) dry_run: bool,
    /// `None` without a journal.
    pub(crate) logs: Option<Logs>,
    /// Documents kept by this run, as distinct from those an earlier run left in the store, with
    /// the meaning of known ids.
    pub(crate) kept: Kept,
    /// Texts of documents that are decided once all are known; `None` unless texts are counted.
    pub(crate) waiting: Option<RunTexts>,
    /// True if the first documents remain to be checked for ids known to the index.
    pub(crate) asks_known_ids: bool,
}

impl Rule {
    /// Decides documents, each before the later ones: see [`Kept::decide_batch`]. Ids are distinct.
    pub(crate) fn decide<'a>(
        &mut self,
        documents: impl Iterator<Item = &'a Fingerprinted> + Clone,
        doubts: &mut Doubts,
    ) -> anyhow::Result<Vec<Option<Verdict>>> {
        if std::mem::take(&mut self.asks_known_ids) {
            let ids: Vec<DocumentId> = documents.clone().map(|document| document.id.clone()).collect();
            doubts.say(known_ids(self.engine.index(), &ids).context("failed to read the index")?);
        }
        let Self { engine, dry_run, logs, kept, .. } = self;
        let index = engine.index();
        let candidates = documents.clone().map(|Fingerprinted { id, features, source, .. }| Candidate {
            id,
            features: features.as_ref(),
            source: source.as_ref(),
        });
        let known_ids = kept.known_ids();
        let stored = |ids: &[DocumentId]| index.get(ids).context("failed to read the index");
        let texts = |ids: &[DocumentId]| index.texts(ids).context("failed to read the index");
        let insert = |new: &[Candidate<'a>]| insert_if_new(index, *dry_run, logs, known_ids, new);
        let verdicts = kept.decide_batch(candidates, stored, texts, insert)?;
        if let Some(Logs { kept: Some(log), .. }) = logs {
            let newly_kept: Vec<_> = documents
                .zip(&verdicts)
                .filter(|(_, verdict)| matches!(verdict, Some(Verdict::Kept)))
                .map(|(document, _)| (document.id.clone(), document.features.clone()))
                .collect();
            log.append(&newly_kept)?;
        }
        Ok(verdicts)
    }

    /// The bytes of memory that the decision of `n` more documents may take at once.
    pub(crate) fn leap_bytes(&self, n: usize) -> u64 {
        self.kept.leap_bytes(n) + self.engine.index().leap_bytes(n)
    }

    /// The doubt that some documents had more candidates than are judged; `None` if none had.
    pub(crate) fn bounded(&self) -> Option<String> {
        // A failed status is no reason to fail the run.
        let n_bounded = self.engine.index().status().ok().and_then(|status| status.n_bounded);
        n_bounded.filter(|&n| n > 0).map(|n| {
            format!(
                "{} documents had more than {} candidates each, or more than {} that were worth a count, as texts have that \
                 begin alike; those that promise most were judged",
                Grouped(n),
                Grouped(CANDIDATES_MAX as u64),
                Grouped(COUNTED_MAX as u64)
            )
        })
    }
}

/// Inserts the new candidates. Returns, for each candidate with features, the document that keeps
/// it out, if any.
fn insert_if_new(
    index: &Index,
    dry_run: bool,
    logs: &mut Option<Logs>,
    known_ids: KnownIds,
    new: &[Candidate<'_>],
) -> anyhow::Result<Vec<Option<Match>>> {
    if let Some(Logs { calls: Some(calls), .. }) = logs {
        return decide::insert_if_new(index, calls, known_ids, new);
    }
    let doing = if dry_run { "failed to read the index" } else { "failed to write to the index" };
    known_ids.insert_if_new(index, new).context(doing)
}
