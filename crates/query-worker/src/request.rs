//! Observation of requests, independent of their handlers: the span of their log lines, with the
//! id, and the line that reports the outcome.

mod answer;
mod client;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::{Instrument, Span, debug, error_span, warn};

use self::answer::Answer;
pub(crate) use self::client::Client;
use crate::access::Pass;
use crate::metrics::Metrics;
use crate::otlp;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::worker::{Stage, Worker};

/// Route under which requests for unknown paths are counted.
const NO_ROUTE: &str = "none";

/// Path that load balancers probe.
const READY_ROUTE: &str = "/readyz";

/// Label of the method whose answers have no body.
const HEAD: &str = "HEAD";

/// Status under which a request is counted if its client went away before the end of the answer.
const GONE: &str = "gone";

/// Flag that the answer was ended because its client did not read it; an extension of the response.
#[derive(Clone, Default)]
pub(crate) struct Cut(Arc<AtomicBool>);

impl Cut {
    /// Marks the answer as ended early.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Middleware around the handling of every request.
pub(crate) async fn observe(State(worker): State<Arc<Worker>>, request: Request, next: Next) -> Response {
    let id = RequestId::of(request.headers());
    // The highest level, so that log lines of any level are within the span.
    let span = otlp::span(id.as_str(), request.headers());
    let span = span.unwrap_or_else(|| error_span!("request", id = id.as_str()));
    let mut ending = Ending::of(Arc::clone(&worker), &request, span.clone());
    let answered = async {
        let response = next.run(request).await;
        match answer::room(&worker, response.body()) {
            Ok(room) => (response, room),
            Err(problem) => (problem.into_response(), None),
        }
    };
    let (mut response, room) = id.clone().answering(answered).instrument(span).await;
    id.write_to(response.headers_mut());
    ending.status = Some(response.status());
    ending.cut = response.extensions_mut().remove::<Cut>();
    let pass = response.extensions_mut().remove::<Pass>();
    response.map(|body| Body::new(Answer::new(body, ending, pass, room)))
}

/// Returns the whole answer to bytes that are no request, or to a request that was not read. The
/// refusal has an id, and is counted and logged, like any request.
pub(crate) fn refuse(metrics: &Metrics, problem: &Problem) -> Vec<u8> {
    let id = RequestId::new();
    let _in_span = error_span!("request", id = id.as_str()).entered();
    metrics.refused(problem.status().as_str());
    debug!(status = problem.status().as_u16(), problem = problem.kind(), "refused");
    let header = id.header_line();
    id.answering_now(|| problem.as_http1(&header))
}

/// Maps a method to a label of the metrics. A client may send any word as its method, so others
/// share one label.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => HEAD,
        Method::OPTIONS => "OPTIONS",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        _ => "other",
    }
}

/// Records the outcome of a request when dropped, so also if the client goes away before the end of
/// its answer.
struct Ending {
    worker: Arc<Worker>,
    span: Span,
    begun: Instant,
    method: &'static str,
    route: Option<MatchedPath>,
    status: Option<StatusCode>,
    cut: Option<Cut>,
    /// Bytes of the answer's body so far.
    n_bytes: u64,
}

impl Ending {
    fn of(worker: Arc<Worker>, request: &Request, span: Span) -> Self {
        worker.metrics().request_begun();
        let route = request.extensions().get::<MatchedPath>().cloned();
        let method = known(request.method());
        Self { worker, span, begun: Instant::now(), method, route, status: None, cut: None, n_bytes: 0 }
    }

    fn add(&mut self, n_bytes: u64) {
        self.n_bytes += n_bytes;
    }

    /// Notes that the answer was dropped before its end.
    fn break_off(&mut self) {
        self.status = None;
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let _in_span = self.span.enter();
        if self.cut.as_ref().is_some_and(|cut| cut.0.load(Ordering::Relaxed)) {
            self.status = None;
        }
        let took = self.begun.elapsed();
        let seconds = took.as_secs_f64();
        let route = self.route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
        let (method, bytes) = (self.method, self.n_bytes);
        let status = self.status.as_ref().map_or(GONE, StatusCode::as_str);
        self.worker.metrics().request_ended(route, method, status, took);
        otlp::ended(&self.span, method, route, self.status.map(|status| status.as_u16()));
        // A failed readiness probe is the purpose of a stop: it sends the prober elsewhere.
        let is_told_of_stop = route == READY_ROUTE && *self.worker.stage().borrow() > Stage::Serving;
        match self.status {
            Some(status) if status.is_server_error() && !is_told_of_stop => {
                warn!(method, route, status = status.as_u16(), seconds, bytes, "failed");
            }
            Some(status) => debug!(method, route, status = status.as_u16(), seconds, bytes, "answered"),
            None => debug!(method, route, seconds, "the client went away before the end of its answer"),
        }
    }
}
