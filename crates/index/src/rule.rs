//! When two documents are near: one rule for every store, whatever proposed the pair.

use std::cmp::Reverse;

use minhash::{Basis, Comparison, SetKind, Signature, Similarity};
use simhash::{BucketKey, Distance, Facet};

use crate::sketch::Family;
use crate::{Features, Sketch};

/// What counts as near.
///
/// A document is a *candidate* for another where they share a bucket in a facet of one family, and the bits of these facets
/// differ in at most [`within`](Self::within). A candidate is *confirmed*, and then near, where the Jaccard similarity of the
/// two signatures is at least [`min_similarity`](Self::min_similarity); an estimate confirms from 3.5 of its standard deviations
/// below that on, so that one pair in 4,000 at the least similarity is missed by chance, and none that is exact. Where the
/// rule has no least similarity, or one of the two has no signature, the simhashes decide: the candidate is near if they are
/// within [`max_distance`](Self::max_distance).
///
/// Of near documents those are nearer that are more similar, then those with the lesser distance, then those with the lesser id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// In how many bits simhashes of candidates may differ.
    pub max_distance: Distance,
    /// The least similarity of near documents; without it nothing is verified.
    pub min_similarity: Option<Similarity>,
    /// How many candidates of a document may be left unjudged: those beyond so many, where a store knows all of them
    /// before it judges one. It judges those that signatures propose, the fewest differing bits first, then those of
    /// simhashes.
    pub candidates_max: Option<usize>,
}

/// As many candidates are judged where a document is to be [inserted if it is new](crate::Store::insert_if_new): texts
/// that begin alike, as all pages of a site, are candidates for each other by the thousand, and a million of them would
/// take half a million comparisons each.
pub const CANDIDATES_MAX: usize = 1_000;

/// An estimate confirms from so many of its standard deviations below the least similarity on.
const DEVIATIONS: f64 = 3.5;

/// How near a document is that was found near. The nearer is the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Nearness {
    /// The share of both that is in common, where it was compared.
    pub similarity: Option<Similarity>,
    /// In how many bits the fingerprints differ: see [`Features::distance`].
    pub distance: Distance,
}

impl Nearness {
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

impl From<Distance> for Rule {
    /// By simhashes alone.
    fn from(max_distance: Distance) -> Self {
        Self { max_distance, min_similarity: None, candidates_max: None }
    }
}

impl Rule {
    /// The same, for a decision about one document: see [`CANDIDATES_MAX`].
    #[must_use]
    pub fn of_insertion(self) -> Self {
        Self { candidates_max: Some(CANDIDATES_MAX), ..self }
    }

    /// In how many bits the facets of candidates may differ, for facets of a family.
    #[must_use]
    pub fn within(&self, family: Family) -> Distance {
        match family {
            Family::Simhash => self.max_distance,
            Family::Set(kind) => suffix_distance_max(kind),
        }
    }

    /// Whether two documents are candidates for each other.
    #[must_use]
    pub fn proposes(&self, a: &Sketch, b: &Sketch) -> bool {
        self.first_shared(a, b).is_some()
    }

    /// The bucket in which two documents meet first, by the families ascending, then by the buckets: there a pair counts that
    /// meets in several.
    #[must_use]
    pub fn first_shared(&self, a: &Sketch, b: &Sketch) -> Option<(Family, BucketKey)> {
        let meets = |(family, a): &(Family, Facet)| {
            let (_, b) = b.facets().iter().find(|(other, _)| other == family)?;
            let is_near = a.fingerprint().distance(b.fingerprint()) <= self.within(*family);
            let is_shared = |key: &BucketKey| is_near && b.keys().binary_search(key).is_ok();
            Some((*family, a.keys().iter().copied().find(is_shared)?))
        };
        a.facets().iter().find_map(meets)
    }

    /// How near a candidate is, if it is confirmed.
    #[must_use]
    pub fn confirms(&self, a: &Features, b: &Features) -> Option<Nearness> {
        let distance = || a.distance(b);
        if let (Some(min_similarity), Some(of_a), Some(of_b)) =
            (self.min_similarity, &a.signature, &b.signature)
        {
            let similarity = confirmed(min_similarity, of_a, of_b)?;
            return Some(Nearness { similarity: Some(similarity), distance: distance() });
        }
        let distance = distance();
        (distance <= self.max_distance).then_some(Nearness { similarity: None, distance })
    }

