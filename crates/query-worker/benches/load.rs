//! Load generator: sends requests to a worker in another process, and prints the rates and
//! latencies.
//!
//! ```text
//! cargo bench -p query-worker --bench load -- fill  STORE N
//! cargo bench -p query-worker --bench load -- direct STORE N THREADS SECONDS LINES
//! cargo bench -p query-worker --bench load -- query URL N CONNECTIONS SECONDS [RATE]
//! cargo bench -p query-worker --bench load -- query-batch URL N CONNECTIONS SECONDS LINES
//! cargo bench -p query-worker --bench load -- insert URL CONNECTIONS SECONDS CORPUS…
//! cargo bench -p query-worker --bench load -- insert-batch URL CONNECTIONS LINES CORPUS…
//! ```
//! `fill` puts `N` made-up documents into an index (uniform fingerprints, splitmix64 of 0, 1, 2 …).
//! `query` asks for fingerprints: half of them three bits from a document, half from none. `direct`
//! asks the store for the same, without a worker, `LINES` a call. With a `RATE` each request has a
//! due time, from which its latency counts: a worker that stalls gets no fewer requests. `insert`
//! posts the paragraphs of real corpora (JSON Lines, plain or gzip, text in `text`), each once,
//! with ids of their own.
//!
//! The generator runs on one thread, keeps its connections, and checks every answer.

#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a benchmark")]

#[path = "load/http.rs"]
mod http;
#[path = "load/texts.rs"]
mod texts;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use index::{DocumentId, Mode, OpenOptions, Profile};
use simhash::Fingerprint;
use tokio::task::LocalSet;

use crate::http::Connection;

const USAGE: &str = "usage: fill STORE N | direct STORE N THREADS SECONDS LINES | query URL N CONNECTIONS SECONDS [RATE] | \
                     query-batch URL N CONNECTIONS SECONDS LINES | insert URL CONNECTIONS SECONDS CORPUS… | \
                     insert-batch URL CONNECTIONS LINES CORPUS…";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["fill", store, n] => fill(store, number(n)),
        ["direct", store, n, threads, seconds, lines] => {
            direct(store, number(n), number(threads), seconds, number(lines));
        }
        ["query", url, n, connections, seconds] => {
            run(url, number(connections), Queries::new(number(n), 1, seconds, None));
        }
        ["query", url, n, connections, seconds, rate] => {
            run(url, number(connections), Queries::new(number(n), 1, seconds, Some(number(rate) as f64)));
        }
        ["query-batch", url, n, connections, seconds, lines] => {
            run(url, number(connections), Queries::new(number(n), number(lines), seconds, None));
        }
        ["insert", url, connections, seconds, ref corpora @ ..] if !corpora.is_empty() => {
            run(url, number(connections), Insertions::new(corpora, 1, Some(seconds)));
        }
        ["insert-batch", url, connections, lines, ref corpora @ ..] if !corpora.is_empty() => {
            run(url, number(connections), Insertions::new(corpora, number(lines), None));
        }
        _ => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    }
}

fn number(arg: &str) -> usize {
    arg.replace('_', "").parse().unwrap_or_else(|_| panic!("`{arg}` is not a number; {USAGE}"))
}

/// Puts made-up documents into an index.
fn fill(store: &str, n: usize) {
    const BATCH: usize = 10_000;
    let recipe_default = features::Recipe::default().fields();
    // Made-up fingerprints have no texts, and so no signatures.
    let (profile, verify) = (Some(Profile::Classic), Some(false));
    let options = OpenOptions { recipe_default, profile, verify, ..OpenOptions::default() };
    let index = engine::open_index(store, &options).unwrap();
    for first in (0..n).step_by(BATCH) {
        let document = |n| (DocumentId::new(format!("made-up:{n:016}")).unwrap(), made_up(n as u64));
        index.insert(&(first..n.min(first + BATCH)).map(document).collect::<Vec<_>>()).unwrap();
    }
    println!("{:?}", index.status().unwrap());
}

/// Returns the fingerprint of a made-up document: a number spread over 64 bits (splitmix64).
fn made_up(number: u64) -> Fingerprint {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    Fingerprint(z ^ z >> 31)
}

/// Returns the fingerprint of the `n`-th query.
fn queried(n: u64, n_documents: u64) -> Fingerprint {
    match n % 2 {
        0 => Fingerprint(made_up(made_up(n).0 % n_documents).0 ^ 0b1_0000_0001_0000_0001),
        _ => made_up(!n),
    }
}

