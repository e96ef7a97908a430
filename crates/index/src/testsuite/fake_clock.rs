//! A clock that stands until it is turned.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::{Clock, Timestamp};

/// A clock that stands until it is turned. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct FakeClock(Arc<AtomicI64>);

impl FakeClock {
    /// A clock that stands at the present moment. A server with a clock of its own would take
    /// documents of an earlier moment for long expired.
    #[must_use]
    pub fn at_present() -> Self {
        Self(Arc::new(AtomicI64::new(Clock::system().now().as_ms())))
    }

    /// A clock that stands at a moment.
    #[must_use]
    pub fn at(ms: i64) -> Self {
        Self(Arc::new(AtomicI64::new(ms)))
    }

    /// The time of the clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock().now()
    }

    /// Turns the clock, backwards for a negative `ms`.
    pub fn advance_ms(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// The clock for a store.
    #[must_use]
    pub fn clock(&self) -> Clock {
        let now = Arc::clone(&self.0);
        Clock::new(move || now.load(Ordering::SeqCst))
    }
}
