//! The client of a connection: detects that the client leaves, and ends the work for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::sync::Notify;

/// Shared state of a connection's client, for one request after the other.
///
/// A client that has sent all and waits for its answer (`nc -N`) looks like one that has gone.
/// Light work is done for both. Heavy work is done for neither: clients that leave at once must not
/// keep the worker busy.
#[derive(Clone, Default)]
pub(crate) struct Client(Arc<State>);

#[derive(Default)]
struct State {
    /// True once the connection has seen the end of input during this request.
    has_ended: AtomicBool,
    /// True once the body was polled for more input after that.
    wants_more: AtomicBool,
    has_left: AtomicBool,
    connection: Mutex<Option<Waker>>,
    body: Mutex<Option<Waker>>,
    ends_the_work: AtomicBool,
    changed: Notify,
}

impl Client {
    /// Begins the next request of the client.
    pub(crate) fn begins(&self) {
        self.0.has_ended.store(false, Ordering::SeqCst);
        self.0.wants_more.store(false, Ordering::SeqCst);
        self.0.ends_the_work.store(false, Ordering::Relaxed);
    }

    /// Reports that the body of the request was polled for more input. If the input has ended, the
    /// request is cut, and the connection is woken to see this.
    pub(crate) fn wants_more(&self, body: &Waker) {
        *lock(&self.0.body) = Some(body.clone());
        if self.0.has_ended.load(Ordering::SeqCst) {
            self.0.wants_more.store(true, Ordering::SeqCst);
            wake(&self.0.connection);
        }
    }

    /// Returns true if the end of input cuts the request: the body was polled again since. When the
    /// end is first seen, bytes may still be on their way to the body, so the body is woken to poll
    /// once more.
    pub(crate) fn is_cut(&self, connection: &Waker) -> bool {
        *lock(&self.0.connection) = Some(connection.clone());
        if !self.0.has_ended.swap(true, Ordering::SeqCst) {
            wake(&self.0.body);
        }
        self.0.wants_more.load(Ordering::SeqCst)
    }

    /// Records that the client sends no more.
    pub(crate) fn leaves(&self) {
        // Notifies once: the connection reads again when woken, and finds the same end of input.
        if !self.0.has_left.swap(true, Ordering::Relaxed) {
            self.0.changed.notify_one();
        }
    }

    /// Returns true if the client sends no more.
    pub(crate) fn has_left(&self) -> bool {
        self.0.has_left.load(Ordering::Relaxed)
    }

    /// Marks the work under way as work to give up if the client leaves.
    pub(crate) fn ends_the_work(&self) {
        self.0.ends_the_work.store(true, Ordering::Relaxed);
        self.0.changed.notify_one();
    }

    /// Resolves when the work for the request is to be given up.
    pub(crate) async fn gives_up(&self) {
        while !(self.has_left() && self.0.ends_the_work.load(Ordering::Relaxed)) {
            self.0.changed.notified().await;
        }
    }
}

fn wake(waker: &Mutex<Option<Waker>>) {
    if let Some(waker) = lock(waker).take() {
        waker.wake();
    }
}

fn lock(waker: &Mutex<Option<Waker>>) -> MutexGuard<'_, Option<Waker>> {
    // Nothing panics while it is held.
    waker.lock().unwrap_or_else(PoisonError::into_inner)
}
