//! The line of figures with which a test of faults ends. `bench/faults/README.md` keeps such lines.

use std::time::{Duration, Instant};

/// A round that takes longer hangs.
const ROUND_MAX: Duration = Duration::from_secs(180);

/// Counts of the faults and their effects.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) rounds: u64,
    /// Processes that were killed, answers that were lost, pages that were spoiled.
    pub(crate) faults: u64,
    /// Documents that a program has acknowledged.
    pub(crate) acknowledged: u64,
    /// Acknowledged documents that are not there in the end.
    pub(crate) lost: u64,
    /// Answers and results that are not those of a run without faults.
    pub(crate) wrong: u64,
    /// Rounds that took longer than anything here may.
    pub(crate) hung: u64,
}

impl Figures {
    /// Does one round, and counts it.
    pub(crate) fn round<T>(&mut self, round: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = round();
        self.rounds += 1;
        self.hung += u64::from(begun.elapsed() > ROUND_MAX);
        done
    }

    /// Says the figures, and fails where something was lost or wrong, or hung.
    #[track_caller]
    #[expect(clippy::print_stdout, reason = "the figures are for the page that keeps them")]
    pub(crate) fn end(&self, name: &str) {
        let Self { rounds, faults, acknowledged, lost, wrong, hung } = self;
        println!(
            "faults, {name}: {rounds} rounds, {faults} faults, {acknowledged} acknowledged, {lost} lost, {wrong} wrong, \
             {hung} hung"
        );
        assert_eq!([lost, wrong, hung], [&0; 3], "{name}");
    }
}
