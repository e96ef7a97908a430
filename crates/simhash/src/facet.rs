//! The filing of a document: a fingerprint and its buckets.

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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Facet {
    fingerprint: Fingerprint,
    keys: Box<[BucketKey]>,
}

impl Facet {
    /// Creates a facet of bits filed under `keys`, in any order; repeated keys count once.
    #[must_use]
    pub fn new(fingerprint: Fingerprint, mut keys: Vec<BucketKey>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        Self { fingerprint, keys: keys.into_boxed_slice() }
    }

    /// The 64 bits that are compared.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The buckets, ascending by flag, then segment, without repeats.
    #[must_use]
    pub fn keys(&self) -> &[BucketKey] {
        &self.keys
    }
}
