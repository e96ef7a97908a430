//! Errors of the server: which ones may pass, and a message for each.

use std::sync::atomic::Ordering;

use index::{Error, ErrorKind};
use redis::{ErrorKind as RedisKind, RedisError, ServerErrorKind};

use super::layout::damaged;
use super::server::Server;

impl Server {
    /// Translates an error of the server into one with a remedy.
    pub(super) fn explain(&self, error: RedisError) -> Error {
        let Self { address, .. } = self;
        let (kind, what) = match error.kind() {
            _ if says(&error, "DAMAGED") => {
                let detail = error.to_string();
                let id = detail.split_once("DAMAGED ").map_or("", |(_, id)| id);
                let id = id.split_once(" script: ").map_or(id, |(id, _)| id);
                return damaged(id, "the scripts cannot read it");
            }
            _ if says(&error, "OOM") => (
                ErrorKind::StorageFull,
                format!("Redis at {address} has reached its maxmemory; raise it, or remove documents"),
            ),
            _ if says(&error, "MISCONF") => (
                ErrorKind::StorageFull,
                format!("Redis at {address} cannot write to its disk; make room there, its log says more"),
            ),
            _ if says(&error, "WRONGTYPE") => (
                ErrorKind::Corrupt,
                "another program has written under the index's name; use another name".to_owned(),
            ),
            RedisKind::AuthenticationFailed => (ErrorKind::PermissionDenied, self.no_leave()),
            _ if ["NOAUTH", "NOPERM", "WRONGPASS"].iter().any(|code| says(&error, code)) => {
                (ErrorKind::PermissionDenied, self.no_leave())
            }
            _ if says(&error, "EVICTED") => return self.losses.lost(address).caused_by(error),
            _ if is_elsewhere(&error).is_some() => {
                let why = is_elsewhere(&error).unwrap_or_default();
                (ErrorKind::Unavailable, format!("Redis at {address} {why}"))
            }
            RedisKind::Server(ServerErrorKind::Moved | ServerErrorKind::Ask | ServerErrorKind::CrossSlot) => {
                (
                    ErrorKind::InvalidArgument,
                    format!(
                        "Redis at {address} is a node of a cluster that does not hold this index; name the node that \
                     does, which the error below says"
                    ),
                )
            }
            RedisKind::Io if !self.has_answered.load(Ordering::Relaxed) => (
                ErrorKind::Unavailable,
                format!("no answer from Redis at {address}; is it running, and is that its address?"),
            ),
            _ if may_pass(&error) => (
                ErrorKind::Unavailable,
                format!(
                    "Redis at {address} was away for {} s; start it, and do the same again",
                    self.waits.server.as_secs()
                ),
            ),
            _ if error.to_string().contains("DB index") => (
                ErrorKind::InvalidArgument,
                format!(
                    "Redis at {address} does not have database {}; leave ?db=N out, or raise `databases` in its \
                     redis.conf",
                    self.uri.db
                ),
            ),
            RedisKind::Parse | RedisKind::UnexpectedReturnType => (
                ErrorKind::InvalidArgument,
                format!("what listens at {address} does not answer as Redis does; is that its address?"),
            ),
            _ => (ErrorKind::Internal, format!("Redis at {address} refused what it was asked for")),
        };
        Error::new(kind, what).caused_by(error)
    }

    fn no_leave(&self) -> String {
        format!(
            "Redis at {} does not let us in, or not do this; name the file with its password by ?password-file=PATH",
            self.address
        )
    }
}

/// Returns true for an error of the server with this code. An old server puts the errors of a
/// script into a text of its own.
pub(super) fn says(error: &RedisError, code: &str) -> bool {
    error.code() == Some(code) || error.detail().is_some_and(|detail| detail.contains(&format!("{code} ")))
}

pub(super) fn is_away(error: &RedisError) -> bool {
    error.kind() == RedisKind::Io
}

/// Returns true if the same call may succeed later without any action.
pub(super) fn may_pass(error: &RedisError) -> bool {
    use ServerErrorKind::{MasterDown, TryAgain};
    let kind = error.kind();
    is_away(error)
        || is_elsewhere(error).is_some()
        || is_loading(error)
        || matches!(kind, RedisKind::Server(TryAgain | MasterDown))
        || error.code() == Some("BUSY")
}

/// Returns true while the server reads its files. A start may take minutes, and ends by itself.
pub(super) fn is_loading(error: &RedisError) -> bool {
    error.kind() == RedisKind::Server(ServerErrorKind::BusyLoading)
}

/// Returns why a server that answers cannot serve the call now, if another connection may help:
/// after a failover the primary's name, or a proxy, leads to another server.
pub(super) fn is_elsewhere(error: &RedisError) -> Option<&'static str> {
    [
        ("READONLY", "is a replica, which takes no writes; name the primary, or wait until it is one again"),
        ("NOREPLICAS", "has fewer replicas than min-replicas-to-write asks for; start them, or lower that"),
        ("CLUSTERDOWN", "is a node of a cluster that is down; mend the cluster"),
        ("max number of clients", "has as many clients as it takes; raise its maxclients, or stop some"),
    ]
    .into_iter()
    .find_map(|(code, why)| (says(error, code) || is_full_of_clients(error, code)).then_some(why))
}

/// Returns true for the error of too many clients, of which `words` are a part: it has no code, and
/// the server closes the connection after it.
fn is_full_of_clients(error: &RedisError, words: &str) -> bool {
    words.contains(' ') && error.to_string().contains(words)
}
