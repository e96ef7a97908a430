//! A deduplication whose documents do not fit in memory. A first pass takes all documents to files;
//! a second one decides them in the order of the input, as in memory, and writes the results.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use corpus::Rank;
use engine::dedup::{Decided, Spilled, Verdict};
use index::Features;

use super::best_first::CHANGED;
use super::decided;
use super::results::{Joins, Results};
use super::rule::Rule;
use crate::job::Survey;
use crate::memory::{self, Watch};
use crate::numbers::megabytes;
use crate::pipeline::{Fingerprinted, Item};
use crate::progress::Console;
use crate::stop::Stop;

/// The share of the input from which on the files so far predict the whole.
const SHARE_THAT_TELLS: f64 = 0.02;

/// Bytes of all files, with what is sorted later, for each byte of the first pass.
const GROWTH: f64 = 1.3;

/// Bytes of memory for the turn of each document that has a rank.
const RANKED_BYTES: u64 = 8;

/// Documents decided between two looks at the memory and at signals.
const LOOK_EVERY: usize = 4 << 10;

/// The documents of a run in files.
pub(crate) struct SpilledRun {
    spilled: Arc<Spilled>,
    folder: PathBuf,
    /// Documents of the second pass so far.
    n_taken: usize,
    /// Documents of the first pass without a rank.
    pub(super) n_unranked: u64,
    has_told: bool,
    has_ranks: bool,
}

impl SpilledRun {
    /// Makes files without documents in a folder. If `has_ranks`, documents are decided the best
    /// first.
    pub(crate) fn create(folder: &Path, has_ranks: bool) -> anyhow::Result<Self> {
        let spilled = Spilled::create(folder, memory::share(), has_ranks);
        let spilled = spilled.with_context(|| {
            format!("failed to make files in {}; name another folder with --temp", folder.display())
        })?;
        Ok(Self { spilled, folder: folder.to_owned(), n_taken: 0, n_unranked: 0, has_told: false, has_ranks })
    }

    pub(crate) fn spilled(&self) -> &Arc<Spilled> {
        &self.spilled
    }

    /// The number of documents.
    pub(super) fn len(&self) -> usize {
        self.spilled.len() as usize
    }

