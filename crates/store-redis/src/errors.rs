//! Kinds of errors of the server, by which calls decide what may pass.

use redis::{ErrorKind as RedisKind, RedisError, ServerErrorKind};

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
