//! What is so: all pairs of a corpus that are similar enough, found exactly.

use std::collections::HashMap;

use evaluation::{Pair, similar_pairs};
use features::shingles::{LONG_MIN, SHORT_MAX, ShingleSets};
use minhash::Similarity;

use super::texts::Texts;

/// All pairs with a Jaccard similarity of at least `min_similarity` by [`ShingleSets::compare`], ascending by their numbers: of
/// bigrams where both texts are short, else of n-grams; texts of one bigram and of symbols where they are equal.
pub(super) fn pairs(texts: &Texts, min_similarity: Similarity) -> Vec<Pair> {
    let n_bigrams = |number: usize| texts.sets[number].bigrams.len();
    let is_short = |number: usize| (2..=SHORT_MAX).contains(&n_bigrams(number));
    let mut pairs = joined(texts, min_similarity, &is_short, |sets| &sets.bigrams);
    let of_long = joined(texts, min_similarity, &|number| n_bigrams(number) >= LONG_MIN, |sets| &sets.ngrams);
    pairs.extend(of_long.into_iter().filter(|pair| !is_short(pair.a) || !is_short(pair.b)));
    pairs.extend(equal(texts));
    pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    pairs
}

fn joined<'a>(
    texts: &'a Texts,
    min_similarity: Similarity,
    is_in: &dyn Fn(usize) -> bool,
    set: impl Fn(&'a ShingleSets) -> &'a Vec<u64>,
) -> Vec<Pair> {
    let numbers: Vec<usize> = (0..texts.len()).filter(|&number| is_in(number)).collect();
    let sets: Vec<&[u64]> = numbers.iter().map(|&number| set(&texts.sets[number]).as_slice()).collect();
    let pairs = similar_pairs(&sets, min_similarity.get());
    pairs.into_iter().map(|pair| Pair { a: numbers[pair.a], b: numbers[pair.b], ..pair }).collect()
}

/// Pairs of texts of which only equality counts.
fn equal(texts: &Texts) -> Vec<Pair> {
    let mut seen: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut pairs = Vec::new();
    for (b, sets) in texts.sets.iter().enumerate() {
        let whole = match sets.bigrams[..] {
            [only] => Some(only),
            _ => sets.equality,
        };
        if let Some(whole) = whole {
            let others = seen.entry(whole).or_default();
            pairs.extend(others.iter().map(|&a| Pair { a, b, similarity: 1.0 }));
            others.push(b);
        }
    }
    pairs
}
