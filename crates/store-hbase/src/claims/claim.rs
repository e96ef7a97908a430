//! A claim on a document, and the row in which it stands.

use index::{Sketch, Source};

/// The rank of a claim: the smaller ticket goes first. Its order must be the same for all writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ticket {
    /// The time of the draw in milliseconds, by the clock of the owner.
    pub(crate) time: i64,
    /// A random number for each batch.
    pub(crate) owner: u64,
    /// The place in the batch.
    pub(crate) number: u32,
}

/// The state of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum State {
    /// The owner is at work, or dead.
    Pending,
    /// The owner has withdrawn the claim, or another claimant has ended it.
    Aborted,
    /// The document is there.
    Committed,
    /// The document was removed; the claim leaves the timestamp that the next claim must exceed.
    Removed,
}

impl State {
    /// Returns true if searches may believe cells of a claim in this state. An aborted claimant
    /// that tries again writes its cells anew, with a later time.
    pub(crate) fn is_believed(self) -> bool {
        match self {
            Self::Pending | Self::Committed => true,
            Self::Aborted | Self::Removed => false,
        }
    }
}

/// The latest claim on a document, as written in the document's row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claim {
    /// The state of the claim.
    pub(crate) state: State,
    /// The sketch to be inserted.
    pub(crate) sketch: Sketch,
    /// The source of the document.
    pub(crate) source: Option<Source>,
    /// A digest of the text, where the store keeps texts.
    pub(crate) text: Option<u64>,
    /// The timestamp of the claim's cells in the index, which identifies its incarnation.
    pub(crate) timestamp: i64,
    /// The rank of the claim.
    pub(crate) ticket: Ticket,
    /// The end of the lease, in milliseconds.
    pub(crate) deadline: i64,
    /// True if the row may forget the claim by itself in time. False over a committed claim, which
    /// could show again, and for a removal until the removed data are gone.
    pub(crate) expires: bool,
}

/// The contents of a document's row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    /// The sketch of the document, if the document is there.
    pub(crate) live: Option<Sketch>,
    /// A digest of that document's text, where the store keeps texts.
    pub(crate) text: Option<u64>,
    /// The greatest timestamp that the document has had, in any state.
    pub(crate) newest: i64,
    /// The claim on the id, if any.
    pub(crate) claim: Option<Claim>,
}
