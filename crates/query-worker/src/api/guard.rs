//! Checks before every route: the host name, the length of the path, the key, the page that asks
//! and the coding of the body. The guard also bounds the time of a request. The [rules] state the
//! scope of each operation.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CONTENT_ENCODING, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access::keys::Scope;
use crate::access::{Access, Pass, rules};
use crate::problem::Problem;

/// The most bytes of a path with its query. The longest useful path has the longest id, with each
/// byte escaped.
const URI_BYTES_MAX: usize = 16 << 10;

pub(super) struct Guard {
    access: Access,
    request_wait_max: Duration,
}

impl Guard {
    pub(super) fn new(access: Access, request_wait_max: Duration) -> Self {
        Self { access, request_wait_max }
    }
}

/// Returns the scope that a request needs.
fn needs(method: &Method, path: &str) -> Option<Scope> {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    if method == Method::GET && super::is_open(path) { None } else { rules::needs(method, path) }
}

/// Middleware: admits or refuses a request, and ends one that takes too long. Work already begun
/// keeps its place until its end. The answer holds the [`Pass`].
pub(super) async fn guard(
    State(guard): State<Arc<Guard>>,
    path: Option<MatchedPath>,
    mut request: Request,
    next: Next,
) -> Response {
    take_host_of_target(&mut request);
    if let Err(problem) = check_host(request.version(), request.headers(), guard.access.hosts.as_deref()) {
        return problem.into_response();
    }
    if request.uri().path_and_query().is_some_and(|path| path.as_str().len() > URI_BYTES_MAX) {
        return Problem::uri_too_long(URI_BYTES_MAX).into_response();
    }
    let mut pass = None;
    // An unknown path is answered 404 to every client.
    if let (Some(keys), Some(path)) = (&guard.access.keys, &path)
        && let Some(needs) = needs(request.method(), path.as_str())
    {
        match Pass::new(keys, request.headers(), needs) {
            Ok(new) => {
                request.extensions_mut().insert(new.clone());
                pass = Some(new);
            }
            Err(problem) => return problem.into_response(),
        }
    }
    if guard.access.keys.is_none() && is_of_another_site(request.headers()) {
        return Problem::cross_origin().into_response();
    }
    let is_plain = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"identity");
    if !request.headers().get_all(CONTENT_ENCODING).iter().all(is_plain) {
        return Problem::encoded().into_response();
    }
    let answer = tokio::time::timeout(guard.request_wait_max, next.run(request)).await;
    let mut answer = answer.unwrap_or_else(|_| Problem::timeout(guard.request_wait_max).into_response());
    if let Some(pass) = pass {
        // The pass keeps its permit until the client has read the answer.
        answer.extensions_mut().insert(pass);
    }
    answer
}

/// Returns true if a page of another site sent the request, which browsers report in `Origin`.
/// Without keys such a request would be admitted, because the browser may run on this machine.
fn is_of_another_site(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let site =
        origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, site)| site.as_bytes());
    site.is_none() || site != headers.get(HOST).map(HeaderValue::as_bytes)
}

/// Replaces `Host` by the name in a target of absolute form, which takes precedence (RFC 9112,
/// 3.2.2). Two `Host` headers stay, to be refused.
fn take_host_of_target(request: &mut Request) {
    let host = request.uri().authority().map(|of_target| HeaderValue::from_str(of_target.as_str()));
    if let Some(Ok(host)) = host
        && request.headers().get_all(HOST).iter().count() == 1
    {
        request.headers_mut().insert(HOST, host);
    }
}

