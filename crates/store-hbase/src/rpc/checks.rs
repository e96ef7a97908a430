//! For how long a check of whose index the tables are holds.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hbase_rpc::blocking::Client;

/// For so long a check holds for what the same regions answer.
const CHECK_HOLDS: Duration = Duration::from_millis(100);

/// What was known when a check began.
///
/// A check that succeeds says that the documents' table was this index's after the check had begun. The regions that
/// were looked up before belong to tables that were there then. A table that is made later has other regions, and
/// looking these up is counted. Two cases are left: the index table is made anew before the documents' table, and
/// tables are emptied or restored with the regions that they have. So a check holds for less time than HBase takes for
/// any of these. It holds for reads alone: each write is checked.
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
    /// The check that began there has succeeded.
    pub(super) fn succeeded(&self, begun: Checkpoint) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
    }

    /// Whether the last one holds for what the client has been answered until now.
    pub(super) fn hold(&self, client: &Client) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|Checkpoint { at, n_look_ups }| {
            n_look_ups == client.n_look_ups() && at.elapsed() < CHECK_HOLDS
        })
    }
}
