//! The filing of a document, made from its signature.

use crate::{BandKey, BandScheme, LONG_BINS, SHORT_BINS};

/// The source of a suffix, which decides the number of bits in which suffixes of near documents
/// differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetKind {
    /// Bits of the sketch of a long document.
    Long,
    /// Bits of the sketch of a short document.
    Short,
    /// The hash of a document, for equality only.
    Whole,
}

/// One filing of a document: its buckets, and the 64 bits that filter the documents met there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filing<'a> {
    /// The source of the suffix.
    pub kind: SetKind,
    /// The bits that follow the bucket in a row key.
    pub suffix: u64,
    pub(crate) bands: Bands<'a>,
}

/// The source of the buckets of a filing: bands over the low bytes of bins, or a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bands<'a> {
    Long(&'a BandScheme<LONG_BINS>, &'a [u8]),
    Short(&'a BandScheme<SHORT_BINS>, [u8; SHORT_BINS]),
    Whole(BandKey),
}

impl Filing<'_> {
    /// Returns the buckets, ascending. Each call computes them.
    pub fn keys(&self) -> impl Iterator<Item = BandKey> {
        let n = match &self.bands {
            Bands::Long(scheme, _) => scheme.bands(),
            Bands::Short(scheme, _) => scheme.bands(),
            Bands::Whole(_) => 1,
        };
        (0..n).map(|band| match &self.bands {
            Bands::Long(scheme, bytes) => scheme.key(bytes, band),
            Bands::Short(scheme, bytes) => scheme.key(bytes, band),
            Bands::Whole(key) => *key,
        })
    }
}
