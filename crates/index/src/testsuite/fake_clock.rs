//! A clock that stands until it is turned.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::{Clock, Timestamp};

/// A clock that stands until it is turned. Copies are the same clock.
#[derive(Clone, Debug)]
pub struct FakeClock(Arc<AtomicI64>);

impl FakeClock {
    /// One that stands at this moment: a server that has a clock of its own would otherwise take what is inserted for
    /// something long past.
    #[must_use]
    pub fn at_present() -> Self {
        Self(Arc::new(AtomicI64::new(Clock::system().now().as_ms())))
    }

    /// One that stands at a moment.
    #[must_use]
    pub fn at(ms: i64) -> Self {
        Self(Arc::new(AtomicI64::new(ms)))
    }

    /// What it says.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock().now()
    }

    /// Turns it, backwards as well.
    pub fn advance_ms(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// For a store.
    #[must_use]
    pub fn clock(&self) -> Clock {
        let now = Arc::clone(&self.0);
        Clock::new(move || now.load(Ordering::SeqCst))
    }
}
