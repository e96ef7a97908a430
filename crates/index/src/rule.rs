//! The definition of near: one rule for every store, whichever facet proposed the pair.

mod nearness;

use minhash::{Basis, Comparison, FilingScheme, Sieve, Signature, Similarity};
use simhash::{BucketKey, Distance, Facet};

pub use self::nearness::Nearness;
use self::nearness::{may_be_contained, nearness_of, numbers_differ};
use crate::sketch::Family;
use crate::{Counter, Error, Features, Result, Sketch, Text};

/// The definition of near.
///
/// A document is a *candidate* for another where the two share a bucket in a facet of one family,
/// and the bits of these facets differ in at most [`within`](Self::within). A candidate is near
/// where the Jaccard similarity of the two is at least [`min_similarity`](Self::min_similarity).
///
/// The similarity is *counted* over the texts where the index keeps them. Signatures then only
/// select the pairs worth a count ([`glance`](Self::glance)): pairs with an estimate of at least
/// the least similarity minus 3.5 standard deviations. One pair in 4,000 at the least similarity is
/// passed over by chance. Unless both texts are at hand the signatures decide, at the least
/// similarity itself. Where the rule has no least similarity, or one of the two has no signature,
/// the simhashes decide: the candidate is near if they are within
/// [`max_distance`](Self::max_distance).
///
/// With [`contained`](Self::contained), a candidate is near too if it holds most of the query
/// document, by a count.
///
/// Order among near documents: the greater similarity first, then the lesser distance, then the
/// lesser id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// The number of bits in which simhashes of candidates may differ.
    pub max_distance: Distance,
    /// The least similarity of near documents; `None` verifies nothing.
    pub min_similarity: Option<Similarity>,
    /// The filing of documents by their signatures, as the index files them, whatever similarity is
    /// asked for. Bounds the number of bits in which the filed bits of candidates may differ.
    pub filing: FilingScheme,
    /// The number of candidates of a document whose signatures are compared, where a store knows
    /// all of them before it judges one. Candidates proposed by signatures come first, those with
    /// the fewest differing bits first, then candidates proposed by simhashes.
    pub candidates_max: Option<usize>,
    /// The number of texts counted for a document, where a store knows all candidates worth a
    /// count. The greatest estimates are counted first, so equal and very similar texts come first.
    pub counted_max: Option<usize>,
    /// The least counted share of the query document that makes a candidate near although the two
    /// are less similar: the document stands in the candidate, as a part in its whole. Needs a
    /// [`counter`](Self::counter), and is for decisions about insertions.
    pub contained: Option<Similarity>,
    /// True if documents with other numbers are other documents: see [`Signature::numbers`].
    pub same_numbers: bool,
    /// The way to count texts; `None` in an index that keeps none, so every process decides alike.
    pub counter: Option<Counter>,
}

/// The number of candidates whose signatures are compared for an [insertion if
/// new](crate::Store::insert_if_new). Texts with the same beginning, as all pages of a site, are
/// candidates for each other by the thousand: a million of them would take half a million
/// comparisons each.
pub const CANDIDATES_MAX: usize = 10_000;

/// The number of texts counted for an insertion if new, the greatest estimates first. Of a thousand
/// texts with a similarity of .75 to a new one, one in four is worth a count.
pub const COUNTED_MAX: usize = 250;

/// The margin below the least similarity within which an estimate is worth a count, in standard
/// deviations.
const DEVIATIONS: f64 = 3.5;

/// The margin below the least similarity within which a pair of small sets is worth a count. The
/// similarity of small sets is exact but for collisions of hashes of 24 bits.
const SETS_MARGIN: f64 = 0.05;

/// The promise of a candidate before its signature is compared, the most promising first: a
/// candidate proposed by a signature before one proposed by a simhash, then by differing bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Promise {
    is_by_simhash: bool,
    distance: Distance,
}

impl Promise {
    /// The promise of a facet of `family` that differs from the query's in `distance` bits.
    #[must_use]
    pub fn new(family: Family, distance: Distance) -> Self {
        Self { is_by_simhash: family == Family::Simhash, distance }
    }
}

