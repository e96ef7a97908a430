//! Keys dropped by the server itself, and the policy under which it would drop some.
//!
//! A server with `maxmemory` and a policy of eviction drops documents, or parts of them, silently,
//! and the rest answers as if it were whole. So the policy is checked with every connection, and
//! the number of dropped keys with every call: in a script in the same moment as its work, beside
//! the identity of the index.

use std::sync::{Mutex, MutexGuard, PoisonError};

use index::{Error, ErrorKind};
use redis::{Cmd, Connection, RedisResult, Value};

/// The text of `INFO` from a server.
pub(super) struct Info<'a>(pub(super) &'a str);

impl<'a> Info<'a> {
    pub(super) fn field(&self, name: &str) -> Option<&'a str> {
        self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
    }

    /// The number of keys dropped since the server started.
    pub(super) fn n_evicted(&self) -> Option<u64> {
        self.field("evicted_keys")?.parse().ok()
    }

    /// The policy by which a full server would drop documents; `None` where it drops none.
    pub(super) fn evicting_policy(&self) -> Option<&'a str> {
        let policy = self.field("maxmemory_policy").filter(|policy| !["", "noeviction"].contains(policy))?;
        self.field("maxmemory").filter(|&bytes| bytes != "0").map(|_| policy)
    }
}

/// The number of keys a server had dropped when this process first saw it, with the server's run
/// id.
#[derive(Default)]
pub(super) struct Losses(Mutex<Option<(String, u64)>>);

/// The news from a new connection about dropped keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    None,
    /// The server had dropped keys before this process came.
    Before(u64),
    /// The server has dropped keys since.
    Since,
}

impl Losses {
    /// Notes the report of a new connection, and returns the news.
    pub(super) fn see(&self, info: &Info<'_>) -> News {
        let (Some(run), Some(n)) = (info.field("run_id"), info.n_evicted()) else { return News::None };
        let mut seen = self.seen();
        match &*seen {
            Some((_, before)) if n > *before => News::Since,
            // A restarted server counts from zero, and one whose statistics were reset.
            Some((of, before)) if of == run && n == *before => News::None,
            before => {
                let is_first = before.is_none();
                *seen = Some((run.to_owned(), n));
                if is_first && n > 0 { News::Before(n) } else { News::None }
            }
        }
    }

    /// The number of keys that may have been dropped; `None` where the server does not report it.
    pub(super) fn n_known(&self) -> Option<u64> {
        self.seen().as_ref().map(|(_, n)| *n)
    }

    /// The error of a server that has dropped keys.
    pub(super) fn lost(&self, address: &str) -> Error {
        Error::new(
            ErrorKind::Corrupt,
            format!(
                "Redis at {address} has dropped keys because it was full, documents of this index may be among them; run \
                 `redis-cli CONFIG SET maxmemory-policy noeviction`, look with `pigeonhole verify` what is missing, insert \
                 it again, and start this program again"
            ),
        )
    }

    fn seen(&self) -> MutexGuard<'_, Option<(String, u64)>> {
        // The value is replaced as a whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The replies to a command and to the query for news, sent together. The first missing reply ends
/// the call: a pipeline of the library would wait as long for each of the others.
pub(super) fn with_news(connection: &mut Connection, command: &Cmd) -> RedisResult<[Value; 2]> {
    let news = redis::cmd("INFO").arg("stats").get_packed_command();
    connection.send_packed_command(&[command.get_packed_command(), news].concat())?;
    Ok([connection.recv_response()?, connection.recv_response()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_seen_once() {
        let losses = Losses::default();
        let info = |run: &str, n: u64| format!("# Server\r\nrun_id:{run}\r\n# Stats\r\nevicted_keys:{n}\r\n");
        for (run, n, expected, known) in [
            ("", 3, News::Before(3), 3),
            ("", 3, News::None, 3),
            ("", 4, News::Since, 3),
            ("b", 1, News::None, 1),
            ("b", 2, News::Since, 1),
            ("b", 0, News::None, 0),
            ("b", 1, News::Since, 0),
        ] {
            assert_eq!(losses.see(&Info(&info(run, n))), expected, "{run} {n}");
            assert_eq!(losses.n_known(), Some(known));
        }
        assert_eq!(Losses::default().see(&Info("")), News::None);
    }

    #[test]
    fn policies() {
        for (info, expected) in [
            ("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n", None),
            ("maxmemory:9\r\nmaxmemory_policy:noeviction\r\n", None),
            ("maxmemory:9\r\nmaxmemory_policy:allkeys-lru\r\n", Some("allkeys-lru")),
        ] {
            assert_eq!(Info(info).evicting_policy(), expected);
        }
    }
}
