//! The parts by which calls to a gateway are done:
//!
//! | part | does |
//! |---|---|
//! | [`Shard`] | cuts a batch into calls |
//! | [`Call`] | is a few requests on one connection, with the meaning of their replies |
//! | [`Once`] | sends a call once, and afterwards only asks for its outcome |
//! | [`Pool`] | lends connections, on [`Socket`]s |
//! | [`Dispatch`] | does calls on as many connections as are to be had, until one fails |
//! | [`Retry`] | attempts calls, with pauses, while there is hope and time |
//!
//! A batch of writes is `Shard`, `Call` with its witness, `Dispatch` over a `Pool`, `Retry`, from
//! the inside outwards. The model is the plans of TiKV's client, without its futures: a caller's
//! thread writes to several connections before it reads from any.

mod dispatch;
mod once;
mod pool;
mod retry;
mod shard;
mod socket;
#[cfg(test)]
mod tests;

use std::io;
use std::time::Duration;

use index::backend::retry::Until;

use crate::server::Failure;

pub(crate) use self::dispatch::Dispatch;
pub(crate) use self::once::{Once, Resolve};
pub(crate) use self::pool::Pool;
pub(crate) use self::retry::Retry;
pub(crate) use self::shard::Shard;
pub(crate) use self::socket::Socket;

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

/// All connections were in use for too long.
#[derive(Debug)]
pub(crate) struct Exhausted;

/// The end of an attempt at some calls.
#[derive(Debug)]
pub(crate) enum Attempt<F> {
    /// No request failed.
    Went,
    /// Requests failed; this is the last failure.
    Failed(F),
    /// No connection was to be had.
    Exhausted,
}
