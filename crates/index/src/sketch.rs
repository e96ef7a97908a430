//! The features and facets of a text: facets propose near documents, features confirm them.

use std::hash::{Hash, Hasher};

use minhash::{BandKey, Filing, FilingScheme, SetKind, Signature};
use simhash::{BucketKey, Distance, Facet, Fingerprint, RowKey};

use crate::Text;

/// The features of a text, compared with those of other documents. At least one of simhash and
/// signature is set, unless the text offers nothing to compare.
///
/// Features are equal where documents are filed and estimated alike. Equality ignores `text`.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// The simhash of the weighted words; `None` for a text without words, and where no index uses
    /// simhashes.
    pub simhash: Option<Fingerprint>,
    /// The signature of the character n-grams; `None` in an index that verifies nothing.
    pub signature: Option<Signature>,
    /// The text for counting similarities; `None` where the index keeps no texts, and for a stored
    /// document read without its text.
    pub text: Option<Text>,
}

impl From<Fingerprint> for Features {
    fn from(simhash: Fingerprint) -> Self {
        Self { simhash: Some(simhash), ..Self::default() }
    }
}

impl PartialEq for Features {
    fn eq(&self, other: &Self) -> bool {
        self.simhash == other.simhash && self.signature == other.signature
    }
}

impl Eq for Features {}

impl Hash for Features {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.simhash.hash(state);
        self.signature.hash(state);
    }
}

impl Features {
    /// The 64 bits that stand for the features: the simhash; else the bits filed with the
    /// signature; else 0.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let suffix = || self.signature.as_ref()?.suffixes().first().map(|(_, suffix)| Fingerprint(*suffix));
        self.simhash.or_else(suffix).unwrap_or(Fingerprint(0))
    }

    /// The number of bits in which the two fingerprints differ: of the simhashes where both have
    /// one, else of the bits filed with the signatures. 64 where the two share no kind of bits.
    #[must_use]
    pub fn distance(&self, other: &Self) -> Distance {
        let suffixes = || {
            let (a, b) = (self.signature.as_ref()?.suffixes(), other.signature.as_ref()?.suffixes());
            let same_kind = |&(kind, a): &(SetKind, u64)| {
                let (_, b) = b.iter().find(|(other, _)| *other == kind)?;
                Some(Distance::of_differing(a ^ b))
            };
            a.iter().find_map(same_kind)
        };
        let simhashes = self.simhash.zip(other.simhash).map(|(a, b)| a.distance(b));
        simhashes.or_else(suffixes).unwrap_or(Distance::of_differing(u64::MAX))
    }
}

/// The source of a facet's 64 bits, on which the distance between near documents depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// A simhash.
    Simhash,
    /// Bits of a signature.
    Set(SetKind),
}

impl Family {
    /// All families, ascending.
    pub const ALL: [Self; 4] =
        [Self::Simhash, Self::Set(SetKind::Long), Self::Set(SetKind::Short), Self::Set(SetKind::Whole)];
}

/// A document's data in a store: the features compared with other documents, and the facets under
/// which the document is filed.
///
/// Two documents meet where facets of one family share a bucket and their bits are near: see
/// [`Rule`](crate::Rule).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sketch {
    features: Features,
    /// At most one facet of each family, ascending. Flags of different families differ, and ascend
    /// with the families.
    facets: Box<[(Family, Facet)]>,
}

impl Sketch {
    /// The sketch of a simhash filed under `keys`, without a signature.
    #[must_use]
    pub fn new(simhash: Fingerprint, keys: Vec<BucketKey>) -> Self {
        Self::filed(simhash.into(), Some(keys), None)
    }

    /// The sketch of features: filed by the simhash under `keys` if both are there, and by the
    /// signature if `filing` is given.
    #[must_use]
    pub fn filed(features: Features, keys: Option<Vec<BucketKey>>, filing: Option<&FilingScheme>) -> Self {
        let facets = facets(&features, keys, filing);
        Self::with_facets(features, facets)
    }

    /// The sketch of features and their facets.
    pub(crate) fn with_facets(features: Features, facets: Box<[(Family, Facet)]>) -> Self {
        Self { features, facets }
    }

