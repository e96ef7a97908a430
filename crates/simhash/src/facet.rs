//! The filing of a document: a fingerprint and its buckets.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::Fingerprint;

/// One bucket: the table's flag and the segment that the fingerprints in it agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketKey {
    /// The flag of the table, 1 to 255; 0 is kept free.
    pub flag: u8,
    /// The bits that agree, right-aligned.
    pub segment: u32,
}

/// One filing of a document: 64 bits, and the buckets in which a search finds the document.
///
/// Two facets are compared only if they share a bucket, and match there if their fingerprints are
/// near. The buckets of a simhash follow from its fingerprint
/// ([`TableScheme::facet`](crate::TableScheme::facet)). Those of other kinds need not: for MinHash
/// bands, a band's hash is the segment and its number the flag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Facet {
    fingerprint: Fingerprint,
    keys: Keys,
}

/// Buckets, ascending and without repeats. A search makes the keys of each query, so those of the
/// usual schemes take no memory of their own.
#[derive(Clone)]
enum Keys {
    /// The first `.0` of the array.
    Few(u8, [BucketKey; Facet::FEW_KEYS]),
    Many(Box<[BucketKey]>),
}

impl Facet {
    /// The most keys that are held in the facet itself, without an allocation.
    pub const FEW_KEYS: usize = 16;

    /// Creates a facet of bits filed under `keys`, in any order; repeated keys count once.
    #[must_use]
    pub fn new(fingerprint: Fingerprint, keys: impl IntoIterator<Item = BucketKey>) -> Self {
        Self { fingerprint, keys: Keys::new(keys) }
    }

    /// The 64 bits that are compared.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The buckets, ascending by flag, then segment, without repeats.
    #[inline]
    #[must_use]
    pub fn keys(&self) -> &[BucketKey] {
        self.keys.as_slice()
    }
}

impl Keys {
    fn new(keys: impl IntoIterator<Item = BucketKey>) -> Self {
        let mut few = [BucketKey { flag: 0, segment: 0 }; Facet::FEW_KEYS];
        let mut n = 0_u8;
        let mut keys = keys.into_iter().fuse();
        for (place, key) in few.iter_mut().zip(keys.by_ref()) {
            *place = key;
            n += 1;
        }
        let (filled, next) = (&few[..n.into()], keys.next());
        // The keys of most schemes ascend by their flags.
        if next.is_none() && filled.is_sorted_by(|a, b| a < b) {
            return Self::Few(n, few);
        }
        let mut many: Vec<BucketKey> = filled.iter().copied().chain(next).chain(keys).collect();
        many.sort_unstable();
        many.dedup();
        Self::Many(many.into_boxed_slice())
    }

    #[inline]
    fn as_slice(&self) -> &[BucketKey] {
        match self {
            Self::Few(n, keys) => &keys[..usize::from(*n)],
            Self::Many(keys) => keys,
        }
    }
}

impl PartialEq for Keys {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Keys {}

impl PartialOrd for Keys {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Keys {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

/// Hashes two words: the buckets are folded into one, since a hasher takes longer over all of them
/// than a look-up should.
impl Hash for Facet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
        let fold = |folded: u64, key: &BucketKey| {
            folded.rotate_left(7) ^ (u64::from(key.flag) << 32 | u64::from(key.segment))
        };
        self.keys().iter().fold(0, fold).hash(state);
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    proptest! {
        /// Few keys and many, ascending or not, with repeats or without.
        #[test]
        fn keys_are_a_set_in_its_order(
            keys in proptest::collection::vec((1..40_u8, 0..3_u32), 0..40), is_sorted: bool,
        ) {
            let mut keys: Vec<_> =
                keys.into_iter().map(|(flag, segment)| BucketKey { flag, segment }).collect();
            let set: BTreeSet<_> = keys.iter().copied().collect();
            if is_sorted {
                keys = set.iter().copied().collect();
            }
            let facet = Facet::new(Fingerprint(7), keys.iter().copied());
            prop_assert!(facet.keys().iter().eq(&set));
            // Equal keys are equal, wherever they are held.
            keys.sort_unstable();
            keys.dedup();
            let hash = |facet: &Facet| BuildHasherDefault::<DefaultHasher>::new().hash_one(facet);
            let same = Facet::new(Fingerprint(7), keys);
            prop_assert_eq!(hash(&facet), hash(&same));
            prop_assert_eq!(&facet, &same);
            prop_assert!(facet.cmp(&same).is_eq());
        }
    }
}
