//! How calls are done, in parts that know nothing of what carries them. A transport has connections and calls of its own and
//! composes what it needs:
//!
//! | part | does |
//! |---|---|
//! | [`Shard`] | cuts a batch into calls |
//! | [`Call`] | is a few requests on one connection, and what their replies mean |
//! | [`Once`] | sends a call once, and then only asks what became of it |
//! | [`Witness`] | says whether a call was of the index that was opened |
//! | [`Pool`] | lends connections to one server, on [`Socket`]s |
//! | [`Dispatch`] | does calls on as many connections as there are to be had, until one fails |
//! | [`Retry`] | goes on with a plan, with pauses, while there is hope and time |
//!
//! A batch that is written is `Shard`, `Call` with its `Witness`, `Dispatch` over a `Pool`, `Retry`, from the inside outwards. The model is the
//! plans of TiKV's client, without its futures: a caller's thread writes to several connections before it reads from any.

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
use std::time::{Duration, Instant};

use index::Result;

pub(crate) use self::dispatch::Dispatch;
pub(crate) use self::once::{Once, Resolve};
pub(crate) use self::pool::Pool;
pub(crate) use self::retry::Retry;
pub(crate) use self::server::{Failure, Meaning, Server};
pub(crate) use self::shard::Shard;
pub(crate) use self::socket::Socket;
pub(crate) use self::witness::Witness;

/// How many connections to make, and how patient to be with what is at their other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// The most connections at a time.
    pub(crate) n_connections: usize,
    /// For a connection to be made.
    pub(crate) connect_timeout: Duration,
    /// For the next bytes of a reply.
    pub(crate) reply_timeout: Duration,
    /// The same for a server that has never answered, and may be of another kind.
    pub(crate) first_reply_timeout: Duration,
    /// For a server that has not answered yet: a name that is mistyped should not be waited for.
    pub(crate) first_patience: Duration,
    /// For a server or a region that is away, counted from the last request that was answered.
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

/// How long to wait for the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// For a connection.
    pub(crate) connect: Duration,
    /// For the next bytes of a reply, or for room to write.
    pub(crate) reply: Duration,
}

/// A connection of a transport.
pub(crate) trait Connection: Sized {
    /// Where it leads, and what it takes to get there.
    type Address;

    /// Why a request on it fails.
    type Failure: Failure;

    /// For how long an idle one is kept: less than the server keeps it.
    const IDLE_MAX: Duration;

    /// Connects.
    fn open(address: &Self::Address, timeouts: Timeouts) -> Result<Self, Self::Failure>;

    /// Whether the next request gets its own reply.
    fn is_clean(&self) -> bool;

    /// Whether the other end has neither closed nor sent what was not asked for. Only for a clean connection, where
    /// nothing is to come.
    fn is_quiet(&self) -> bool;

    /// Changes how long a reply may take.
    fn set_reply_timeout(&mut self, timeout: Duration) -> io::Result<()>;
}

/// A few requests that belong together.
pub(crate) trait Call {
    /// What it is sent over.
    type Connection: Connection;

    /// Writes the first requests, from the beginning also where an earlier attempt broke off.
    fn start(&mut self, connection: &mut Self::Connection) -> Result<(), FailureOf<Self>>;

    /// Reads the replies to what was written last, all of them also where one is an exception, and writes what comes
    /// next. Returns whether that was all.
    fn go_on(&mut self, connection: &mut Self::Connection) -> Result<bool, FailureOf<Self>>;
}

/// Why a call fails.
pub(crate) type FailureOf<C> = <<C as Call>::Connection as Connection>::Failure;

/// Where calls find connections: to the one server there is, or each to the server of its region.
pub(crate) trait Lanes<C: Call> {
    /// A connection on loan.
    type Lane<'a>: DerefMut<Target = C::Connection>
    where
        Self: 'a;

    /// Whether there has ever been a connection.
    fn has_connected(&self) -> bool;

    /// A connection for `call`, waiting for one where all are in use.
    fn take(&self, call: &C, until: Until) -> Result<Result<Self::Lane<'_>, FailureOf<C>>, Exhausted>;

    /// Another connection for `call`, if there is one to be had without waiting for it to be given back.
    fn try_take(&self, call: &C, until: Until) -> Option<Self::Lane<'_>>;

    /// Whether a connection that another call has done with serves `call` too.
    fn serves(&self, _lane: &Self::Lane<'_>, _call: &C) -> bool {
        true
    }

    /// What is to be done in place of a call that failed, first things first: the same once more, or, where regions have
    /// moved, what its batch is cut into now.
    fn again(&self, call: C, _failure: &FailureOf<C>) -> Vec<C> {
        vec![call]
    }
}

/// For so long the last attempt at a plan waits for a reply.
const LAST_TRY: Duration = Duration::from_millis(500);

/// How long an attempt at a plan may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until {
    /// When patience ends.
    pub(crate) deadline: Instant,
    /// Whether some of it is over.
    pub(crate) is_late: bool,
}

impl Until {
    /// How long a reply may take that else may take `usual`: the first attempt has that, the others
    /// what is left.
    pub(crate) fn reply(self, usual: Duration) -> Duration {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if self.is_late { usual.min(left.max(LAST_TRY)) } else { usual }
    }
}

/// All connections were in use for too long.
#[derive(Debug)]
pub(crate) struct Exhausted;

/// What is to be done, in requests that may be repeated.
pub(crate) trait Plan {
    /// Why one of them fails.
    type Failure: Failure;

    /// How many requests are to be done.
    fn n_left(&self) -> usize;

    /// How many were done.
    fn n_done(&self) -> usize;

    /// Whether the server was ever there.
    fn has_connected(&self) -> bool;

    /// Does as many as can be done now, waiting for the first connection and for replies. An error
    /// ends the plan.
    fn attempt(&mut self, until: Until) -> Result<Attempt<Self::Failure>>;
}

/// How an attempt at a plan ended.
#[derive(Debug)]
pub(crate) enum Attempt<F> {
    /// Without a failure.
    Went,
    /// With this as the last one.
    Failed(F),
    /// No connection was to be had.
    Exhausted,
}
