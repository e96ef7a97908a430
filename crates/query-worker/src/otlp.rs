//! Traces: a span for each request, sent to a collector by OTLP over HTTP. As in the log, spans
//! hold neither texts nor ids or sources of documents.
//!
//! A thread of its own sends batches of spans. While the collector is away or too slow, the bounded
//! queue fills up and further spans are dropped: no request waits for the collector.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use axum::body::Bytes;
use axum::http::{HeaderMap, Request, Response, Uri};
use clap::Args;
use opentelemetry::KeyValue;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Status, TraceContextExt, TracerProvider};
use opentelemetry_http::{HeaderExtractor, HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Level, Span, error_span, info, warn};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;

use crate::log::BoxedLayer;

/// Longest wait for an answer of the collector.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(10);

/// The most bytes read of an answer of the collector.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// Longest wait for the last spans at a stop.
const FLUSH_WAIT_MAX: Duration = Duration::from_secs(2);

/// True once spans are sent.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Collector of traces.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Traces")]
pub struct OtlpArgs {
    /// Send a span for each request to this OpenTelemetry collector, as in http://localhost:4318;
    /// by OTLP over HTTP, to /v1/traces below it
    #[arg(long, value_name = "URL", value_parser = endpoint, env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otlp_endpoint: Option<String>,
}

fn endpoint(url: &str) -> Result<String, String> {
    let uri = url.parse::<Uri>().ok().filter(|uri| uri.scheme_str() == Some("http") && uri.host().is_some());
    // An empty variable counts as unset.
    if url.is_empty() || uri.is_some() {
        return Ok(url.trim_end_matches('/').to_owned());
    }
    Err("give the address of a collector, as in http://localhost:4318 (it is for the collector to speak TLS to others)"
        .to_owned())
}

/// The sender of spans; `None` if traces are off.
pub(crate) struct Traces(Option<SdkTracerProvider>);

impl Traces {
    /// Starts the sender if `args` names a collector. Returns the layer that feeds the sender.
    pub(crate) fn start(args: &OtlpArgs) -> anyhow::Result<(Self, Option<BoxedLayer>)> {
        let Some(endpoint) = args.otlp_endpoint.as_ref().filter(|endpoint| !endpoint.is_empty()) else {
            return Ok((Self(None), None));
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Collector::new())
            .with_endpoint(format!("{endpoint}/v1/traces"))
            .build()
            .with_context(|| format!("failed to prepare traces for `{endpoint}`"))?;
        let resource = Resource::builder().with_service_name("query-worker").build();
        let provider =
            SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build();
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("query-worker"))
            .with_location(false)
            .with_threads(false)
            .with_level(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(Targets::new().with_target("query_worker", Level::WARN));
        IS_ON.store(true, Ordering::Relaxed);
        Ok((Self(Some(provider)), Some(layer.boxed())))
    }

    /// Sends the remaining spans. A collector that is away delays the end of the process by `grace`
    /// or [`FLUSH_WAIT_MAX`] at most.
    pub(crate) fn flush(self, grace: Duration) {
        let sent = self.0.map(|provider| provider.shutdown_with_timeout(grace.min(FLUSH_WAIT_MAX)));
        if let Some(Err(error)) = sent {
            warn!(%error, "the last traces were not sent");
        }
    }
}

/// Opens the span of a request, as part of the trace in the header `traceparent` (W3C Trace
/// Context); `None` if traces are off.
pub(crate) fn span(id: &str, headers: &HeaderMap) -> Option<Span> {
    if !IS_ON.load(Ordering::Relaxed) {
        return None;
    }
    let span = error_span!("request", id, otel.kind = "server");
    // Fails if the span is not among those that are sent.
    span.set_parent(TraceContextPropagator::new().extract(&HeaderExtractor(headers))).unwrap_or(());
    Some(span)
}

/// Records the outcome of a request under the attribute names of OpenTelemetry. `status` is `None`
/// if the client went away.
pub(crate) fn ended(span: &Span, method: &'static str, route: &str, status: Option<u16>) {
    if !IS_ON.load(Ordering::Relaxed) {
        return;
    }
    let context = span.context();
    let span = context.span();
    span.update_name(format!("{method} {route}"));
    span.set_attribute(KeyValue::new("http.request.method", method));
    span.set_attribute(KeyValue::new("http.route", route.to_owned()));
    if let Some(status) = status {
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
    }
    if status.is_some_and(|status| status >= 500) {
        span.set_status(Status::error(""));
    }
}

/// Blocking HTTP client of the collector, for the exporter's own thread.
#[derive(Debug)]
struct Collector {
    agent: ureq::Agent,
    is_away: AtomicBool,
}

impl Collector {
    fn new() -> Self {
        let config = ureq::Agent::config_builder();
        let config = config.http_status_as_error(false).timeout_global(Some(ANSWER_WAIT_MAX)).build();
        Self { agent: config.into(), is_away: AtomicBool::new(false) }
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ureq::Error> {
        let answer = self.agent.run(request.map(|body| body.to_vec()))?;
        let (head, mut body) = answer.into_parts();
        let body = body.with_config().limit(ANSWER_BYTES_MAX).read_to_vec()?;
        Ok(Response::from_parts(head, body.into()))
    }

    /// Logs one line when the collector goes away and one when it is back.
    fn log(&self, failure: Option<String>) {
        let was_away = self.is_away.swap(failure.is_some(), Ordering::Relaxed);
        match failure {
            Some(error) if !was_away => {
                warn!(error, "the collector takes no traces; they are dropped meanwhile");
            }
            None if was_away => info!("the collector takes traces again"),
            _ => {}
        }
    }
}

#[async_trait::async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.send(request);
        self.log(match &sent {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("it answers {}", answer.status())),
            Err(error) => Some(error.to_string()),
        });
        Ok(sent?)
    }
}
