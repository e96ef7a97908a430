//! The sets behind a signature, for an exact comparison.

use minhash::{Basis, Comparison, Similarity};

use super::{LONG_MIN, SHORT_MAX};

/// The sets of a text, ascending, without repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShingleSets {
    /// Hashes of the bigrams.
    pub bigrams: Vec<u64>,
    /// Hashes of the n-grams.
    pub ngrams: Vec<u64>,
    /// The hash of the symbols of a text without letters.
    pub equality: Option<u64>,
}

impl ShingleSets {
    /// Makes, exactly, the comparison that signatures estimate: by bigrams if both are of the short
    /// kind, else by n-grams. Two texts of one bigram, or of symbols alone, are equal or not.
    #[must_use]
    pub fn compare(a: &Self, b: &Self) -> Comparison {
        let [n_a, n_b] = [a, b].map(|sets| sets.bigrams.len());
        if n_a.max(n_b) <= 1 {
            let key = |sets: &Self| sets.equality.or(sets.bigrams.first().copied());
            let similarity = if key(a) == key(b) { Similarity::ONE } else { Similarity::ZERO };
            return Comparison {
                similarity,
                share_of_a: similarity,
                share_of_b: similarity,
                basis: Basis::Equality,
            };
        }
        let is_of = |kind: fn(usize) -> bool| kind(n_a) && kind(n_b);
        if is_of(|n| (1..=SHORT_MAX).contains(&n)) {
            compare(&a.bigrams, &b.bigrams)
        } else if is_of(|n| n >= LONG_MIN) {
            compare(&a.ngrams, &b.ngrams)
        } else {
            let similarity = Similarity::ZERO;
            Comparison {
                similarity,
                share_of_a: similarity,
                share_of_b: similarity,
                basis: Basis::NoCommonKind,
            }
        }
    }
}

fn compare(a: &[u64], b: &[u64]) -> Comparison {
    let (mut rest, mut n_common) = (b, 0);
    for element in a {
        while let [first, others @ ..] = rest
            && first < element
        {
            rest = others;
        }
        n_common += usize::from(rest.first() == Some(element));
    }
    let share = |size: usize| Similarity::clamped(n_common as f64 / size as f64);
    Comparison {
        similarity: Similarity::of_sets(n_common, a.len(), b.len()),
        share_of_a: share(a.len()),
        share_of_b: share(b.len()),
        basis: Basis::Sets,
    }
}
