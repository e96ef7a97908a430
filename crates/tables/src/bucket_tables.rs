//! The general layout: one growing hash table of buckets for each flag. Its parts are drawn in the
//! crate's README.

mod arena;
mod bucket;
mod chunks;
mod crowd;
mod directory;
mod entries;
mod numbers;
mod table;

use std::hint::black_box;

use simhash::{Distance, Facet, Fingerprint};

use crate::distance::within;
use crate::{Cost, Hit, Tables};
use entries::{Entries, Removed};
use table::{SegmentProbe, Table};

/// Queries that are served together: their misses overlap.
const QUERIES_PER_ROUND: usize = 8;

/// Exact search for sketches of any kind, simhash or not: the keys of a sketch are its buckets.
///
/// An insert or removal costs O(keys), however much is stored, and none stops to rebuild anything;
/// a query costs O(keys + candidates). One sketch of 10 keys takes about 120 bytes.
///
/// # Limits
/// 2^32 different sketches (600 GB at 10 keys each), 2^32 − 1 keys a sketch, and 2^33 places in a
/// table; an insert beyond these panics. Memory of removed sketches is used again, but not given
/// back.
#[derive(Clone, Debug, Default)]
pub struct BucketTables {
    entries: Entries,
    /// The tables, by flag.
    tables: Vec<Table>,
    /// The entry of a sketch, by a hash of fingerprint and keys.
    catalog: Table,
}

impl BucketTables {
    /// Creates tables with nothing stored and nothing allocated.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads, all at once, memory that an insert or removal of this sketch will read.
    fn touch(&self, sketch: &Facet, hash: u32) {
        let touched = sketch.keys().iter().fold(self.catalog.touch(self.catalog.probe(hash)), |read, key| {
            let table = self.tables.get(usize::from(key.flag));
            read ^ table.map_or(0, |table| table.touch(table.probe(key.segment)))
        });
        black_box(touched);
    }

    /// Returns the entry of exactly this sketch, fingerprint and keys.
    fn find(&self, sketch: &Facet, hash: u32) -> Option<u32> {
        let is_it = |entry: u32| {
            self.entries.fingerprint(entry) == sketch.fingerprint()
                && self.entries.n_keys(entry) == sketch.keys().len()
                && sketch.keys().iter().all(|key| {
                    let table = self.tables.get(usize::from(key.flag));
                    table.is_some_and(|table| table.contains(key.segment, entry))
                })
        };
        let probe = self.catalog.probe(hash);
        let mut found = None;
        let mut look = |entry| {
            if found.is_none() && is_it(entry) {
                found = Some(entry);
            }
        };
        match self.catalog.crowd(probe) {
            Some(crowd) => crowd.read(|entry, _| look(entry)),
            None => self.catalog.read(probe, look),
        }
        found
    }

    fn add_sketch(&mut self, sketch: &Facet, hash: u32, number: u64) {
        let entry = self.entries.add_entry(sketch.fingerprint(), sketch.keys().len(), number);
        let fingerprints = self.entries.fingerprints();
        self.catalog.insert(hash, entry, fingerprints);
        for key in sketch.keys() {
            let flag = usize::from(key.flag);
            if self.tables.len() <= flag {
                self.tables.resize_with(flag + 1, Table::default);
            }
            self.tables[flag].insert(key.segment, entry, fingerprints);
        }
    }

    fn remove_sketch(&mut self, sketch: &Facet, hash: u32, entry: u32) {
        self.catalog.remove(hash, entry);
        for key in sketch.keys() {
            self.tables[usize::from(key.flag)].remove(key.segment, entry);
        }
        self.entries.free_entry(entry);
    }
}

/// Returns the hash of a sketch. Equal sketches have equal hashes, and hardly any others do.
fn hash_of(sketch: &Facet) -> u32 {
    let step = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15;
        (product >> 64) as u64 ^ product as u64
    };
    let keys = sketch.keys().iter().map(|key| u64::from(key.flag) << 32 | u64::from(key.segment));
    step(keys.fold(step(0x243f_6a88_85a3_08d3, sketch.fingerprint().0), step), 0) as u32
}

/// A candidate near enough, ordered by query, then entry: the query's place in its round, the entry
/// and the distance, from the top bits down. Single words are sorted faster than their parts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found(u64);

impl Found {
    const ENTRY_AT: u32 = 8;
    const QUERY_AT: u32 = Self::ENTRY_AT + u32::BITS;

    fn new(query: u32, entry: u32, distance: Distance) -> Self {
        let distance = u64::from(distance.as_bits());
        Self(u64::from(query) << Self::QUERY_AT | u64::from(entry) << Self::ENTRY_AT | distance)
    }

    fn parts(self) -> (u32, u32, Distance) {
        let distance = Distance::new((self.0 & 0xff) as u32).unwrap_or(Distance::MAX);
        ((self.0 >> Self::QUERY_AT) as u32, (self.0 >> Self::ENTRY_AT) as u32, distance)
    }
}

