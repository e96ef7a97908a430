//! What can be wrong in a store, and what becomes of it.

use std::fmt;

/// What [`Store::examine`](crate::Store::examine) tells while it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Examined {
    /// So many more documents, or entries of the index, have been looked at.
    Items(u64),
    /// Something is not as it should be.
    Found(Finding),
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// Where: a document's id, or a key of the store, without control characters.
    pub place: String,
    /// Whether it has been mended.
    pub is_mended: bool,
}

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// A document that not all of its buckets lead to, so that searches may miss it.
    Unfiled,
    /// An entry of the index that leads to no document; it costs room and time, and no answer is wrong.
    Ghost,
    /// An insertion whose owner has died; it keeps nobody waiting any more.
    DeadClaim,
    /// A removal whose owner has died: the document is gone, and not all that it left behind.
    HalfRemoved,
    /// Bytes that are not what was written.
    Damaged,
}

impl FindingKind {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 5] =
        [Self::Unfiled, Self::Ghost, Self::DeadClaim, Self::HalfRemoved, Self::Damaged];
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unfiled => "unfiled",
            Self::Ghost => "ghost",
            Self::DeadClaim => "dead claim",
            Self::HalfRemoved => "half removed",
            Self::Damaged => "damaged",
        })
    }
}
