//! A bound on the bytes of what is under way between two threads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A bound on chunks by their bytes. One chunk may be under way whatever it weighs.
#[derive(Debug)]
pub struct Load<C> {
    /// The bytes of a chunk.
    pub n_bytes: fn(&C) -> usize,
    /// The most bytes under way.
    pub n_bytes_max: usize,
}

impl<C> Load<C> {
    /// Creates no bound.
    #[must_use]
    pub fn any() -> Self {
        Self { n_bytes: |_| 0, n_bytes_max: usize::MAX }
    }
}

/// The bytes under way, shared by the thread that takes chunks and the one that is done with them.
/// Once either has dropped it, no chunk is taken any more, and no thread waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderWay(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    n_chunks: usize,
    n_bytes: usize,
    /// True once no chunk is taken any more.
    has_ended: bool,
}

impl UnderWay {
    /// Waits until there is room for a chunk, and counts it. Returns false if no more are taken.
    pub(crate) fn enter(&self, n_bytes: usize, n_bytes_max: usize) -> bool {
        let is_full = |state: &mut State| {
            !state.has_ended && state.n_chunks > 0 && state.n_bytes.saturating_add(n_bytes) > n_bytes_max
        };
        let waited = self.0.changed.wait_while(self.state(), is_full);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.n_chunks += 1;
        state.n_bytes += n_bytes;
        !state.has_ended
    }

    /// Counts a chunk no longer.
    pub(crate) fn leave(&self, n_bytes: usize) {
        let mut state = self.state();
        state.n_chunks -= 1;
        state.n_bytes -= n_bytes;
        self.0.changed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.state().has_ended = true;
        self.0.changed.notify_one();
    }
}
