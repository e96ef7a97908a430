//! What decides: the rule of the crate `engine`, by calls of the store that are written down where there is a journal.

use anyhow::Context;
use engine::dedup::{Candidate, Kept, KnownIds, Verdict};
use index::{CANDIDATES_MAX, Index, Match};

use super::decide;
use super::logs::Logs;
use crate::numbers::Grouped;
use crate::pipeline::Fingerprinted;
use crate::progress::complain;

pub(crate) struct Rule {
    /// What decides, and takes in what is new; in a dry run under an overlay, which leaves it alone.
    pub(crate) index: Index,
    pub(crate) dry_run: bool,
    /// Where there is a journal.
    pub(crate) logs: Option<Logs>,
    /// What this run has kept, to tell it from what an earlier run left in the store, and what that means.
    pub(crate) kept: Kept,
}

impl Rule {
    /// Decides about some documents, each before those after it: see [`Kept::decide_batch`]. No id may be among them twice.
    pub(crate) fn decide<'a>(
        &mut self,
        documents: impl Iterator<Item = &'a Fingerprinted> + Clone,
    ) -> anyhow::Result<Vec<Option<Verdict>>> {
        let Self { index, dry_run, logs, kept } = self;
        let candidates = documents.clone().map(|Fingerprinted { id, features, source, .. }| Candidate {
            id,
            features: features.as_ref(),
            source: source.as_ref(),
        });
        let known_ids = kept.known_ids();
        let verdicts =
            kept.decide_batch(candidates, |new| insert_if_new(index, *dry_run, logs, known_ids, new))?;
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

    /// Says of how many documents not all candidates were judged.
    pub(crate) fn say_bounded(&self) {
        // What is only said is no reason for a run to fail.
        let n_bounded = self.index.status().ok().and_then(|status| status.n_bounded);
        if let Some(n) = n_bounded.filter(|&n| n > 0) {
            complain(format_args!(
                "{} documents had more than {} candidates each, as texts have that begin alike; those that promise most were \
                 judged",
                Grouped(n),
                Grouped(CANDIDATES_MAX as u64)
            ));
        }
    }
}

/// Takes in those that are new; of every other the document that keeps it out.
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
