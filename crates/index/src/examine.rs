//! What can be wrong in a store, and what becomes of it.

use std::fmt;

use crate::{Clock, DocumentId, Timestamp};

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

impl Finding {
    /// A document that was inserted at a time that is ahead of the clock by more than it may be.
    #[must_use]
    pub fn of_ahead(id: &DocumentId, inserted_at: Timestamp, clock: &Clock) -> Option<Self> {
        let is_ahead = inserted_at.as_ms() - clock.now().as_ms() > clock.ahead_ms_max();
        let place = || format!("{id} inserted at {inserted_at}");
        is_ahead.then(|| Self { kind: FindingKind::Ahead, place: place(), is_mended: false })
    }
}

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// A document that not all of its buckets lead to, so that searches may miss it.
    Unfiled,
    /// An entry of the index that leads to no document, or a text that is of none; it costs room and time, and no answer is
    /// wrong.
    Ghost,
    /// An insertion whose owner has died; it keeps nobody waiting any more.
    DeadClaim,
    /// A removal whose owner has died: the document is gone, and not all that it left behind.
    HalfRemoved,
    /// A document whose text was kept and is gone. Verdicts about it fail; once it is mended, estimates decide about it, as
    /// about a document that came without a text.
    TextLost,
    /// A document whose time of insertion is ahead of the clock: it stays for so much longer.
    Ahead,
    /// A document under the keys of another scheme than the index's, so that searches may miss it: its writer took the index
    /// for another one. One whose fingerprint alone is of another recipe looks like any other.
    Foreign,
    /// Bytes that are not what was written, or a text that is missing.
    Damaged,
}

impl FindingKind {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 8] = [
        Self::Unfiled,
        Self::Ghost,
        Self::DeadClaim,
        Self::HalfRemoved,
        Self::TextLost,
        Self::Ahead,
        Self::Foreign,
        Self::Damaged,
    ];

    /// Whether what is found can be mended by what is known.
    #[must_use]
    pub fn is_mendable(self) -> bool {
        !matches!(self, Self::Ahead | Self::Foreign | Self::Damaged)
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unfiled => "unfiled",
            Self::Ghost => "ghost",
            Self::DeadClaim => "dead claim",
            Self::HalfRemoved => "half removed",
            Self::TextLost => "text lost",
            Self::Ahead => "ahead",
            Self::Foreign => "foreign",
            Self::Damaged => "damaged",
        })
    }
}
