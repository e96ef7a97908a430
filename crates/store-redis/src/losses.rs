//! What a server has dropped by itself, and whether it would.
//!
//! A server with `maxmemory` and a policy of eviction drops documents, or parts of them, without a
//! word, and what is left answers as if it were whole. So the policy is looked at with every
//! connection, and how many keys it has dropped with every call: in a script in the same moment as
//! its work, beside the identity of the index.

use std::sync::{Mutex, MutexGuard, PoisonError};

use index::{Error, ErrorKind};

/// What `INFO` says of a server.
pub(super) struct Info<'a>(pub(super) &'a str);

impl<'a> Info<'a> {
    pub(super) fn field(&self, name: &str) -> Option<&'a str> {
        self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
    }

    /// How many keys it has dropped since it started.
    pub(super) fn n_evicted(&self) -> Option<u64> {
        self.field("evicted_keys")?.parse().ok()
    }

    /// The policy by which it would drop documents when it is full.
    pub(super) fn evicting_policy(&self) -> Option<&'a str> {
        let policy = self.field("maxmemory_policy").filter(|policy| !["", "noeviction"].contains(policy))?;
        self.field("maxmemory").filter(|&bytes| bytes != "0").map(|_| policy)
    }
}

/// How many keys a server had dropped when this process first saw it, by its run.
#[derive(Default)]
pub(super) struct Losses(Mutex<Option<(String, u64)>>);

/// What is new of a server's losses.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    None,
    /// It had dropped keys before this process came.
    Before(u64),
    /// It has dropped keys since.
    Since,
}

impl Losses {
    /// Takes note of what a new connection says.
    pub(super) fn see(&self, info: &Info<'_>) -> News {
        let (Some(run), Some(n)) = (info.field("run_id"), info.n_evicted()) else { return News::None };
        let mut seen = self.seen();
        match &*seen {
            Some((_, before)) if n > *before => News::Since,
            // A server that was started again counts anew.
            Some((of, _)) if of == run => News::None,
            before => {
                let is_first = before.is_none();
                *seen = Some((run.to_owned(), n));
                if is_first && n > 0 { News::Before(n) } else { News::None }
            }
        }
    }

    /// How many keys may have been dropped; nothing where the server does not tell.
    pub(super) fn n_known(&self) -> Option<u64> {
        self.seen().as_ref().map(|(_, n)| *n)
    }

    /// Says what was lost.
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
        // It is replaced as a whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
