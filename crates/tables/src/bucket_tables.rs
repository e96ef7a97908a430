//! The general layout: one growing hash table of buckets for each flag.

use simhash::Sketch;

use crate::{Cost, Hit, NaiveTables, Tables};

/// Exact search for sketches of any kind.
#[derive(Clone, Debug, Default)]
pub struct BucketTables {
    scan: NaiveTables,
}

impl BucketTables {
    /// Nothing stored, nothing allocated.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Tables for BucketTables {
    fn insert(&mut self, sketch: &Sketch, number: u64) -> bool {
        self.scan.insert(sketch, number)
    }

    fn remove(&mut self, sketch: &Sketch, number: u64) -> bool {
        self.scan.remove(sketch, number)
    }

    fn near(&self, queries: &[Sketch], max_distance: u32, visit: &mut dyn FnMut(Hit<'_>)) -> Cost {
        self.scan.near(queries, max_distance, visit)
    }

    fn n_postings(&self) -> usize {
        self.scan.n_postings()
    }

    fn n_sketches(&self) -> usize {
        self.scan.n_sketches()
    }

    fn heap_bytes(&self) -> usize {
        self.scan.heap_bytes()
    }
}
