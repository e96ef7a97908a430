//! Search at size: build, memory, queries and streams.
//! `cargo bench -p pigeonhole-tables --bench search [N] [scheme…]`.
//!
//! Each line is a process of its own: no line's memory has leftovers of another in the allocator.
//! Every planted neighbour must be found, or the bench panics: each figure is one at recall 1.0.
#![expect(clippy::print_stdout, reason = "the figures are its output")]

mod data;

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use data::{BOILERPLATE, BOILERPLATE_MASK, Corpus, Random, Stopwatch, median};
use pigeonhole_tables::{BucketTables, Tables};
use simhash::{Distance, Facet, Fingerprint, TableScheme};

const DEFAULT_N: usize = 10_000_000;
const SCHEMES: [&str; 4] = ["5c2", "t6", "t8", "t11"];
const CORPORA: [&str; 3] = ["uniform", "skewed", "equal"];
const ROUNDS: usize = 5;
const BATCH_LEN: usize = 1_000;
/// The distance that the schemes cover.
const NEAR: Distance = Distance::of_differing(0b111);
/// The time after which one round of queries is cut short.
const ROUND_SECONDS: f64 = 2.0;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [case, corpus, scheme, n] = args.as_slice()
        && case == "case"
    {
        return run(corpus, scheme, n.parse().expect("N is a number"));
    }
    let n = args.first().map_or(DEFAULT_N, |n| n.parse().expect("the first argument is N"));
    let schemes: Vec<&str> =
        if args.len() > 1 { args[1..].iter().map(String::as_str).collect() } else { SCHEMES.into() };
    println!(
        "| corpus | scheme | N | build s | B/fp heap_bytes | B/fp RSS | hits/s | misses/s | lone hits/s | crowd queries/s | \
         query, insert if new /s | p99.9 insert µs | remove /s |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for corpus in CORPORA {
        for scheme in &schemes {
            let this = std::env::current_exe().expect("a process knows its file");
            let status = Command::new(this).args(["case", corpus, scheme, &n.to_string()]).status();
            assert!(status.expect("the bench starts itself").success());
        }
    }
}

fn run(corpus_name: &str, scheme: &str, n: usize) {
    let scheme: TableScheme = scheme.parse().expect("a named scheme");
    let corpus = Corpus::new(corpus_name, n);
    let rss_before = rss_bytes();

    let mut tables = BucketTables::new();
    let start = Stopwatch::start();
    let mut postings = Vec::with_capacity(BATCH_LEN);
    for (fingerprints, n) in corpus.fingerprints.chunks(BATCH_LEN).zip(0..) {
        let numbers = n * BATCH_LEN as u64..;
        postings.extend(
            numbers.zip(fingerprints).map(|(number, &bits)| (scheme.facet(Fingerprint(bits)), number)),
        );
        tables.insert_all(&postings);
        postings.clear();
    }
    let build_s = start.seconds();
    let n_postings = tables.n_postings() as f64;
    let heap = tables.heap_bytes() as f64 / n_postings;
    let rss = (rss_bytes() - rss_before) as f64 / n_postings;

    let mut random = Random::new(7);
    let n_queries = 200_000.min(n);
    let misses: Vec<Facet> = (0..n_queries).map(|_| scheme.facet(Fingerprint(random.next()))).collect();
    let planted: Vec<(u64, Option<u64>)> = (0..n_queries)
        .map(|_| {
            let number = random.below(n);
            (random.neighbour(corpus.fingerprints[number], 3), Some(number as u64))
        })
        .collect();
    let (in_crowd, hits): (Vec<_>, Vec<_>) = planted.into_iter().partition(|&(bits, _)| is_boilerplate(bits));
    let sketches = |queries: &[(u64, Option<u64>)]| -> Vec<Facet> {
        queries.iter().map(|&(bits, _)| scheme.facet(Fingerprint(bits))).collect()
    };
    let wanted =
        |queries: &[(u64, Option<u64>)]| -> Vec<Option<u64>> { queries.iter().map(|q| q.1).collect() };
    let (hit_sketches, hit_numbers) = (sketches(&hits), wanted(&hits));

    let hits_s = queries_per_second(&tables, &hit_sketches, &hit_numbers, BATCH_LEN);
    let misses_s = queries_per_second(&tables, &misses, &vec![None; misses.len()], BATCH_LEN);
    let lone_s = queries_per_second(&tables, &hit_sketches, &hit_numbers, 1);
    let crowd_s = if in_crowd.is_empty() {
        "–".to_owned()
    } else {
        per_second(queries_per_second(&tables, &sketches(&in_crowd), &wanted(&in_crowd), 8))
    };
    let (stream_s, slow_us) = insert_if_new(&mut tables, &scheme, &corpus);
    let remove_s = remove(&mut tables, &scheme, &corpus);
    println!(
        "| {} | {} | {n} | {build_s:.1} | {heap:.0} | {rss:.0} | {} | {} | {} | {crowd_s} | {} | {slow_us:.0} | {} |",
        corpus_name,
        scheme.name(),
        per_second(hits_s),
        per_second(misses_s),
        per_second(lone_s),
        per_second(stream_s),
        per_second(remove_s),
    );
    // A process that is about to end need not free a gigabyte first.
    std::process::exit(0);
}

