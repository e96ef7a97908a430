//! The kind of an index's sketches: the one place that knows all kinds of sketch.
//!
//! Other modules ask a [`SketchKind`] and keep the sketches it makes. A kind files documents by
//! simhashes, by their signatures or by both, under different flags. Another way to file is another
//! field of the type.

use std::fmt;
use std::str::FromStr;

use minhash::{FilingScheme, SetKind, Similarity};
use simhash::{
    BucketKey, Distance, Facet, RowKey, RowKeyError, SCHEME_NAMES, SchemeError, SplitsError, Table,
    TableScheme, n_regions_max, splits,
};
use tables::{Groups, Pair};

use crate::sketch::facets;
use crate::{Error, Family, Features, Result, Sketch};

mod stored;

pub(crate) use stored::StoredKind;

/// The grounds on which an index files its documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Simhashes alone.
    Classic,
    /// Bands of signatures alone.
    Minhash,
    /// Simhashes and bands of signatures.
    #[default]
    Full,
}

impl Profile {
    /// All profiles, with their names.
    pub const ALL: [(Self, &str); 3] =
        [(Self::Classic, "classic"), (Self::Minhash, "minhash"), (Self::Full, "full")];

    /// The name of this profile.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Minhash => "minhash",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Profile {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.iter().find(|(_, known)| *known == name);
        known
            .map(|(profile, _)| *profile)
            .ok_or_else(|| Error::invalid(format!("{name:?} is no profile: take classic, minhash or full")))
    }
}

/// The kind of an index's sketches. The parsed form of a name, as in `"t11".parse()`, and the
/// default, `5c2`, file by simhashes alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SketchKind {
    /// Blocks of a simhash that must agree; row keys end with the fingerprint.
    scheme: Option<TableScheme>,
    /// Bands of a signature that must agree; row keys end with bits of other bins.
    filing: Option<FilingScheme>,
}

impl Default for SketchKind {
    fn default() -> Self {
        Self { scheme: Some(TableScheme::default()), filing: None }
    }
}

/// The error for a name that no kind has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKind(SchemeError);

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for UnknownKind {}

impl FromStr for SketchKind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        Ok(Self { scheme: Some(name.parse().map_err(UnknownKind)?), filing: None })
    }
}

impl SketchKind {
    /// The names that can be parsed; the first is the default's.
    pub const NAMES: [&str; SCHEME_NAMES.len()] = SCHEME_NAMES;

    /// A kind by simhashes under the caller's tables, given as flag and mask, which find every pair
    /// within `max_distance`.
    ///
    /// # Errors
    /// See [`TableScheme::new`], which proves the tables.
    pub fn simhash(name: &str, max_distance: Distance, masks: &[(u8, u64)]) -> Result<Self, SchemeError> {
        Ok(Self { scheme: Some(TableScheme::new(name, max_distance, masks)?), filing: None })
    }

    /// The kind of a profile, with the tables of this one, and signatures filed for a similarity of
    /// .8.
    ///
    /// # Errors
    /// `InvalidArgument` where a table has a flag of the signatures' bands.
    pub fn of_profile(self, profile: Profile) -> Result<Self> {
        let filing = (profile != Profile::Classic).then(FilingScheme::default);
        Self { scheme: self.scheme.filter(|_| profile != Profile::Minhash), filing }.checked()
    }

    /// The same kind with its signatures filed by another scheme. A kind that does not file by
    /// signatures stays as before.
    ///
    /// # Errors
    /// `InvalidArgument` where a table has a flag of the signatures' bands.
    pub fn with_filing(self, filing: FilingScheme) -> Result<Self> {
        Self { filing: self.filing.map(|_| filing), ..self }.checked()
    }

    fn checked(self) -> Result<Self> {
        let mut tables = self.scheme.iter().flat_map(TableScheme::tables).map(Table::flag);
        match tables.find(|&flag| self.set_kind(flag).is_some()) {
            Some(flag) => Err(Error::invalid(format!(
                "the table with flag {flag} would clash with a band of the signatures; give it a flag below 64"
            ))),
            None => Ok(self),
        }
    }

    /// The profile of this kind.
    #[must_use]
    pub fn profile(&self) -> Profile {
        match (&self.scheme, &self.filing) {
            (None, _) => Profile::Minhash,
            (Some(_), None) => Profile::Classic,
            (Some(_), Some(_)) => Profile::Full,
        }
    }

    /// Returns true if the kind files documents by their simhashes.
    #[must_use]
    pub fn files_by_simhash(&self) -> bool {
        self.scheme.is_some()
    }

    /// Returns true if the kind files documents by their signatures.
    #[must_use]
    pub fn files_by_sets(&self) -> bool {
        self.filing.is_some()
    }

    /// The filing of documents by their signatures, if the kind has one.
    #[must_use]
    pub fn filing(&self) -> Option<FilingScheme> {
        self.filing
    }