/// Checks the name in `Host`. A hostile page may have its own name resolve to an address of this
/// machine (DNS rebinding): its browser then treats the worker as the page's site, but still sends
/// the page's name.
fn check_host(version: Version, headers: &HeaderMap, hosts: Option<&[String]>) -> Result<(), Problem> {
    let mut named = headers.get_all(HOST).iter();
    let (host, more) = (named.next(), named.next());
    let Some(host) = host.filter(|_| more.is_none()) else {
        // HTTP/1.0 has no such header, and no browser speaks it.
        return if version < Version::HTTP_11 && more.is_none() { Ok(()) } else { Err(Problem::no_host()) };
    };
    let Some(hosts) = hosts else { return Ok(()) };
    let authority = Authority::try_from(host.as_bytes()).map_err(|_| Problem::unknown_host())?;
    let name = authority.host().trim_end_matches('.');
    let is_address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
    let is_known = |known: &String| name.eq_ignore_ascii_case(known.trim_end_matches('.'));
    if is_address || name.eq_ignore_ascii_case("localhost") || hosts.iter().any(is_known) {
        return Ok(());
    }
    Err(Problem::unknown_host())
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::middleware;
    use axum::routing::get;
    use tower_service::Service;

    use super::*;

    #[test]
    fn pages_of_other_sites() {
        for (origin, host, is_other) in [
            (None, "localhost:8080", false),
            (Some("http://localhost:8080"), "localhost:8080", false),
            (Some("http://localhost:8081"), "localhost:8080", true),
            (Some("https://example.org"), "localhost:8080", true),
            (Some("null"), "localhost:8080", true),
            (Some(""), "localhost:8080", true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            headers.extend(origin.map(|origin| (ORIGIN, HeaderValue::from_static(origin))));
            assert_eq!(is_of_another_site(&headers), is_other, "{origin:?}");
        }
    }

    #[test]
    fn names_by_which_it_is_asked() {
        let hosts = vec!["worker.example".to_owned()];
        for (named, any, own) in [
            (&["localhost"][..], 200, 200),
            (&["LocalHost.:8080"], 200, 200),
            (&["127.0.0.1:8080"], 200, 200),
            (&["192.0.2.1"], 200, 200),
            (&["[::1]:8080"], 200, 200),
            (&["worker.example:8080"], 200, 200),
            (&["Worker.Example"], 200, 200),
            (&["evil.example:8080"], 200, 421),
            (&["127.0.0.1.evil.example"], 200, 421),
            (&["localhost.evil.example"], 200, 421),
            (&["xlocalhost"], 200, 421),
            (&[""], 200, 421),
            (&["\"localhost\""], 200, 421),
            (&[], 400, 400),
            (&["localhost", "localhost"], 400, 400),
        ] {
            let mut headers = HeaderMap::new();
            for name in named {
                headers.append(HOST, HeaderValue::from_static(name));
            }
            for (hosts, expected) in [(None, any), (Some(&hosts[..]), own)] {
                let checked = check_host(Version::HTTP_11, &headers, hosts);
                let status = checked.err().map_or(200, |problem| problem.status().as_u16());
                assert_eq!(status, expected, "{named:?} {hosts:?}");
            }
        }
        assert!(check_host(Version::HTTP_10, &HeaderMap::new(), Some(&hosts)).is_ok());
    }

    #[test]
    fn the_target_names_the_host() {
        for (target, host, expected) in [
            ("/", "a.example", "a.example"),
            ("http://b.example:8080/", "a.example", "b.example:8080"),
            ("http://localhost/", "evil.example", "localhost"),
        ] {
            let mut request = Request::get(target).header(HOST, host).body(Body::empty()).unwrap();
            take_host_of_target(&mut request);
            assert_eq!(request.headers()[HOST], expected, "{target}");
        }
    }

    #[tokio::test]
    async fn what_is_packed_is_refused() {
        let guarding = Guard::new(Access::default(), Duration::from_secs(30));
        let before = middleware::from_fn_with_state(Arc::new(guarding), guard);
        let mut router = Router::new().route("/", get(async || ())).layer(before);
        for (coding, status) in [("identity", 200), ("gzip", 415), ("", 415)] {
            let request = Request::get("/")
                .header(HOST, "w")
                .header(CONTENT_ENCODING, coding)
                .body(Body::empty())
                .unwrap();
            assert_eq!(router.call(request).await.unwrap().status(), status, "{coding}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_takes_too_long() {
        let wait = |seconds| get(move || tokio::time::sleep(Duration::from_secs(seconds)));
        let guarding = Guard::new(Access::default(), Duration::from_secs(30));
        let in_time = middleware::from_fn_with_state(Arc::new(guarding), guard);
        let mut router = Router::new().route("/29", wait(29)).route("/31", wait(31)).layer(in_time);
        for (path, status) in [("/29", 200), ("/31", 503)] {
            let request = Request::get(path).header(HOST, "w").body(Body::empty()).unwrap();
            assert_eq!(router.call(request).await.unwrap().status(), status, "{path}");
        }
    }
}
