//! The features of this store alone: files, a map that grows, followers, other processes.

mod bits;
mod damage;
mod examine;
mod follower;
mod full_disk;
mod growth;
mod image;
mod jumps;
mod made_anew;
mod nodes;
mod noise;
mod place;
mod processes;
mod retaining;
mod texts;
mod turns;

use std::path::Path;
use std::sync::Arc;

use heed::RoTxn;
use index::testsuite::{apart, within};
use index::{Clock, ErrorKind, FORMAT_VERSION, Identity, Index, MemoryStore, Mode, OpenOptions, SketchKind};
use simhash::Fingerprint;
use tempfile::TempDir;

use super::batch::Batch;
use super::environment::Opened;
use super::limits::{LOOKED_THROUGH_MAX, Limits, PATIENCE};
use super::ram::Ram;
use super::*;

/// Small enough that every test meets every limit.
const SMALL: Limits = Limits {
    map_bytes: 1 << 16,
    removals_kept_max: 5,
    removals_kept_min: 5,
    follow_step: 7,
    swept_min: 3,
    patience: PATIENCE,
    image_min: 3,
    layers_max: 8,
    block_bytes: 48,
    blocks_at_once: 5,
    ahead_min: 1,
    ahead_hits_max: 20,
    looked_through_max: LOOKED_THROUGH_MAX,
};

/// In memory, if possible: these tests pull the plug on processes, not on the machine.
fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn open(path: &Path) -> EmbeddedStore {
    open_with(path, SMALL)
}

fn open_with(path: &Path, limits: Limits) -> EmbeddedStore {
    let store = EmbeddedStore::open_with(path, Mode::CreateIfMissing, limits, Clock::system()).unwrap();
    store.create(&metadata()).unwrap();
    store
}

fn metadata() -> Metadata {
    let kind = SketchKind::default();
    Metadata {
        format_version: FORMAT_VERSION,
        max_distance: kind.max_distance(),
        min_similarity: None,
        kind,
        texts: index::TextKeeping::None,
        same_numbers: false,
        key: None,
        retain: None,
        recipe: [].into(),
        identity: Identity::new([1; 16]),
    }
}

/// Reads the databases in a snapshot.
fn snapshot<T>(store: &EmbeddedStore, look: impl Fn(&Opened, &RoTxn<'_>) -> heed::Result<T>) -> T {
    let environment = &store.shared.environment;
    environment
        .with(|opened| {
            let txn = opened.read_txn()?;
            Ok(look(opened, &txn)?)
        })
        .unwrap()
}

/// Spreads a number over 64 bits (splitmix64).
fn spread(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn document(n: u64) -> Document {
    let sketch = SketchKind::default().sketch(Fingerprint(spread(n)));
    Document { id: DocumentId::new(format!("document {n}")).unwrap(), sketch, source: None }
}

fn documents(numbers: impl IntoIterator<Item = u64>) -> Vec<Document> {
    numbers.into_iter().map(document).collect()
}

/// Asserts that each of `documents` is found by its sketch, and no other document with it.
fn assert_found(store: &dyn Store, documents: &[Document]) {
    for batch in documents.chunks(1000) {
        let sketches: Vec<_> = batch.iter().map(|document| document.sketch.clone()).collect();
        for (found, document) in store.near(&sketches, &within(3), 2).unwrap().iter().zip(batch) {
            assert_eq!(found.n_matches, 1, "{document:?}");
            assert_eq!(found.matches[0].id, document.id);
        }
    }
}

/// Asserts that none of `documents` is found.
fn assert_not_found(store: &dyn Store, documents: &[Document]) {
    let sketches: Vec<_> = documents.iter().map(|document| document.sketch.clone()).collect();
    assert!(store.near(&sketches, &within(3), 2).unwrap().iter().all(|found| found.n_matches == 0));
}

/// One of a long series of calls that insert, replace and remove; the same for the same number.
fn call(store: &dyn Store, n: u64) -> Result<()> {
    let base = 10 * n;
    match n % 4 {
        0 | 1 => store.insert_if_new(&documents(base..base + 10), &within(3)).map(drop),
        2 => {
            // Replaces half of the last call's documents, and moves them next to each other.
            let mut moved = documents(base - 10..base);
            for (old, near) in moved.iter_mut().zip(documents([n]).iter().cycle()).take(5) {
                old.sketch = near.sketch.clone();
            }
            store.insert(&moved).map(drop)
        }
        _ => {
            let ids: Vec<_> =
                documents(base - 30..base - 20).into_iter().map(|document| document.id).collect();
            store.remove(&ids).map(drop)
        }
    }
}

#[test]
fn one_path_opened_twice_is_one_store() {
    let directory = directory();
    let (a, b) = (open(directory.path()), open(&directory.path().join(".")));
    a.insert(&documents([1])).unwrap();
    assert_found(&b, &documents([1]));
    drop(a);
    b.insert(&documents([2])).unwrap();
    drop(b);
    assert_found(&open(directory.path()), &documents([1, 2]));
}

/// After the last owner's drop, and before the file is closed, another thread may open: LMDB would
/// refuse.
#[test]
fn opening_waits_for_a_store_that_is_closing() {
    let directory = directory();
    let store = open(directory.path());
    let closing = snapshot(&store, |opened, _| Ok(opened.env().clone()));
    drop(store);
    std::thread::scope(|scope| {
        let opener = scope.spawn(|| open(directory.path()).insert(&documents([1])).unwrap());
        for _ in 0..10_000_000 {
            if opener.is_finished() {
                break;
            }
            std::hint::spin_loop();
        }
        drop(closing);
        assert_eq!(opener.join().unwrap(), [Insertion::Inserted]);
    });
}

#[test]
fn opening_and_closing_by_many_threads() {
    let directory = directory();
    open(directory.path());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = directory.path();
            scope.spawn(move || {
                for n in 0..25 {
                    open(path).insert(&documents([100 * thread + n])).unwrap();
                }
            });
        }
    });
    assert_eq!(open(directory.path()).status().unwrap().n_documents, Some(100));
}

#[test]
fn tables_are_built_by_the_first_search_and_not_before() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&documents(0..10)).unwrap();
    store.get(&[document(1).id]).unwrap();
    assert_eq!(store.status().unwrap().n_table_bytes, None);
    store.prepare().unwrap();
    assert!(store.status().unwrap().n_table_bytes > Some(0));
    assert_found(&store, &documents(0..10));
}
