//! The interface of every layout: numbers filed under sketches, and the search for near ones.

use std::ops::{Add, AddAssign};

use simhash::{Distance, Facet, Fingerprint};

/// One stored sketch that a query met.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// The number of the query in the call, counted from 0.
    pub query: usize,
    /// The stored fingerprint.
    pub fingerprint: Fingerprint,
    /// The distance between the stored fingerprint and the query's.
    pub distance: Distance,
    /// The numbers filed under the sketch, or a piece of them: ascending, never empty.
    pub numbers: &'a [u64],
}

/// The reads of a call of [`Tables::near`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Buckets looked into.
    pub n_buckets: u64,
    /// Sketches in the buckets whose distance was computed; one that shares several buckets counts
    /// in each.
    pub n_candidates: u64,
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            n_buckets: self.n_buckets + other.n_buckets,
            n_candidates: self.n_candidates + other.n_candidates,
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// An exact in-memory search structure: numbers (the caller's names for documents) filed under
/// sketches.
///
/// Equal sketches share one entry with a list of numbers. A query finds a stored sketch exactly if
/// the two share at least one bucket and their fingerprints differ in at most `max_distance` bits.
/// For sketches of one [`TableScheme`](simhash::TableScheme) and distances up to the scheme's own,
/// a query finds every sketch within the distance.
pub trait Tables: Send + Sync {
    /// Files `number` under `sketch`. Returns false, and changes nothing, if it already is filed
    /// there.
    fn insert(&mut self, sketch: &Facet, number: u64) -> bool;

    /// Inserts all of `postings` in their order. Returns the number of those not filed before. A
    /// caller with a whole corpus should use this method: a layout can serve many at once.
    /// (`BucketTables` gains nothing from it: 26.8 s against 26.2 s for 10 M, eight sketches
    /// touched together.)
    fn insert_all(&mut self, postings: &[(Facet, u64)]) -> usize {
        postings.iter().filter(|(sketch, number)| self.insert(sketch, *number)).count()
    }

    /// Removes `number` from `sketch`. Returns false, and changes nothing, if it is not filed
    /// there.
    fn remove(&mut self, sketch: &Facet, number: u64) -> bool;

    /// Calls `visit` for each stored sketch that a query finds: the queries in their order, the
    /// hits of one query in no particular order. Thousands of numbers under one sketch come in
    /// pieces, one call after another and ascending: a layout need not hold them in a row. No
    /// number comes twice.
    fn near(&self, queries: &[&Facet], max_distance: Distance, visit: &mut dyn FnMut(Hit<'_>)) -> Cost;

    /// The number of postings; a number filed under two sketches counts twice.
    fn n_postings(&self) -> usize;

    /// The number of different sketches stored.
    fn n_sketches(&self) -> usize;

    /// Heap memory held, in bytes.
    fn heap_bytes(&self) -> usize;
}
