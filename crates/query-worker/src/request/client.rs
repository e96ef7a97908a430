//! The client of a request: whether it is still there, and what happens where it is not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::sync::Notify;

/// The client of a connection, as its requests see it, one after the other.
///
/// A client that sends no more may still wait for its answer (`nc -N`), and looks like one that has
/// gone. Light work is done for both. Heavy work is done for neither: clients that leave at once
/// must not keep the worker busy.
#[derive(Clone, Default)]
pub(crate) struct Client(Arc<State>);

#[derive(Default)]
struct State {
    /// The connection has seen the end of what comes during this request.
    has_ended: AtomicBool,
    /// The request's body was asked for more since.
    wants_more: AtomicBool,
    has_left: AtomicBool,
    connection: Mutex<Option<Waker>>,
    body: Mutex<Option<Waker>>,
    ends_the_work: AtomicBool,
    changed: Notify,
}

impl Client {
    /// The client begins its next request.
    pub(crate) fn begins(&self) {
        self.0.has_ended.store(false, Ordering::SeqCst);
        self.0.wants_more.store(false, Ordering::SeqCst);
        self.0.ends_the_work.store(false, Ordering::Relaxed);
    }

    /// The body of the request was asked for more than it has. Once the client sends no more, that
    /// cuts the request, and the connection is to look again.
    pub(crate) fn wants_more(&self, body: &Waker) {
        *lock(&self.0.body) = Some(body.clone());
        if self.0.has_ended.load(Ordering::SeqCst) {
            self.0.wants_more.store(true, Ordering::SeqCst);
            wake(&self.0.connection);
        }
    }

    /// Says whether the end of what comes cuts the request: its body was asked for more since. When
    /// the end is seen first, bytes may be on their way to the body; so it is asked once more.
    pub(crate) fn is_cut(&self, connection: &Waker) -> bool {
        *lock(&self.0.connection) = Some(connection.clone());
        if !self.0.has_ended.swap(true, Ordering::SeqCst) {
            wake(&self.0.body);
        }
        self.0.wants_more.load(Ordering::SeqCst)
    }

    /// The client sends no more.
    pub(crate) fn leaves(&self) {
        // Each change is told once: who hears of it reads again, and finds the same end.
        if !self.0.has_left.swap(true, Ordering::Relaxed) {
            self.0.changed.notify_one();
        }
    }

    /// Says whether the client sends no more.
    pub(crate) fn has_left(&self) -> bool {
        self.0.has_left.load(Ordering::Relaxed)
    }

    /// The work for the request that is under way is given up where the client leaves.
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
