//! Ids of requests, and the id of the request that the current task answers.
//!
//! This module knows neither what a request asks for nor how it is answered.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

/// Header that carries the id, from a client or proxy and in the answer.
const ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The most bytes of an id that is accepted from a client.
const ID_BYTES_MAX: usize = 64;

tokio::task_local! {
    static ID: RequestId;
}

/// Id of a request in the log, in its answer, and in every system that passed it on.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(HeaderValue);

impl RequestId {
    /// Returns the client's id if its characters are harmless in any log, else a new id.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let is_harmless = |id: &&HeaderValue| {
            let is_plain = |&byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            (1..=ID_BYTES_MAX).contains(&id.len()) && id.as_bytes().iter().all(is_plain)
        };
        headers.get(ID_HEADER).filter(is_harmless).map_or_else(Self::new, |id| Self(id.clone()))
    }

    /// Makes an id of a random number for the process and a counter for the request.
    pub(crate) fn new() -> Self {
        static PROCESS: LazyLock<u64> = LazyLock::new(|| Uuid::now_v7().as_u64_pair().1 & 0xffff_ffff);
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let id = format!("{:08x}-{}", *PROCESS, NUMBER.fetch_add(1, Ordering::Relaxed));
        Self(HeaderValue::try_from(id).expect("digits and a hyphen are a header's"))
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    /// Returns the header as a line of a message's head.
    pub(crate) fn header_line(&self) -> String {
        format!("{ID_HEADER}: {}", self.as_str())
    }

    /// Adds the header to an answer.
    pub(crate) fn write_to(self, headers: &mut HeaderMap) {
        headers.insert(ID_HEADER, self.0);
    }

    /// Runs the future that answers the request; within it [`urn`] is the request's.
    pub(crate) async fn answering<T>(self, answering: impl Future<Output = T>) -> T {
        ID.scope(self, answering).await
    }

    /// Runs a closure as [`Self::answering`] runs a future.
    pub(crate) fn answering_now<T>(self, answer: impl FnOnce() -> T) -> T {
        ID.sync_scope(self, answer)
    }
}

/// Returns the URN of the request that this task answers; `None` outside such a task.
pub(crate) fn urn() -> Option<String> {
    ID.try_with(|id| format!("urn:pigeonhole:request:{}", id.as_str())).ok()
}
