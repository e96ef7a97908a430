//! A server that goes away and comes back: said once each, however many calls wait for it, and however often.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Whether a server answers, as far as its callers know.
#[derive(Default)]
pub struct Away {
    /// Asked after each call, so without a lock.
    is_away: AtomicBool,
    since: Mutex<Option<Instant>>,
}

impl Away {
    /// A call was not answered by `server`, for some time, and tries again.
    pub fn waits(&self, server: &str, error: &dyn fmt::Display) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_none() {
            *since = Some(Instant::now());
            self.is_away.store(true, Ordering::Relaxed);
            tracing::warn!(server, %error, "the store does not answer; trying again until it does");
        }
    }

    /// A call that has waited is not tried again. Whether the server answers is for the next one to find out.
    pub fn is_given_up(&self) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.is_away.store(false, Ordering::Relaxed);
    }

    /// A call was answered.
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
