//! Common parts of buckets and web servers: requests made by object_store, and its errors in fewer
//! words.

use std::error::Error as _;
use std::ops::Range;
use std::time::Duration;

use futures_util::StreamExt;
use object_store::client::{HttpClient, HttpConnector, ReqwestConnector};
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, Error, GetOptions, GetRange, GetResultPayload, ObjectMeta};
use object_store::{ObjectStore, ObjectStoreExt, RetryConfig};

use super::storage::{Content, Failure, Version};

/// Maximum number of characters of an error worded by a server.
const WHY_CHARS_MAX: usize = 200;

/// Retries for busy servers. Longer outages are retried by the reader, with the user's patience.
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

/// Connector without object_store's limit of 30 s on a whole answer of any length: the reader
/// limits silence instead.
#[derive(Debug)]
pub(super) struct Unhurried;

impl HttpConnector for Unhurried {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        ReqwestConnector::default().connect(&options.clone().with_timeout_disabled())
    }
}

/// Returns the version of a file, from a HEAD request. Some servers refuse HEAD, and a signed
/// address is valid for one method. After a refusal the whole file is requested, whose answer also
/// gives the reason.
pub(super) async fn look(store: &dyn ObjectStore, path: &Path) -> Result<Version, Error> {
    let meta = match store.head(path).await {
        Ok(meta) => meta,
        Err(_) => store.get(path).await?.meta,
    };
    Ok(version(meta))
}

/// Opens the bytes of `range`, or the whole file without one.
pub(super) async fn open(
    store: &dyn ObjectStore,
    path: &Path,
    range: Option<Range<u64>>,
) -> Result<(Version, GetResultPayload), Error> {
    let options = GetOptions { range: range.map(GetRange::Bounded), ..GetOptions::default() };
    let result = store.get_opts(path, options).await?;
    Ok((version(result.meta), result.payload))
}

/// Returns the payload as a stream, whose errors are passing ones.
pub(super) fn content(payload: GetResultPayload) -> Content {
    // The only variant without object_store's local file system.
    let GetResultPayload::Stream(stream) = payload;
    stream.map(|bytes| bytes.map_err(|error| Failure::Passing(why(&error)))).boxed()
}

pub(super) fn version(meta: ObjectMeta) -> Version {
    // Times in lists have fractions of seconds, unlike those of HEAD. object_store gives 1970 for
    // an absent time.
    let seconds = meta.last_modified.timestamp();
    Version { n_bytes: meta.size, e_tag: meta.e_tag, modified_ms: (seconds > 0).then_some(seconds * 1000) }
}

/// Classifies an error; `advice` is added to a refusal.
pub(super) fn failure(error: &Error, advice: &str) -> Failure {
    let why = why(error);
    match error {
        Error::NotFound { .. } => Failure::NotFound(why),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            Failure::Final(format!("{why}; {advice}"))
        }
        // A refused list has no variant of its own, and its cause no named type.
        error if error.to_string().contains("status code: 403") => Failure::Final(format!("{why}; {advice}")),
        Error::InvalidPath { .. } => Failure::Final(format!(
            "{why}; with a name like this among them the names in a bucket cannot be listed: rename it, or name each file"
        )),
        Error::NotSupported { .. } | Error::NotImplemented { .. } => Failure::Final(why),
        _ => Failure::Passing(why),
    }
}

/// Returns the innermost cause. Those around it name the address with its query, which must stay
/// out of logs.
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