fn per_second(rate: f64) -> String {
    if rate >= 1e5 { format!("{:.2} M", rate / 1e6) } else { format!("{rate:.0}") }
}

/// Returns the median over the rounds. `wanted` is a number that each query must find.
fn queries_per_second(
    tables: &dyn Tables,
    queries: &[Facet],
    wanted: &[Option<u64>],
    batch_len: usize,
) -> f64 {
    let queries: Vec<&Facet> = queries.iter().collect();
    median((0..ROUNDS).map(|_| {
        let (start, wall) = (Stopwatch::start(), Instant::now());
        let mut n_done = 0;
        for (queries, wanted) in queries.chunks(batch_len).zip(wanted.chunks(batch_len)) {
            let mut n_met = 0;
            let cost = tables.near(queries, NEAR, &mut |hit| {
                let is_met = |number| hit.numbers.binary_search(&number).is_ok();
                n_met += usize::from(wanted[hit.query].is_some_and(is_met));
            });
            black_box(cost);
            assert_eq!(n_met, wanted.iter().flatten().count(), "a planted neighbour was missed");
            n_done += queries.len();
            if wall.elapsed().as_secs_f64() > ROUND_SECONDS {
                break;
            }
        }
        n_done as f64 / start.seconds()
    }))
}

/// Runs queries, each followed by an insert if nothing was found: a tenth is near something.
/// Returns the rate, and the time in µs that 999 of 1,000 inserts keep below.
fn insert_if_new(tables: &mut BucketTables, scheme: &TableScheme, corpus: &Corpus) -> (f64, f64) {
    let n = corpus.fingerprints.len();
    let n_stream = n / 10;
    let mut random = Random::new(11);
    let mut stream = Vec::with_capacity(n_stream);
    while stream.len() < n_stream {
        let is_near = random.below(10) == 0;
        let earlier = corpus.fingerprints[random.below(n)];
        let bits = if is_near { random.neighbour(earlier, 3) } else { random.next() };
        if !is_boilerplate(bits) {
            stream.push(bits);
        }
    }
    let mut insert_s = Vec::with_capacity(n_stream);
    let start = Stopwatch::start();
    for (&bits, number) in stream.iter().zip(n as u64..) {
        let sketch = scheme.facet(Fingerprint(bits));
        let mut is_new = true;
        tables.near(&[&sketch], NEAR, &mut |_| is_new = false);
        if is_new {
            let start = Instant::now();
            tables.insert(&sketch, number);
            insert_s.push(start.elapsed().as_secs_f32());
        }
    }
    let rate = n_stream as f64 / start.seconds();
    let new = insert_s.len() as f64 / n_stream as f64;
    assert!((0.85..0.95).contains(&new), "{new} of the stream is new");
    insert_s.sort_by(f32::total_cmp);
    (rate, f64::from(insert_s[insert_s.len() * 999 / 1000]) * 1e6)
}

fn remove(tables: &mut BucketTables, scheme: &TableScheme, corpus: &Corpus) -> f64 {
    let n_remove = corpus.fingerprints.len() / 10;
    let start = Stopwatch::start();
    for (&bits, number) in corpus.fingerprints[..n_remove].iter().zip(0..) {
        assert!(tables.remove(&scheme.facet(Fingerprint(bits)), number), "it was inserted");
    }
    n_remove as f64 / start.seconds()
}

fn is_boilerplate(bits: u64) -> bool {
    bits & BOILERPLATE_MASK == BOILERPLATE
}

/// Returns the resident memory of this process.
fn rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("linux says VmRSS");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number of kB") * 1024
}
