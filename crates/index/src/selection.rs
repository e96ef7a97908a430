//! The selection of documents by the data stored beside their sketches.

use crate::{Source, StoredDocument, Timestamp};

/// Documents by source and time of insertion. A field left out does not matter, so the default
/// selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only documents of this source.
    pub source: Option<Source>,
    /// Only documents inserted at this time or later.
    pub inserted_from: Option<Timestamp>,
    /// Only documents inserted before this time.
    pub inserted_until: Option<Timestamp>,
}

impl Selection {
    /// Returns true if the selection includes this document.
    #[must_use]
    pub fn matches(&self, stored: &StoredDocument) -> bool {
        self.source.as_ref().is_none_or(|source| stored.document.source.as_ref() == Some(source))
            && self.inserted_from.is_none_or(|from| stored.inserted_at >= from)
            && self.inserted_until.is_none_or(|until| stored.inserted_at < until)
    }
}
