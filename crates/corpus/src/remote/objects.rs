//! What buckets and web servers have in common: requests made by object_store, and its errors in fewer words.

use std::error::Error as _;
use std::ops::Range;
use std::time::Duration;

use futures_util::StreamExt;
use object_store::client::{HttpClient, HttpConnector, ReqwestConnector};
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, Error, GetOptions, GetRange, GetResultPayload, ObjectMeta};
use object_store::{ObjectStore, ObjectStoreExt, RetryConfig};

use super::storage::{Content, Failure, Version};

/// Characters of an error that a server made up.
const WHY_CHARS_MAX: usize = 200;

/// For servers that are busy. What takes longer is tried again by who reads, whose patience is the user's.
pub(super) fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(200),
            max_backoff: Duration::from_secs(2),
            base: 2.0,
        },
        max_retries: 3,
        retry_timeout: Duration::from_secs(10),
    }
}

/// Without the bound of 30 s that object_store has on a whole answer, however much there is of it: who reads has one on
/// silence.
#[derive(Debug)]
pub(super) struct Unhurried;

impl HttpConnector for Unhurried {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        ReqwestConnector::default().connect(&options.clone().with_timeout_disabled())
    }
}

/// What a request for the head says. Some servers refuse those, and an address that is signed is so for one method, so a
/// refusal is asked for the whole, whose answer also says why.
pub(super) async fn look(store: &dyn ObjectStore, path: &Path) -> Result<Version, Error> {
    let meta = match store.head(path).await {
        Ok(meta) => meta,
        Err(_) => store.get(path).await?.meta,
    };
    Ok(version(meta))
}

/// The bytes from the beginning to the end of `range`.
pub(super) async fn open(
    store: &dyn ObjectStore,
    path: &Path,
    range: Option<Range<u64>>,
) -> Result<(Version, GetResultPayload), Error> {
    let options = GetOptions { range: range.map(GetRange::Bounded), ..GetOptions::default() };
    let result = store.get_opts(path, options).await?;
    Ok((version(result.meta), result.payload))
}

/// As a stream whose errors may pass.
pub(super) fn content(payload: GetResultPayload) -> Content {
    // The only kind there is without object_store's local file system.
    let GetResultPayload::Stream(stream) = payload;
    stream.map(|bytes| bytes.map_err(|error| Failure::Passing(why(&error)))).boxed()
}

pub(super) fn version(meta: ObjectMeta) -> Version {
    // Lists have fractions of seconds where heads have none. What is not said is 1970 to object_store.
    let seconds = meta.last_modified.timestamp();
    Version { n_bytes: meta.size, e_tag: meta.e_tag, modified_ms: (seconds > 0).then_some(seconds * 1000) }
}

/// `advice` is for those who are refused.
pub(super) fn failure(error: &Error, advice: &str) -> Failure {
    let why = why(error);
    match error {
        Error::NotFound { .. } => Failure::NotFound(why),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            Failure::Final(format!("{why}; {advice}"))
        }
        // Of a list it is no kind of its own, nor has the cause a type with a name.
        error if error.to_string().contains("status code: 403") => Failure::Final(format!("{why}; {advice}")),
        Error::InvalidPath { .. } => Failure::Final(format!(
            "{why}; with a name like this among them the names in a bucket cannot be listed: rename it, or name each file"
        )),
        Error::NotSupported { .. } | Error::NotImplemented { .. } => Failure::Final(why),
        _ => Failure::Passing(why),
    }
}

/// The innermost cause. Those around it name the address with its query, which is not for logs.
pub(super) fn why(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    let mut next = error.source();
    while let Some(source) = next {
        (cause, next) = (source, source.source());
    }
    let text = cause.to_string();
    let field = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        rest.split_once("</").map(|(value, _)| value)
    };
    let text = match (field("Code"), field("Message")) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        _ => text.trim_start_matches("Server returned non-2xx status code: ").to_owned(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(WHY_CHARS_MAX).collect::<String>().trim_end_matches([':', ' ']).to_owned()
}
