//! The time for which a check holds: a check says to which index the tables belong.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hbase_rpc::blocking::Client;

/// The time for which a check holds for answers of the same regions.
const CHECK_HOLDS: Duration = Duration::from_millis(100);

/// The state of the client when a check began.
///
/// A successful check says that the documents' table belonged to this index after the check had
/// begun. The regions known by then belong to tables of the same time. A table made later has other
/// regions, and their look-ups are counted. Two cases are left: the index table is made anew before
/// the documents' table, or tables are emptied or restored with their old regions. A check holds
/// for less time than HBase takes for any of these. It holds for reads alone: each write is
/// checked.
#[derive(Clone, Copy)]
pub(super) struct Checkpoint {
    at: Instant,
    n_look_ups: u64,
}

impl Checkpoint {
    pub(super) fn now(client: &Client) -> Self {
        Self { at: Instant::now(), n_look_ups: client.n_look_ups() }
    }
}

/// The last check that succeeded.
#[derive(Default)]
pub(super) struct Checks(Mutex<Option<Checkpoint>>);

impl Checks {
    /// Notes the success of the check that began at `begun`.
    pub(super) fn succeeded(&self, begun: Checkpoint) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
    }

    /// Returns true if the last check holds for all answers to the client until now.
    pub(super) fn hold(&self, client: &Client) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|Checkpoint { at, n_look_ups }| {
            n_look_ups == client.n_look_ups() && at.elapsed() < CHECK_HOLDS
        })
    }
}
