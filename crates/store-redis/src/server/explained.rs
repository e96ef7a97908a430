//! Errors of the server, with a message and a remedy for each.

use std::sync::atomic::Ordering;

use index::{Error, ErrorKind};
use redis::{ErrorKind as RedisKind, RedisError, ServerErrorKind};

use super::Server;
use crate::errors::{is_elsewhere, may_pass, says};
use crate::layout::damaged;

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
