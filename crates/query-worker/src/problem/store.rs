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
        if error.kind() == ErrorKind::InvalidArgument {
            return Self::bad_request(&error.to_string());
        }
        let problem = match error.kind() {
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
