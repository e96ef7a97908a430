//! Problems of the store, with their log lines.

use std::time::Duration;

use axum::http::StatusCode;
use index::ErrorKind;
use tracing::error;

use super::{Kind, MAY_BE_DONE, Problem};

/// Log target of store failures. Operators filter by this name, so it stays when the code moves.
const STORE_TARGET: &str = "query_worker::api::problem";

impl Problem {
    /// 503: the store took too long to report its state.
    #[must_use]
    pub fn not_ready(wait: Duration) -> Self {
        let detail =
            format!("the store did not answer within {} seconds; try again in a second", wait.as_secs());
        Self::store_unavailable(detail)
    }

    /// 503: the store cannot be used, for any reason.
    #[must_use]
    pub fn unready(error: index::Error) -> Self {
        let problem = Self::from(error);
        if problem.status() == StatusCode::SERVICE_UNAVAILABLE {
            return problem;
        }
        Self::store_unavailable("the store is damaged, or fails in another way; the worker's log says how")
    }

    fn store_unavailable(detail: impl Into<String>) -> Self {
        Self::new(Kind::StoreUnavailable, "The store cannot be used now", detail)
    }
}

impl From<index::Error> for Problem {
    fn from(error: index::Error) -> Self {
        let problem = match error.kind() {
            // Requests are checked before a store is called, so the client is not at fault. The
            // error may name files and servers, which are not for the client.
            ErrorKind::InvalidArgument => Self::store_unavailable(
                "the store cannot be used as it is set up: its address, its server or one of its files is wrong; the \
                 worker's log says which",
            ),
            ErrorKind::NotFound => Self::store_unavailable(
                "the store has no index any more, or not the one that this worker has open; restore it, or restart the worker",
            ),
            ErrorKind::Busy => Self::store_unavailable(
                "others keep this worker from the store, and its log says how; the same request may succeed later",
            ),
            ErrorKind::Replaced => Self::store_unavailable(
                "the store has another index than the one that this worker was started with; start the worker again",
            ),
            ErrorKind::Disabled => Self::store_unavailable(
                "the store was switched off by those who run it; the worker's log says what switches it on again",
            ),
            ErrorKind::StorageFull if error.has_written_nothing() => Self::store_unavailable(
                "the store is full; nothing was written, and the same request succeeds once there is room, which \
                 removing documents needs too",
            ),
            ErrorKind::StorageFull => {
                Self::store_unavailable(format!("the store is full, and needs room; {MAY_BE_DONE}"))
            }
            kind if kind.is_transient() => Self::store_unavailable(format!(
                "the store did not answer; the same request may succeed later; {MAY_BE_DONE}"
            )),
            _ => Self::internal(),
        };
        error!(target: STORE_TARGET, error = format!("{:#}", anyhow::Error::from(error)), "the store failed");
        problem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: the client of a store that writes a call whole or not at all was told that some
    /// of it may have been written.
    #[test]
    fn a_full_store_that_has_written_nothing() {
        let error = || index::Error::new(ErrorKind::StorageFull, "the disk is full");
        let (unknown, nothing) = (Problem::from(error()), Problem::from(error().having_written_nothing()));
        for (problem, says) in [(unknown, "may have been written"), (nothing, "nothing was written")] {
            assert_eq!((problem.status().as_u16(), problem.kind()), (503, "store-unavailable"));
            assert!(problem.body().detail.contains(says));
        }
    }

    /// Regression: the client was told that its request was wrong, and the path of a file.
    #[test]
    fn a_store_that_is_set_up_wrongly_is_no_mistake_of_the_client() {
        let error = || index::Error::invalid("the password file /run/secret cannot be read");
        for problem in [Problem::from(error()), Problem::unready(error())] {
            assert_eq!((problem.status().as_u16(), problem.kind()), (503, "store-unavailable"));
            assert!(!problem.body().detail.contains("secret"));
        }
    }
}
