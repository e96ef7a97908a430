//! How a document is filed: a fingerprint and the buckets that it is found in.

use crate::Fingerprint;

/// One bucket: the table's flag and the segment that the fingerprints in it agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketKey {
    /// Which table, 1 to 255; 0 is kept free.
    pub flag: u8,
    /// The bits that agree, right-aligned.
    pub segment: u32,
}

/// One way in which a document is filed: 64 bits, and the buckets that it is found in by them.
///
/// Two facets are compared only where they share a bucket, and match there when their fingerprints are near. For a
/// simhash the buckets follow from the fingerprint ([`TableScheme::facet`](crate::TableScheme::facet)); for other
/// kinds they need not, for example MinHash bands, where a band's hash is the segment and its number the flag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Facet {
    fingerprint: Fingerprint,
    keys: Box<[BucketKey]>,
}

impl Facet {
    /// Bits filed under `keys`, each of which counts once whatever order they come in.
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
