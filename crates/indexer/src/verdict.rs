//! What is decided about each document of a deduplication.

use index::DocumentId;
use simhash::{Distance, Fingerprint};

/// What becomes of a document.
pub(crate) enum Verdict {
    /// It stays, if only because it has no features.
    Kept,
    /// It is dropped.
    Duplicate { fingerprint: Fingerprint, of: Original },
}

/// Of whom a document is a near-duplicate.
pub(crate) struct Original {
    pub(crate) id: DocumentId,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) distance: Distance,
    /// Whether this run has kept it, and not one before.
    pub(crate) in_this_run: bool,
}
