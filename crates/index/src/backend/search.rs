//! From the hits of the tables, which know numbers, to matches, which know documents. Shared by every store that
//! searches in memory; the one place that chooses a layout.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use simhash::{Distance, Sketch};
use tables::{BucketTables, Cost, Hit, Tables};

use crate::backend::runs::Live;
use crate::{DocumentId, Match, Neighbours, Result};

/// Empty tables of the layout that this crate uses.
pub fn new_tables() -> Box<dyn Tables> {
    Box::new(BucketTables::new())
}

/// For each query the `limit` nearest by distance, then id, and how many there are, of the documents that are
/// `live`. `id_of` turns a number into its document's id.
///
/// All queries go to the tables together, which serve some of them at a time while the memory is slow. What is held is
/// the answers and one query's work.
pub fn neighbours(
    tables: &dyn Tables,
    queries: &[Sketch],
    max_distance: Distance,
    limit: usize,
    live: &Live,
    id_of: &dyn Fn(u64) -> Result<DocumentId>,
) -> Result<Vec<Neighbours>> {
    let mut answers: Vec<Neighbours> = Vec::with_capacity(queries.len());
    answers.resize_with(queries.len(), Neighbours::default);
    let mut current = 0;
    let mut nearest = Nearest::new(limit);
    let mut outcome = Ok(());
    let cost = tables.near(queries, max_distance, &mut |hit| {
        if hit.query != current {
            answers[current].matches = std::mem::replace(&mut nearest, Nearest::new(limit)).into_matches();
            current = hit.query;
        }
        answers[hit.query].n_matches += live.n_in(hit.numbers) as u64;
        if outcome.is_ok() {
            outcome = nearest.take(&hit, &|number| live.contains(number), id_of);
        }
    });
    outcome?;
    if let Some(last) = answers.get_mut(current) {
        last.matches = nearest.into_matches();
    }
    share_out(cost, queries, &mut answers);
    Ok(answers)
}

/// The buckets of a query are its keys; the candidates of a call are known in sum only.
fn share_out(cost: Cost, queries: &[Sketch], answers: &mut [Neighbours]) {
    let n_queries = queries.len() as u64;
    for ((n, query), answer) in (0..).zip(queries).zip(answers) {
        let n_candidates = cost.n_candidates / n_queries + u64::from(n < cost.n_candidates % n_queries);
        answer.cost = Cost { n_buckets: query.keys().len() as u64, n_candidates };
    }
}

/// The nearest by distance, then id, of those numbers that `counts` is true for, in several tables.
pub fn nearest(
    tables: &[&dyn Tables],
    query: &Sketch,
    max_distance: Distance,
    counts: &dyn Fn(u64) -> bool,
    id_of: &dyn Fn(u64) -> Result<DocumentId>,
) -> Result<Option<Match>> {
    let mut nearest = Nearest::new(1);
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

/// A match, and what else is known of it. Ordered by distance, then id.
struct Ranked<T> {
    found: Match,
    known: T,
}

impl<T> Ranked<T> {
    fn rank(&self) -> (Distance, &DocumentId) {
        (self.found.distance, &self.found.id)
    }
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl<T> Eq for Ranked<T> {}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// Never holds more than `limit`, the farthest on top.
pub struct Nearest<T = ()> {
    ranked: BinaryHeap<Ranked<T>>,
    limit: usize,
}

impl Nearest {
    fn take(
        &mut self,
        hit: &Hit<'_>,
        counts: &dyn Fn(u64) -> bool,
        id_of: &dyn Fn(u64) -> Result<DocumentId>,
    ) -> Result<()> {
        let one = |number| {
            // Looking an id up is what costs; a hit that is farther than all we hold needs no id.
            if self.admits(hit.distance) && counts(number) {
                let (fingerprint, distance) = (hit.fingerprint, hit.distance);
                self.offer(Match { id: id_of(number)?, fingerprint, distance });
            }
            Ok(())
        };
        hit.numbers.iter().copied().try_for_each(one)
    }

    /// Keeps a match, if it is among the nearest.
    pub fn offer(&mut self, found: Match) {
        self.offer_with(found, || ());
    }
}

impl<T> Nearest<T> {
    /// Nothing yet, of at most `limit`.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { ranked: BinaryHeap::new(), limit }
    }

    /// Whether a match at this distance may be among the nearest.
    fn admits(&self, distance: Distance) -> bool {
        self.ranked.len() < self.limit
            || self.limit > 0 && self.ranked.peek().is_none_or(|farthest| distance <= farthest.found.distance)
    }

    /// Keeps a match and what is known of it, if it is among the nearest.
    pub fn offer_with(&mut self, found: Match, known: impl FnOnce() -> T) {
        if self.admits(found.distance) {
            self.ranked.push(Ranked { found, known: known() });
            if self.ranked.len() > self.limit {
                self.ranked.pop();
            }
        }
    }

    /// The matches in their order.
    #[must_use]
    pub fn into_matches(self) -> Vec<Match> {
        self.into_known().map(|(found, _)| found).collect()
    }

    /// The matches in their order, with what is known of them.
    pub fn into_known(self) -> impl Iterator<Item = (Match, T)> {
        self.ranked.into_sorted_vec().into_iter().map(|Ranked { found, known }| (found, known))
    }
}

#[cfg(test)]
mod tests {
    use simhash::Fingerprint;

    use super::*;
    use crate::SketchKind;
    use crate::testsuite::apart;

    /// The sum over a call's answers is what the tables say, and one query's is its own.
    #[test]
    fn costs_add_up() {
        let kind = SketchKind::default();
        let mut tables = new_tables();
        for number in 0..50 {
            tables.insert(&kind.sketch(Fingerprint(number << 5)), number);
        }
        let id_of = |number: u64| Ok(DocumentId::new(number.to_string()).expect("digits"));
        let queries: Vec<_> = (0..7).map(|n| kind.sketch(Fingerprint(n))).collect();
        for queries in [&queries[..], &queries[..1], &[]] {
            let expected = tables.near(queries, apart(3), &mut |_| {});
            let answers = neighbours(&*tables, queries, apart(3), 2, &Live::default(), &id_of).unwrap();
            let sum = |of: fn(&Cost) -> u64| answers.iter().map(|answer| of(&answer.cost)).sum::<u64>();
            assert!(queries.is_empty() || expected.n_candidates > 0);
            assert_eq!(sum(|cost| cost.n_buckets), expected.n_buckets);
            assert_eq!(sum(|cost| cost.n_candidates), expected.n_candidates);
        }
    }
}
