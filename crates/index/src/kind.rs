//! How the documents of an index are sketched: the one place that knows which kinds of sketch there are.
//!
//! All else in the house asks a [`SketchKind`] and keeps the sketches that it makes. A kind has a family of flags, and the
//! family has what depends on how bits become keys: which flags, which row keys, the greatest distance, the stored form. A
//! second kind is a variant of [`Family`] with an arm in each `match` of this file; an index with two at once is a kind with
//! a list of families, whose keys are laid one after another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use simhash::{
    Distance, Fingerprint, RowKey, RowKeyError, SCHEME_NAMES, SchemeError, Sketch, SplitsError, Table,
    TableScheme,
};

use crate::{Error, Groups, Pair, Result};

/// What the documents of an index are sketched by; the parsed form of a name, as in `"t11".parse()`. The default is `5c2`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SketchKind {
    family: Family,
}

/// Keys that are made in one way, under flags that no other family of the index uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Family {
    /// Blocks of a simhash that must agree; what a row key ends with is the fingerprint.
    Simhash(TableScheme),
}

impl Default for Family {
    fn default() -> Self {
        Self::Simhash(TableScheme::default())
    }
}

/// A name that no kind has.
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
        Ok(Self { family: Family::Simhash(name.parse().map_err(UnknownKind)?) })
    }
}

impl SketchKind {
    /// The names that can be parsed; the first is the default's.
    pub const NAMES: [&str; SCHEME_NAMES.len()] = SCHEME_NAMES;

    /// Simhashes under tables of one's own, given as flag and mask, that find every pair within `max_distance`.
    ///
    /// # Errors
    /// See [`TableScheme::new`], which proves them.
    pub fn simhash(name: &str, max_distance: Distance, masks: &[(u8, u64)]) -> Result<Self, SchemeError> {
        Ok(Self { family: Family::Simhash(TableScheme::new(name, max_distance, masks)?) })
    }

    /// The name it goes by.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.family {
            Family::Simhash(scheme) => scheme.name(),
        }
    }

    /// The distance up to which two near documents are certain to share a bucket; an index may ask for less.
    #[must_use]
    pub fn max_distance(&self) -> Distance {
        match &self.family {
            Family::Simhash(scheme) => scheme.max_distance(),
        }
    }

    /// How many buckets a document is filed under, each of which a query reads.
    #[must_use]
    pub fn n_keys(&self) -> usize {
        match &self.family {
            Family::Simhash(scheme) => scheme.tables().len(),
        }
    }

    /// The bits of a fingerprint that must agree for two to meet, for each of its keys, in the order of the keys: what
    /// tells why two documents were found or not.
    #[must_use]
    pub fn masks(&self) -> Vec<u64> {
        match &self.family {
            Family::Simhash(scheme) => scheme.tables().iter().map(Table::mask).collect(),
        }
    }

    /// The sketch of a document with this fingerprint.
    #[must_use]
    pub fn sketch(&self, fingerprint: Fingerprint) -> Sketch {
        match &self.family {
            Family::Simhash(scheme) => scheme.sketch(fingerprint),
        }
    }

    /// Whether a sketch is the one that [`sketch`](Self::sketch) makes of its fingerprint, so that its keys need not be
    /// stored.
    #[must_use]
    pub fn follows(&self, sketch: &Sketch) -> bool {
        sketch.keys().len() == self.n_keys() && self.sketch(sketch.fingerprint()) == *sketch
    }

    /// Whether a row key is one that this kind writes.
    ///
    /// # Errors
    /// [`RowKeyError`], with what is wrong about it.
    pub fn check(&self, key: RowKey) -> Result<(), RowKeyError> {
        match &self.family {
            Family::Simhash(scheme) => scheme.check(key),
        }
    }

    /// Whether it files every document under the same keys as `other`, whatever the two are called.
    #[must_use]
    pub fn files_like(&self, other: &Self) -> bool {
        match (&self.family, &other.family) {
            (Family::Simhash(scheme), Family::Simhash(other)) => scheme.tables() == other.tables(),
        }
    }

    /// The segments at which `n_regions` regions of equal size begin, but for the first.
    ///
    /// # Errors
    /// [`SplitsError`] for no region, and for more than [`n_regions_max`](Self::n_regions_max).
    pub fn splits(&self, n_regions: u32) -> Result<Vec<u32>, SplitsError> {
        match &self.family {
            Family::Simhash(scheme) => scheme.splits(n_regions),
        }
    }

    /// The most regions that [`splits`](Self::splits) makes.
    #[must_use]
    pub fn n_regions_max(&self) -> u32 {
        match &self.family {
            Family::Simhash(scheme) => scheme.n_regions_max(),
        }
    }

    /// Calls `visit` once, always in the same order, for each pair of groups within [`max_distance`](Self::max_distance).
    pub fn self_join(&self, groups: &Groups, visit: &mut dyn FnMut(Pair)) {
        match &self.family {
            Family::Simhash(scheme) => tables::self_join(groups, scheme, visit),
        }
    }
}

/// The stored form, in the metadata of an index. Masks are hexadecimal, because many readers of JSON keep only 53 bits of
/// a number.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredKind {
    name: String,
    max_distance: u32,
    tables: Vec<StoredTable>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTable {
    flag: u8,
    mask: String,
}

impl From<&SketchKind> for StoredKind {
    fn from(kind: &SketchKind) -> Self {
        let Family::Simhash(scheme) = &kind.family;
        let stored =
            |table: &Table| StoredTable { flag: table.flag(), mask: format!("{:016x}", table.mask()) };
        Self {
            name: scheme.name().to_owned(),
            max_distance: scheme.max_distance().as_bits(),
            tables: scheme.tables().iter().map(stored).collect(),
        }
    }
}

impl StoredKind {
    /// Reads it back; what is wrong is told by `damaged`.
    pub(crate) fn decode(&self, damaged: impl Fn(&str) -> Error) -> Result<SketchKind> {
        let mut masks = Vec::new();
        for StoredTable { flag, mask } in &self.tables {
            let mask = u64::from_str_radix(mask, 16).map_err(|error| damaged("a mask").caused_by(error))?;
            masks.push((*flag, mask));
        }
        let max_distance =
            Distance::new(self.max_distance).map_err(|error| damaged("its table scheme").caused_by(error))?;
        SketchKind::simhash(&self.name, max_distance, &masks)
            .map_err(|error| damaged("its table scheme").caused_by(error))
    }
}

#[cfg(test)]
mod tests {
    use simhash::BucketKey;

    use super::*;

    #[test]
    fn every_name_is_parsed_and_makes_the_sketches_of_its_scheme() {
        let fingerprint = Fingerprint(0x9e37_79b9_7f4a_7c15);
        for name in SketchKind::NAMES {
            let (kind, scheme): (SketchKind, TableScheme) = (name.parse().unwrap(), name.parse().unwrap());
            assert_eq!((kind.name(), kind.max_distance()), (name, scheme.max_distance()));
            let sketch = kind.sketch(fingerprint);
            assert_eq!(sketch, scheme.sketch(fingerprint));
            assert_eq!((kind.n_keys(), kind.masks().len()), (sketch.keys().len(), sketch.keys().len()));
            assert!(sketch.keys().iter().all(|&key| kind.check(RowKey::new(key, fingerprint)).is_ok()));
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
        assert!(!kind.follows(&Sketch::new(Fingerprint(6), sketch.keys().to_vec())));
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