    /// The features compared with other documents.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The text, where it is at hand.
    #[must_use]
    pub fn text(&self) -> Option<&Text> {
        self.features.text.as_ref()
    }

    /// The same sketch with this text or none.
    #[must_use]
    pub fn with_text(mut self, text: Option<Text>) -> Self {
        self.features.text = text;
        self
    }

    /// See [`Features::fingerprint`].
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        match (self.features.simhash, self.facets.first()) {
            // Equal under any bands, and made already.
            (None, Some((Family::Set(SetKind::Long | SetKind::Short), facet))) => facet.fingerprint(),
            _ => self.features.fingerprint(),
        }
    }

    /// The signature, which confirms near documents where the index verifies.
    #[must_use]
    pub fn signature(&self) -> Option<&Signature> {
        self.features.signature.as_ref()
    }

    /// The facets with their families, ascending.
    #[must_use]
    pub fn facets(&self) -> &[(Family, Facet)] {
        &self.facets
    }

    /// The facet of a family.
    #[must_use]
    pub fn facet(&self, family: Family) -> Option<&Facet> {
        self.facets.iter().find(|(of, _)| *of == family).map(|(_, facet)| facet)
    }

    /// The keys under which the simhash is filed. Those of a signature always follow from it.
    #[must_use]
    pub fn simhash_keys(&self) -> &[BucketKey] {
        self.facet(Family::Simhash).map_or(&[], Facet::keys)
    }

    /// The facets with their families, by value.
    #[must_use]
    pub fn into_facets(self) -> Box<[(Family, Facet)]> {
        self.facets
    }

    /// All buckets under which the document is filed, ascending by flag, then segment, without
    /// repeats.
    pub fn keys(&self) -> impl Iterator<Item = BucketKey> + Clone {
        self.facets.iter().flat_map(|(_, facet)| facet.keys()).copied()
    }

    /// The number of buckets under which the document is filed.
    #[must_use]
    pub fn n_keys(&self) -> usize {
        self.facets.iter().map(|(_, facet)| facet.keys().len()).sum()
    }

    /// All row keys of the document: each bucket with the bits of its facet.
    pub fn rows(&self) -> impl Iterator<Item = RowKey> + Clone {
        self.facets.iter().flat_map(|(_, facet)| {
            let fingerprint = facet.fingerprint();
            facet.keys().iter().map(move |&key| RowKey::new(key, fingerprint))
        })
    }

    /// The facet filed in a bucket.
    #[must_use]
    pub(crate) fn facet_in(&self, bucket: BucketKey) -> Option<&(Family, Facet)> {
        self.facets.iter().find(|(_, facet)| facet.keys().binary_search(&bucket).is_ok())
    }
}

/// The facets of features: by the simhash under `keys`, and by the signature as `filing` says.
pub(crate) fn facets(
    features: &Features,
    keys: Option<impl IntoIterator<Item = BucketKey>>,
    filing: Option<&FilingScheme>,
) -> Box<[(Family, Facet)]> {
    let by_simhash = features.simhash.zip(keys);
    let by_simhash = by_simhash.map(|(simhash, keys)| (Family::Simhash, Facet::new(simhash, keys)));
    let by_sets = features.signature.as_ref().zip(filing);
    let by_sets = by_sets.into_iter().flat_map(|(signature, filing)| filing.filings(signature)).map(of_sets);
    // By way of the stack: a list that grows would be allocated twice.
    let mut all = [by_simhash, None, None, None];
    all[1..].iter_mut().zip(by_sets).for_each(|(place, facet)| *place = Some(facet));
    let mut facets = Vec::with_capacity(all.iter().flatten().count());
    facets.extend(all.into_iter().flatten());
    facets.into_boxed_slice()
}

fn of_sets(filing: Filing<'_>) -> (Family, Facet) {
    let keys = filing.keys().map(|BandKey { flag, segment }| BucketKey { flag, segment });
    (Family::Set(filing.kind), Facet::new(Fingerprint(filing.suffix), keys))
}
