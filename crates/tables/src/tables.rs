//! The interface of every layout: numbers filed under sketches, and the search for near ones.

use std::collections::BTreeSet;

use simhash::{Fingerprint, Sketch};

/// The numbers that are filed under one sketch, ascending, never none.
#[derive(Clone, Copy, Debug)]
pub enum Postings<'a> {
    /// Just this one.
    One(u64),
    /// Two or more.
    Many(&'a BTreeSet<u64>),
}

/// One stored sketch that a query met.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// Which of the queries of the call, counted from 0.
    pub query: usize,
    /// The stored fingerprint.
    pub fingerprint: Fingerprint,
    /// Its distance to the query's, in bits.
    pub distance: u32,
    /// What is filed under it.
    pub postings: Postings<'a>,
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
    fn insert(&mut self, sketch: &Sketch, number: u64) -> bool;

    /// Takes `number` away from `sketch`. Returns false, and changes nothing, where it is not filed there.
    fn remove(&mut self, sketch: &Sketch, number: u64) -> bool;

    /// Calls `visit` once for each stored sketch that a query finds, the queries in their order, the hits of one query
    /// in no particular order.
    fn near(&self, queries: &[Sketch], max_distance: u32, visit: &mut dyn FnMut(Hit<'_>)) -> Cost;

    /// How many numbers are filed; one filed under two sketches counts twice.
    fn n_postings(&self) -> usize;

    /// How many different sketches are stored.
    fn n_sketches(&self) -> usize;

    /// Heap memory held, in bytes.
    fn heap_bytes(&self) -> usize;
}
