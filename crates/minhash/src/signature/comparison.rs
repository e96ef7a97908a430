//! The comparison of two signatures: what agrees, and the similarity that follows from it.

use super::{BYTE_BINS, ELEMENT_LEN, LONG_BINS, PAIR_BINS, Signature};
use crate::Similarity;

/// The method by which two signatures were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Basis {
    /// Hashes of the whole: the similarity is 1 or 0, and wrongly 1 for one pair in 2^64.
    Equality,
    /// Both whole sets. Elements are 24-bit hashes: of two sets of 40 elements one in 10,000 pairs
    /// has a count that is off by one.
    Sets,
    /// An estimate from bins: see [`Comparison::deviation`].
    Estimate,
    /// The n-grams of both texts, counted.
    Counted,
    /// The two have no kind in common: one is small and one is not. The similarity is given as 0.
    NoCommonKind,
}

/// The similarity of two documents by their signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Jaccard: the elements in both, by the elements in either.
    pub similarity: Similarity,
    /// The elements in both, by the elements of a: 1 if a is contained in b.
    pub share_of_a: Similarity,
    /// The elements in both, by the elements of b.
    pub share_of_b: Similarity,
    /// The method of the comparison.
    pub basis: Basis,
}

impl Comparison {
    /// Returns true if the similarity is no estimate.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.basis != Basis::Estimate
    }

    /// Returns the standard deviation of the estimate of a similarity.
    ///
    /// A bin with b bits kept agrees with the probability P = J + (1 − J) / 2^b. The deviation is
    /// √(80 P₈ (1 − P₈) + 176 P₂ (1 − P₂)) / (256 − 80/256 − 176/4): .0208 at J = .9, .0280 at .8,
    /// .0325 at .7, .0354 at .6, .0370 at .5, .0273 at 0. For sets of fewer elements than bins it
    /// is down to a third less. Two bits of many bins tell more about similarities of .5 and above
    /// than four bits of half as many (Li and König, WWW 2010, section 3).
    #[must_use]
    pub fn deviation(similarity: Similarity) -> f64 {
        let variance = |n_bins: usize, chance: f64| {
            let agreeing = similarity.get() + (1.0 - similarity.get()) * chance;
            n_bins as f64 * agreeing * (1.0 - agreeing)
        };
        (variance(BYTE_BINS, BYTE_CHANCE) + variance(PAIR_BINS, PAIR_CHANCE)).sqrt() / ESTIMATE_SCALE
    }
}

/// The probability that bins of different elements agree in the kept bits.
const BYTE_CHANCE: f64 = 1.0 / 256.0;
const PAIR_CHANCE: f64 = 1.0 / 4.0;

/// The number of bins that agree by chance if nothing is in common: 44.3125.
pub(super) const AGREEING_BY_CHANCE: f64 = BYTE_BINS as f64 * BYTE_CHANCE + PAIR_BINS as f64 * PAIR_CHANCE;

/// The number of further bins that agree if all is in common: 211.6875.
pub(super) const ESTIMATE_SCALE: f64 = LONG_BINS as f64 - AGREEING_BY_CHANCE;

/// Returns the number of elements in both of two ascending lists.
pub(super) fn n_common(mut a: &[[u8; ELEMENT_LEN]], mut b: &[[u8; ELEMENT_LEN]]) -> usize {
    let mut n = 0;
    while let ([first_a, rest_a @ ..], [first_b, rest_b @ ..]) = (a, b) {
        n += usize::from(first_a == first_b);
        if first_a <= first_b {
            a = rest_a;
        }
        if first_b <= first_a {
            b = rest_b;
        }
    }
    n
}

/// Returns the number of bins whose kept bits agree.
pub(super) fn agreeing(a: &[u8], b: &[u8]) -> u32 {
    const LOW_OF_BYTES: u32 = u32::MAX / 255;
    const LOW_OF_PAIRS: u32 = u32::MAX / 3;
    let differing = |(a, b): (&[u8; 4], &[u8; 4])| u32::from_be_bytes(*a) ^ u32::from_be_bytes(*b);
    let [(bytes_a, pairs_a), (bytes_b, pairs_b)] = [a, b].map(|bytes| {
        let (bytes, pairs) = bytes.split_at(BYTE_BINS);
        (bytes.as_chunks::<4>().0, pairs.as_chunks::<4>().0)
    });
    let bytes = bytes_a.iter().zip(bytes_b).map(differing).map(|x| {
        let x = x | x >> 4;
        let x = x | x >> 2;
        (x | x >> 1) & LOW_OF_BYTES
    });
    let pairs = pairs_a.iter().zip(pairs_b).map(differing).map(|x| (x | x >> 1) & LOW_OF_PAIRS);
    LONG_BINS as u32 - bytes.chain(pairs).map(u32::count_ones).sum::<u32>()
}

/// Estimates J from P = J + (1 − J) / 2^b (Li and König, "b-bit minwise hashing", WWW 2010, theorem
/// 1, for sets that are small beside the 2^64 possible elements). Each bin counts alike, which for
/// J from .5 on is near the least variance. The number of common elements follows from J and the
/// sizes: J / (1 + J) · (|A| + |B|).
pub(super) fn estimate(agreeing: u32, size_a: f64, size_b: f64) -> Comparison {
    let similarity = Signature::similarity_of_agreeing(agreeing);
    let n_common = similarity.get() / (1.0 + similarity.get()) * (size_a + size_b);
    let share_of = |size: f64| Similarity::clamped(if size > 0.0 { n_common / size } else { 0.0 });
    Comparison {
        similarity,
        share_of_a: share_of(size_a),
        share_of_b: share_of(size_b),
        basis: Basis::Estimate,
    }
}
