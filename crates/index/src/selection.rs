//! Which documents, by what is stored beside their sketches.

use crate::{Source, StoredDocument, Timestamp};

/// Documents by source and by when they were inserted. What is left out does not matter, so the default selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only those of this source.
    pub source: Option<Source>,
    /// Only those inserted at this time or later.
    pub inserted_from: Option<Timestamp>,
    /// Only those inserted before this time.
    pub inserted_until: Option<Timestamp>,
}

impl Selection {
    /// Whether it selects this document.
    #[must_use]
    pub fn matches(&self, stored: &StoredDocument) -> bool {
        self.source.as_ref().is_none_or(|source| stored.document.source.as_ref() == Some(source))
            && self.inserted_from.is_none_or(|from| stored.inserted_at >= from)
            && self.inserted_until.is_none_or(|until| stored.inserted_at < until)
    }
}
