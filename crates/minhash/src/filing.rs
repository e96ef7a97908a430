//! From a signature to where its document is filed.

use crate::BandKey;

/// What a suffix is made of, which says in how many bits those of near documents differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetKind {
    /// Bits of the sketch of a long document.
    Long,
    /// Bits of the sketch of a short document.
    Short,
    /// The hash of a document of which only equality counts.
    Whole,
}

/// One way in which a document is filed: its buckets, and the 64 bits that filter what is met there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Filing {
    /// What the suffix is made of.
    pub kind: SetKind,
    /// The bits that follow the bucket in a row key.
    pub suffix: u64,
    /// The buckets, ascending.
    pub keys: Vec<BandKey>,
}
