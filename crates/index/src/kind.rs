//! The kind of an index's sketches: the one place that knows all kinds of sketch.
//!
//! Other modules ask a [`SketchKind`] and keep the sketches it makes. A kind files documents by
//! simhashes, by their signatures or by both, under different flags. Another way to file is a
//! variant in `way`.

use std::fmt;
use std::str::FromStr;

use minhash::{FilingScheme, Similarity};
use simhash::{
    BucketKey, Distance, Facet, RowKey, RowKeyError, SCHEME_NAMES, SchemeError, SplitsError, Table,
    TableScheme, n_regions_max, splits,
};

use crate::sketch::facets;
use crate::{Error, Family, Features, Result, Sketch};

mod expected;
mod stored;
#[cfg(test)]
mod tests;
mod way;

use self::way::Way;
pub use expected::STRANGERS_A_MILLION;
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
    /// At least one, ascending by their families. No two use the same flag.
    ways: Vec<Way>,
}

impl Default for SketchKind {
    fn default() -> Self {
        Self::by_simhash(TableScheme::default())
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
        name.parse().map(Self::by_simhash).map_err(UnknownKind)
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
        TableScheme::new(name, max_distance, masks).map(Self::by_simhash)
    }

    /// The kind of a profile, with the tables of this one, and signatures filed for a similarity of
    /// .8.
    ///
    /// # Errors
    /// `InvalidArgument` where a table has a flag of the signatures' bands, and where this kind has
    /// no tables for a profile of simhashes alone.
    pub fn of_profile(mut self, profile: Profile) -> Result<Self> {
        let has_tables = profile != Profile::Minhash;
        self.ways.retain(|way| has_tables && matches!(way, Way::Blocks(_)));
        self.ways.extend((profile != Profile::Classic).then(|| Way::Bands(FilingScheme::default())));
        self.checked()
    }

    /// The same kind with its signatures filed by another scheme. A kind that does not file by
    /// signatures stays as before.
    ///
    /// # Errors
    /// `InvalidArgument` where a table has a flag of the signatures' bands.
    pub(crate) fn with_filing(mut self, filing: FilingScheme) -> Result<Self> {
        for way in &mut self.ways {
            if let Way::Bands(of_kind) = way {
                *of_kind = filing;
            }
        }
        self.checked()
    }

    fn checked(self) -> Result<Self> {
        if self.ways.is_empty() {
            return Err(Error::invalid("a kind without tables cannot file by simhashes alone"));
        }
        let is_of_both = |flag: &u8| self.ways.iter().filter(|way| way.family(*flag).is_some()).count() > 1;
        let clashing = self.tables().map(Table::flag).find(is_of_both);
        match clashing {
            Some(flag) => Err(Error::invalid(format!(
                "the table with flag {flag} would clash with a band of the signatures; give it a flag below 64"
            ))),
            None => Ok(self),
        }
    }

    fn by_simhash(scheme: TableScheme) -> Self {
        Self { ways: vec![Way::Blocks(scheme)] }
    }