    /// How near a document is, if it is near: proposed and confirmed.
    #[must_use]
    pub fn nearness(&self, a: &Sketch, b: &Sketch) -> Option<Nearness> {
        if self.proposes(a, b) { self.confirms(a.features(), b.features()) } else { None }
    }

    /// From what estimate on a pair is confirmed.
    #[must_use]
    pub fn least_estimate(min_similarity: Similarity) -> Similarity {
        Similarity::clamped(min_similarity.get() - DEVIATIONS * Comparison::deviation(min_similarity))
    }

    /// From what agreement on two signatures of long documents are similar enough: so many bins of 256. For a store whose
    /// server compares them.
    #[must_use]
    pub fn min_agreeing_bins(min_similarity: Similarity) -> u32 {
        (0..=minhash::LONG_BINS as u32)
            .find(|&n| estimate_confirms(min_similarity, Signature::similarity_of_agreeing(n)))
            .unwrap_or(minhash::LONG_BINS as u32)
    }
}

fn suffix_distance_max(kind: SetKind) -> Distance {
    Distance::new(kind.suffix_distance_max()).unwrap_or(Distance::MAX)
}

/// The similarity of two documents by their signatures, if it is enough.
fn confirmed(min_similarity: Similarity, a: &Signature, b: &Signature) -> Option<Similarity> {
    let Comparison { similarity, basis, .. } = Signature::compare(a, b);
    let is_enough = match basis {
        Basis::Estimate => estimate_confirms(min_similarity, similarity),
        Basis::Equality | Basis::Sets => similarity >= min_similarity,
        Basis::NoCommonKind => false,
    };
    is_enough.then_some(similarity)
}

fn estimate_confirms(min_similarity: Similarity, estimate: Similarity) -> bool {
    estimate >= Rule::least_estimate(min_similarity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testsuite::{apart, signed};

    fn share(share: f64) -> Similarity {
        Similarity::new(share).unwrap()
    }

    #[test]
    fn estimates_confirm_from_some_deviations_below_on() {
        let n = Rule::min_agreeing_bins(share(0.8));
        let [last, before] = [n, n - 1].map(|n| Signature::similarity_of_agreeing(n).get());
        assert!(before < 0.8 - 3.5 * 0.0280 + 1e-3 && last > 0.8 - 3.5 * 0.0280 - 1e-3, "{before} {last}");
        assert_eq!(Rule::min_agreeing_bins(share(1.0)), 256);
    }

    #[test]
    fn similarity_decides_where_both_have_a_signature() {
        let rule = Rule { min_similarity: Some(share(0.8)), ..Rule::from(apart(3)) };
        let text = |from: u64, n: u64| signed(0, from..from + n);
        let (a, near, far) = (text(0, 300), text(10, 300), text(150, 300));
        assert!(rule.nearness(&a, &near).unwrap().similarity.unwrap() > share(0.7));
        assert_eq!(rule.nearness(&a, &far), None, "their simhashes are equal, and that only proposes");
        let unverified = Rule::from(apart(3));
        assert_eq!(unverified.nearness(&a, &far), Some(Nearness { similarity: None, distance: apart(0) }));
        // Without simhashes too.
        let (a, near) = (signed(None, 0..30), signed(None, 1..31));
        assert_eq!(rule.nearness(&a, &near).unwrap().similarity, Some(share(29.0 / 31.0)));
        assert_eq!(rule.nearness(&a, &signed(None, 20..50)), None);
    }

    #[test]
    fn the_more_similar_is_nearer() {
        let near = |similarity: Option<f64>, n_bits| Nearness {
            similarity: similarity.map(share),
            distance: apart(n_bits),
        };
        assert!(near(Some(0.9), 9) < near(Some(0.8), 0));
        assert!(near(Some(0.9), 1) < near(Some(0.9), 2));
        assert!(near(None, 1) < near(None, 2));
    }
}