    /// The share of pairs of a similarity that this kind's filing by signatures proposes, computed.
    /// 0 without signatures. Simhashes promise nothing about a similarity; their proposals come on
    /// top.
    #[must_use]
    pub fn recall(&self, similarity: Similarity) -> f64 {
        self.filing.map_or(0.0, |filing| filing.recall(similarity))
    }

    /// The kind of sets whose signatures are filed under a flag.
    pub(crate) fn set_kind(&self, flag: u8) -> Option<SetKind> {
        self.filing?.kind_of_flag(flag)
    }

    /// The name of the simhash tables, `none` where there are none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.scheme.as_ref().map_or("none", TableScheme::name)
    }

    /// The distance up to which two near simhashes are certain to share a bucket; an index may ask
    /// for less. 0 without simhashes.
    #[must_use]
    pub fn max_distance(&self) -> Distance {
        self.scheme.as_ref().map_or(Distance::ZERO, TableScheme::max_distance)
    }

    /// The number of buckets under which most documents are filed, each of which a query reads.
    /// Some documents of medium length are filed under both kinds of bands, and those with a single
    /// character or none under one bucket.
    #[must_use]
    pub fn n_keys(&self) -> usize {
        self.masks().len() + self.n_bands()
    }

    fn n_bands(&self) -> usize {
        self.filing.map_or(0, |filing| filing.n_keys())
    }

    /// The bits of a simhash that must agree for two documents to meet, for each of the simhash's
    /// keys, in the order of the keys. They explain why simhashes found two documents or missed
    /// them.
    #[must_use]
    pub fn masks(&self) -> Vec<u64> {
        self.scheme.iter().flat_map(TableScheme::tables).map(Table::mask).collect()
    }

    /// Makes the sketch of a document with these features.
    #[must_use]
    pub fn sketch(&self, features: impl Into<Features>) -> Sketch {
        let features = features.into();
        let facets = self.facets(&features);
        Sketch::with_facets(features, facets)
    }

    fn facets(&self, features: &Features) -> Box<[(Family, Facet)]> {
        let keys = features.simhash.zip(self.scheme.as_ref()).map(|(simhash, scheme)| scheme.keys(simhash));
        facets(features, keys, self.filing.as_ref())
    }

    /// Returns true if [`sketch`](Self::sketch) makes this sketch of its features, in which case
    /// its keys need not be stored.
    #[must_use]
    pub fn follows(&self, sketch: &Sketch) -> bool {
        *self.facets(sketch.features()) == *sketch.facets()
    }

    /// Makes the sketch of features filed by the simhash under these keys, which were listed
    /// because they do not [follow](Self::follows) from the features.
    #[must_use]
    pub fn listed(&self, features: Features, keys: Vec<BucketKey>) -> Sketch {
        Sketch::filed(features, Some(keys), self.filing.as_ref())
    }

    /// Checks that this kind writes such a row key.
    ///
    /// # Errors
    /// [`RowKeyError`], with the defect.
    pub fn check(&self, key: RowKey) -> Result<(), RowKeyError> {
        match self.set_kind(key.bucket().flag) {
            // The segment is a hash of values absent from the key, so nothing can be checked.
            Some(SetKind::Long | SetKind::Short) => Ok(()),
            Some(SetKind::Whole) => {
                let segment = (key.fingerprint.0 >> 32) as u32;
                let bucket = key.bucket();
                if segment == bucket.segment {
                    return Ok(());
                }
                Err(RowKeyError::Segment { flag: bucket.flag, expected: segment, got: bucket.segment })
            }
            None => match &self.scheme {
                Some(scheme) => scheme.check(key),
                None => Err(RowKeyError::UnknownFlag(key.bucket().flag)),
            },
        }
    }

    /// Returns true if two simhashes in one bucket meet in an earlier bucket as well, provided that
    /// both are filed by this kind. Row keys alone tell this, for simhashes only.
    #[must_use]
    pub fn meet_earlier(&self, a: RowKey, b: RowKey) -> bool {
        let differ = a.fingerprint.0 ^ b.fingerprint.0;
        let mut tables = self.scheme.iter().flat_map(TableScheme::tables);
        tables.any(|table| table.flag() < a.flag && differ & table.mask() == 0)
            && self.check(a).is_ok()
            && self.check(b).is_ok()
    }

    /// Returns true if the kind files every document under the same keys as `other`, whatever their
    /// names.
    #[must_use]
    pub fn files_like(&self, other: &Self) -> bool {
        self.filing == other.filing && self.has_tables_of(other)
    }

    /// Returns true if the kind files simhashes under the same keys as `other`.
    #[must_use]
    pub fn has_tables_of(&self, other: &Self) -> bool {
        let tables = |kind: &Self| kind.scheme.as_ref().map(|scheme| scheme.tables().to_vec());
        tables(self) == tables(other)
    }

    /// The number of bits in the segment of each key.
    fn key_bits(&self) -> Vec<u32> {
        let of_tables = self.scheme.iter().flat_map(TableScheme::tables).map(Table::key_bits);
        of_tables.chain(std::iter::repeat_n(u32::BITS, self.n_bands())).collect()
    }

    /// The segments at which `n_regions` regions of equal size begin, without the first.
    ///
    /// # Errors
    /// [`SplitsError`] for no region, and for more than [`n_regions_max`](Self::n_regions_max).
    pub fn splits(&self, n_regions: u32) -> Result<Vec<u32>, SplitsError> {
        splits(&self.key_bits(), n_regions)
    }

    /// The most regions that [`splits`](Self::splits) makes.
    #[must_use]
    pub fn n_regions_max(&self) -> u32 {
        n_regions_max(&self.key_bits())
    }

    /// Calls `visit` once, always in the same order, for each pair of groups of simhashes within
    /// [`max_distance`](Self::max_distance).
    pub fn self_join(&self, groups: &Groups, visit: &mut dyn FnMut(Pair)) {
        if let Some(scheme) = &self.scheme {
            tables::self_join(groups, scheme, visit);
        }
    }

    /// A kind without tables.
    pub(crate) fn by_sets_alone() -> Self {
        Self { scheme: None, filing: Some(FilingScheme::default()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testsuite::signed;
    use simhash::Fingerprint;

    #[test]
    fn every_name_is_parsed_and_makes_the_sketches_of_its_scheme() {
        let fingerprint = Fingerprint(0x9e37_79b9_7f4a_7c15);
        for name in SketchKind::NAMES {
            let (kind, scheme): (SketchKind, TableScheme) = (name.parse().unwrap(), name.parse().unwrap());
            assert_eq!((kind.name(), kind.max_distance()), (name, scheme.max_distance()));
            let sketch = kind.sketch(fingerprint);
            assert_eq!(sketch.facets(), [(Family::Simhash, scheme.facet(fingerprint))]);
            assert_eq!((kind.n_keys(), kind.masks().len()), (sketch.n_keys(), sketch.n_keys()));
            assert!(sketch.rows().all(|row| kind.check(row).is_ok()));
        }
        assert_eq!(SketchKind::default().name(), SketchKind::NAMES[0]);
        let unknown = "9c9".parse::<SketchKind>().unwrap_err().to_string();
        assert!(unknown.contains("9c9") && unknown.contains("t11"), "{unknown}");
    }

    #[test]
    fn what_follows_is_what_the_kind_makes() {
        let kind = SketchKind::default();
        let sketch = kind.sketch(Fingerprint(7));
        assert!(kind.follows(&sketch));
        let other = Sketch::new(Fingerprint(7), vec![BucketKey { flag: 1, segment: 9 }]);
        assert!(!kind.follows(&other));
        assert!(!kind.follows(&Sketch::new(Fingerprint(6), sketch.keys().collect())));
    }

    #[test]
    fn profiles_file_by_what_they_say() {
        let sketch = signed(7, 0..300);
        let of = |profile| SketchKind::default().of_profile(profile).unwrap();
        for (profile, n_keys) in [(Profile::Classic, 10), (Profile::Minhash, 16), (Profile::Full, 26)] {
            let kind = of(profile);
            assert_eq!((kind.profile(), profile.name().parse().unwrap()), (profile, profile));
            let sketch = kind.sketch(sketch.features().clone());
            assert_eq!((sketch.n_keys(), kind.n_keys()), (n_keys, n_keys));
            assert!(kind.follows(&sketch) && sketch.rows().all(|row| kind.check(row).is_ok()));
            assert_eq!(kind.splits(16).unwrap().len(), 15);
        }
        let (classic, minhash) = (of(Profile::Classic), of(Profile::Minhash));
        assert!(classic.sketch(sketch.features().clone()).rows().all(|row| minhash.check(row).is_err()));
        assert!(minhash.sketch(sketch.features().clone()).rows().all(|row| classic.check(row).is_err()));
        assert!("both".parse::<Profile>().is_err());
        let clashing = SketchKind::simhash("one", Distance::ZERO, &[(64, u64::MAX >> 32)]).unwrap();
        assert!(clashing.clone().of_profile(Profile::Full).is_err());
        assert!(clashing.of_profile(Profile::Classic).is_ok());
    }

    #[test]
    fn kinds_file_alike_by_their_keys_and_not_by_their_names() {
        let halves = [(1, 0xffff_ffff_0000_0000), (2, 0xffff_ffff)];
        let [one, other] = ["one", "other"]
            .map(|name| SketchKind::simhash(name, Distance::of_differing(1), &halves).unwrap());
        assert!(one != other && one.files_like(&other));
        assert!(!one.files_like(&SketchKind::default()));
    }
}