/// Asks the store as a worker does, but without one: for near documents, and for their records.
fn direct(store: &str, n_documents: usize, n_threads: usize, seconds: &str, n_lines: usize) {
    let options = OpenOptions { mode: Mode::MustExist, ..OpenOptions::default() };
    let index = engine::open_index(store, &options).unwrap();
    index.prepare().unwrap();
    let (n_asked, n_matches) = (AtomicU64::new(0), AtomicU64::new(0));
    let start = Instant::now();
    let until = start + Duration::from_secs(number(seconds) as u64);
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                while Instant::now() < until {
                    let first = n_asked.fetch_add(n_lines as u64, Ordering::Relaxed);
                    let query = |n| queried(n, n_documents as u64);
                    let queries: Vec<_> = (first..first + n_lines as u64).map(query).collect();
                    let found = index.near(&queries, &index.rule(), 10).unwrap();
                    let matches = found.into_iter().flat_map(|found| found.matches);
                    let ids: Vec<_> = matches.map(|found| found.id).collect();
                    let n_stored = index.get(&ids).unwrap().into_iter().flatten().count() as u64;
                    n_matches.fetch_add(n_stored, Ordering::Relaxed);
                }
            });
        }
    });
    let (n_asked, n_matches) = (n_asked.into_inner(), n_matches.into_inner());
    assert!(n_matches >= n_asked / 2, "{n_matches} of {n_asked} found");
    println!("{:.0} queries/s; {n_matches} matches", n_asked as f64 / start.elapsed().as_secs_f64());
}

/// A sequence of requests, with the checks of their answers.
trait Workload {
    /// Returns the route of the requests.
    fn route(&self) -> &'static str;
    /// Writes the body of the next request; returns the number of its items, or `None` at the end.
    fn next(&self, body: &mut Vec<u8>) -> Option<usize>;
    /// Counts an answer. Panics if it is not the one expected.
    fn check(&self, status: u16, answer: &[u8], n_items: usize);
    /// Returns the requests a second over all connections; `None` is as many as possible.
    fn rate(&self) -> Option<f64> {
        None
    }
    /// Returns the counts, for people.
    fn summary(&self) -> String;
}

/// Runs a workload over `n_connections` connections, and prints the rates and latencies.
fn run(url: &str, n_connections: usize, workload: impl Workload + 'static) {
    let address = url.strip_prefix("http://").unwrap_or(url).trim_end_matches('/').to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let workload = Rc::new(workload);
    let start = Instant::now();
    let results = LocalSet::new().block_on(&runtime, async {
        let connections: Vec<_> = (0..n_connections)
            .map(|n| {
                let client = client(address.clone(), Rc::clone(&workload), start, n, n_connections);
                tokio::task::spawn_local(client)
            })
            .collect();
        let mut results = Vec::new();
        for connection in connections {
            results.push(connection.await.unwrap());
        }
        results
    });
    let seconds = start.elapsed().as_secs_f64();
    let n_items: usize = results.iter().map(|result| result.n_items).sum();
    let mut micros: Vec<u64> = results.into_iter().flat_map(|result| result.micros).collect();
    micros.sort_unstable();
    let quantile = |q: f64| micros[((micros.len() - 1) as f64 * q) as usize] as f64 / 1000.0;
    println!(
        "{:.0} items/s, {:.0} requests/s, {} requests in {seconds:.1} s; ms p50 {:.2} p90 {:.2} p99 {:.2} p99.9 {:.2} \
         max {:.2}; {}",
        n_items as f64 / seconds,
        micros.len() as f64 / seconds,
        micros.len(),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(0.999),
        quantile(1.0),
        workload.summary()
    );
}

#[derive(Default)]
struct Reached {
    n_items: usize,
    micros: Vec<u64>,
}

/// Sends the requests of one connection, each after the answer to the previous one.
async fn client(
    address: String,
    workload: Rc<impl Workload>,
    start: Instant,
    nth: usize,
    n_connections: usize,
) -> Reached {
    let mut connection = Connection::open(&address).await;
    let mut reached = Reached::default();
    let mut body = Vec::new();
    let mut n_requests = 0;
    loop {
        body.clear();
        let Some(n_items) = workload.next(&mut body) else { return reached };
        let mut begun = Instant::now();
        if let Some(rate) = workload.rate() {
            let due = start + Duration::from_secs_f64((n_requests * n_connections + nth) as f64 / rate);
            if due > begun {
                tokio::time::sleep_until(due.into()).await;
            }
            begun = due;
        }
        n_requests += 1;
        let (status, answer) = connection.post(workload.route(), &body).await;
        reached.micros.push(begun.elapsed().as_micros() as u64);
        reached.n_items += n_items;
        workload.check(status, answer, n_items);
    }
}

