//! From the hits of the tables, which know numbers, to matches, which know documents. Shared by every store that
//! searches in memory; the one place that chooses a layout.

use std::collections::BinaryHeap;

use simhash::{Fingerprint, Sketch};
use tables::{BucketTables, Hit, Postings, Tables};

use crate::{DocumentId, Match, Neighbours, Result};

/// Empty tables of the layout that this crate uses.
pub(crate) fn new_tables() -> Box<dyn Tables> {
    Box::new(BucketTables::new())
}

/// The `limit` nearest by distance, then id, and how many there are. `id_of` turns a number into its document's id.
pub(crate) fn neighbours(
    tables: &dyn Tables,
    query: &Sketch,
    max_distance: u32,
    limit: usize,
    id_of: &dyn Fn(u64) -> Result<DocumentId>,
) -> Result<Neighbours> {
    let mut n_matches = 0;
    let mut nearest = Nearest { ranked: BinaryHeap::new(), limit };
    let mut outcome = Ok(());
    let cost = tables.near(std::slice::from_ref(query), max_distance, &mut |hit| {
        n_matches += n_postings(&hit);
        if outcome.is_ok() {
            outcome = nearest.take(&hit, &|_| true, id_of);
        }
    });
    outcome?;
    Ok(Neighbours { matches: nearest.into_matches(), n_matches, cost })
}

/// The nearest by distance, then id, of those numbers that `counts` is true for, in several tables.
pub(crate) fn nearest(
    tables: &[&dyn Tables],
    query: &Sketch,
    max_distance: u32,
    counts: &dyn Fn(u64) -> bool,
    id_of: &dyn Fn(u64) -> Result<DocumentId>,
) -> Result<Option<Match>> {
    let mut nearest = Nearest { ranked: BinaryHeap::new(), limit: 1 };
    let mut outcome = Ok(());
    for tables in tables {
        tables.near(std::slice::from_ref(query), max_distance, &mut |hit| {
            if outcome.is_ok() {
                outcome = nearest.take(&hit, counts, id_of);
            }
        });
    }
    outcome?;
    Ok(nearest.into_matches().pop())
}

fn n_postings(hit: &Hit<'_>) -> u64 {
    match hit.postings {
        Postings::One(_) => 1,
        Postings::Many(numbers) => numbers.len() as u64,
    }
}

/// The order of matches is the order of the fields.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    distance: u32,
    id: DocumentId,
    fingerprint: Fingerprint,
}

/// Never holds more than `limit`, the farthest on top.
struct Nearest {
    ranked: BinaryHeap<Ranked>,
    limit: usize,
}

impl Nearest {
    fn take(
        &mut self,
        hit: &Hit<'_>,
        counts: &dyn Fn(u64) -> bool,
        id_of: &dyn Fn(u64) -> Result<DocumentId>,
    ) -> Result<()> {
        let mut one = |number| {
            // Looking an id up is what costs; a hit that is farther than all we hold needs no id.
            let farthest = self.ranked.peek().map_or(0, |farthest| farthest.distance);
            if self.ranked.len() >= self.limit && (self.limit == 0 || hit.distance > farthest)
                || !counts(number)
            {
                return Ok(());
            }
            let id = id_of(number)?;
            self.ranked.push(Ranked { distance: hit.distance, id, fingerprint: hit.fingerprint });
            if self.ranked.len() > self.limit {
                self.ranked.pop();
            }
            Ok(())
        };
        match hit.postings {
            Postings::One(number) => one(number),
            Postings::Many(numbers) => numbers.iter().copied().try_for_each(one),
        }
    }

    fn into_matches(self) -> Vec<Match> {
        let to_match = |Ranked { distance, id, fingerprint }| Match { id, fingerprint, distance };
        self.ranked.into_sorted_vec().into_iter().map(to_match).collect()
    }
}
