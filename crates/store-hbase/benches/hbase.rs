//! The store on a real HBase, with the documents and queries of
//! `deploy/hbase/bench/HBaseClientBaseline.java`.
//!
//! ```text
//! cargo bench -p pigeonhole-store-hbase --bench hbase -- URL load N THREADS BATCH [SCHEME]
//! cargo bench -p pigeonhole-store-hbase --bench hbase -- URL claim N THREADS BATCH
//! cargo bench -p pigeonhole-store-hbase --bench hbase -- URL query N THREADS DOCUMENTS [BATCH]
//! cargo bench -p pigeonhole-store-hbase --bench hbase -- URL plain N THREADS DOCUMENTS
//! ```
//! `claim` inserts new documents: of five documents of a thread one is near to another one, which
//! in batches of fewer than five has been inserted before. `plain` makes the same queries with the
//! generated client, one call after another, a connection for each thread: the baseline for
//! pipelining. `DOCUMENTS` is the number of worker 0's documents in the index.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpStream;
use std::thread;
use std::time::Instant;

use hbase_thrift::hbase::{HbaseSyncClient, THbaseSyncClient, TScan};
use index::{DocumentId, Index, Insertion, OpenOptions, Place, Profile, SketchKind};
use pigeonhole_store_hbase::HbaseUri;
use simhash::{Distance, Fingerprint, KeyRange, RowKey};
use thrift::protocol::{TBinaryInputProtocol, TBinaryOutputProtocol};
use thrift::transport::{TBufferedReadTransport, TBufferedWriteTransport};

const MAX_DISTANCE: Distance = Distance::of_differing(0b111);
const WARM_UP: usize = 2_000;

fn place(uri: &str) -> HbaseUri {
    uri.parse().unwrap()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let number = |at: usize| args.get(at).and_then(|arg| arg.parse::<usize>().ok());
    let (Some(uri), Some(command), Some(n), Some(n_threads)) =
        (args.first(), args.get(1), number(2), number(3))
    else {
        println!(
            "usage: URL load N THREADS BATCH [SCHEME] | URL claim N THREADS BATCH | \
             URL query|plain N THREADS DOCUMENTS [BATCH]"
        );
        return;
    };
    let scheme = args.get(5).filter(|_| command == "load").cloned();
    // A new index files by simhashes alone, and answers with their proposals.
    let (profile, verify) = match command.as_str() {
        "load" => (Some(Profile::Classic), Some(false)),
        _ => (None, None),
    };
    let options = OpenOptions { scheme, profile, verify, ..OpenOptions::default() };
    let store = place(uri).open(options.mode, options.clock(), None).unwrap();
    let index = Index::over(store, &options).unwrap();
    let run = |n: usize, seed: u64| match command.as_str() {
        "load" => load(n, n_threads, number(4).unwrap_or(300), &|documents| index.insert(documents)),
        "claim" => load(n, n_threads, number(4).unwrap_or(300), &|documents| {
            let near = |&(ref id, fingerprint): &(DocumentId, Fingerprint)| {
                let n: usize = id.as_str().rsplit('-').next().unwrap().parse().unwrap();
                let worker = id.as_str()[3..].split('-').next().unwrap().parse().unwrap();
                (
                    id.clone(),
                    if n % 5 == 4 {
                        Fingerprint(self::fingerprint(worker, n - 4).0 ^ 1)
                    } else {
                        fingerprint
                    },
                )
            };
            index.insert_if_new(&documents.iter().map(near).collect::<Vec<_>>())
        }),
        "query" => {
            let batch = number(5).unwrap_or(1);
            query(n, n_threads, seed, number(4).unwrap_or(1), batch, &|| {
                Box::new(|queries: &[Fingerprint]| search(&index, queries))
            })
        }
        _ => {
            let scheme = index.kind();
            query(n, n_threads, seed, number(4).unwrap_or(1), 1, &|| {
                let mut plain = Plain::connect(uri, scheme.clone());
                Box::new(move |queries: &[Fingerprint]| plain.search(queries[0]))
            })
        }
    };
    if !["load", "claim"].contains(&command.as_str()) {
        run(WARM_UP, 500_009);
    }
    let start = Instant::now();
    let Tally { mut micros, n_matches, n_rows } = run(n, 99);
    let seconds = start.elapsed().as_secs_f64();
    micros.sort_by(f64::total_cmp);
    println!(
        "{command} {n} with {n_threads} threads: {:.0}/s, a call p50 {:.0} us, p99 {:.0} us, {n_matches} matches, {:.1} rows read each",
        n as f64 / seconds,
        micros[micros.len() / 2],
        micros[micros.len() * 99 / 100],
        n_rows as f64 / n as f64,
    );
}

#[derive(Default)]
struct Tally {
    micros: Vec<f64>,
    n_matches: u64,
    n_rows: u64,
}

/// Writes a batch of documents.
type Inserter<'a> = &'a (dyn Fn(&[(DocumentId, Fingerprint)]) -> index::Result<Vec<Insertion>> + Sync);

fn load(n: usize, n_threads: usize, batch: usize, insert: Inserter<'_>) -> Tally {
    each_thread(n_threads, |worker| {
        let mut tally = Tally::default();
        let numbers: Vec<usize> = (0..n / n_threads).collect();
        for numbers in numbers.chunks(batch) {
            let documents: Vec<_> =
                numbers.iter().map(|&n| (id(worker, n), fingerprint(worker, n))).collect();
            let start = Instant::now();
            let insertions = insert(&documents).unwrap();
            tally.micros.push(start.elapsed().as_secs_f64() * 1e6);
            tally.n_matches +=
                insertions.iter().filter(|insertion| **insertion != Insertion::Inserted).count() as u64;
        }
        tally
    })
}

