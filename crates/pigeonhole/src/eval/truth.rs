//! The exact truth: all sufficiently similar pairs of a corpus, found without sketches.

use std::collections::HashMap;

use engine::in_common;
use evaluation::{Pair, jaccard, similar_pairs_up_to};
use features::NormalForm;
use features::shingles::{Grams, LONG_MIN, SHORT_MAX, ShingleSets, TextSketcher};
use minhash::Similarity;

use super::texts::Texts;

/// Default bound on the pairs in memory.
pub(super) const PAIRS_MAX: usize = 5_000_000;

/// Similarity at which curves begin, unless the least similarity is lower: further below there are
/// too many pairs for a join.
const CURVES_FROM: f64 = 0.5;

/// All pairs from a similarity on.
pub(super) struct Related {
    /// Ascending by their numbers.
    pub(super) pairs: Vec<Pair>,
    /// The least similarity.
    pub(super) from: f64,
    /// True if `from` was raised because of too many pairs.
    pub(super) is_cut: bool,
}

/// All pairs from [`CURVES_FROM`] on, or from `least` on if the former are more than `n_max`. If
/// the latter are more, too, the corpus is halved until they fit.
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

/// The kind of set by which two texts are compared.
enum Kind {
    Bigrams,
    NGrams,
    /// Texts without letters are equal or not.
    Whole,
}

/// The kind of set for two texts; `None` for a pair that no index compares.
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

/// The exact Jaccard similarity of two texts: of bigrams if both have at most [`SHORT_MAX`]
/// different ones, else of n-grams.
pub(super) fn similarity(texts: &Texts, a: usize, b: usize) -> f64 {
    let [a, b] = [&texts.sets[a], &texts.sets[b]];
    match kind(a, b) {
        Some(Kind::Bigrams) => jaccard(&a.bigrams, &b.bigrams),
        Some(Kind::NGrams) => jaccard(&a.ngrams, &b.ngrams),
        Some(Kind::Whole) if a.equality.is_some() && a.equality == b.equality => 1.0,
        Some(Kind::Whole) | None => 0.0,
    }
}

/// All pairs with a [`similarity`] of at least `least`; `None` if they are too many.
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

/// Pairs of equal texts among those compared as wholes.
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

/// Retains the pairs of texts that are the same in normal form, with the same numbers: asked for a
/// similarity of 1, an index does not take equal sets for enough.
pub(super) fn retain_copies(pairs: &mut Vec<Pair>, texts: &Texts, form: NormalForm) {
    let mut sketcher = TextSketcher::new(form);
    let mut all: HashMap<usize, Grams> = HashMap::new();
    for number in pairs.iter().flat_map(|pair| [pair.a, pair.b]) {
        all.entry(number).or_insert_with(|| sketcher.grams(&texts.texts[number]));
    }
    pairs.retain(|&Pair { a, b, .. }| {
        Grams::are_copies(&all[&a], &all[&b]) && !in_common::numbers_differ(&texts.texts[a], &texts.texts[b])
    });
}
