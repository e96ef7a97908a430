//! Which documents of the log have expired. Times never go back along a run of it ([`Runs`](index::backend::Runs)), so these
//! are the first of each, and one number for each run says where they end.

use std::sync::{Mutex, MutexGuard, PoisonError};

use heed::RoTxn;
use index::backend::Horizon;
use index::backend::Live;

use super::environment::{Failure, Opened};
use super::times;

/// Where the live documents began when somebody last looked, so that who looks next does not begin at the front of all
/// that has not been swept.
#[derive(Default)]
pub(super) struct Seen(Mutex<Option<Found>>);

#[derive(Clone)]
struct Found {
    /// Looked for in this state of the log ...
    last_change: u64,
    /// ... by this horizon.
    expired_until_ms: i64,
    live: Live,
}

impl Seen {
    /// What is live in the snapshot of `txn`.
    pub(super) fn live(&self, opened: &Opened, txn: &RoTxn<'_>, horizon: Horizon) -> Result<Live, Failure> {
        let Some(expired_until_ms) = horizon.expired_until_ms() else { return Ok(Live::default()) };
        let last_change = opened.last_change(txn)?;
        let seen = self.lock().clone();
        // What had expired then has expired for a later clock, and no newer document is before it. An older snapshot may
        // have documents that were removed in the meantime.
        let is_later =
            |seen: &Found| seen.last_change <= last_change && seen.expired_until_ms <= expired_until_ms;
        let known = seen.filter(is_later).map(|seen| seen.live);
        let live = live(opened, txn, horizon, known.as_ref())?;
        *self.lock() = Some(Found { last_change, expired_until_ms, live: live.clone() });
        Ok(live)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Found>> {
        // It is replaced as a whole, so a panic leaves it right.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is live, where what had expired in `known` is known to have.
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

/// How many documents of the log have expired, of which only the numbers are read.
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
