//! The filing of a document, made from its signature.

use crate::BandKey;

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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Filing {
    /// The source of the suffix.
    pub kind: SetKind,
    /// The bits that follow the bucket in a row key.
    pub suffix: u64,
    /// The buckets, ascending.
    pub keys: Vec<BandKey>,
}
