//! The expired documents of the log. Times never go back along a run
//! ([`Runs`](index::backend::Runs)), so a run's expired documents come first, and one number marks
//! their end.

use std::sync::{Mutex, MutexGuard, PoisonError};

use heed::RoTxn;
use index::backend::Horizon;
use index::backend::Live;

use super::environment::Opened;
use super::errors::Failure;
use super::times;

/// The first live documents as of the last look, so the next look does not begin at the front of
/// all unswept documents.
#[derive(Default)]
pub(super) struct Seen(Mutex<Option<Found>>);

#[derive(Clone)]
struct Found {
    /// The state of the log at the look.
    last_change: u64,
    /// The horizon of the look.
    expired_until_ms: i64,
    live: Live,
}

impl Seen {
    /// Returns the live documents in the snapshot of `txn`.
    pub(super) fn live(&self, opened: &Opened, txn: &RoTxn<'_>, horizon: Horizon) -> Result<Live, Failure> {
        let Some(expired_until_ms) = horizon.expired_until_ms() else { return Ok(Live::default()) };
        let last_change = opened.last_change(txn)?;
        let seen = self.lock().clone();
        // Documents expired at that look have expired for a later horizon, and no newer document
        // comes before them. An older snapshot may have documents that were removed meanwhile.
        let is_later =
            |seen: &Found| seen.last_change <= last_change && seen.expired_until_ms <= expired_until_ms;
        let known = seen.filter(is_later).map(|seen| seen.live);
        let live = live(opened, txn, horizon, known.as_ref())?;
        *self.lock() = Some(Found { last_change, expired_until_ms, live: live.clone() });
        Ok(live)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Found>> {
        // The value is replaced as a whole, so a panic leaves it right.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Live documents at `horizon`; reuses the expired documents in `known`.
pub(super) fn live(
    opened: &Opened,
    txn: &RoTxn<'_>,
    horizon: Horizon,
    known: Option<&Live>,
) -> Result<Live, Failure> {
    if horizon.expired_until_ms().is_none() {
        return Ok(Live::default());
    }
    let runs = times::runs(opened, txn)?;
    runs.live(horizon, known, opened.last_change(txn)?, |number| times::first_from(opened, txn, number))
}

/// Counts the expired documents of the log, of which it reads the numbers only.
pub(super) fn n_expired(opened: &Opened, txn: &RoTxn<'_>, live: &Live) -> Result<u64, Failure> {
    let mut n_expired = 0;
    let log = opened.log.remap_data_type::<heed::types::DecodeIgnore>();
    for expired in live.expired() {
        for entry in log.range(txn, &expired)? {
            entry?;
            n_expired += 1;
        }
    }
    Ok(n_expired)
}
