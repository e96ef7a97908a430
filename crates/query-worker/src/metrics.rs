//! The figures of `GET /metrics`, in the OpenMetrics text format for Prometheus. The crate's README
//! explains each; a test holds the two together.

use std::time::Duration;

use index::{ClaimCounts, ConnectionCounts, Cost, ErrorKind, Insertion, Status};
use minhash::Similarity;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

/// Content type of the OpenMetrics text.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Prefix of all names.
const PREFIX: &str = "pigeonhole";

/// Bucket bounds for durations in seconds: from a search in memory to a store that hardly answers.
const SECONDS: [f64; 14] =
    [1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];

/// Bucket bounds for counts: from nothing to a text that half of the index resembles.
const COUNTS: [f64; 10] = [0.0, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0];

/// Bucket bounds for similarities: from the least that an index may require to 1, the same text.
const SIMILARITIES: [f64; 12] = [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0];

type Labels<V, const N: usize> = [(&'static str, V); N];
type Histograms<V> = Family<Labels<V, 1>, Histogram, fn() -> Histogram>;

/// Figures counted as they happen. Those that are read at the time of a scrape are in [`Now`].
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Labels<String, 3>, Counter>,
    request_duration: Histograms<String>,
    requests_under_way: Gauge,
    connections: Gauge,
    texts: Counter,
    text_bytes: Counter,
    query_candidates: Histogram,
    query_matches: Histogram,
    query_match_similarity: Histogram,
    duplicate_similarity: Histogram,
    insertions: Family<Labels<&'static str, 1>, Counter>,
    store_call_duration: Histograms<&'static str>,
    store_errors: Family<Labels<&'static str, 1>, Counter>,
    reloads: Family<Labels<&'static str, 2>, Counter>,
}

/// Places of admission that are taken.
pub(crate) struct Taken {
    pub(crate) n_requests: usize,
    pub(crate) n_waiting: usize,
    pub(crate) n_batches: usize,
    pub(crate) n_body_bytes: usize,
    pub(crate) n_long_waiting: usize,
}

/// Figures at the time of a scrape.
pub(crate) struct Now<'a> {
    /// The name of the index's table scheme.
    pub(crate) scheme: &'a str,
    pub(crate) n_permits: usize,
    pub(crate) taken: Taken,
    pub(crate) n_log_lines_dropped: u64,
    /// The number of texts kept, and their bytes.
    pub(crate) recent_texts: (usize, usize),
    /// For each reloaded file set: true while the running configuration is older than the files.
    pub(crate) outdated: Vec<(&'static str, bool)>,
    pub(crate) n_connections_max: usize,
    /// `None` if the store does not report its status.
    pub(crate) status: Option<Status>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let by_seconds: fn() -> Histogram = || Histogram::new(SECONDS);
        let mut metrics = Self {
            registry: Registry::with_prefix(PREFIX),
            requests: Family::default(),
            request_duration: Family::new_with_constructor(by_seconds),
            requests_under_way: Gauge::default(),
            connections: Gauge::default(),
            texts: Counter::default(),
            text_bytes: Counter::default(),
            query_candidates: Histogram::new(COUNTS),
            query_matches: Histogram::new(COUNTS),
            query_match_similarity: Histogram::new(SIMILARITIES),
            duplicate_similarity: Histogram::new(SIMILARITIES),
            insertions: Family::default(),
            store_call_duration: Family::new_with_constructor(by_seconds),
            store_errors: Family::default(),
            reloads: Family::default(),
        };
        // Created at the start, so that the first failure is an increase.
        for files in ["certificates", "keys"] {
            for outcome in ["refused", "taken", "unreadable"] {
                drop(metrics.reloads.get_or_create(&[("files", files), ("outcome", outcome)]));
            }
        }
        let registry = &mut metrics.registry;
        registry.register("requests", "Requests answered", metrics.requests.clone());
        let help = "From a request's head to the end of its answer";
        registry.register_with_unit(
            "request_duration",
            help,
            Unit::Seconds,
            metrics.request_duration.clone(),
        );
        registry.register(
            "requests_under_way",
            "Requests not answered yet",
            metrics.requests_under_way.clone(),
        );
        registry.register("connections", "Connections open", metrics.connections.clone());
        registry.register("texts", "Texts fingerprinted", metrics.texts.clone());
        registry.register_with_unit("text", "Their length", Unit::Bytes, metrics.text_bytes.clone());
        let help = "Candidates read for a query";
        registry.register("query_candidates", help, metrics.query_candidates.clone());
        registry.register("query_matches", "Documents near a query", metrics.query_matches.clone());
        let help = "How similar the matches of queries are";
        registry.register("query_match_similarity", help, metrics.query_match_similarity.clone());
        let help = "How similar documents are to those that kept them out";
        registry.register("duplicate_similarity", help, metrics.duplicate_similarity.clone());
        registry.register("insertions", "Documents inserted if new", metrics.insertions.clone());
        let help = "Calls of the store";
        registry.register_with_unit(
            "store_call_duration",
            help,
            Unit::Seconds,
            metrics.store_call_duration.clone(),
        );
        registry.register("store_errors", "Calls of the store that failed", metrics.store_errors.clone());
        let help = "Looks at files that are read again, where there was something to say";
        registry.register("reloads", help, metrics.reloads.clone());
        metrics
    }

    /// Counts a connection until the returned guard is dropped.
    pub(crate) fn connected(&self) -> impl Drop + Send + 'static {
        struct Connected(Gauge);
        impl Drop for Connected {
            fn drop(&mut self) {
                self.0.dec();
            }
        }
        self.connections.inc();
        Connected(self.connections.clone())
    }

    pub(crate) fn request_begun(&self) {
        self.requests_under_way.inc();
    }

    /// Records an answered request. `status` is the status of the answer, or a word if there was
    /// none.
    pub(crate) fn request_ended(&self, route: &str, method: &str, status: &str, took: Duration) {
        self.requests_under_way.dec();
        let labels =
            [("route", route.to_owned()), ("method", method.to_owned()), ("status", status.to_owned())];
        self.requests.get_or_create(&labels).inc();
        self.request_duration.get_or_create(&[("route", route.to_owned())]).observe(took.as_secs_f64());
    }

    /// Counts a refused connection or request. Its duration is negligible.
    pub(crate) fn refused(&self, status: &str) {
        let labels = [("route", "none"), ("method", "none"), ("status", status)];
        self.requests.get_or_create(&labels.map(|(name, value)| (name, value.to_owned()))).inc();
    }

    pub(crate) fn fingerprinted(&self, text: &str) {
        self.texts.inc();
        self.text_bytes.inc_by(text.len() as u64);
    }

    /// Records a search, with the similarities of the matches in the answer.
    pub(crate) fn found(
        &self,
        cost: Cost,
        n_matches: u64,
        similarities: impl Iterator<Item = Option<Similarity>>,
    ) {
        self.query_candidates.observe(cost.n_candidates as f64);
        self.query_matches.observe(n_matches as f64);
        similarities.flatten().for_each(|similarity| self.query_match_similarity.observe(similarity.get()));
    }

    pub(crate) fn inserted(&self, insertions: &[Insertion]) {
        for insertion in insertions {
            let outcome = match insertion {
                Insertion::Inserted => "inserted",
                Insertion::Replaced => "replaced",
                Insertion::Unchanged => "unchanged",
                Insertion::Duplicate(_) => "duplicate",
            };
            self.insertions.get_or_create(&[("outcome", outcome)]).inc();
            if let Insertion::Duplicate(found) = insertion
                && let Some(similarity) = found.similarity()
            {
                self.duplicate_similarity.observe(similarity.get());
            }
        }
    }

    pub(crate) fn store_called(&self, call: &'static str, took: Duration, failed: Option<ErrorKind>) {
        self.store_call_duration.get_or_create(&[("call", call)]).observe(took.as_secs_f64());
        if let Some(kind) = failed {
            self.store_errors.get_or_create(&[("kind", word(kind))]).inc();
        }
    }

    pub(crate) fn reloaded(&self, files: &'static str, outcome: &'static str) {
        self.reloads.get_or_create(&[("files", files), ("outcome", outcome)]).inc();
    }

    /// Returns all figures in the OpenMetrics text format.
    pub(crate) fn written(&self, now: &Now<'_>) -> String {
        let mut text = String::new();
        let mut write = || {
            encode_registry(&mut text, &self.registry)?;
            encode_registry(&mut text, &now.registry())?;
            encode_eof(&mut text)
        };
        write().expect("a string takes whatever is written to it");
        text
    }
}