    /// Decides the documents of the first `n` turns, whose results are not written now, and hands
    /// on their verdicts.
    pub(super) fn decide(
        &mut self,
        n: usize,
        has_journal: bool,
        rule: &Rule,
        mut take: impl FnMut(Option<Verdict>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let memory = Watch::new();
        for turn in 0..n {
            if turn.is_multiple_of(LOOK_EVERY) {
                memory.check(has_journal)?;
                Stop::check_heard()?;
            }
            let decided = self.spilled.decide(turn as u32, |_, _| true, rule.engine.index());
            take(decided.context(FAILED)?.context(CHANGED)?.verdict)?;
        }
        Ok(())
    }

    /// Decides the first `n` documents again, whose results an earlier run has written.
    pub(super) fn decide_again(&mut self, n: usize, rule: &Rule) -> anyhow::Result<()> {
        // Only a journal knows of an earlier run.
        self.decide(n, true, rule, |_| Ok(()))?;
        self.n_taken = n;
        Ok(())
    }

    /// Decides the next document of the second pass by the features of the first one. They stay
    /// with the item if the results read features and it may be near to another one.
    pub(super) fn decide_next(
        &mut self,
        item: &mut Item,
        rule: &Rule,
        results: &Results,
    ) -> anyhow::Result<(Option<Verdict>, Joins)> {
        let decided = self.spilled.decide(self.n_taken as u32, is_same(item), rule.engine.index());
        let Decided { has_features, verdict } = decided.context(FAILED)?.with_context(|| changed(item))?;
        Ok((verdict, self.take(item, has_features, results)?))
    }

    fn take(&mut self, item: &mut Item, has_features: bool, results: &Results) -> anyhow::Result<Joins> {
        let number = self.n_taken as u32;
        self.n_taken += 1;
        let of_met = if results.reads_features() {
            self.spilled.features_of_met(number).context(FAILED)?
        } else {
            None
        };
        let joins = if of_met.is_some() { Joins::Yes } else { Joins::No };
        // Of other documents nothing is written that depends on what their features are.
        item.document.features = of_met.or_else(|| has_features.then(Features::default));
        Ok(joins)
    }

    /// Makes a file for the verdicts, beside the documents.
    pub(super) fn verdicts(&self) -> anyhow::Result<decided::Decided> {
        decided::Decided::create(&self.folder).context("failed to make a file for verdicts")
    }

    /// The number of documents that the second pass has still to take.
    pub(super) fn n_left(&self) -> usize {
        self.len().saturating_sub(self.n_taken)
    }

    /// Leaves out the next `n` documents of the second pass.
    pub(super) fn skip(&mut self, n: usize) {
        self.n_taken += n;
    }

    /// Takes the next document of the second pass, which is decided, as
    /// [`decide_next`](Self::decide_next) does. Returns its turn.
    pub(super) fn take_decided(
        &mut self,
        item: &mut Item,
        results: &Results,
    ) -> anyhow::Result<(u32, Joins)> {
        let found = self.spilled.turn_of(self.n_taken as u32, is_same(item));
        let (turn, has_features) = found.context(FAILED)?.with_context(|| changed(item))?;
        Ok((turn, self.take(item, has_features, results)?))
    }

    /// Returns true once all documents of the first pass were taken again.
    pub(super) fn is_done(&self) -> bool {
        self.n_left() == 0
    }
}

const FAILED: &str = "failed to read a spilled document";

/// The test for the document of the first pass that an item of the second one is.
fn is_same(item: &Item) -> impl Fn(&str, u64) -> bool {
    let now = &item.document;
    move |id: &str, n_text_bytes: u64| id == now.id.as_str() && n_text_bytes == now.n_text_bytes as u64
}

fn changed(item: &Item) -> String {
    format!("{}:{}: {CHANGED}", item.origin.name(), item.number)
}

/// A number that is the less the better a rank is.
fn best_first(rank: Rank) -> u64 {
    // The order of floats by their bits: the negative ones are in reverse.
    let bits = rank.number().to_bits();
    let ascending = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    !ascending
}

impl Survey for SpilledRun {
    fn take(&mut self, document: Fingerprinted) -> anyhow::Result<()> {
        let Fingerprinted { id, features, n_text_bytes, rank, .. } = &document;
        self.n_unranked += u64::from(*rank == Rank::NONE);
        Ok(self.spilled.take(id, features.as_ref(), *n_text_bytes as u64, best_first(*rank))?)
    }

    /// Refuses a folder in which the files of the whole run have no room, once it is foreseen.
    fn check(&mut self, share_read: Option<f64>, console: &Console) -> anyhow::Result<()> {
        let Some(share) = share_read.filter(|share| !self.has_told && *share >= SHARE_THAT_TELLS) else {
            return Ok(());
        };
        self.has_told = true;
        let n_bytes = self.spilled.n_bytes();
        let (foreseen, folder) = ((n_bytes as f64 / share * GROWTH) as u64, self.folder.display());
        let Ok(system) = rustix::fs::statvfs(&self.folder) else { return Ok(()) };
        let free = system.f_bavail * system.f_frsize;
        if foreseen > free + n_bytes {
            bail!(
                "this run needs about {:.0} MB for files in {folder}, where {:.0} MB are free; name a folder with room by \
                 --temp, or give it more memory by --memory-max",
                megabytes(foreseen),
                megabytes(free + n_bytes)
            );
        }
        console.print(format_args!(
            "files in {folder} take about {:.0} MB until the run ends",
            megabytes(foreseen)
        ));
        Ok(())
    }

    fn finish(&mut self, progress: &mut dyn FnMut(&str, f64)) -> anyhow::Result<()> {
        if self.has_ranks {
            Watch::new().check_step(RANKED_BYTES * self.spilled.len() as u64)?;
        }
        // Many documents are near to one that was read recently.
        let n_cached_bytes = memory::share() / 2;
        let mut progress = |share| progress("pairing documents that share a bucket", share);
        Ok(self.spilled.propose(n_cached_bytes, &mut progress)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_ranks_come_first() {
        let ranks = [1e300, 1.5, 1.0, 0.0, -1e-9, -2.0, f64::NEG_INFINITY].map(|number| match number {
            f64::NEG_INFINITY => Rank::NONE,
            number => Rank::new(number),
        });
        for pair in ranks.windows(2) {
            assert!(best_first(pair[0]) < best_first(pair[1]), "{pair:?}");
        }
        assert_eq!(best_first(Rank::new(-0.0)), best_first(Rank::new(0.0)));
    }
}
