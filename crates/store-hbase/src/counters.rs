//! Counters of the claims of this process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::claims::State;
use index::ClaimCounts;

/// The counts behind [`ClaimCounts`].
#[derive(Default)]
pub(super) struct Counters {
    claims: AtomicU64,
    conflicts: AtomicU64,
    aborted: AtomicU64,
    waits: AtomicU64,
    waited_us: AtomicU64,
}

impl Counters {
    /// Counts a compare-and-set to `state`, of the own claim or of another owner's.
    pub(super) fn swapped(&self, state: State, is_own: bool, is_done: bool) {
        let counter = match (state, is_own, is_done) {
            (State::Pending, true, true) => &self.claims,
            (_, true, false) => &self.conflicts,
            (State::Aborted, false, true) => &self.aborted,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a pause for the claims of others.
    pub(super) fn waited(&self, pause: Duration) {
        if !pause.is_zero() {
            self.waits.fetch_add(1, Ordering::Relaxed);
            self.waited_us.fetch_add(pause.as_micros() as u64, Ordering::Relaxed);
        }
    }

    pub(super) fn read(&self) -> ClaimCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ClaimCounts {
            n_claims: read(&self.claims),
            n_conflicts: read(&self.conflicts),
            n_aborted: read(&self.aborted),
            n_waits: read(&self.waits),
            waited: Duration::from_micros(read(&self.waited_us)),
        }
    }
}
