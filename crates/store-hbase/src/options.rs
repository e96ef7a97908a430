//! The settings of a transport.

use std::time::Duration;

/// The number of connections, and the patience with the servers at their other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// The most connections at a time.
    pub(crate) n_connections: usize,
    /// The longest wait for a new connection.
    pub(crate) connect_timeout: Duration,
    /// The longest wait for the next bytes of a reply.
    pub(crate) reply_timeout: Duration,
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
            first_patience: Duration::from_secs(5),
            patience: Duration::from_secs(120),
        }
    }
}
