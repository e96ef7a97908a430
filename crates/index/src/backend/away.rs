//! The log of a server's absence: one message when it goes away and one when it comes back, however
//! many calls wait for it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The absence of a server, as far as its callers know.
#[derive(Default)]
pub struct Away {
    /// Read after each call, so without a lock.
    is_away: AtomicBool,
    since: Mutex<Option<Instant>>,
}

impl Away {
    /// Notes a call still without an answer from `server`, which tries again.
    pub fn waits(&self, server: &str, error: &dyn fmt::Display) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_none() {
            *since = Some(Instant::now());
            self.is_away.store(true, Ordering::Relaxed);
            tracing::warn!(server, %error, "the store does not answer; trying again until it does");
        }
    }

    /// Notes a call that has waited and gives up. The next call finds out whether the server
    /// answers.
    pub fn is_given_up(&self) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.is_away.store(false, Ordering::Relaxed);
    }

    /// Notes an answered call.
    pub fn is_back(&self, server: &str) {
        if !self.is_away.load(Ordering::Relaxed) {
            return;
        }
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = since.take() {
            self.is_away.store(false, Ordering::Relaxed);
            tracing::info!(server, seconds = since.elapsed().as_secs(), "the store answers again");
        }
    }
}
