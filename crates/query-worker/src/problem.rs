//! Problems: every failure that a client is told, and their one body, `application/problem+json`
//! (RFC 9457).
//!
//! The texts for clients stand here, so that each failure reads alike wherever it is detected.
//! Detection belongs elsewhere, and so does the log line, which `request` writes; only store
//! failures are logged in `store`.

mod kind;
mod store;

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

pub(crate) use self::kind::Kind;
use crate::request_id;

/// The most characters of a detail that quotes the client's input.
const DETAIL_CHARS_MAX: usize = 1000;

/// End of a detail, for failures after which a write may have been done.
const MAY_BE_DONE: &str = "what it was to write may have been written, or be yet: with an id of its own the same request is \
                           safe to repeat, and is answered `unchanged` then";

/// A failure, in the terms of the client.
#[derive(Clone, Debug)]
pub struct Problem {
    kind: Kind,
    title: &'static str,
    detail: String,
}

/// JSON of a problem, as an answer of its own or as a line of a batch.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct Body {
    /// Stable identifier of the kind of problem, for programs.
    r#type: String,
    title: &'static str,
    status: u16,
    /// Remedy, for people.
    detail: String,
    /// The request, as a URN of the answer's header `X-Request-Id`. A line of a batch has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
}

impl Problem {
    pub(crate) fn body(&self) -> Body {
        Body {
            r#type: self.kind.urn(),
            title: self.title,
            status: self.status().as_u16(),
            detail: self.detail.clone(),
            instance: request_id::urn(),
        }
    }

    fn new(kind: Kind, title: &'static str, detail: impl Into<String>) -> Self {
        Self { kind, title, detail: detail.into() }
    }

    /// 400: the request is not understood.
    #[must_use]
    pub fn bad_request(detail: &str) -> Self {
        // A parser's message may quote the whole input.
        let detail: String = detail.chars().take(DETAIL_CHARS_MAX).collect();
        Self::new(Kind::BadRequest, "The request is not understood", detail)
    }

    /// 400: plain HTTP, where HTTPS is served.
    #[must_use]
    pub(crate) fn needs_tls() -> Self {
        let detail = "this port speaks HTTPS; begin the address with https://";
        Self::new(Kind::NeedsTls, "The request is not encrypted", detail)
    }

    /// 401: the request has no key.
    #[must_use]
    pub fn no_key() -> Self {
        let detail = "this needs a key: send the header `Authorization: Bearer KEY`";
        Self::new(Kind::NoKey, "The request has no key", detail)
    }

    /// 401: the request's key is unknown, or no longer in force.
    #[must_use]
    pub fn unknown_key() -> Self {
        let detail = "the key is not known, or not any more; ask the operator of this worker for another";
        Self::new(Kind::UnknownKey, "The key is not known", detail)
    }

    /// 403: the key is in force, but lacks the scope of the operation.
    #[must_use]
    pub fn wrong_scope(needed: &str) -> Self {
        let detail = format!("this needs a key with the scope `{needed}`, which this key has not");
        Self::new(Kind::WrongScope, "The key is not for this", detail)
    }

    /// 403: a page of another site asks.
    #[must_use]
    pub fn cross_origin() -> Self {
        let detail = "pages of other sites are not answered without keys (--keys)";
        Self::new(Kind::CrossOrigin, "A page of another site asks", detail)
    }

    /// 400: a request without the header `Host`, or with two.
    #[must_use]
    pub fn no_host() -> Self {
        Self::bad_request("a request of HTTP/1.1 has one header `Host` (RFC 9112, 3.2)")
    }

    /// 421: the worker is asked by a name that is not known to be its own.
    #[must_use]
    pub fn unknown_host() -> Self {
        let detail = "without keys the worker is asked by an IP address, as localhost, or by a name of --allowed-host, for the \
                      sake of browsers that are lied to about names; the header `Host` has none of these";
        Self::new(Kind::UnknownHost, "The worker is not known by this name", detail)
    }

    /// 429: the key has as many requests under way as its `requests_max`.
    #[must_use]
    pub fn too_many_requests() -> Self {
        let detail = "as many requests with this key are under way as it may have (requests_max); try again in a second";
        Self::new(Kind::TooManyRequests, "Too many requests with this key", detail)
    }

