//! The interface of every layout: numbers filed under sketches, and the search for near ones.

use simhash::{Distance, Facet, Fingerprint};

/// One stored sketch that a query met.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// Which of the queries of the call, counted from 0.
    pub query: usize,
    /// The stored fingerprint.
    pub fingerprint: Fingerprint,
    /// Its distance to the query's.
    pub distance: Distance,
    /// What is filed under it, or a piece of that: ascending, never empty.
    pub numbers: &'a [u64],
}

/// What a call of [`Tables::near`] read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Buckets looked into.
    pub n_buckets: u64,
    /// Sketches in them whose distance was computed; one that shares several buckets counts in each.
    pub n_candidates: u64,
}

/// An exact in-memory search structure: numbers (the caller's names for documents) filed under sketches.
///
/// Equal sketches share one entry with a list of numbers. A stored sketch is found by a query exactly when the two
/// share at least one bucket and their fingerprints differ in at most `max_distance` bits; for sketches of one
/// [`TableScheme`](simhash::TableScheme) and distances up to its own that is every sketch within the distance.
pub trait Tables: Send + Sync {
    /// Files `number` under `sketch`. Returns false, and changes nothing, where it already is filed there.
    fn insert(&mut self, sketch: &Facet, number: u64) -> bool;

    /// As [`insert`](Self::insert) of each in their order; returns how many were not filed before. What is built from a corpus
    /// is built by this, so that a layout can serve many at once. (`BucketTables` gains nothing from it: 26.8 s against 26.2 s
    /// for 10 M, eight sketches touched together.)
    fn insert_all(&mut self, postings: &[(Facet, u64)]) -> usize {
        postings.iter().filter(|(sketch, number)| self.insert(sketch, *number)).count()
    }

    /// Takes `number` away from `sketch`. Returns false, and changes nothing, where it is not filed there.
    fn remove(&mut self, sketch: &Facet, number: u64) -> bool;

    /// Calls `visit` for each stored sketch that a query finds, the queries in their order, the hits of one query in no
    /// particular order. Of a sketch under which thousands of numbers are filed they come in pieces, one call after
    /// another and ascending, so that a layout need not hold them in a row; no number comes twice.
    fn near(&self, queries: &[Facet], max_distance: Distance, visit: &mut dyn FnMut(Hit<'_>)) -> Cost;

    /// How many numbers are filed; one filed under two sketches counts twice.
    fn n_postings(&self) -> usize;

    /// How many different sketches are stored.
    fn n_sketches(&self) -> usize;

    /// Heap memory held, in bytes.
    fn heap_bytes(&self) -> usize;
}
