//! The connections to one gateway: at most so many, used again while they are clean and young.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use index::ConnectionCounts;

use super::connection::{Connection, Failure, Timeouts};

/// The gateway closes a connection that was idle for 60 s; one that is nearly that old is not used any more.
const IDLE_MAX: Duration = Duration::from_secs(45);

/// Connections to one gateway.
pub(super) struct Pool {
    gateway: String,
    timeouts: Timeouts,
    /// For the first reply of all: what is no gateway should not be waited for as long as a busy one.
    first_reply: Duration,
    n_max: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    /// The one used last is on top, so that those not needed grow old.
    idle: Vec<Connection>,
    /// Idle or in use.
    n_open: usize,
    /// Whether there has ever been a connection.
    has_connected: bool,
    /// Whether there has ever been a reply.
    has_answered: bool,
}

/// All connections were in use for too long.
#[derive(Debug)]
pub(super) struct Exhausted;

impl Pool {
    pub(super) fn new(gateway: String, n_max: usize, timeouts: Timeouts, first_reply: Duration) -> Self {
        Self { gateway, timeouts, first_reply, n_max, state: Mutex::default(), freed: Condvar::new() }
    }

    pub(super) fn gateway(&self) -> &str {
        &self.gateway
    }

    pub(super) fn n_max(&self) -> usize {
        self.n_max
    }

    pub(super) fn counts(&self) -> ConnectionCounts {
        let State { idle, n_open, .. } = &*self.state();
        ConnectionCounts { n_max: self.n_max, n_open: *n_open, n_in_use: n_open - idle.len() }
    }

    pub(super) fn has_connected(&self) -> bool {
        self.state().has_connected
    }

    /// A connection, waiting for one until `deadline` where all are in use.
    pub(super) fn take(&self, deadline: Instant) -> Result<Result<Pooled<'_>, Failure>, Exhausted> {
        let mut state = self.state();
        loop {
            if let Some(connection) = Self::youngest(&mut state) {
                return Ok(Ok(Pooled { pool: self, connection: Some(connection) }));
            }
            if state.n_open < self.n_max {
                return Ok(self.connect(state));
            }
            let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            else {
                return Err(Exhausted);
            };
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Another connection, if there is one to be had without waiting for somebody else's.
    pub(super) fn try_take(&self) -> Option<Pooled<'_>> {
        let mut state = self.state();
        if let Some(connection) = Self::youngest(&mut state) {
            return Some(Pooled { pool: self, connection: Some(connection) });
        }
        if state.n_open < self.n_max { self.connect(state).ok() } else { None }
    }

    /// An idle connection that the gateway has not closed yet; closes those that are too old.
    fn youngest(state: &mut State) -> Option<Connection> {
        let n_old = state.idle.iter().take_while(|connection| connection.used.elapsed() > IDLE_MAX).count();
        state.idle.drain(..n_old);
        state.n_open -= n_old;
        // A gateway that was started again has closed them all: to find that out by asking would be a failure and a
        // pause for each.
        while let Some(connection) = state.idle.pop() {
            if connection.is_quiet() {
                return Some(connection);
            }
            state.n_open -= 1;
        }
        None
    }

    /// A new connection; its place is taken before the wait for it, which nobody else has to share.
    fn connect(&self, mut state: MutexGuard<'_, State>) -> Result<Pooled<'_>, Failure> {
        state.n_open += 1;
        let patience = if state.has_answered { self.timeouts.reply } else { self.first_reply };
        let reply = patience.min(self.timeouts.reply);
        drop(state);
        // Gives the place back if there is no connection to keep.
        let mut pooled = Pooled { pool: self, connection: None };
        pooled.connection = Some(Connection::open(&self.gateway, Timeouts { reply, ..self.timeouts })?);
        self.state().has_connected = true;
        Ok(pooled)
    }

    /// Nothing in here panics while it holds the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection on loan. It goes back if it is clean, and is closed if a reply is still to come on it, which the next
/// user would take for its own.
pub(super) struct Pooled<'a> {
    pool: &'a Pool,
    connection: Option<Connection>,
}

impl Deref for Pooled<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("it is there until the loan ends")
    }
}

impl DerefMut for Pooled<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("it is there until the loan ends")
    }
}

impl Drop for Pooled<'_> {
    fn drop(&mut self) {
        let clean = self.connection.take().filter(Connection::is_clean);
        let reply_timeout = self.pool.timeouts.reply;
        let kept = clean
            .and_then(|mut connection| connection.set_reply_timeout(reply_timeout).ok().map(|()| connection));
        let mut state = self.pool.state();
        match kept {
            Some(mut connection) => {
                connection.used = Instant::now();
                state.has_answered = true;
                state.idle.push(connection);
            }
            None => state.n_open -= 1,
        }
        drop(state);
        self.pool.freed.notify_one();
    }
}