/// Queries by fingerprint.
struct Queries {
    n_documents: u64,
    n_lines: usize,
    until: Instant,
    rate: Option<f64>,
    n_asked: Cell<u64>,
    n_matches: Cell<u64>,
}

impl Queries {
    fn new(n_documents: usize, n_lines: usize, seconds: &str, rate: Option<f64>) -> Self {
        let until = Instant::now() + Duration::from_secs(number(seconds) as u64);
        Self {
            n_documents: n_documents as u64,
            n_lines,
            until,
            rate,
            n_asked: Cell::new(0),
            n_matches: Cell::new(0),
        }
    }
}

impl Workload for Queries {
    fn route(&self) -> &'static str {
        if self.n_lines == 1 { "/v1/query" } else { "/v1/query:batch" }
    }

    fn next(&self, body: &mut Vec<u8>) -> Option<usize> {
        use std::io::Write;
        if Instant::now() >= self.until {
            return None;
        }
        for _ in 0..self.n_lines {
            let n = self.n_asked.replace(self.n_asked.get() + 1);
            let fingerprint = queried(n, self.n_documents);
            writeln!(body, "{{\"fingerprint\":\"{fingerprint}\"}}").unwrap();
        }
        Some(self.n_lines)
    }

    fn check(&self, status: u16, answer: &[u8], n_items: usize) {
        assert_eq!(status, 200, "{}", start_of(answer));
        let n_matches = memchr::memmem::find_iter(answer, b"\"id\":\"made-up:").count() as u64;
        if n_items > 1 {
            assert_eq!(memchr::memchr_iter(b'\n', answer).count(), n_items);
        }
        self.n_matches.set(self.n_matches.get() + n_matches);
    }

    fn rate(&self) -> Option<f64> {
        self.rate
    }

    fn summary(&self) -> String {
        let (asked, found) = (self.n_asked.get(), self.n_matches.get());
        assert!(found >= asked.saturating_sub(self.n_lines as u64) / 2, "{found} of {asked} found");
        format!("{found} matches")
    }
}

/// Returns enough of an answer to show its fault.
fn start_of(answer: &[u8]) -> String {
    String::from_utf8_lossy(&answer[..answer.len().min(1_000)]).into_owned()
}

/// Paragraphs of real texts, each posted once.
struct Insertions {
    lines: Vec<String>,
    n_lines: usize,
    until: Option<Instant>,
    n_posted: Cell<usize>,
    n_inserted: Cell<usize>,
    n_duplicates: Cell<usize>,
}

impl Insertions {
    fn new(corpora: &[&str], n_lines: usize, seconds: Option<&str>) -> Self {
        let lines = texts::documents(corpora);
        let bytes: usize = lines.iter().map(String::len).sum();
        println!("{} documents, {} bytes each", lines.len(), bytes / lines.len());
        let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(number(seconds) as u64));
        let zero = || Cell::new(0);
        Self { lines, n_lines, until, n_posted: zero(), n_inserted: zero(), n_duplicates: zero() }
    }
}

impl Workload for Insertions {
    fn route(&self) -> &'static str {
        if self.n_lines == 1 { "/v1/documents" } else { "/v1/documents:batch" }
    }

    fn next(&self, body: &mut Vec<u8>) -> Option<usize> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return None;
        }
        let first = self.n_posted.get();
        let lines = &self.lines[first..self.lines.len().min(first + self.n_lines)];
        self.n_posted.set(first + lines.len());
        lines.iter().for_each(|line| body.extend_from_slice(line.as_bytes()));
        (!lines.is_empty()).then_some(lines.len())
    }

    fn check(&self, status: u16, answer: &[u8], n_items: usize) {
        let count = |outcome: &[u8]| memchr::memmem::find_iter(answer, outcome).count();
        let (n_inserted, n_duplicates) = (count(b"\"inserted\""), count(b"\"duplicate\""));
        let n_empty = count(b"no-features");
        assert_eq!(n_inserted + n_duplicates + n_empty, n_items, "{status} {}", start_of(answer));
        self.n_inserted.set(self.n_inserted.get() + n_inserted);
        self.n_duplicates.set(self.n_duplicates.get() + n_duplicates);
    }

    fn summary(&self) -> String {
        format!("{} inserted, {} duplicates", self.n_inserted.get(), self.n_duplicates.get())
    }
}
