//! What a store keeps of a document: a fingerprint and the buckets it is filed under.

use crate::Fingerprint;

/// One bucket: the table's flag and the segment that the fingerprints in it agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketKey {
    /// Which table, 1 to 255; 0 is kept free.
    pub flag: u8,
    /// The bits that agree, right-aligned.
    pub segment: u32,
}

/// The seam between how a document was sketched and how it is stored: a fingerprint, and the buckets to file it under.
///
/// Two sketches are compared only where they share a bucket, and match there when their fingerprints are near. For a
/// simhash the buckets follow from the fingerprint ([`TableScheme::sketch`](crate::TableScheme::sketch)); for other
/// kinds they need not, for example MinHash bands, where a band's hash is the segment and its number the flag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sketch {
    fingerprint: Fingerprint,
    keys: Box<[BucketKey]>,
}

impl Sketch {
    /// A sketch filed under `keys`, each of which counts once whatever order they come in.
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