/// The verdict of signatures on a candidate before its text is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Glance {
    /// The candidate is not near.
    Far,
    /// The candidate is near, and no count would tell more.
    Near(Nearness),
    /// The candidate is worth a count.
    Worth {
        /// The similarity by the signatures.
        estimate: Similarity,
        /// The upper bound of the similarity (with 3.5 standard deviations).
        at_most: Similarity,
    },
}

impl From<Distance> for Rule {
    /// The rule by simhashes alone, with signatures, if any, filed for a similarity of .8.
    fn from(max_distance: Distance) -> Self {
        Self {
            max_distance,
            min_similarity: None,
            filing: FilingScheme::default(),
            candidates_max: None,
            counted_max: None,
            contained: None,
            same_numbers: false,
            counter: None,
        }
    }
}

impl Rule {
    /// The same rule for a decision about one document: see [`CANDIDATES_MAX`] and [`COUNTED_MAX`].
    #[must_use]
    pub fn of_insertion(self) -> Self {
        Self { candidates_max: Some(CANDIDATES_MAX), counted_max: Some(COUNTED_MAX), ..self }
    }

    /// Refuses a rule with [`contained`](Self::contained), for a store whose servers decide, or in
    /// which the documents of several writers are compared in either direction.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub fn check_similar_alone(&self) -> Result<()> {
        match self.contained {
            Some(_) => Err(Error::invalid(
                "this store cannot decide by what is contained in a document; memory: and embedded: can",
            )),
            None => Ok(()),
        }
    }

    /// The number of bits in which facets of this family may differ between candidates. A part is
    /// not similar to its whole, so with [`contained`](Self::contained) a shared band alone makes
    /// candidates of two sets.
    #[must_use]
    pub fn within(&self, family: Family) -> Distance {
        match family {
            Family::Simhash => self.max_distance,
            Family::Set(_) if self.contained.is_some() => Distance::MAX,
            Family::Set(kind) => {
                Distance::new(self.filing.suffix_distance_max(kind)).unwrap_or(Distance::MAX)
            }
        }
    }

    /// Returns true if two documents are candidates for each other.
    #[must_use]
    pub fn proposes(&self, a: &Sketch, b: &Sketch) -> bool {
        self.first_shared(a, b).is_some()
    }

    /// The first bucket shared by two candidates, by the flags ascending, as the families do. A
    /// pair that meets in several buckets counts in this one.
    #[must_use]
    pub fn first_shared(&self, a: &Sketch, b: &Sketch) -> Option<BucketKey> {
        let meets = |(family, a): &(Family, Facet)| {
            let (_, b) = b.facets().iter().find(|(other, _)| other == family)?;
            let is_near = a.fingerprint().distance(b.fingerprint()) <= self.within(*family);
            let is_shared = |key: &BucketKey| is_near && b.keys().binary_search(key).is_ok();
            a.keys().iter().copied().find(is_shared)
        };
        a.facets().iter().find_map(meets)
    }

    /// The best promise of the facets by which two documents are candidates; `None` if they are
    /// not.
    #[must_use]
    pub fn promise(&self, a: &Sketch, b: &Sketch) -> Option<Promise> {
        let of_facets = a.facets().iter().filter_map(|(family, of_a)| {
            let of_b = b.facet(*family)?;
            let distance = of_a.fingerprint().distance(of_b.fingerprint());
            let is_shared = |key: &BucketKey| of_b.keys().binary_search(key).is_ok();
            let is_candidate = distance <= self.within(*family) && of_a.keys().iter().any(is_shared);
            is_candidate.then(|| Promise::new(*family, distance))
        });
        of_facets.min()
    }

    /// Returns the verdict of the signatures on a candidate `b` of `a`, before any text of `b` is
    /// read.
    #[must_use]
    pub fn glance(&self, a: &Features, b: &Features) -> Glance {
        self.glance_at(a, b, a.text.is_some())
    }

    /// As [`glance`](Self::glance), where the caller says whether the texts are at hand: features
    /// waiting in memory have no texts.
    #[must_use]
    pub fn glance_at(&self, a: &Features, b: &Features, has_texts: bool) -> Glance {
        let decided = |near: Option<Nearness>| near.map_or(Glance::Far, Glance::Near);
        let (Some(min_similarity), Some(of_a), Some(of_b)) =
            (self.min_similarity, &a.signature, &b.signature)
        else {
            let distance = a.distance(b);
            return decided((distance <= self.max_distance).then_some(Nearness::by_distance(distance)));
        };
        if self.same_numbers && numbers_differ(a, b) == Some(true) {
            return Glance::Far;
        }
        let compared = Signature::compare(of_a, of_b);
        if self.counter.is_none() || !has_texts {
            return decided(self.compared(compared, true, a, b));
        }
        let margin = |at: Similarity| match compared.basis {
            Basis::Estimate => DEVIATIONS * Comparison::deviation(at),
            Basis::Sets => SETS_MARGIN,
            Basis::Equality | Basis::Counted | Basis::NoCommonKind => 0.0,
        };
        let is_similar = compared.similarity.get() >= min_similarity.get() - margin(min_similarity);
        let may_be_contained = || self.contained.is_some_and(|share| may_be_contained(&compared, share));
        let is_worth = compared.basis != Basis::NoCommonKind && (is_similar || may_be_contained());
        let at_most = compared.similarity.get() + margin(compared.similarity);
        let worth = Glance::Worth { estimate: compared.similarity, at_most: Similarity::clamped(at_most) };
        if is_worth { worth } else { Glance::Far }
    }

    /// The sieve by which most candidates of a query that a [`glance`](Self::glance) would call far
    /// are told from the bytes of their signatures; `None` where such bytes do not decide.
    #[must_use]
    pub fn sieve(&self, query: &Features) -> Option<Sieve> {
        let least = self.least_of_sets().filter(|_| self.contained.is_none())?;
        Sieve::new(query.signature.as_ref()?, least)
    }

    /// The nearness of a candidate, if confirmed: by a count where both texts are there and the
    /// rule has a [`counter`](Self::counter), else by the signatures.
    #[must_use]
    pub fn confirms(&self, a: &Features, b: &Features) -> Option<Nearness> {
        match self.glance(a, b) {
            Glance::Far => None,
            Glance::Near(nearness) => Some(nearness),
            Glance::Worth { .. } => self.count(a, b),
        }
    }

    /// The nearness of a candidate [worth a count](Glance::Worth), if it is near. Where one of the
    /// texts is missing after all, the signatures decide.
    #[must_use]
    pub fn count(&self, a: &Features, b: &Features) -> Option<Nearness> {
        self.count_texts((a, a.text.as_ref()), (b, b.text.as_ref()))
    }

    /// As [`count`](Self::count), for features and texts held apart.
    #[must_use]
    pub fn count_texts(
        &self,
        (a, of_a): (&Features, Option<&Text>),
        (b, of_b): (&Features, Option<&Text>),
    ) -> Option<Nearness> {
        let compared = self.compare((a, of_a), (b, of_b))?;
        let may_be_copies = !self.wants_copies() || self.are_copies(of_a, of_b) != Some(false);
        self.compared(compared, may_be_copies, a, b)
    }

    /// Returns true if only copies are near: the same text in normal form, with the same numbers. A
    /// similarity of 1 takes more than equal sets.
    fn wants_copies(&self) -> bool {
        self.min_similarity == Some(Similarity::ONE)
    }

    /// Returns true if documents with other numbers are not near, however similar they are.
    #[must_use]
    pub fn wants_same_numbers(&self) -> bool {
        self.same_numbers || self.wants_copies()
    }

    /// Returns true if two texts are the same in normal form, `None` unless both are at hand.
    fn are_copies(&self, a: Option<&Text>, b: Option<&Text>) -> Option<bool> {
        Some(self.counter?.are_copies(a?, b?))
    }

    /// Compares the texts where they are at hand, else the signatures.
    fn compare(
        &self,
        (a, of_a): (&Features, Option<&Text>),
        (b, of_b): (&Features, Option<&Text>),
    ) -> Option<Comparison> {
        match (self.counter, of_a, of_b) {
            (Some(counter), Some(of_a), Some(of_b)) => Some(counter.compare(of_a, of_b)),
            _ => Some(Signature::compare(a.signature.as_ref()?, b.signature.as_ref()?)),
        }
    }

    /// The nearness of two documents, near or not: by a count where the rule has a
    /// [`counter`](Self::counter) and both texts are given, else by the signatures, else by the
    /// simhashes.
    #[must_use]
    pub fn measure(
        &self,
        (a, of_a): (&Features, Option<&Text>),
        (b, of_b): (&Features, Option<&Text>),
    ) -> Nearness {
        let compared = self.min_similarity.and_then(|_| self.compare((a, of_a), (b, of_b)));
        compared.map_or_else(|| Nearness::by_distance(a.distance(b)), |compared| nearness_of(compared, a, b))
    }

    /// Returns true if the found document is near only because it [contains](Self::contained) the
    /// query document.
    #[must_use]
    pub fn is_contained(&self, nearness: &Nearness) -> bool {
        self.contained.is_some() && nearness.similarity.is_some() && nearness.similarity < self.min_similarity
    }

    /// Returns true if `nearness` is enough by this rule, given that one document is a candidate
    /// for the other.
    #[must_use]
    pub fn is_near(&self, nearness: &Nearness) -> bool {
        match nearness.similarity {
            Some(similarity) => {
                let are_others = self.wants_same_numbers() && nearness.numbers_differ == Some(true);
                Some(similarity) >= self.min_similarity && !are_others
            }
            None => nearness.distance <= self.max_distance,
        }
    }

    /// The nearness of two documents by a comparison, if it is enough. `may_be_copies` counts where
    /// only copies are near.
    fn compared(
        &self,
        compared: Comparison,
        may_be_copies: bool,
        a: &Features,
        b: &Features,
    ) -> Option<Nearness> {
        let are_copies = || may_be_copies && numbers_differ(a, b) != Some(true);
        let is_similar =
            Some(compared.similarity) >= self.min_similarity && (!self.wants_copies() || are_copies());
        let is_contained = || {
            // An estimate of a share errs by more than an estimate of a similarity, and is no
            // ground to drop a document.
            let is_counted = compared.basis == Basis::Counted;
            is_counted && self.contained.is_some_and(|share| compared.share_of_a >= share)
        };
        let is_enough = compared.basis != Basis::NoCommonKind && (is_similar || is_contained());
        is_enough.then(|| nearness_of(compared, a, b))
    }

    /// The nearness of two documents, if near: proposed and confirmed.
    #[must_use]
    pub fn nearness(&self, a: &Sketch, b: &Sketch) -> Option<Nearness> {
        if self.proposes(a, b) { self.confirms(a.features(), b.features()) } else { None }
    }

    /// The least estimate of long documents that are near, or worth a count. `None` where nothing
    /// is verified.
    #[must_use]
    pub fn least_estimate(&self) -> Option<Similarity> {
        let min = self.min_similarity?;
        if self.contained.is_some() {
            return Some(Similarity::ZERO);
        }
        let margin = self.counter.map_or(0.0, |_| DEVIATIONS * Comparison::deviation(min));
        Some(Similarity::clamped(min.get() - margin))
    }

    /// The least similarity of small sets that are near, or worth a count. `None` where nothing is
    /// verified.
    #[must_use]
    pub fn least_of_sets(&self) -> Option<Similarity> {
        let min = self.min_similarity?;
        let margin = self.counter.map_or(0.0, |_| SETS_MARGIN);
        Some(Similarity::clamped(min.get() - margin))
    }

    /// The least number of agreeing bins, of 256, of two signatures of long documents that are near
    /// or worth a count; 0 where nothing is verified. For a store whose server compares signatures.
    #[must_use]
    pub fn min_agreeing_bins(&self) -> u32 {
        let Some(least) = self.least_estimate() else { return 0 };
        (0..=minhash::LONG_BINS as u32)
            .find(|&n| Signature::similarity_of_agreeing(n) >= least)
            .unwrap_or(minhash::LONG_BINS as u32)
    }
}

#[cfg(test)]
mod tests;
