//! The nearness of two documents, and its order.

use std::cmp::Reverse;

use minhash::{Basis, Comparison, Signature, Similarity};
use simhash::Distance;

use super::{DEVIATIONS, SETS_MARGIN};
use crate::Features;

/// The nearness of a near document. The nearer is the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Nearness {
    /// The Jaccard similarity of the two, where it was compared.
    pub similarity: Option<Similarity>,
    /// The number of bits in which the fingerprints differ: see [`Features::distance`].
    pub distance: Distance,
    /// True if the similarity was counted over the texts, false if signatures estimate it.
    pub exact: bool,
    /// The common share of the query document, and of the found one.
    pub shares: Option<[Similarity; 2]>,
    /// True if the sequences of numbers of the two differ; `None` unless both are known.
    pub numbers_differ: Option<bool>,
}

impl Nearness {
    /// The nearness by simhashes alone.
    #[must_use]
    pub fn by_distance(distance: Distance) -> Self {
        Self { similarity: None, distance, exact: false, shares: None, numbers_differ: None }
    }

    /// The nearness of two documents with equal sets.
    #[must_use]
    pub fn same(is_compared: bool) -> Self {
        let one = is_compared.then_some(Similarity::ONE);
        let shares = one.map(|one| [one, one]);
        Self { similarity: one, exact: is_compared, shares, ..Self::by_distance(Distance::ZERO) }
    }

    /// The nearness of the same pair with the roles swapped.
    #[must_use]
    pub fn turned(self) -> Self {
        Self { shares: self.shares.map(|[a, b]| [b, a]), ..self }
    }

    fn rank(&self) -> (Reverse<Option<Similarity>>, Distance) {
        (Reverse(self.similarity), self.distance)
    }
}

impl PartialOrd for Nearness {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Nearness {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// Returns the nearness of two documents by a comparison.
pub(super) fn nearness_of(compared: Comparison, a: &Features, b: &Features) -> Nearness {
    let Comparison { similarity, share_of_a, share_of_b, basis } = compared;
    Nearness {
        similarity: Some(similarity),
        distance: a.distance(b),
        exact: basis == Basis::Counted,
        shares: Some([share_of_a, share_of_b]),
        numbers_differ: numbers_differ(a, b),
    }
}

/// Returns true if the sequences of numbers of two documents differ, `None` unless both are known.
pub(super) fn numbers_differ(a: &Features, b: &Features) -> Option<bool> {
    let numbers = |of: &Features| of.signature.as_ref().and_then(Signature::numbers);
    Some(numbers(a)? != numbers(b)?)
}

/// Returns true if, by the signatures, the candidate may hold a share of at least `share` of the
/// document.
///
/// For sets of sizes |A| and |B| with a common part of c |A| the similarity is c |A| / (|A| + |B| −
/// c |A|). The deviation is known for an estimate of the similarity, and an estimate of the share
/// follows from it. So the similarity is compared with the one expected from a share of c. |B| /
/// |A| is known from the two shares.
pub(super) fn may_be_contained(compared: &Comparison, share: Similarity) -> bool {
    let [of_a, of_b, share] = [compared.share_of_a, compared.share_of_b, share].map(Similarity::get);
    match compared.basis {
        Basis::Estimate if of_b > 0.0 => {
            let expected = Similarity::clamped(share / (1.0 + of_a / of_b - share));
            let margin = DEVIATIONS * Comparison::deviation(expected);
            of_a >= share || compared.similarity.get() >= expected.get() - margin
        }
        Basis::Sets => of_a >= share - SETS_MARGIN,
        Basis::Estimate | Basis::Equality | Basis::Counted | Basis::NoCommonKind => of_a >= share,
    }
}