impl Now<'_> {
    fn registry(&self) -> Registry {
        let mut registry = Registry::with_prefix(PREFIX);
        let build = [("version", env!("CARGO_PKG_VERSION").to_owned()), ("scheme", self.scheme.to_owned())];
        registry.register("build", "The program, and the table scheme of its index", Info::new(build));
        let gauge = |value: usize| ConstGauge::new(value as u64);
        registry.register("permits", "Requests worked on at once, at most", gauge(self.n_permits));
        let Taken { n_requests, n_waiting, n_batches, n_body_bytes, n_long_waiting } = self.taken;
        registry.register("permits_in_use", "Requests worked on", gauge(n_requests));
        registry.register("requests_waiting", "Requests that wait for a permit", gauge(n_waiting));
        registry.register("batches_under_way", "Batches under way", gauge(n_batches));
        let help = "Requests with long texts that wait for their turn";
        registry.register("long_texts_waiting", help, gauge(n_long_waiting));
        let help = "Bodies of requests, and of long answers, that are held";
        registry.register_with_unit("bodies", help, Unit::Bytes, gauge(n_body_bytes));
        let dropped = ConstCounter::new(self.n_log_lines_dropped);
        registry.register("log_lines_dropped", "Lines of the log that were not read in time", dropped);
        let (n_texts, n_bytes) = self.recent_texts;
        registry.register("recent_texts", "Texts of documents kept for the page", gauge(n_texts));
        let help = "What these take of the memory";
        registry.register_with_unit("recent_texts_kept", help, Unit::Bytes, gauge(n_bytes));
        registry.register("connections_max", "Connections open, at most", gauge(self.n_connections_max));
        let outdated: Family<Labels<&'static str, 1>, Gauge> = Family::default();
        for &(files, is_outdated) in &self.outdated {
            outdated.get_or_create(&[("files", files)]).set(is_outdated.into());
        }
        registry.register("files_outdated", "Whether what is in force is not what its files say", outdated);
        let Some(status) = self.status else { return registry };
        if let Some(n_documents) = status.n_documents {
            registry.register("documents", "Documents in the index", ConstGauge::new(n_documents));
        }
        if let Some(n_bytes) = status.n_disk_bytes {
            registry.register_with_unit(
                "store_disk",
                "The store's files",
                Unit::Bytes,
                ConstGauge::new(n_bytes),
            );
        }
        if let Some(n_bytes) = status.n_free_bytes {
            let help = "What of the store's files is free or kept for a reader that stands still";
            registry.register_with_unit("store_free", help, Unit::Bytes, ConstGauge::new(n_bytes));
        }
        if let Some(n_bytes) = status.n_table_bytes {
            let help = "The search tables in memory";
            registry.register_with_unit("store_tables", help, Unit::Bytes, ConstGauge::new(n_bytes));
        }
        if let Some(n) = status.n_bounded {
            let help = "Insertions that met more candidates than were judged";
            registry.register("store_searches_bounded", help, ConstCounter::new(n));
        }
        if let Some(ConnectionCounts { n_max, n_open, n_in_use }) = status.connections {
            registry.register("store_connections_max", "Connections to the store, at most", gauge(n_max));
            registry.register("store_connections", "Connections to the store that are open", gauge(n_open));
            let help = "Connections to the store that calls use";
            registry.register("store_connections_in_use", help, gauge(n_in_use));
        }
        let Some(ClaimCounts { n_claims, n_conflicts, n_aborted, n_waits, waited }) = status.claims else {
            return registry;
        };
        let mut count = |name: &str, help: &str, n: u64| registry.register(name, help, ConstCounter::new(n));
        count("claims", "Claims announced to insert what is new", n_claims);
        count("claim_conflicts", "Claims that others had ended, begun again", n_conflicts);
        count("claims_aborted", "Claims of others that were ended", n_aborted);
        count("claim_waits", "Pauses for earlier claims of others", n_waits);
        let waited = ConstCounter::new(waited.as_secs_f64());
        registry.register_with_unit("claim_wait", "How long these were", Unit::Seconds, waited);
        registry
    }
}

