//! The ids of requests: which one a request has, and which one is being answered.
//!
//! What is done under an id belongs elsewhere: this knows nothing of what a request asks for, or how it is answered.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

/// Where a client or a proxy says the id of a request, and where the answer says it.
const ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id that is taken from a client.
const ID_BYTES_MAX: usize = 64;

tokio::task_local! {
    static ID: RequestId;
}

/// The name of a request in the log, in its answer, and wherever else it came by.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(HeaderValue);

impl RequestId {
    /// The client's, where it is harmless wherever it is written, or a new one.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let is_harmless = |id: &&HeaderValue| {
            let is_plain = |&byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            (1..=ID_BYTES_MAX).contains(&id.len()) && id.as_bytes().iter().all(is_plain)
        };
        headers.get(ID_HEADER).filter(is_harmless).map_or_else(Self::new, |id| Self(id.clone()))
    }

    /// Chance tells this process from others, and a number its requests.
    pub(crate) fn new() -> Self {
        static PROCESS: LazyLock<u64> = LazyLock::new(|| Uuid::now_v7().as_u64_pair().1 & 0xffff_ffff);
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let id = format!("{:08x}-{}", *PROCESS, NUMBER.fetch_add(1, Ordering::Relaxed));
        Self(HeaderValue::try_from(id).expect("digits and a hyphen are a header's"))
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    /// The line of a head that says it.
    pub(crate) fn header_line(&self) -> String {
        format!("{ID_HEADER}: {}", self.as_str())
    }

    /// Says it in an answer.
    pub(crate) fn write_to(self, headers: &mut HeaderMap) {
        headers.insert(ID_HEADER, self.0);
    }

    /// What answers the request: within it [`urn`] is that of the request.
    pub(crate) async fn answering<T>(self, answering: impl Future<Output = T>) -> T {
        ID.scope(self, answering).await
    }

    /// As [`Self::answering`], where nothing is waited for.
    pub(crate) fn answering_now<T>(self, answer: impl FnOnce() -> T) -> T {
        ID.sync_scope(self, answer)
    }
}

/// The URN of the request that is being answered; none outside of its task.
pub(crate) fn urn() -> Option<String> {
    ID.try_with(|id| format!("urn:pigeonhole:request:{}", id.as_str())).ok()
}
