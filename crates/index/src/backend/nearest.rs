//! The nearest matches of a search, up to a limit.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use minhash::Similarity;

use crate::{DocumentId, Match, Nearness};

/// A match with attached data. Ordered by nearness, then id.
struct Ranked<T> {
    found: Match,
    known: T,
}

impl<T> Ranked<T> {
    fn rank(&self) -> (Nearness, &DocumentId) {
        (self.found.nearness, &self.found.id)
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

/// The nearest matches so far, at most `limit`, the farthest on top.
pub struct Nearest<T = ()> {
    ranked: BinaryHeap<Ranked<T>>,
    limit: usize,
}

impl Nearest {
    /// Keeps a match, if it is among the nearest.
    pub fn offer(&mut self, found: Match) {
        self.offer_with(found, || ());
    }
}

impl<T> Nearest<T> {
    /// A collection without matches, for at most `limit`.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { ranked: BinaryHeap::new(), limit }
    }

    /// Returns true if a match of this nearness may be among the nearest.
    #[must_use]
    pub(crate) fn admits(&self, nearness: Nearness) -> bool {
        self.ranked.len() < self.limit
            || self.limit > 0 && self.ranked.peek().is_none_or(|farthest| nearness <= farthest.found.nearness)
    }

    /// Returns true if no match of at most this similarity is among the nearest any more.
    #[must_use]
    pub(crate) fn excludes(&self, at_most: Similarity) -> bool {
        let is_above = |farthest: &Ranked<T>| farthest.found.similarity() > Some(at_most);
        self.ranked.len() >= self.limit && self.ranked.peek().is_some_and(is_above)
    }

    /// Keeps a match with its data, if it is among the nearest.
    pub fn offer_with(&mut self, found: Match, known: impl FnOnce() -> T) {
        if self.admits(found.nearness) {
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

    /// The matches in their order, with their data.
    pub fn into_known(self) -> impl Iterator<Item = (Match, T)> {
        self.ranked.into_sorted_vec().into_iter().map(|Ranked { found, known }| (found, known))
    }
}