impl Tables for BucketTables {
    fn insert(&mut self, sketch: &Facet, number: u64) -> bool {
        let hash = hash_of(sketch);
        self.touch(sketch, hash);
        match self.find(sketch, hash) {
            Some(entry) => self.entries.add_number(entry, number),
            None => {
                self.add_sketch(sketch, hash, number);
                true
            }
        }
    }

    fn remove(&mut self, sketch: &Facet, number: u64) -> bool {
        let hash = hash_of(sketch);
        self.touch(sketch, hash);
        let Some(entry) = self.find(sketch, hash) else { return false };
        match self.entries.remove_number(entry, number) {
            Removed::No => return false,
            Removed::One => {}
            Removed::Last => self.remove_sketch(sketch, hash, entry),
        }
        true
    }

    fn near(&self, queries: &[&Facet], max_distance: Distance, visit: &mut dyn FnMut(Hit<'_>)) -> Cost {
        let mut round = Round::default();
        let mut cost = Cost::default();
        for (n, queries) in queries.chunks(QUERIES_PER_ROUND).enumerate() {
            cost.n_buckets += queries.iter().map(|query| query.keys().len() as u64).sum::<u64>();
            cost.n_candidates += round.search(self, queries, max_distance);
            for found in &round.found {
                let (query, entry, distance) = found.parts();
                let query = n * QUERIES_PER_ROUND + query as usize;
                let fingerprint = self.entries.fingerprint(entry);
                self.entries.visit_numbers(entry, |numbers| {
                    visit(Hit { query, fingerprint, distance, numbers });
                });
            }
        }
        cost
    }

    fn n_postings(&self) -> usize {
        self.entries.n_postings()
    }

    fn n_sketches(&self) -> usize {
        self.entries.n_used()
    }

    fn heap_bytes(&self) -> usize {
        self.entries.heap_bytes()
            + self.catalog.heap_bytes()
            + self.tables.iter().map(Table::heap_bytes).sum::<usize>()
            + self.tables.capacity() * size_of::<Table>()
    }
}

/// A few queries on their way through the tables together, a stage at a time. The reads of one
/// stage do not depend on one another: the memory system serves them in parallel.
#[derive(Default)]
struct Round<'a> {
    probes: Vec<(u32, &'a Table, SegmentProbe)>,
    candidates: Vec<(u32, u32)>,
    found: Vec<Found>,
}

impl<'a> Round<'a> {
    /// Leaves in `found` each stored sketch once for each query that finds it. Returns the number
    /// of comparisons.
    fn search(&mut self, tables: &'a BucketTables, queries: &[&Facet], max_distance: Distance) -> u64 {
        self.probes.clear();
        self.candidates.clear();
        self.found.clear();
        self.probes.reserve(queries.iter().map(|query| query.keys().len()).sum());
        for (query, sketch) in (0..).zip(queries) {
            for key in sketch.keys() {
                if let Some(table) = tables.tables.get(usize::from(key.flag)) {
                    self.probes.push((query, table, table.probe(key.segment)));
                }
            }
        }
        black_box(self.probes.iter().fold(0, |read, &(_, table, probe)| read ^ table.touch(probe)));
        let mut n_candidates = 0;
        for &(query, table, probe) in &self.probes {
            if let Some(crowd) = table.crowd(probe) {
                n_candidates += crowd.len() as u64;
                let wanted = queries[query as usize].fingerprint();
                let found = &mut self.found;
                crowd.read(|entry, fingerprint| {
                    if let Some(distance) = within(wanted, Fingerprint(fingerprint), max_distance) {
                        found.push(Found::new(query, entry, distance));
                    }
                });
            } else {
                table.read(probe, |entry| self.candidates.push((query, entry)));
            }
        }
        n_candidates += self.candidates.len() as u64;
        for &(query, entry) in &self.candidates {
            let (wanted, stored) = (queries[query as usize].fingerprint(), tables.entries.fingerprint(entry));
            if let Some(distance) = within(wanted, stored, max_distance) {
                self.found.push(Found::new(query, entry, distance));
            }
        }
        // A sketch that shares several buckets was found in each.
        self.found.sort_unstable();
        self.found.dedup();
        n_candidates
    }
}

#[cfg(test)]
mod tests {
    use simhash::BucketKey;

    use super::*;

    /// A unit test, as two sketches with one hash are too rare to find from outside.
    #[test]
    fn a_sketch_with_the_hash_of_another_is_not_taken_for_it() {
        let sketch = |bits, segments: &[u32]| {
            Facet::new(Fingerprint(bits), segments.iter().map(|&segment| BucketKey { flag: 1, segment }))
        };
        let stored = sketch(5, &[1, 2]);
        let mut tables = BucketTables::new();
        tables.insert(&stored, 0);
        let hash = hash_of(&stored);
        assert!(tables.find(&stored, hash).is_some());
        for other in
            [sketch(4, &[1, 2]), sketch(5, &[1]), sketch(5, &[1, 3]), sketch(5, &[1, 2, 3]), sketch(5, &[])]
        {
            assert_ne!(hash_of(&other), hash);
            assert_eq!(tables.find(&other, hash), None);
        }
    }
}
