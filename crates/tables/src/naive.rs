//! The oracle, which compares every stored sketch with every query. It defines the answers of the
//! other layouts.

use std::collections::{BTreeMap, BTreeSet};

use simhash::{Distance, Facet};

use crate::heap::btree_bytes;
use crate::{Cost, Hit, Tables};

/// A plain scan: a query costs O(sketches × keys), and nothing in it can be wrong in a clever way.
#[derive(Clone, Debug, Default)]
pub struct NaiveTables {
    /// No set is empty.
    postings: BTreeMap<Facet, BTreeSet<u64>>,
}

impl NaiveTables {
    /// Creates tables with nothing stored.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Tables for NaiveTables {
    fn insert(&mut self, sketch: &Facet, number: u64) -> bool {
        self.postings.entry(sketch.clone()).or_default().insert(number)
    }

    fn remove(&mut self, sketch: &Facet, number: u64) -> bool {
        let Some(numbers) = self.postings.get_mut(sketch) else { return false };
        let removed = numbers.remove(&number);
        if numbers.is_empty() {
            self.postings.remove(sketch);
        }
        removed
    }

    fn near(&self, queries: &[&Facet], max_distance: Distance, visit: &mut dyn FnMut(Hit<'_>)) -> Cost {
        let mut cost = Cost::default();
        for (query, sketch) in queries.iter().enumerate() {
            cost.n_buckets += sketch.keys().len() as u64;
            for (stored, numbers) in &self.postings {
                let n_shared = sketch.keys().iter().filter(|key| stored.keys().contains(key)).count();
                cost.n_candidates += n_shared as u64;
                let fingerprint = stored.fingerprint();
                let distance = fingerprint.distance(sketch.fingerprint());
                if n_shared > 0 && distance <= max_distance {
                    let numbers: Vec<u64> = numbers.iter().copied().collect();
                    visit(Hit { query, fingerprint, distance, numbers: &numbers });
                }
            }
        }
        cost
    }

    fn n_postings(&self) -> usize {
        self.postings.values().map(BTreeSet::len).sum()
    }

    fn n_sketches(&self) -> usize {
        self.postings.len()
    }

    fn heap_bytes(&self) -> usize {
        let element_bytes = size_of::<Facet>() + size_of::<BTreeSet<u64>>();
        let owned = |(sketch, numbers): (&Facet, &BTreeSet<u64>)| {
            let keys = Some(sketch.keys()).filter(|keys| keys.len() > Facet::FEW_KEYS);
            keys.map_or(0, size_of_val) + btree_bytes(numbers.len(), size_of::<u64>())
        };
        btree_bytes(self.postings.len(), element_bytes) + self.postings.iter().map(owned).sum::<usize>()
    }
}
