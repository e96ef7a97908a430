//! The parts by which calls are done, independent of the transport that carries them. A transport
//! has connections and calls of its own and composes the parts that it needs:
//!
//! | part | does |
//! |---|---|
//! | [`Shard`] | cuts a batch into calls |
//! | [`Call`] | is a few requests on one connection, with the meaning of their replies |
//! | [`Once`] | sends a call once, and afterwards only asks for its outcome |
//! | [`Witness`] | says if a call belonged to the index that was opened |
//! | [`Pool`] | lends connections to one server, on [`Socket`]s |
//! | [`Dispatch`] | does calls on as many connections as are to be had, until one fails |
//! | [`Retry`] | attempts a plan, with pauses, while there is hope and time |
//!
//! A batch of writes is `Shard`, `Call` with its `Witness`, `Dispatch` over a `Pool`, `Retry`, from
//! the inside outwards. The model is the plans of TiKV's client, without its futures: a caller's
//! thread writes to several connections before it reads from any.

mod dispatch;
mod once;
mod pool;
mod retry;
mod server;
mod shard;
mod socket;
#[cfg(test)]
mod tests;
mod witness;

use std::io;
use std::ops::DerefMut;
use std::time::Duration;

use index::Result;
use index::backend::retry::Until;

pub(crate) use self::dispatch::Dispatch;
pub(crate) use self::once::{Once, Resolve};
pub(crate) use self::pool::Pool;
pub(crate) use self::retry::Retry;
pub(crate) use self::server::{Failure, Meaning, Server};
pub(crate) use self::shard::Shard;
pub(crate) use self::socket::Socket;
pub(crate) use self::witness::Witness;

/// The number of connections, and the patience with the servers at their other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// The most connections at a time.
    pub(crate) n_connections: usize,
    /// The longest wait for a new connection.
    pub(crate) connect_timeout: Duration,
    /// The longest wait for the next bytes of a reply.
    pub(crate) reply_timeout: Duration,
    /// `reply_timeout` for a server that has never answered, and may be of another kind.
    pub(crate) first_reply_timeout: Duration,
    /// The patience with a server that has not answered yet: a mistyped name fails soon.
    pub(crate) first_patience: Duration,
    /// The patience with a server or a region that is away, counted from the last answered request.
    pub(crate) patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            n_connections: 8,
            connect_timeout: Duration::from_secs(3),
            reply_timeout: Duration::from_secs(60),
            first_reply_timeout: Duration::from_secs(20),
            first_patience: Duration::from_secs(5),
            patience: Duration::from_secs(120),
        }
    }
}

/// The longest waits for the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// For a connection.
    pub(crate) connect: Duration,
    /// For the next bytes of a reply, or for room to write.
    pub(crate) reply: Duration,
}

/// A connection of a transport.
pub(crate) trait Connection: Sized {
    /// The address of the other end, with the settings to reach it.
    type Address;

    /// The reason why a request on it fails.
    type Failure: Failure;

    /// The time for which an idle connection is kept: shorter than the server's own limit.
    const IDLE_MAX: Duration;

    /// Connects.
    fn open(address: &Self::Address, timeouts: Timeouts) -> Result<Self, Self::Failure>;

    /// Returns true if the next request gets its own reply.
    fn is_clean(&self) -> bool;

    /// Returns true if the other end has neither closed nor sent unrequested bytes. Only for a
    /// clean connection, on which no reply is due.
    fn is_quiet(&self) -> bool;

    /// Changes the longest wait for a reply.
    fn set_reply_timeout(&mut self, timeout: Duration) -> io::Result<()>;
}

/// A few requests that belong together.
pub(crate) trait Call {
    /// The connection over which the call is sent.
    type Connection: Connection;

    /// Writes the first requests, from the beginning even if an earlier attempt broke off.
    fn start(&mut self, connection: &mut Self::Connection) -> Result<(), FailureOf<Self>>;

    /// Reads the replies to the requests written last, all of them even if one is an exception, and
    /// writes the next requests. Returns true when the call is done.
    fn go_on(&mut self, connection: &mut Self::Connection) -> Result<bool, FailureOf<Self>>;
}

/// The reason why a call fails.
pub(crate) type FailureOf<C> = <<C as Call>::Connection as Connection>::Failure;

/// The source of connections for calls: to the only server, or to the server of each call's region.
pub(crate) trait Lanes<C: Call> {
    /// A connection on loan.
    type Lane<'a>: DerefMut<Target = C::Connection>
    where
        Self: 'a;

    /// Returns true once there has been a connection.
    fn has_connected(&self) -> bool;

    /// Returns a connection for `call`; waits for one if all are in use.
    fn take(&self, call: &C, until: Until) -> Result<Result<Self::Lane<'_>, FailureOf<C>>, Exhausted>;

    /// Returns another connection for `call`, if one is to be had without waiting for its return.
    fn try_take(&self, call: &C, until: Until) -> Option<Self::Lane<'_>>;

    /// Returns true if a connection from a finished call serves `call` too.
    fn serves(&self, _lane: &Self::Lane<'_>, _call: &C) -> bool {
        true
    }

    /// Returns the calls to do in place of a failed one, in order: the same call again, or, where
    /// regions have moved, the calls into which its batch is cut now.
    fn again(&self, call: C, _failure: &FailureOf<C>) -> Vec<C> {
        vec![call]
    }
}

/// All connections were in use for too long.
#[derive(Debug)]
pub(crate) struct Exhausted;

/// Work in requests that may be repeated.
pub(crate) trait Plan {
    /// The reason why a request fails.
    type Failure: Failure;

    /// Returns the number of requests still to be done.
    fn n_left(&self) -> usize;

    /// Returns the number of requests that were done.
    fn n_done(&self) -> usize;

    /// Returns true once the server has been reached.
    fn has_connected(&self) -> bool;

    /// Does as many requests as possible now; waits for the first connection and for replies. An
    /// error ends the plan.
    fn attempt(&mut self, until: Until) -> Result<Attempt<Self::Failure>>;
}

/// The end of an attempt at a plan.
#[derive(Debug)]
pub(crate) enum Attempt<F> {
    /// No request failed.
    Went,
    /// Requests failed; this is the last failure.
    Failed(F),
    /// No connection was to be had.
    Exhausted,
}
