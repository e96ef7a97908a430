//! The defects of a store, as found by an examination.

use std::fmt;

use crate::{Clock, DocumentId, Timestamp};

/// The progress reports of [`Store::examine`](crate::Store::examine).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Examined {
    /// The number of documents, or entries of the index, examined since the last report.
    Items(u64),
    /// A defect.
    Found(Finding),
}

/// A defect at one place of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind of the defect.
    pub kind: FindingKind,
    /// The place: a document's id, or a key of the store, without control characters.
    pub place: String,
    /// True if the defect has been mended.
    pub is_mended: bool,
}

impl Finding {
    /// The finding for a document whose time of insertion is too far ahead of the clock; `None` for
    /// any other document.
    #[must_use]
    pub fn of_ahead(id: &DocumentId, inserted_at: Timestamp, clock: &Clock) -> Option<Self> {
        let is_ahead = inserted_at.as_ms() - clock.now().as_ms() > clock.ahead_ms_max();
        let place = || format!("{id} inserted at {inserted_at}");
        is_ahead.then(|| Self { kind: FindingKind::Ahead, place: place(), is_mended: false })
    }
}

/// The kinds of defects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// A document missing from some of its buckets, so searches may miss it.
    Unfiled,
    /// An entry of the index that leads to no document, or a text without a document. A ghost costs
    /// space and time, and makes no answer wrong.
    Ghost,
    /// An insertion whose owner has died; it keeps no other writer waiting any more.
    DeadClaim,
    /// A removal whose owner has died: the document is gone, some of its traces are left.
    HalfRemoved,
    /// An image of the search tables that is damaged, and so not used: openings take longer.
    /// Mended, it is dropped.
    Image,
    /// A document whose text was kept and is gone. Verdicts about the document fail, or in HBase
    /// are estimates. Once mended, estimates decide about the document, as about one inserted
    /// without a text, and the same text inserted again is kept.
    TextLost,
    /// A document whose time of insertion is ahead of the clock: it stays longer by the difference.
    Ahead,
    /// A document under the keys of another scheme than the index's, so searches may miss it: its
    /// writer mistook the index for another one. A document of which only the fingerprint is of
    /// another recipe looks like any other.
    Foreign,
    /// Bytes that differ from the bytes written, or a missing text.
    Damaged,
}

impl FindingKind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Unfiled,
        Self::Ghost,
        Self::DeadClaim,
        Self::HalfRemoved,
        Self::Image,
        Self::TextLost,
        Self::Ahead,
        Self::Foreign,
        Self::Damaged,
    ];

    /// Returns true if the remaining data suffice to mend such a defect.
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
            Self::Image => "image",
            Self::TextLost => "text lost",
            Self::Ahead => "ahead",
            Self::Foreign => "foreign",
            Self::Damaged => "damaged",
        })
    }
}
