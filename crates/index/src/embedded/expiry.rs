//! Which documents of the log have expired. Times never go back along the log ([`Batch`](super::batch::Batch)), so these
//! are the first of it, and one number says where they end.

use std::sync::{Mutex, PoisonError};

use heed::RoTxn;

use super::environment::{Failure, Opened};
use super::record;
use crate::Timestamp;
use crate::retention::{self, Horizon};

/// Where the live documents began when somebody last looked, so that who looks next does not begin at the front of all
/// that has not been swept.
#[derive(Default)]
pub(super) struct Seen(Mutex<Option<Found>>);

#[derive(Clone, Copy)]
struct Found {
    /// Looked for in this state of the log ...
    last_change: u64,
    /// ... by this horizon.
    expired_until_ms: i64,
    first_live: u64,
}

impl Seen {
    /// The number from which on documents are live in the snapshot of `txn`.
    pub(super) fn first_live(
        &self,
        opened: &Opened,
        txn: &RoTxn<'_>,
        horizon: Horizon,
    ) -> Result<u64, Failure> {
        let Some(expired_until_ms) = horizon.expired_until_ms() else { return Ok(0) };
        let last_change = opened.last_change(txn)?;
        let seen = *self.lock();
        // What had expired then has expired for a later clock, and no newer document is before it. An older snapshot may
        // have documents that were removed in the meantime.
        let is_later =
            |seen: &Found| seen.last_change <= last_change && seen.expired_until_ms <= expired_until_ms;
        let from = seen.filter(is_later).map_or(0, |seen| seen.first_live);
        let first_live = first_live(opened, txn, horizon, from)?;
        *self.lock() = Some(Found { last_change, expired_until_ms, first_live });
        Ok(first_live)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Found>> {
        // It is replaced as a whole, so a panic leaves it right.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number from which on documents are live, where all below `from` are known to have expired.
pub(super) fn first_live(
    opened: &Opened,
    txn: &RoTxn<'_>,
    horizon: Horizon,
    from: u64,
) -> Result<u64, Failure> {
    if horizon.expired_until_ms().is_none() {
        return Ok(0);
    }
    retention::first_live(horizon, from, opened.last_change(txn)?, |number| {
        let found = opened.log.get_greater_than_or_equal_to(txn, &number)?;
        Ok(match found {
            Some((number, bytes)) => Some((number, record::decode_time(number, bytes)?)),
            None => None,
        })
    })
}

/// When the last document of the log was inserted.
pub(super) fn last_time(opened: &Opened, txn: &RoTxn<'_>) -> Result<Option<Timestamp>, Failure> {
    match opened.log.last(txn)? {
        Some((number, bytes)) => Ok(Some(record::decode_time(number, bytes)?)),
        None => Ok(None),
    }
}

/// How many documents of the log have expired: those before `first_live`, of which only the numbers are read.
pub(super) fn n_expired(opened: &Opened, txn: &RoTxn<'_>, first_live: u64) -> Result<u64, Failure> {
    let mut n_expired = 0;
    for entry in opened.log.remap_data_type::<heed::types::DecodeIgnore>().range(txn, &(..first_live))? {
        entry?;
        n_expired += 1;
    }
    Ok(n_expired)
}
