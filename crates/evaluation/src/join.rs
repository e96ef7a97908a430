//! The exact all-pairs join: finds all similar sets of a corpus.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::jaccard::ratio;

/// Two similar sets, by their numbers in the call.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Pair {
    /// The lesser number.
    pub a: usize,
    /// The greater number.
    pub b: usize,
    /// Jaccard similarity of the two.
    pub similarity: f64,
}

/// Tolerance for the rounding of floating-point bounds: bounds are lowered by it, and pairs are
/// judged exactly in the end.
const SLACK: f64 = 1e-9;

/// Returns all pairs of sets with a Jaccard similarity of at least `threshold`, ascending by their
/// numbers.
///
/// Each set must be ascending, without repeats. Empty sets are similar to none. The threshold is in
/// 0..=1 and not 0, at which every pair would qualify.
///
/// Pairs are filtered by prefix, length and position (Xiao, Wang, Lin, Yu 2008, "Efficient
/// similarity joins for near duplicate detection", PPJoin, sections 3 and 4): elements are ordered
/// by the number of sets that have them, the rarest first. Two sufficiently similar sets share one
/// of the first elements of each; in the smaller set, the fewer first elements of its index prefix
/// suffice (section 4.2). Elements of very many sets are therefore met only in sets that consist of
/// them so largely as to be similar by them alone, and no pair is lost. Threads take sets by turns.
///
/// Time grows with the number of sets that share their rarest elements, and with the number of
/// pairs found: if all sets are alike, this is the square of the number of sets. Memory is 4 bytes
/// an element, 8 for each element of a prefix, and 24 for each pair.
///
/// # Panics
/// If there are 2^32 or more sets or different elements.
#[must_use]
pub fn similar_pairs(sets: &[&[u64]], threshold: f64) -> Vec<Pair> {
    similar_pairs_up_to(sets, threshold, usize::MAX).unwrap_or_default()
}

/// Returns the pairs of [`similar_pairs`], or `None` as soon as there are more than `n_max`.
///
/// # Panics
/// As [`similar_pairs`].
#[must_use]
pub fn similar_pairs_up_to(sets: &[&[u64]], threshold: f64, n_max: usize) -> Option<Vec<Pair>> {
    let threshold = threshold.clamp(SLACK, 1.0);
    let ranked = ranked(sets);
    // By size: of two sets, the earlier one is the smaller.
    let mut order: Vec<usize> = (0..sets.len()).filter(|&number| !ranked[number].is_empty()).collect();
    order.sort_by_key(|&number| (ranked[number].len(), number));
    let join = Join { postings: postings(&ranked, &order, threshold), ranked, order, threshold };
    let n_threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let n_left = AtomicUsize::new(n_max);
    let mut pairs: Vec<Pair> = thread::scope(|scope| {
        let (join, n_left) = (&join, &n_left);
        let parts: Vec<_> =
            (0..n_threads).map(|part| scope.spawn(move || join.part(part, n_threads, n_left))).collect();
        let joined = |part: thread::ScopedJoinHandle<'_, Option<Vec<Pair>>>| {
            part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let parts: Vec<_> = parts.into_iter().map(joined).collect();
        parts.into_iter().collect::<Option<Vec<_>>>().map(|parts| parts.concat())
    })?;
    pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    Some(pairs)
}

/// Returns the sets with each element replaced by its rank: 0 is the element that the fewest sets
/// have.
fn ranked(sets: &[&[u64]]) -> Vec<Vec<u32>> {
    let mut counts: HashMap<u64, u32> = HashMap::new();
    for &element in sets.iter().copied().flatten() {
        *counts.entry(element).or_default() += 1;
    }
    let mut elements: Vec<(u32, u64)> = counts.iter().map(|(&element, &count)| (count, element)).collect();
    elements.sort_unstable();
    for (rank, (_, element)) in (0..).zip(elements) {
        counts.insert(element, rank);
    }
    let ranked = |set: &&[u64]| {
        let mut ranks: Vec<u32> = set.iter().map(|element| counts[element]).collect();
        ranks.sort_unstable();
        ranks
    };
    sets.iter().map(ranked).collect()
}

/// Place of an element within the prefix of a set.
#[derive(Clone, Copy)]
struct Posting {
    /// Place of the set in the order of sizes.
    place: u32,
    /// Position of the element in the set, counted from 0.
    position: u32,
}