    /// 404: no document has this id.
    #[must_use]
    pub fn no_such_document() -> Self {
        let detail = "no document has this id: it never came, was a duplicate, was removed, or has expired; in a path, an id \
                      is percent-encoded";
        Self::new(Kind::NoSuchDocument, "No such document", detail)
    }

    /// 404: the document is in the index, and its text is at hand neither there nor in this worker.
    #[must_use]
    pub fn no_text(index_keeps_texts: bool, gives_texts: bool) -> Self {
        const LATELY: &str = "this worker was not given this one since it started, or had to make room for others \
             (--recent-texts-bytes-max)";
        let detail = match (gives_texts, index_keeps_texts) {
            (false, _) => {
                "this worker keeps no texts and gives none out (--recent-texts-bytes-max 0)".to_owned()
            }
            (true, true) => format!("the document came to the index without its text, and {LATELY}"),
            (true, false) => format!("the index keeps no texts (--texts), and {LATELY}"),
        };
        Self::new(Kind::NoText, "The text is not kept", detail)
    }

    /// 404: the API has no such path.
    #[must_use]
    pub fn not_found(path: &str) -> Self {
        let detail =
            format!("there is no {path}; try POST /v1/query, POST /v1/documents or GET /openapi.json");
        Self::new(Kind::NotFound, "No such path", detail)
    }

    /// 405: the path is known, but not with this method.
    #[must_use]
    pub fn method_not_allowed(method: &Method, path: &str, known: &str) -> Self {
        let detail = format!("{path} answers {known}, not {method}");
        Self::new(Kind::MethodNotAllowed, "The path does not answer this method", detail)
    }

    /// 408: the body did not arrive in time.
    #[must_use]
    pub fn too_slow(wait: Duration) -> Self {
        let detail = format!(
            "the request body did not arrive within {} seconds (--body-seconds-max)",
            wait.as_secs_f64()
        );
        Self::new(Kind::TooSlow, "The request is too slow", detail)
    }

    /// 408: the answers to a batch are not read. The lines before this one are done.
    #[must_use]
    pub fn unread(wait: Duration) -> Self {
        let detail = format!(
            "the answers were not read within {} seconds while lines were sent; the lines before this one are done, this one \
             and those after it are not: send them again, and read answers while sending, or send fewer lines at once",
            wait.as_secs_f64()
        );
        Self::new(Kind::TooSlow, "The answers are not read", detail)
    }

    /// 413: the body is larger than `--body-bytes-max`.
    #[must_use]
    pub fn too_large(body_bytes_max: usize) -> Self {
        let detail = format!("a request body may have {body_bytes_max} bytes (--body-bytes-max)");
        Self::new(Kind::TooLarge, "The request body is too large", detail)
    }

    /// 414: the path with its query is longer than any that the API answers.
    #[must_use]
    pub fn uri_too_long(uri_bytes_max: usize) -> Self {
        let detail = format!(
            "the path of a request may have {uri_bytes_max} bytes, with its query; what is long belongs into the body"
        );
        Self::new(Kind::UriTooLong, "The address of the request is too long", detail)
    }

    /// 415: the body has a `Content-Encoding`.
    #[must_use]
    pub fn encoded() -> Self {
        let detail = "send the request body as it is, without a Content-Encoding";
        Self::new(Kind::Encoded, "The request body is packed", detail)
    }

    /// 413: a line of a batch is larger than `--body-bytes-max`.
    #[must_use]
    pub fn line_too_long(line_bytes_max: usize) -> Self {
        let detail = format!("a line may have {line_bytes_max} bytes (--body-bytes-max)");
        Self::new(Kind::TooLarge, "The line is too long", detail)
    }

    /// 422: the text has no features, so it can be neither found nor indexed.
    #[must_use]
    pub fn no_features() -> Self {
        let detail = "the text has nothing to compare: it is empty, or, in an index of simhashes alone, holds only punctuation or \
                      stop words";
        Self::new(Kind::NoFeatures, "The text has no features", detail)
    }

