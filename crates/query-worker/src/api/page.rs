//! The page for people, at `/`. It holds no data: scripts ask the API, with the key that the user
//! enters.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

use crate::worker::Worker;

/// Content security policy: scripts, styles and answers come from this worker only, no other page
/// may frame this one, and scripts cannot make markup of a text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Path, content type and content of each file of the page.
const FILES: [(&str, &str, &str); 24] = [
    ("/", HTML, include_str!("page/page.html")),
    ("/page.css", CSS, include_str!("page/page.css")),
    ("/page.svg", SVG, include_str!("page/page.svg")),
    ("/page.js", JS, include_str!("page/page.js")),
    ("/page/address.js", JS, include_str!("page/address.js")),
    ("/page/answer.js", JS, include_str!("page/answer.js")),
    ("/page/api.js", JS, include_str!("page/api.js")),
    ("/page/browse.js", JS, include_str!("page/browse.js")),
    ("/page/cluster.js", JS, include_str!("page/cluster.js")),
    ("/page/common.js", JS, include_str!("page/common.js")),
    ("/page/compare.js", JS, include_str!("page/compare.js")),
    ("/page/differences.js", JS, include_str!("page/differences.js")),
    ("/page/document.js", JS, include_str!("page/document.js")),
    ("/page/dom.js", JS, include_str!("page/dom.js")),
    ("/page/explain.js", JS, include_str!("page/explain.js")),
    ("/page/figures.js", JS, include_str!("page/figures.js")),
    ("/page/file.js", JS, include_str!("page/file.js")),
    ("/page/find.js", JS, include_str!("page/find.js")),
    ("/page/hits.js", JS, include_str!("page/hits.js")),
    ("/page/keys.js", JS, include_str!("page/keys.js")),
    ("/page/links.js", JS, include_str!("page/links.js")),
    ("/page/listing.js", JS, include_str!("page/listing.js")),
    ("/page/start.js", JS, include_str!("page/start.js")),
    ("/page/words.js", JS, include_str!("page/words.js")),
];

pub(super) fn paths() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|&(path, ..)| path)
}

pub(super) fn routes(router: Router<Arc<Worker>>) -> Router<Arc<Worker>> {
    FILES.iter().fold(router, |router, &(path, kind, content)| {
        let digest = Sha256::digest(content.as_bytes());
        let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let tag = HeaderValue::try_from(format!("\"{hex}\"")).expect("digits in quotes are a header's");
        router.route(path, get(async move |asked: HeaderMap| file(kind, content, &tag, &asked)))
    })
}

fn file(kind: &'static str, content: &'static str, tag: &HeaderValue, asked: &HeaderMap) -> Response {
    // Revalidated each time, so that all parts come from one worker; an unchanged file is not sent
    // again.
    let headers: [(HeaderName, HeaderValue); 7] = [
        (CONTENT_TYPE, HeaderValue::from_static(kind)),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (ETAG, tag.clone()),
    ];
    if has(asked, tag) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, Body::from(content)).into_response()
}

/// Returns true if the client has the current file. A proxy that compresses the file makes its tag
/// a weak one.
fn has(asked: &HeaderMap, tag: &HeaderValue) -> bool {
    let listed = asked.get_all(IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    let mut listed = listed.flat_map(|tags| tags.split(',')).map(str::trim);
    listed.any(|listed| listed == "*" || listed.trim_start_matches("W/").as_bytes() == tag.as_bytes())
}