/// Returns for each rank the sets with this rank in their index prefix, by size.
fn postings(ranked: &[Vec<u32>], order: &[usize], threshold: f64) -> HashMap<u32, Vec<Posting>> {
    let mut postings: HashMap<u32, Vec<Posting>> = HashMap::new();
    for (place, &number) in (0..).zip(order) {
        let set = &ranked[number];
        for (position, &rank) in (0..).zip(&set[..index_prefix_len(set.len(), threshold)]) {
            postings.entry(rank).or_default().push(Posting { place, position });
        }
    }
    postings
}

/// Returns the length of the prefix of which a set shares at least one element with each
/// sufficiently similar set: all elements but the `threshold * len` shared at least, and one more.
fn prefix_len(len: usize, threshold: f64) -> usize {
    (len + 1).saturating_sub(at_least(threshold * len as f64)).min(len)
}

/// Returns the same length for pairs with sets that are no smaller: the two share at least `t / (1
/// + t) · (|A| + |B|)` elements, which is no less than `2 t / (1 + t) · |A|`.
fn index_prefix_len(len: usize, threshold: f64) -> usize {
    (len + 1).saturating_sub(at_least(2.0 * threshold / (1.0 + threshold) * len as f64)).min(len)
}

/// Returns the least whole number from 1 on that is not below a bound.
fn at_least(bound: f64) -> usize {
    // `as` alone would turn a negative bound into 0.
    (bound - SLACK).ceil().max(1.0) as usize
}

struct Join {
    ranked: Vec<Vec<u32>>,
    order: Vec<usize>,
    postings: HashMap<u32, Vec<Posting>>,
    threshold: f64,
}

/// State of a smaller set on the way through the prefix of a larger one.
#[derive(Clone, Copy, Default)]
struct Met {
    n_shared: u32,
    is_out: bool,
}

/// State of all smaller sets, by their places, and the places of those met.
struct Meeting {
    of: Vec<Met>,
    places: Vec<u32>,
}

impl Join {
    /// Returns the pairs of every `n_parts`-th set with smaller ones, the larger sets first; `None`
    /// once all parts together have found more than allowed.
    fn part(&self, part: usize, n_parts: usize, n_left: &AtomicUsize) -> Option<Vec<Pair>> {
        let mut pairs = Vec::new();
        let mut places: Vec<usize> = (0..self.order.len()).skip(part).step_by(n_parts).collect();
        places.sort_unstable_by_key(|&place| Reverse(place));
        let mut met = Meeting { of: vec![Met::default(); self.order.len()], places: Vec::new() };
        for place in places {
            self.candidates(place, &mut met);
            let number = self.order[place];
            let n_before = pairs.len();
            for other in met.places.drain(..) {
                if !std::mem::take(&mut met.of[other as usize]).is_out {
                    let other = self.order[other as usize];
                    pairs.extend(self.judge(number.min(other), number.max(other)));
                }
            }
            let n_found = pairs.len() - n_before;
            n_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(n_found)).ok()?;
        }
        Some(pairs)
    }

    /// Collects in `met` the smaller sets that may be similar to the one at `place`.
    fn candidates(&self, place: usize, met: &mut Meeting) {
        let set = &self.ranked[self.order[place]];
        let len_min = at_least(self.threshold * set.len() as f64);
        for (position, rank) in set[..prefix_len(set.len(), self.threshold)].iter().enumerate() {
            let Some(postings) = self.postings.get(rank) else { continue };
            let first = postings.partition_point(|posting| self.len_at(posting.place) < len_min);
            for posting in postings[first..].iter().take_while(|posting| (posting.place as usize) < place) {
                let other_len = self.len_at(posting.place);
                // |A ∩ B| ≥ t / (1 + t) · (|A| + |B|).
                let needed =
                    at_least(self.threshold / (1.0 + self.threshold) * (set.len() + other_len) as f64);
                let left = (set.len() - position - 1).min(other_len - posting.position as usize - 1);
                let one = &mut met.of[posting.place as usize];
                if one.n_shared == 0 {
                    met.places.push(posting.place);
                }
                if one.n_shared as usize + 1 + left < needed {
                    one.is_out = true;
                }
                one.n_shared += 1;
            }
        }
    }

    fn len_at(&self, place: u32) -> usize {
        self.ranked[self.order[place as usize]].len()
    }

    fn judge(&self, a: usize, b: usize) -> Option<Pair> {
        let (x, y) = (&self.ranked[a], &self.ranked[b]);
        let needed = at_least(self.threshold / (1.0 + self.threshold) * (x.len() + y.len()) as f64);
        let similarity = ratio(overlap_from(x, y, needed)?, x.len(), y.len());
        (similarity >= self.threshold).then_some(Pair { a, b, similarity })
    }
}

