//! Deduplication: decides which documents stay, and writes the results.
//!
//! The [`rule`] defines near documents and repeated ids. Documents come to it in the order of the
//! input (here) or the best first ([`best_first`]). Its verdicts go to the [`results`].

mod best_first;
mod decide;
mod decided;
mod doubts;
mod duplicates;
mod groups;
mod logs;
mod pending;
mod results;
mod rule;
mod spilled;

use std::sync::Arc;

use anyhow::ensure;
use engine::Engine;
use engine::dedup::Verdict;
use index::{Index, WriteMark};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::best_first::CHANGED;
pub(crate) use self::best_first::run as run_best_first;
pub(crate) use self::decide::{count, insert_if_new};
pub(crate) use self::doubts::Doubts;
pub(crate) use self::duplicates::{Duplicate, Duplicates};
pub(crate) use self::groups::{EXCERPT_COLUMNS, Groups};
pub(crate) use self::logs::Logs;
pub(crate) use self::pending::Pending;
pub(crate) use self::results::{Joins, Results};
pub(crate) use self::rule::Rule;
pub(crate) use self::spilled::SpilledRun;
use crate::job::Sink;
use crate::journal::{Calls, KeptLog};
use crate::opening::has_tables;
use crate::output::Lengths;
use crate::pipeline::Item;
use crate::rejects::Rejects;
use crate::report::{Counts, Deduplicated};

/// Documents before the next leap of a table at which memory is looked at: those of some batches.
const LEAP_FORESEEN: usize = 16 << 10;

/// The command's part of a checkpoint.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(crate) counts: Deduplicated,
    n_kept_bytes: u64,
    n_calls: u64,
    /// The number of documents decided; if all verdicts precede the writing, of those written or
    /// rejected since.
    pub(crate) n_taken: usize,
    /// If all verdicts precede the writing: the number of documents left.
    n_left: usize,
    /// True if the documents are in files, and not in memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_spilled: bool,
}

/// Decides documents in the order of the input.
pub(crate) struct Deduplication {
    rule: Rule,
    pending: Pending,
    pub(crate) results: Results,
    n_taken: usize,
    /// The documents in files; `None` if they are in memory.
    spilled: Option<SpilledRun>,
    /// True if documents in memory can go to files.
    can_spill: bool,
    /// The engine of an index on disk or behind a server that takes the kept documents.
    grown: Option<Arc<Engine>>,
}

impl Sink for Deduplication {
    fn take(&mut self, mut item: Item, rejects: &mut Rejects) -> anyhow::Result<()> {
        self.n_taken += 1;
        if let Some(spilled) = &mut self.spilled {
            let (verdict, joins) = spilled.decide_next(&mut item, &self.rule, &self.results)?;
            return self.write(&item, verdict, joins, rejects);
        }
        if self.pending.holds(&item.document.id) {
            self.flush(rejects)?;
        }
        if self.pending.add(item) {
            self.flush(rejects)?;
        }
        Ok(())
    }

    fn rest(&mut self, rejects: &mut Rejects) -> anyhow::Result<()> {
        self.flush(rejects)?;
        self.results.hand_on()
    }

    fn check_end(&mut self, rejects: &mut Rejects) -> anyhow::Result<()> {
        self.flush(rejects)?;
        ensure!(self.spilled.as_ref().is_none_or(SpilledRun::is_done), CHANGED);
        Ok(())
    }

    fn checkpoint(&mut self, rejects: &mut Rejects, lengths: &mut Lengths) -> anyhow::Result<Value> {
        self.flush(rejects)?;
        self.results.checkpoint(lengths)?;
        let (counts, n_taken) = (self.results.counts, self.n_taken);
        let mut saved = Saved { counts, n_taken, is_spilled: self.spilled.is_some(), ..Saved::default() };
        if let Some(logs) = &mut self.rule.logs {
            saved.n_kept_bytes = logs.kept.as_mut().map_or(Ok(0), KeptLog::checkpoint)?;
            saved.n_calls = logs.calls.as_mut().map_or(0, Calls::checkpoint);
        }
        Ok(serde_json::to_value(saved)?)
    }

    fn last_write(&self) -> index::Result<Option<WriteMark>> {
        self.rule.engine.index().mark(true)
    }

    fn has_way_out(&self) -> bool {
        self.can_spill || self.is_bounded() || self.index().is_some_and(has_tables)
    }

    fn leap_bytes(&self) -> u64 {
        let of_findings = self.results.findings.as_ref().map_or(0, |of| of.leap_bytes(LEAP_FORESEEN));
        self.rule.leap_bytes(LEAP_FORESEEN) + of_findings
    }

    fn index(&self) -> Option<&Index> {
        self.grown.as_ref().map(|engine| engine.index())
    }

    fn finish(&mut self, rejects: &mut Rejects) -> anyhow::Result<Counts> {
        self.results.doubts.say(self.rule.bounded());
        self.results.finish(rejects, Some(self.rule.engine.index()))
    }
}

impl Deduplication {
    /// A deduplication that goes on after the first `n_taken` documents. If it `can_spill`, another
    /// one with its documents in files takes over near a memory limit. An index that is `grown`
    /// holds less in memory there.
    pub(crate) fn new(
        rule: Rule,
        results: Results,
        n_taken: usize,
        can_spill: bool,
        grown: Option<Arc<Engine>>,
    ) -> Self {
        let pending = Pending::new(rule.logs.is_some());
        Self { rule, pending, results, n_taken, spilled: None, can_spill, grown }
    }

    /// The same of documents in files. Those that were taken by an earlier run are decided again.
    pub(crate) fn of_spilled(self, mut spilled: SpilledRun) -> anyhow::Result<Self> {
        spilled.decide_again(self.n_taken, &self.rule)?;
        Ok(Self { spilled: Some(spilled), can_spill: false, ..self })
    }

    /// Returns true if the memory of the run does not depend on the size of the input.
    fn is_bounded(&self) -> bool {
        self.spilled.is_some() && !self.results.reads_features()
    }

    /// Decides the pending items, in the order of the input.
    fn flush(&mut self, rejects: &mut Rejects) -> anyhow::Result<()> {
        let items = self.pending.take();
        if items.is_empty() {
            return Ok(());
        }
        let verdicts = self.rule.decide(items.iter().map(|item| &item.document), &mut self.results.doubts)?;
        items
            .iter()
            .zip(verdicts)
            .try_for_each(|(item, verdict)| self.write(item, verdict, Joins::Yes, rejects))
    }

    fn write(
        &mut self,
        item: &Item,
        verdict: Option<Verdict>,
        joins: Joins,
        rejects: &mut Rejects,
    ) -> anyhow::Result<()> {
        let Some(verdict) = verdict else {
            let id = item.document.id.as_str();
            let reason = format!("id {id:?} was used by an earlier record of the input");
            return rejects.reject(&item.origin, item.number, &reason);
        };
        self.results.add(item, &verdict, joins)
    }
}
