//! The stores at size. Run by
//! `cargo bench -p pigeonhole-engine --bench stores [N] [DIRECTORY] [CASE…]`, where a case is for
//! example `embedded/Ascending`.
//!
//! The directory, by default the one for temporary files, decides the cost of a durable commit.
//! Every figure is of calls whose answers are checked.
#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::path::PathBuf;
use std::time::Instant;

use index::{DocumentId, Index, Insertion, Mode, OpenOptions};
use simhash::Fingerprint;

const DEFAULT_N: u64 = 1_000_000;
const BATCH: u64 = 1_000;
/// The number of single durable insertions that are timed.
const SINGLES: u64 = 1_000;
const QUERIES: u64 = 200_000;

/// The naming of documents. The order of ids is the order of a B-tree's keys: each appended, or
/// anywhere in it.
#[derive(Clone, Copy, Debug)]
enum Ids {
    Ascending,
    Random,
}

impl Ids {
    fn id(self, n: u64) -> DocumentId {
        let id = match self {
            Self::Ascending => format!("weibo:{n:016}"),
            Self::Random => format!("https://example.org/{:016x}", spread(!n)),
        };
        DocumentId::new(id).expect("a valid id")
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let n = args.first().map_or(DEFAULT_N, |n| n.parse().expect("the first argument is N"));
    let parent = args.get(1).map_or_else(std::env::temp_dir, PathBuf::from);
    println!(
        "| store | ids | N | load /s | B/doc on disk | B/doc tables | reopen s | hits /s | misses /s | hits /s one by one \
         | insert_if_new /s | one by one, durable |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    let wanted = |store: &str, ids| args.len() < 3 || args[2..].contains(&format!("{store}/{ids:?}"));
    for ids in [Ids::Ascending, Ids::Random] {
        if wanted("memory", ids) {
            run("memory", ids, n, "memory:");
        }
        if !wanted("embedded", ids) {
            continue;
        }
        let directory = tempfile::tempdir_in(&parent).expect("a directory");
        run("embedded", ids, n, &format!("embedded:{}", directory.path().display()));
    }
}

fn run(store: &str, ids: Ids, n: u64, uri: &str) {
    let mut index = open(uri);
    let documents = |from: u64, len: u64| {
        let document = |n| (ids.id(n), Fingerprint(spread(n)));
        (from..from + len).map(document).collect::<Vec<_>>()
    };
    let load = per_second(n, |first| {
        let insertions = index.insert(&documents(first, BATCH.min(n - first))).expect("an insertion");
        insertions.len() as u64
    });
    let mut reopen_s = 0.0;
    if store != "memory" {
        drop(index);
        let start = Instant::now();
        index = open(uri);
        index.prepare().expect("tables");
        reopen_s = start.elapsed().as_secs_f64();
    }
    index.prepare().expect("tables");
    let status = index.status().expect("a status");
    assert_eq!(status.n_documents, Some(n));
    let search = |len: u64, expected: u64, bits: &dyn Fn(u64) -> u64| {
        per_second(QUERIES, |first| {
            let queries: Vec<_> = (first..first + len).map(|query| Fingerprint(bits(query))).collect();
            let found = index.near(&queries, &index.rule(), 10).expect("a search");
            assert!(found.iter().all(|found| found.n_matches == expected));
            len
        })
    };
    let near_one = |query| spread(spread(query) % n) ^ 0b111;
    let hits = search(BATCH, 1, &near_one);
    let misses = search(BATCH, 0, &|query| spread(!query));
    let hits_one_by_one = search(1, 1, &near_one);
    let n_new = (n / 10).max(BATCH);
    let batched = per_second(n_new, |first| {
        let new = documents(n + first, BATCH);
        assert!(
            index.insert_if_new(&new).expect("an insertion").iter().all(|one| *one == Insertion::Inserted)
        );
        BATCH
    });
    let singles = per_second(SINGLES, |first| {
        let new = documents(2 * n + n_new + first, 1);
        assert_eq!(index.insert_if_new(&new).expect("an insertion"), [Insertion::Inserted]);
        1
    });
    let per_document = |bytes: Option<u64>| bytes.map_or("-".to_owned(), |bytes| format!("{}", bytes / n));
    println!(
        "| {store} | {ids:?} | {n} | {load:.0} | {} | {} | {reopen_s:.2} | {hits:.0} | {misses:.0} | \
         {hits_one_by_one:.0} | {batched:.0} | {singles:.0} |",
        per_document(status.n_disk_bytes),
        per_document(status.n_table_bytes),
    );
}

fn open(uri: &str) -> Index {
    pigeonhole_engine::open_index(uri, &OpenOptions { mode: Mode::CreateIfMissing, ..OpenOptions::default() })
        .expect("an index")
}

/// Calls `step` with the number of steps done so far until `total` are done; `step` returns the
/// number of new ones.
fn per_second(total: u64, mut step: impl FnMut(u64) -> u64) -> f64 {
    let start = Instant::now();
    let mut done = 0;
    while done < total {
        done += step(done);
    }
    done as f64 / start.elapsed().as_secs_f64()
}

/// Spreads a number over 64 bits (splitmix64).
fn spread(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
