//! What decides: the store's insert-if-new, one document after another, so that a corpus gives the same answer here and
//! when it is posted to a worker; and what is about one run: an id that the run has kept already.

use std::collections::HashMap;

use anyhow::Context;
use index::{DocumentId, Index, Insertion, Match, NewDocument};
use simhash::{Distance, Fingerprint};

use super::decide;
use super::logs::Logs;
use crate::pipeline::Fingerprinted;
use crate::verdict::{Original, Verdict};

pub(crate) struct Rule {
    /// What decides, and takes in what is new; in a dry run under an overlay, which leaves it alone.
    pub(crate) index: Index,
    pub(crate) dry_run: bool,
    /// Where there is a journal.
    pub(crate) logs: Option<Logs>,
    /// The ids kept by this run, to tell them from those an earlier run left in the store.
    pub(crate) kept: HashMap<DocumentId, Option<Fingerprint>>,
}

impl Rule {
    /// Decides about some documents, each before those after it. None is for one whose id stands for another text that
    /// is kept. No id may be among them twice: whether that is so is known only once its first use has been decided.
    pub(crate) fn decide<'a>(
        &mut self,
        documents: impl Iterator<Item = &'a Fingerprinted> + Clone,
    ) -> anyhow::Result<Vec<Option<Verdict>>> {
        let new: Vec<_> = documents
            .clone()
            .filter(|document| !self.kept.contains_key(&document.id))
            .filter_map(|Fingerprinted { id, fingerprint, source, .. }| {
                Some(NewDocument { id: id.clone(), fingerprint: (*fingerprint)?, source: source.clone() })
            })
            .collect();
        let mut nearest = self.insert_if_new(&new)?.into_iter();
        let (mut verdicts, mut newly_kept) = (Vec::new(), Vec::new());
        for Fingerprinted { id, fingerprint, .. } in documents {
            let verdict = match (self.kept.get(id), *fingerprint) {
                (Some(earlier), Some(fingerprint)) if *earlier == Some(fingerprint) => {
                    let of =
                        Original { id: id.clone(), fingerprint, distance: Distance::ZERO, in_this_run: true };
                    Some(Verdict::Duplicate { fingerprint, of })
                }
                (Some(_), _) => None,
                // Nothing to compare it by, so nothing to drop it for.
                (None, None) => Some(Verdict::Kept),
                (None, Some(fingerprint)) => {
                    let found =
                        nearest.next().context("the store answered for fewer documents than it was given")?;
                    Some(found.map_or(Verdict::Kept, |found| Verdict::Duplicate {
                        fingerprint,
                        of: Original {
                            in_this_run: self.kept.contains_key(&found.id),
                            id: found.id,
                            fingerprint: found.fingerprint,
                            distance: found.distance,
                        },
                    }))
                }
            };
            if matches!(verdict, Some(Verdict::Kept)) {
                if self.logs.as_ref().is_some_and(|logs| logs.kept.is_some()) {
                    newly_kept.push((id.clone(), *fingerprint));
                }
                self.kept.insert(id.clone(), *fingerprint);
            }
            verdicts.push(verdict);
        }
        if let Some(Logs { kept: Some(kept), .. }) = &mut self.logs {
            kept.append(&newly_kept)?;
        }
        Ok(verdicts)
    }

    /// Inserts those that nothing is near to; of every other the nearest.
    fn insert_if_new(&mut self, new: &[NewDocument]) -> anyhow::Result<Vec<Option<Match>>> {
        if let Some(Logs { calls: Some(calls), .. }) = &mut self.logs {
            return decide::insert_if_new(&self.index, calls, new);
        }
        let doing = if self.dry_run { "failed to read the index" } else { "failed to write to the index" };
        let insertions = self.index.insert_if_new(new).context(doing)?;
        Ok(insertions.into_iter().map(Insertion::original).collect())
    }
}
