//! The connections to a gateway: a bounded number, used again while they are clean and young.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use index::ConnectionCounts;

use super::{Connection, Exhausted, Timeouts, Until};
use crate::options::Options;

/// The longest wait for a reply of a server that has never answered: one of another kind is not
/// given as long as a busy one.
const FIRST_REPLY: Duration = Duration::from_secs(20);

/// Connections to one server.
pub(crate) struct Pool<C: Connection> {
    address: C::Address,
    timeouts: Timeouts,
    n_max: usize,
    state: Mutex<State<C>>,
    freed: Condvar,
}

struct State<C> {
    /// Idle connections, each with the time of its return. The one used last is on top; unneeded
    /// ones grow old.
    idle: Vec<(C, Instant)>,
    /// The number of connections, idle or in use.
    n_open: usize,
    /// True once there has been a connection.
    has_connected: bool,
    /// True once there has been a reply.
    has_answered: bool,
}

impl<C: Connection> Pool<C> {
    pub(crate) fn new(address: C::Address, options: &Options) -> Self {
        let timeouts = Timeouts { connect: options.connect_timeout, reply: options.reply_timeout };
        let state = State { idle: Vec::new(), n_open: 0, has_connected: false, has_answered: false };
        Self {
            address,
            timeouts,
            n_max: options.n_connections,
            state: Mutex::new(state),
            freed: Condvar::new(),
        }
    }

    pub(crate) fn counts(&self) -> ConnectionCounts {
        let State { idle, n_open, .. } = &*self.state();
        ConnectionCounts { n_max: self.n_max, n_open: *n_open, n_in_use: n_open - idle.len() }
    }

    /// Takes an idle connection that the server has not closed yet, and sets its timeout for
    /// replies; closes those that are too old.
    fn youngest(&self, state: &mut State<C>, reply: Duration) -> Option<C> {
        let n_old = state.idle.iter().take_while(|(_, since)| since.elapsed() > C::IDLE_MAX).count();
        state.idle.drain(..n_old);
        state.n_open -= n_old;
        // A restarted server has closed all connections: to find out by a request would be a
        // failure and a pause for each.
        while let Some((mut connection, _)) = state.idle.pop() {
            let is_set = reply >= self.timeouts.reply || connection.set_reply_timeout(reply).is_ok();
            if connection.is_quiet() && is_set {
                return Some(connection);
            }
            state.n_open -= 1;
        }
        None
    }

    /// Opens a new connection. Its place is taken before the wait for the server, in which no other
    /// caller has to share.
    fn connect(
        &self,
        mut state: MutexGuard<'_, State<C>>,
        reply: Duration,
    ) -> Result<Pooled<'_, C>, C::Failure> {
        state.n_open += 1;
        let reply = if state.has_answered { reply } else { reply.min(FIRST_REPLY) };
        drop(state);
        // Gives the place back if there is no connection to keep.
        let mut pooled = Pooled { pool: self, connection: None };
        pooled.connection = Some(C::open(&self.address, Timeouts { reply, ..self.timeouts })?);
        self.state().has_connected = true;
        Ok(pooled)
    }

    /// Locks the state; a poisoned lock is taken as well, because no code panics while it holds the
    /// lock.
    fn state(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Returns true once there has been a connection.
    pub(super) fn has_connected(&self) -> bool {
        self.state().has_connected
    }

    /// Lends a connection; waits for one if all are in use.
    pub(super) fn take(&self, until: Until) -> Result<Result<Pooled<'_, C>, C::Failure>, Exhausted> {
        let mut state = self.state();
        loop {
            let reply = until.within(self.timeouts.reply);
            if let Some(connection) = self.youngest(&mut state, reply) {
                return Ok(Ok(Pooled { pool: self, connection: Some(connection) }));
            }
            if state.n_open < self.n_max {
                return Ok(self.connect(state, reply));
            }
            let left = until.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Exhausted);
            }
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lends another connection, if one is to be had without waiting for its return.
    pub(super) fn try_take(&self, until: Until) -> Option<Pooled<'_, C>> {
        let reply = until.within(self.timeouts.reply);
        let mut state = self.state();
        if let Some(connection) = self.youngest(&mut state, reply) {
            return Some(Pooled { pool: self, connection: Some(connection) });
        }
        if state.n_open < self.n_max { self.connect(state, reply).ok() } else { None }
    }
}

/// A connection on loan. A clean one goes back to the pool. One with a reply still due is closed:
/// the next user would take the reply for its own.
pub(crate) struct Pooled<'a, C: Connection> {
    pool: &'a Pool<C>,
    connection: Option<C>,
}

impl<C: Connection> Deref for Pooled<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        self.connection.as_ref().expect("it is there until the loan ends")
    }
}

impl<C: Connection> DerefMut for Pooled<'_, C> {
    fn deref_mut(&mut self) -> &mut C {
        self.connection.as_mut().expect("it is there until the loan ends")
    }
}

impl<C: Connection> Drop for Pooled<'_, C> {
    fn drop(&mut self) {
        let clean = self.connection.take().filter(C::is_clean);
        let reply_timeout = self.pool.timeouts.reply;
        let kept = clean
            .and_then(|mut connection| connection.set_reply_timeout(reply_timeout).ok().map(|()| connection));
        let mut state = self.pool.state();
        match kept {
            Some(connection) => {
                state.has_answered = true;
                state.idle.push((connection, Instant::now()));
            }
            None => state.n_open -= 1,
        }
        drop(state);
        self.pool.freed.notify_one();
    }
}
