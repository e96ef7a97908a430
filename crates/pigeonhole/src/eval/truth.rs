//! The exact truth: all pairs of a corpus that are similar enough, found without any sketch.

use std::collections::HashMap;

use evaluation::{Pair, jaccard, similar_pairs_up_to};
use features::shingles::{LONG_MIN, SHORT_MAX, ShingleSets};
use minhash::Similarity;

use super::texts::Texts;

/// More pairs than this are not held, unless another number is asked for.
pub(super) const PAIRS_MAX: usize = 5_000_000;

/// Curves begin here, or at the least similarity where that is lower: further below, pairs are too many to be joined.
const CURVES_FROM: f64 = 0.5;

/// All pairs from a similarity on.
pub(super) struct Related {
    /// Ascending by their numbers.
    pub(super) pairs: Vec<Pair>,
    /// The similarity.
    pub(super) from: f64,
    /// Said where they begin higher than they would, as there are too many.
    pub(super) is_cut: bool,
}

/// All pairs from [`CURVES_FROM`] on, or where these are more than `n_max` from `least` on; where those are, too, the corpus is
/// halved until they are not.
pub(super) fn related(texts: &mut Texts, least: f64, n_max: usize) -> Related {
    let from = CURVES_FROM.min(least);
    if let Some(pairs) = pairs(texts, from, n_max) {
        return Related { pairs, from, is_cut: false };
    }
    loop {
        if from < least
            && let Some(pairs) = pairs(texts, least, n_max)
        {
            return Related { pairs, from: least, is_cut: true };
        }
        texts.halve(n_max);
        if from >= least
            && let Some(pairs) = pairs(texts, least, n_max)
        {
            return Related { pairs, from: least, is_cut: false };
        }
    }
}

/// The kind of set that two texts are compared by.
enum Kind {
    Bigrams,
    NGrams,
    /// Texts without letters are equal or not.
    Whole,
}

/// `None` for two that no index compares.
fn kind(a: &ShingleSets, b: &ShingleSets) -> Option<Kind> {
    let [n_a, n_b] = [a, b].map(|sets| sets.bigrams.len());
    let both = |is_of: fn(usize) -> bool| is_of(n_a) && is_of(n_b);
    if both(|n| n == 0) {
        Some(Kind::Whole)
    } else if both(|n| (1..=SHORT_MAX).contains(&n)) {
        Some(Kind::Bigrams)
    } else if both(|n| n >= LONG_MIN) {
        Some(Kind::NGrams)
    } else {
        None
    }
}

/// The Jaccard similarity of two texts, counted: of bigrams where both have at most [`SHORT_MAX`] different ones, else of
/// n-grams.
pub(super) fn similarity(texts: &Texts, a: usize, b: usize) -> f64 {
    let [a, b] = [&texts.sets[a], &texts.sets[b]];
    match kind(a, b) {
        Some(Kind::Bigrams) => jaccard(&a.bigrams, &b.bigrams),
        Some(Kind::NGrams) => jaccard(&a.ngrams, &b.ngrams),
        Some(Kind::Whole) if a.equality.is_some() && a.equality == b.equality => 1.0,
        Some(Kind::Whole) | None => 0.0,
    }
}

/// All pairs with a [`similarity`] of at least `least`, unless they are too many.
fn pairs(texts: &Texts, least: f64, n_max: usize) -> Option<Vec<Pair>> {
    let n_bigrams = |number: usize| texts.sets[number].bigrams.len();
    let is_short = |number: usize| (1..=SHORT_MAX).contains(&n_bigrams(number));
    let mut pairs = joined(texts, least, n_max, &is_short, |sets| &sets.bigrams)?;
    let of_long = joined(texts, least, n_max, &|number| n_bigrams(number) >= LONG_MIN, |sets| &sets.ngrams)?;
    pairs.extend(of_long.into_iter().filter(|pair| !is_short(pair.a) || !is_short(pair.b)));
    pairs.extend(equal(texts));
    pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    (pairs.len() <= n_max).then_some(pairs)
}

fn joined<'a>(
    texts: &'a Texts,
    least: f64,
    n_max: usize,
    is_in: &dyn Fn(usize) -> bool,
    set: impl Fn(&'a ShingleSets) -> &'a Vec<u64>,
) -> Option<Vec<Pair>> {
    let numbers: Vec<usize> = (0..texts.len()).filter(|&number| is_in(number)).collect();
    let sets: Vec<&[u64]> = numbers.iter().map(|&number| set(&texts.sets[number]).as_slice()).collect();
    let pairs = similar_pairs_up_to(&sets, least, n_max)?;
    Some(pairs.into_iter().map(|pair| Pair { a: numbers[pair.a], b: numbers[pair.b], ..pair }).collect())
}

/// Pairs of texts of which only equality counts.
fn equal(texts: &Texts) -> Vec<Pair> {
    let mut seen: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut pairs = Vec::new();
    for (b, sets) in texts.sets.iter().enumerate() {
        if let Some(whole) = sets.equality {
            let others = seen.entry(whole).or_default();
            pairs.extend(others.iter().map(|&a| Pair { a, b, similarity: 1.0 }));
            others.push(b);
        }
    }
    pairs
}

/// The pairs of at least this similarity.
pub(super) fn at_least(pairs: &[Pair], least: Similarity) -> Vec<Pair> {
    pairs.iter().filter(|pair| pair.similarity >= least.get()).copied().collect()
}