/// Answers with the number of matches and of rows read.
type Searcher<'a> = Box<dyn FnMut(&[Fingerprint]) -> (u64, u64) + 'a>;

fn query<'a>(
    n: usize,
    n_threads: usize,
    seed: u64,
    n_documents: usize,
    batch: usize,
    searcher: &(dyn Fn() -> Searcher<'a> + Sync),
) -> Tally {
    each_thread(n_threads, |worker| {
        let mut search = searcher();
        let mut random = SplitMix64(seed + worker as u64);
        let mut tally = Tally::default();
        let queries: Vec<_> = (0..n / n_threads)
            .map(|q| match q % 2 {
                0 => {
                    let document = fingerprint(0, (q / 2 * n_threads + worker) % n_documents);
                    let bit = random.next() % 64;
                    let other = (bit + 1 + random.next() % 63) % 64;
                    Fingerprint(document.0 ^ 1 << bit ^ 1 << other)
                }
                _ => Fingerprint(random.next()),
            })
            .collect();
        for queries in queries.chunks(batch) {
            let start = Instant::now();
            let (n_matches, n_rows) = search(queries);
            tally.micros.push(start.elapsed().as_secs_f64() * 1e6);
            tally.n_matches += n_matches;
            tally.n_rows += n_rows;
        }
        tally
    })
}

fn search(index: &Index, queries: &[Fingerprint]) -> (u64, u64) {
    let answers = index.near(queries, &MAX_DISTANCE.into(), 10).unwrap();
    answers.iter().fold((0, 0), |(n_matches, n_rows), answer| {
        (n_matches + answer.n_matches, n_rows + answer.cost.n_candidates)
    })
}

/// One call after another.
struct Plain {
    client: Box<dyn Calls>,
    table: String,
    scheme: SketchKind,
}

trait Calls: THbaseSyncClient {}

impl<C: THbaseSyncClient> Calls for C {}

impl Plain {
    fn connect(uri: &str, scheme: SketchKind) -> Self {
        let uri = place(uri);
        let stream = TcpStream::connect(&uri.server).unwrap();
        stream.set_nodelay(true).unwrap();
        let input = TBufferedReadTransport::with_capacity(64 * 1024, stream.try_clone().unwrap());
        let output = TBufferedWriteTransport::with_capacity(64 * 1024, stream);
        let client = HbaseSyncClient::new(
            TBinaryInputProtocol::new(input, true),
            TBinaryOutputProtocol::new(output, true),
        );
        Self { client: Box::new(client), table: uri.name, scheme }
    }

    fn search(&mut self, asked: Fingerprint) -> (u64, u64) {
        let table = self.table.clone().into_bytes();
        let mut found = BTreeSet::new();
        let mut n_rows = 0;
        for key in self.scheme.sketch(asked).keys() {
            let range = KeyRange::of_bucket(key);
            let columns = vec![b"f".to_vec()];
            let scan = TScan::new(
                range.start().to_vec(),
                range.end().to_vec(),
                None,
                columns,
                1_000,
                None,
                None,
                None,
                None,
                None,
            );
            let id = self.client.scanner_open_with_scan(table.clone(), scan, BTreeMap::new()).unwrap();
            for row in self.client.scanner_get_list(id, 1_000).unwrap() {
                n_rows += 1;
                let fingerprint = RowKey::decode(&row.row.unwrap()).unwrap().fingerprint;
                if asked.distance(fingerprint) <= MAX_DISTANCE {
                    let columns = row.columns.unwrap().into_keys();
                    found.extend(columns.map(|column| (column[2..].to_vec(), fingerprint)));
                }
            }
            self.client.scanner_close(id).unwrap();
        }
        (self.count_live(&found), n_rows)
    }

    fn count_live(&mut self, found: &BTreeSet<(Vec<u8>, Fingerprint)>) -> u64 {
        if found.is_empty() {
            return 0;
        }
        let row = |id: &[u8]| [format!("{:04x}:", crc32fast::hash(id) >> 16).as_bytes(), id].concat();
        let rows = found.iter().map(|(id, _)| row(id)).collect();
        let table = format!("{}_docs", self.table).into_bytes();
        let columns = vec![b"d:record".to_vec()];
        let records = self.client.get_rows_with_columns(table, rows, columns, BTreeMap::new()).unwrap();
        let records: Vec<_> =
            records.into_iter().flat_map(|row| row.columns.unwrap().into_values()).collect();
        let is_live = |fingerprint: &Fingerprint| {
            let live = format!("live {fingerprint} ").into_bytes();
            records.iter().any(|cell| cell.value.as_ref().is_some_and(|value| value.starts_with(&live)))
        };
        found.iter().filter(|(_, fingerprint)| is_live(fingerprint)).count() as u64
    }
}

fn each_thread(n_threads: usize, work: impl Fn(usize) -> Tally + Sync) -> Tally {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|worker| scope.spawn(move || work(worker))).collect();
        threads.into_iter().fold(Tally::default(), |mut sum, thread| {
            let tally = thread.join().unwrap();
            sum.micros.extend(tally.micros);
            sum.n_matches += tally.n_matches;
            sum.n_rows += tally.n_rows;
            sum
        })
    })
}

fn id(worker: usize, n: usize) -> DocumentId {
    DocumentId::new(format!("doc{worker}-{n}")).unwrap()
}

fn fingerprint(worker: usize, n: usize) -> Fingerprint {
    let mut random = SplitMix64((7 + 1_000 * worker as u64).wrapping_add((n as u64).wrapping_mul(STEP)));
    Fingerprint(random.next())
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Steele et al., OOPSLA 2014.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let z = self.0;
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}
