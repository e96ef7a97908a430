//! Decides the items of a round: an item is kept unless the index has a near one, even under the
//! item's own id.
//!
//! Only the index remembers items, so the division of items into rounds does not matter.

use anyhow::Context;
use engine::dedup::{Candidate, KnownIds};
use index::{Index, WriteMark};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shelf::is_datable;
use super::spool::Spool;
use crate::dedup::{Duplicate, Duplicates, Pending, insert_if_new};
use crate::job::Sink;
use crate::journal::Calls;
use crate::opening::has_tables;
use crate::output::Lengths;
use crate::pipeline::{Fingerprinted, Item};
use crate::rejects::Rejects;
use crate::report::{Counts, Deduplicated};
use crate::table::Table;

/// The collector's part of a checkpoint.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) counts: Deduplicated,
    pub(super) n_calls: u64,
}

pub(super) struct Collection<'a> {
    pub(super) index: &'a Index,
    pub(super) calls: Calls,
    pub(super) pending: Pending,
    /// `None` once finished.
    pub(super) spool: Option<Spool>,
    pub(super) duplicates: Option<Table<Duplicates>>,
    pub(super) counts: Deduplicated,
    /// Begin of the round, in milliseconds since 1970.
    pub(super) round_ms: i64,
}

impl Collection<'_> {
    /// Decides the pending items, in the order of the input.
    fn flush(&mut self) -> anyhow::Result<()> {
        let items = self.pending.take();
        let new: Vec<Candidate<'_>> = items
            .iter()
            .map(|Item { document: Fingerprinted { id, features, source, .. }, .. }| Candidate {
                id,
                features: features.as_ref(),
                source: source.as_ref(),
            })
            .filter(|candidate| candidate.features.is_some())
            .collect();
        if !new.is_empty() {
            let nearest = insert_if_new(self.index, &mut self.calls, KnownIds::Compare, &new)?;
            let mut nearest = nearest.into_iter();
            return self.add(&items, || nearest.next().context("the store answered for too few documents"));
        }
        self.add(&items, || Ok(None))
    }

    /// Adds decided items. `nearest` returns, for each item with features, the document that keeps
    /// it out.
    fn add(
        &mut self,
        items: &[Item],
        mut nearest: impl FnMut() -> anyhow::Result<Option<index::Match>>,
    ) -> anyhow::Result<()> {
        for item in items {
            match &item.document.features {
                None => {
                    // Nothing is near to an item without features.
                    self.counts.n_without_features += 1;
                    self.keep(item)?;
                }
                Some(features) => match nearest()? {
                    None => {
                        self.counts.n_kept += 1;
                        self.keep(item)?;
                    }
                    Some(of) => {
                        self.counts.n_duplicates += 1;
                        if let Some(table) = &mut self.duplicates {
                            table.add(Duplicate {
                                id: &item.document.id,
                                fingerprint: features.fingerprint(),
                                of: &of.id,
                                of_fingerprint: of.fingerprint,
                                nearness: of.nearness,
                                contained: None,
                            })?;
                        }
                    }
                },
            }
        }
        Ok(())
    }

    fn keep(&mut self, item: &Item) -> anyhow::Result<()> {
        let time_ms = Some(item.document.rank.number()).filter(|ms| is_datable(*ms));
        let time_ms = time_ms.map_or(self.round_ms, |ms| ms as i64);
        self.spool.as_mut().map_or(Ok(()), |spool| spool.add(item, time_ms))
    }
}

impl Sink for Collection<'_> {
    fn take(&mut self, item: Item, _: &mut Rejects) -> anyhow::Result<()> {
        if self.pending.holds(&item.document.id) {
            self.flush()?;
        }
        if self.pending.add(item) {
            self.flush()?;
        }
        Ok(())
    }

    fn checkpoint(&mut self, _: &mut Rejects, lengths: &mut Lengths) -> anyhow::Result<Value> {
        self.flush()?;
        self.spool.as_mut().map_or(Ok(()), |spool| spool.checkpoint(lengths))?;
        self.duplicates.as_mut().map_or(Ok(()), |table| table.checkpoint(lengths))?;
        Ok(serde_json::to_value(Saved { counts: self.counts, n_calls: self.calls.checkpoint() })?)
    }

    fn last_write(&self) -> index::Result<Option<WriteMark>> {
        self.index.mark(true)
    }

    fn has_way_out(&self) -> bool {
        has_tables(self.index)
    }

    fn index(&self) -> Option<&Index> {
        Some(self.index)
    }

    /// Returns true: the files of the next round differ.
    fn may_be_empty(&self) -> bool {
        true
    }

    fn finish(&mut self, _: &mut Rejects) -> anyhow::Result<Counts> {
        self.flush()?;
        self.duplicates.take().map_or(Ok(()), Table::finish)?;
        self.spool.take().map_or(Ok(()), Spool::finish)?;
        Ok(Counts::Deduplicated(self.counts))
    }
}