fn word(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "not-found",
        ErrorKind::Mismatch => "mismatch",
        ErrorKind::Replaced => "replaced",
        ErrorKind::InvalidArgument => "invalid-argument",
        ErrorKind::PermissionDenied => "permission-denied",
        ErrorKind::Unavailable => "unavailable",
        ErrorKind::StorageFull => "storage-full",
        ErrorKind::Disabled => "disabled",
        ErrorKind::Corrupt => "corrupt",
        ErrorKind::Busy => "busy",
        ErrorKind::Internal => "internal",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Returns kind and labels of each figure by name, with everything counted at least once.
    fn served() -> BTreeMap<String, (String, BTreeSet<String>)> {
        let metrics = Metrics::new();
        metrics.request_begun();
        metrics.request_ended("/v1/query", "POST", "200", Duration::from_millis(1));
        metrics.inserted(&[Insertion::Inserted]);
        metrics.store_called("near", Duration::from_millis(1), Some(ErrorKind::Busy));
        let (n, claims) = (Some(1), Some(ClaimCounts::default()));
        let connections = Some(ConnectionCounts::default());
        let status = Status {
            n_documents: n,
            n_disk_bytes: n,
            n_free_bytes: n,
            n_table_bytes: n,
            claims,
            connections,
            n_bounded: n,
            image: None,
        };
        let taken = Taken { n_requests: 1, n_waiting: 1, n_batches: 1, n_body_bytes: 1, n_long_waiting: 1 };
        let (n_log_lines_dropped, recent_texts) = (1, (1, 1));
        let now = Now {
            scheme: "5c2",
            n_permits: 2,
            taken,
            n_log_lines_dropped,
            recent_texts,
            outdated: vec![("keys", false)],
            n_connections_max: 1,
            status: Some(status),
        };
        let mut served: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
        let mut last = String::new();
        for line in metrics.written(&now).lines() {
            if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' ')) {
                let suffix = match kind {
                    "counter" => "_total",
                    "info" => "_info",
                    _ => "",
                };
                last = format!("{name}{suffix}");
                served.insert(last.clone(), (kind.to_owned(), BTreeSet::new()));
            } else if let Some((_, labels)) = line.split_once('{') {
                let labels = labels.split('}').next().unwrap_or_default().split(',');
                let names = labels.filter_map(|label| label.split('=').next()).filter(|name| *name != "le");
                let (_, known) = served.get_mut(&last).expect("a sample stands below its kind");
                known.extend(names.map(str::to_owned));
            }
        }
        served
    }

    #[test]
    fn the_table_in_the_book_is_what_is_served() {
        let rows = include_str!("../../../docs/src/service.md")
            .lines()
            .filter(|line| line.starts_with("| `pigeonhole_"));
        let documented: BTreeMap<_, _> = rows
            .map(|row| {
                let cells: Vec<_> = row.split('|').map(|cell| cell.trim().replace('`', "")).collect();
                let labels = cells[3].split(", ").filter(|label| !label.is_empty()).map(str::to_owned);
                (cells[1].clone(), (cells[2].clone(), labels.collect()))
            })
            .collect();
        assert_eq!(documented, served());
    }
}