    /// The tables of the simhashes, if the kind files by them.
    #[must_use]
    pub fn scheme(&self) -> Option<&TableScheme> {
        self.ways.iter().find_map(|way| match way {
            Way::Blocks(scheme) => Some(scheme),
            Way::Bands(_) => None,
        })
    }

    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.scheme().into_iter().flat_map(TableScheme::tables)
    }

    /// The profile of this kind.
    #[must_use]
    pub fn profile(&self) -> Profile {
        match (self.files_by_simhash(), self.files_by_sets()) {
            (false, _) => Profile::Minhash,
            (true, false) => Profile::Classic,
            (true, true) => Profile::Full,
        }
    }

    /// Returns true if the kind files documents by their simhashes.
    #[must_use]
    pub fn files_by_simhash(&self) -> bool {
        self.scheme().is_some()
    }

    /// Returns true if the kind files documents by their signatures.
    #[must_use]
    pub fn files_by_sets(&self) -> bool {
        self.filing().is_some()
    }

    /// The filing of documents by their signatures, if the kind has one.
    #[must_use]
    pub fn filing(&self) -> Option<FilingScheme> {
        self.ways.iter().find_map(|way| match way {
            Way::Blocks(_) => None,
            Way::Bands(filing) => Some(*filing),
        })
    }

    /// The share of pairs of a similarity that this kind's filing by signatures proposes, computed.
    /// 0 without signatures. Simhashes promise nothing about a similarity; their proposals come on
    /// top.
    #[must_use]
    pub fn recall(&self, similarity: Similarity) -> f64 {
        self.filing().map_or(0.0, |filing| filing.recall(similarity))
    }

    /// The families under which the kind files, ascending.
    pub fn families(&self) -> impl Iterator<Item = Family> {
        self.ways.iter().flat_map(Way::families).copied()
    }

    /// The family of the 64 bits filed under a flag; that of simhashes for a flag not in use.
    #[must_use]
    pub fn family(&self, flag: u8) -> Family {
        self.ways.iter().find_map(|way| way.family(flag)).unwrap_or(Family::Simhash)
    }

    /// The name of the simhash tables, `none` where there are none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.scheme().map_or("none", TableScheme::name)
    }

    /// The distance up to which two near simhashes are certain to share a bucket; an index may ask
    /// for less. 0 without simhashes.
    #[must_use]
    pub fn max_distance(&self) -> Distance {
        self.scheme().map_or(Distance::ZERO, TableScheme::max_distance)
    }

    /// The number of buckets under which most documents are filed, each of which a query reads.
    /// Some documents of medium length are filed under both kinds of bands, and those with a single
    /// character or none under one bucket.
    #[must_use]
    pub fn n_keys(&self) -> usize {
        self.key_bits().len()
    }

    /// The bits of a simhash that must agree for two documents to meet, for each of the simhash's
    /// keys, in the order of the keys. They explain why simhashes found two documents or missed
    /// them.
    #[must_use]
    pub fn masks(&self) -> Vec<u64> {
        self.tables().map(Table::mask).collect()
    }

    /// Makes the sketch of a document with these features.
    #[must_use]
    pub fn sketch(&self, features: impl Into<Features>) -> Sketch {
        let features = features.into();
        let facets = self.facets(&features);
        Sketch::with_facets(features, facets)
    }

    fn facets(&self, features: &Features) -> Box<[(Family, Facet)]> {
        let keys = features.simhash.zip(self.scheme()).map(|(simhash, scheme)| scheme.keys(simhash));
        facets(features, keys, self.filing().as_ref())
    }

    /// Returns true if [`sketch`](Self::sketch) makes this sketch of its features, in which case
    /// its keys need not be stored.
    #[must_use]
    pub fn follows(&self, sketch: &Sketch) -> bool {
        // Those of a signature always do.
        let keys = sketch.features().simhash.zip(self.scheme());
        let keys = keys.map(|(simhash, scheme)| Facet::new(simhash, scheme.keys(simhash)));
        keys.as_ref() == sketch.facet(Family::Simhash)
    }

    /// Makes the sketch of a document filed in a row, if the row key alone tells all other keys of
    /// the family, as that of a simhash does.
    #[must_use]
    pub fn sketch_of_row(&self, row: RowKey) -> Option<Sketch> {
        (self.family(row.flag) == Family::Simhash).then(|| self.sketch(row.fingerprint))
    }

    /// Makes the sketch of features filed by the simhash under these keys, which were listed
    /// because they do not [follow](Self::follows) from the features.
    #[must_use]
    pub fn listed(&self, features: Features, keys: Vec<BucketKey>) -> Sketch {
        Sketch::filed(features, Some(keys), self.filing().as_ref())
    }

    /// Checks that this kind writes such a row key.
    ///
    /// # Errors
    /// [`RowKeyError`], with the defect.
    pub fn check(&self, key: RowKey) -> Result<(), RowKeyError> {
        let way = self.ways.iter().find(|way| way.family(key.flag).is_some());
        way.ok_or(RowKeyError::UnknownFlag(key.flag))?.check(key)
    }

    /// Returns true if two simhashes in one bucket meet in an earlier bucket as well, provided that
    /// both are filed by this kind. Row keys alone tell this, for simhashes only: false for other
    /// families.
    #[must_use]
    pub fn meet_earlier(&self, a: RowKey, b: RowKey) -> bool {
        let differ = a.fingerprint.0 ^ b.fingerprint.0;
        self.family(a.flag) == Family::Simhash
            && self.tables().any(|table| table.flag() < a.flag && differ & table.mask() == 0)
            && self.check(a).is_ok()
            && self.check(b).is_ok()
    }

    /// Returns true if the kind files simhashes under the same keys as `other`.
    #[must_use]
    pub fn has_tables_of(&self, other: &Self) -> bool {
        self.scheme().map(TableScheme::tables) == other.scheme().map(TableScheme::tables)
    }

    /// The number of bits in the segment of each key.
    fn key_bits(&self) -> Vec<u32> {
        self.ways.iter().flat_map(Way::key_bits).collect()
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

    /// A kind without tables.
    pub(crate) fn by_sets_alone() -> Self {
        Self { ways: vec![Way::Bands(FilingScheme::default())] }
    }
}
