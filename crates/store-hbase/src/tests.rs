//! The store on rows of every kind, in every way that a network, a cluster or a writer can fail.
//! The common suite shows the contract of all stores without failures.

mod bench;
mod between;
mod buckets;
mod bulk;
mod claims;
mod damage;
mod deaths;
mod examine;
mod examine_beside;
mod faults;
mod gateway;
mod ghosts;
mod glance;
mod made_anew;
mod marks;
mod memory;
mod outages;
mod pool;
mod swaps;
mod tables;
mod texts;
mod tiers;
mod times;
mod verifying;
mod withdrawn;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use index::testsuite::{apart, document, get, id, sketch, spread, within};
use index::{
    Clock, Cursor, Document, ErrorKind, Identity, Insertion, Metadata, OpenOptions, Profile, Sketch,
    SketchKind, Store,
};
use simhash::Fingerprint;

use self::bench::{Bench, Call, Mishap, On, hazards};
use super::fake::VisibleRow;
use super::layout::METADATA_ROW;
use super::options::Options;
use super::rows::Rows;
use super::store::HbaseStore;

/// The time at which the tests begin, in milliseconds.
const BEGIN: i64 = 1_763_735_000_000;

const HOUR: i64 = 60 * 60 * 1000;

/// Patient enough for a busy machine: no test waits for all of it.
const OPTIONS: Options = Options {
    n_connections: 4,
    connect_timeout: Duration::from_secs(30),
    reply_timeout: Duration::from_secs(30),
    first_patience: Duration::from_secs(30),
    patience: Duration::from_secs(30),
};

/// For failures that do not end.
const IMPATIENT: Options =
    Options { first_patience: Duration::from_millis(30), patience: Duration::from_millis(60), ..OPTIONS };

/// A place whose clock stands, with the tables of the index `t`.
struct Place<B: Bench + ?Sized = dyn Bench> {
    clock: Arc<AtomicI64>,
    hbase: Box<B>,
}

impl Place {
    /// Makes a place without tables.
    fn empty(on: On) -> Self {
        Self::over(on.start())
    }

    /// Makes a place without an index.
    fn bare(on: On) -> Self {
        let place = Self::empty(on);
        place.create_tables();
        place
    }

    fn new(on: On) -> Self {
        Self::of(on, &metadata())
    }

    fn of(on: On, metadata: &Metadata) -> Self {
        let place = Self::bare(on);
        place.store().create(metadata).unwrap();
        place
    }
}

impl<B: Bench + ?Sized> Place<B> {
    fn over(hbase: Box<B>) -> Self {
        hbase.set_clock_ms(BEGIN);
        Self { clock: Arc::new(AtomicI64::new(BEGIN)), hbase }
    }

    fn create_tables(&self) {
        self.hbase.create_table("t", &["f"]);
        self.hbase.create_table("t_docs", &["d", "m"]);
    }

    fn store(&self) -> HbaseStore {
        self.store_with(OPTIONS)
    }

    /// Returns a store whose clock can be set.
    fn store_with(&self, options: Options) -> HbaseStore {
        self.store_over(self.hbase.rows("t", options))
    }

    fn store_over(&self, rows: Box<dyn Rows>) -> HbaseStore {
        let clock = Arc::clone(&self.clock);
        HbaseStore::over(rows, Clock::new(move || clock.load(Ordering::Relaxed)))
    }

    /// Advances the clocks of the stores and of HBase.
    fn advance(&self, ms: i64) {
        self.clock.fetch_add(ms, Ordering::Relaxed);
        self.hbase.advance(Duration::from_millis(ms as u64));
    }

    fn set_clock(&self, ms: i64) {
        self.clock.store(ms, Ordering::Relaxed);
    }

    fn index_rows(&self) -> Vec<VisibleRow> {
        self.hbase.rows_of("t")
    }

    /// Returns the rows of documents, without the metadata.
    fn document_rows(&self) -> Vec<VisibleRow> {
        let mut rows = self.hbase.rows_of("t_docs");
        rows.retain(|(key, _)| key != METADATA_ROW);
        rows
    }

    /// Returns rows and columns of the index, without timestamps.
    fn cells(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let rows = self.index_rows().into_iter();
        rows.flat_map(|(key, cells)| cells.into_iter().map(move |(column, ..)| (key.clone(), column)))
            .collect()
    }

    /// Checks that the cells are exactly those of the documents' sketches.
    fn check_cells(&self, documents: &[Document]) {
        let mut expected: Vec<_> = documents.iter().flat_map(cells_of).collect();
        expected.sort();
        assert!(self.cells() == expected, "{} cells, expected {}", self.cells().len(), expected.len());
    }
}

fn cells_of(document: &Document) -> Vec<(Vec<u8>, Vec<u8>)> {
    let column = super::layout::index_column(&document.id);
    document.sketch.rows().map(|row| (row.encode().to_vec(), column.clone())).collect()
}

/// Returns the metadata of an index that files by simhashes alone and verifies nothing.
fn metadata() -> Metadata {
    metadata_of(&OpenOptions {
        profile: Some(Profile::Classic),
        verify: Some(false),
        ..OpenOptions::default()
    })
}

fn metadata_of(options: &OpenOptions) -> Metadata {
    Metadata { identity: Identity::new([1; 16]), ..options.new_metadata().unwrap() }
}

/// Returns all documents of the store, in the order of ids.
fn contents(store: &dyn Store) -> Vec<Document> {
    let mut documents = Vec::new();
    let mut next = Some(Cursor::start());
    while let Some(after) = next {
        let page = store.scan(after, 5_000).unwrap();
        documents.extend(page.documents.into_iter().map(|stored| stored.document));
        next = page.next;
    }
    documents.sort_by(|a, b| a.id.cmp(&b.id));
    documents
}

/// Returns the near ids, after a check of their number and for duplicates.
fn found(store: &dyn Store, bits: u64) -> Vec<String> {
    let answer = store.near(&[sketch(bits)], &within(3), 10_000).unwrap().remove(0);
    assert_eq!(answer.matches.len() as u64, answer.n_matches);
    let mut ids: Vec<_> = answer.matches.into_iter().map(|found| found.id.as_str().to_owned()).collect();
    ids.sort();
    let n = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), n, "a document was found twice");
    ids
}

/// Returns the error and all of its causes, in one line.
fn told(error: &index::Error) -> String {
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        words = format!("{words}: {error}");
        source = error.source();
    }
    words
}

fn check_fails<T: std::fmt::Debug>(answer: index::Result<T>, kind: ErrorKind, says: &[&str]) {
    let error = answer.expect_err("this must fail");
    let words = told(&error);
    assert_eq!(error.kind(), kind, "{words}");
    for part in says {
        assert!(words.contains(part), "{part:?} is not in {words:?}");
    }
}