    /// 413: a text is longer than `--text-bytes-max`.
    #[must_use]
    pub fn text_too_long(text_bytes_max: usize) -> Self {
        let detail = format!("a text may have {text_bytes_max} bytes (--text-bytes-max)");
        Self::new(Kind::TextTooLong, "The text is too long", detail)
    }

    /// 413: a batch has more lines than `--batch-lines-max`. The lines before this one are
    /// answered.
    #[must_use]
    pub fn too_many_lines(batch_lines_max: u64) -> Self {
        let detail =
            format!("a batch may have {batch_lines_max} lines (--batch-lines-max); send the rest in another");
        Self::new(Kind::TooManyLines, "The batch has too many lines", detail)
    }

    /// 503: a request took too long. Its write may still be done.
    #[must_use]
    pub fn timeout(wait: Duration) -> Self {
        let detail = format!(
            "the request was not done within {} seconds (--request-seconds-max); {MAY_BE_DONE}",
            wait.as_secs_f64()
        );
        Self::new(Kind::Timeout, "The request took too long", detail)
    }

    /// 503: earlier lines of a batch took too long, and the batch ends. Neither this line nor any
    /// later one was taken.
    #[must_use]
    pub(crate) fn not_begun(wait: Duration) -> Self {
        let detail = format!(
            "lines before this one were not done within {} seconds (--request-seconds-max), and the batch ends; \
             this one and those after it are not done: send them again",
            wait.as_secs_f64()
        );
        Self::new(Kind::Timeout, "The batch took too long", detail)
    }

    /// 503: the worker is about to end. Of a batch, neither this line nor any later one was taken.
    #[must_use]
    pub fn stopping() -> Self {
        let detail = "the worker is stopping; send this, and what came after it, again";
        Self::new(Kind::Stopping, "The worker is stopping", detail)
    }

    /// 503: the worker has no room for more work.
    #[must_use]
    pub fn busy(what: &str) -> Self {
        let detail = format!("{what}; try again in a second");
        Self::new(Kind::Busy, "The worker is busy", detail)
    }

    /// 503: `--connections-max` connections are open.
    #[must_use]
    pub(crate) fn too_many_connections(connections_max: u32) -> Self {
        let detail = format!(
            "{connections_max} connections are open, and none is idle (--connections-max); try again in a second"
        );
        Self::new(Kind::TooManyConnections, "The worker has no place for one connection more", detail)
    }

    /// 400 or 431: the head is not a request that the worker can handle.
    #[must_use]
    pub(crate) fn bad_head(status: StatusCode, head_bytes_max: usize) -> Self {
        match status {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
                let detail = format!(
                    "the head of a request may have {head_bytes_max} bytes, its first line included, and 100 headers; \
                     what is long belongs into the body"
                );
                Self::new(Kind::HeadTooLarge, "The head of the request is too large", detail)
            }
            _ => {
                let detail = "what came is no request as HTTP/1.1 has it (RFC 9112); for HTTP/2 put a proxy before this";
                Self::new(Kind::NotHttp, "The request is not HTTP", detail)
            }
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.kind.status()
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.kind.name()
    }

    /// Whether the store could not be used.
    pub(crate) fn is_outage(&self) -> bool {
        matches!(self.kind, Kind::StoreUnavailable)
    }

    /// Returns true if the same request may succeed soon.
    fn passes(&self) -> bool {
        matches!(self.status(), StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS)
    }

    /// Returns the whole answer as bytes, for a connection without a parsed request. `id_header` is
    /// a line of the head.
    pub(crate) fn as_http1(&self, id_header: &str) -> Vec<u8> {
        // A struct of strings and numbers always serializes.
        let body = serde_json::to_string(&self.body()).unwrap_or_default();
        let retry = if self.passes() { "retry-after: 1\r\n" } else { "" };
        let (status, length) = (self.status(), body.len());
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\n{id_header}\r\n{retry}content-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }

    /// 500: a failure of the worker itself.
    #[must_use]
    pub fn internal() -> Self {
        let detail = "the request could not be finished; the worker's log says why";
        Self::new(Kind::Internal, "The worker failed", detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(self.body())).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status() == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.passes() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
