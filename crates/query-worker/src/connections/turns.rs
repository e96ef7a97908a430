//! Turns of a connection: of its client, and of the worker while it answers a request.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::seats::{Rank, Seats};
use crate::request::Client;

/// Turns of a connection: the client's, and the worker's while it answers a request.
pub(super) struct Turns {
    /// Number of turns so far; even in the client's turn.
    n: AtomicU64,
    closes_when_idle: AtomicBool,
    closes_in_heads: AtomicBool,
    seats: Arc<Seats>,
    /// Seat among the connections that wait for their clients; `None` after the end.
    seat: Mutex<Option<Rank>>,
    /// Notifies that the connection is to give way to another.
    called: Notify,
    pub(super) client: Client,
}

impl Turns {
    /// Starts with the client's first turn, on a seat.
    pub(super) fn seated(seats: &Arc<Seats>) -> Arc<Self> {
        let turns = Arc::new(Self {
            n: AtomicU64::new(0),
            closes_when_idle: AtomicBool::new(false),
            closes_in_heads: AtomicBool::new(false),
            seats: Arc::clone(seats),
            seat: Mutex::new(None),
            called: Notify::new(),
            client: Client::default(),
        });
        *turns.seat() = Some(seats.sit(None, false, &turns));
        turns
    }

    /// Starts the worker's turn, until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Turn {
        self.n.fetch_add(1, Ordering::Relaxed);
        self.client.begins();
        Turn(Arc::clone(self))
    }

    /// Returns the client of the connection.
    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns true in the client's turn.
    pub(super) fn is_clients(&self) -> bool {
        self.n().is_multiple_of(2)
    }

    /// Tells the connection to give way as soon as it is idle.
    pub(super) fn call(&self) {
        self.called.notify_one();
    }

    /// Resolves when the connection is to give way.
    pub(super) async fn called(&self) {
        self.called.notified().await;
    }

    /// Leaves the seat at the end of the connection.
    pub(super) fn leave(&self) {
        if let Some(rank) = self.seat().take() {
            self.seats.leave(rank);
        }
    }

    fn seat(&self) -> MutexGuard<'_, Option<Rank>> {
        // Nothing panics while the lock is held.
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of turns so far, which is even in the client's turn.
    pub(super) fn n(&self) -> u64 {
        self.n.load(Ordering::Relaxed)
    }

    /// Ends the connection once no byte of a request has arrived and no byte of an answer is left
    /// to read. Only a poll of the connection notices.
    pub(super) fn close_when_idle(&self) {
        self.closes_when_idle.store(true, Ordering::Relaxed);
    }

    /// Also ends the connection in the middle of a request's head, which is no request yet.
    pub(super) fn close_in_heads(&self) {
        self.closes_in_heads.store(true, Ordering::Relaxed);
    }

    /// Returns true if the connection ends instead of waiting for its client. `has_begun` is true
    /// in the middle of a head.
    pub(super) fn is_last(&self, has_begun: bool) -> bool {
        let closes = if has_begun { &self.closes_in_heads } else { &self.closes_when_idle };
        closes.load(Ordering::Relaxed)
    }
}

/// Guard of the worker's turn.
pub(super) struct Turn(Arc<Turns>);

impl Drop for Turn {
    fn drop(&mut self) {
        let turns = &self.0;
        turns.n.fetch_add(1, Ordering::Relaxed);
        let mut seat = turns.seat();
        if seat.is_some() {
            *seat = Some(turns.seats.sit(*seat, true, turns));
        }
    }
}