/// Returns the number of elements that two sets share, or `None` as soon as `needed` is out of
/// reach.
fn overlap_from(x: &[u32], y: &[u32], needed: usize) -> Option<usize> {
    let (mut i, mut j, mut n_shared) = (0, 0, 0);
    while i < x.len() && j < y.len() {
        if n_shared + (x.len() - i).min(y.len() - j) < needed {
            return None;
        }
        let (a, b) = (x[i], y[j]);
        n_shared += usize::from(a == b);
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    Some(n_shared)
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;
    use crate::jaccard;

    /// Compares each set with each other one.
    fn by_brute_force(sets: &[&[u64]], threshold: f64) -> Vec<Pair> {
        let pairs = (0..sets.len()).flat_map(|a| (a + 1..sets.len()).map(move |b| (a, b)));
        pairs
            .map(|(a, b)| Pair { a, b, similarity: jaccard(sets[a], sets[b]) })
            .filter(|pair| pair.similarity >= threshold)
            .collect()
    }

    #[test]
    fn what_lies_on_the_threshold_is_in() {
        let sets: [&[u64]; 4] = [&[1, 2, 3, 4], &[1, 2, 3, 4, 5], &[], &[9]];
        assert_eq!(similar_pairs(&sets, 0.8), [Pair { a: 0, b: 1, similarity: 0.8 }]);
        assert_eq!(similar_pairs(&sets, 0.81), []);
        assert_eq!(similar_pairs(&[], 0.8), []);
    }

    /// Sets that share most of their elements, but not enough to be similar, are not compared each
    /// with each.
    #[test]
    fn what_all_sets_share_costs_no_square() {
        let shared = 0..150_u64;
        let set = |n: u64| shared.clone().chain(1_000 * (n + 1)..1_000 * (n + 1) + 90).collect();
        let mut sets: Vec<Vec<u64>> = (0..500).map(set).collect();
        sets.push((0..160).collect());
        let sets: Vec<&[u64]> = sets.iter().map(Vec::as_slice).collect();
        let ranked = ranked(&sets);
        let order: Vec<usize> = std::iter::once(500).chain(0..500).collect();
        // 150 of 330 are .45: all common elements of a pair lie behind the index prefix.
        let n_postings: usize = postings(&ranked, &order, 0.5).values().map(Vec::len).sum();
        assert_eq!(n_postings, 500 * index_prefix_len(240, 0.5) + index_prefix_len(160, 0.5));
        assert!(index_prefix_len(240, 0.5) <= 90 && prefix_len(240, 0.5) > 90);
        // The similar ones are found: 150 of 250.
        let pairs = similar_pairs(&sets, 0.5);
        assert_eq!(pairs.len(), 500);
        assert!(pairs.iter().all(|pair| pair.b == 500 && (pair.similarity - 0.6).abs() < 1e-9));
    }

    proptest! {
        /// Elements from a small universe, and copies with some changed, make pairs on both sides
        /// of each threshold.
        #[test]
        fn the_same_as_by_brute_force(
            bases in vec(btree_set(0..60_u64, 0..40), 1..12),
            edits in vec((any::<prop::sample::Index>(), btree_set(0..70_u64, 0..6)), 0..30),
            threshold in prop_oneof![Just(0.5), Just(0.8), Just(1.0), 0.05..1.0],
        ) {
            let mut sets: Vec<Vec<u64>> = bases.iter().map(|base| base.iter().copied().collect()).collect();
            for (of, edit) in edits {
                let edited = of.get(&bases).symmetric_difference(&edit).copied().collect();
                sets.push(edited);
            }
            let sets: Vec<&[u64]> = sets.iter().map(Vec::as_slice).collect();
            let pairs = by_brute_force(&sets, threshold);
            prop_assert_eq!(&similar_pairs(&sets, threshold), &pairs);
            prop_assert_eq!(similar_pairs_up_to(&sets, threshold, pairs.len()), Some(pairs.clone()));
            let one_less = pairs.len().checked_sub(1);
            prop_assert!(one_less.is_none_or(|n| similar_pairs_up_to(&sets, threshold, n).is_none()));
        }
    }
}
