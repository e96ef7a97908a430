//! The nouns of the seam: a document and its id, the answer of a search, the outcome of an
//! insertion.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use minhash::Similarity;
use simhash::{Distance, Fingerprint};
use tables::Cost;

use crate::{Nearness, Sketch, Source, Timestamp};

/// The longest id, in bytes of UTF-8.
pub const MAX_ID_BYTES: usize = 4096;

/// The caller's name for a document: 1 to [`MAX_ID_BYTES`] bytes of UTF-8 without control
/// characters.
///
/// Programs print one id a line with tabs between fields, so an id holds neither line breaks nor
/// tabs. Order is byte order. A clone shares the bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(Arc<str>);

/// A text that cannot be a document id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidDocumentId {
    /// A text without characters.
    Empty,
    /// A text of more than [`MAX_ID_BYTES`]; holds its length in bytes.
    TooLong(usize),
    /// A text with a control character.
    Control {
        /// The first control character.
        character: char,
        /// The byte at which the character starts.
        position: usize,
    },
}

impl fmt::Display for InvalidDocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "a document id must not be empty"),
            Self::TooLong(len) => {
                write!(f, "a document id has at most {MAX_ID_BYTES} bytes, this one has {len}")
            }
            Self::Control { character, position } => {
                write!(
                    f,
                    "a document id must not hold control characters, this one has {character:?} at byte {position}"
                )
            }
        }
    }
}

impl std::error::Error for InvalidDocumentId {}

impl DocumentId {
    /// Checks `id`.
    ///
    /// # Errors
    /// See [`InvalidDocumentId`].
    pub fn new(id: impl Into<Arc<str>>) -> Result<Self, InvalidDocumentId> {
        let id = id.into();
        if id.is_empty() {
            return Err(InvalidDocumentId::Empty);
        }
        if id.len() > MAX_ID_BYTES {
            return Err(InvalidDocumentId::TooLong(id.len()));
        }
        if let Some((position, character)) = id.char_indices().find(|(_, character)| character.is_control()) {
            return Err(InvalidDocumentId::Control { character, position });
        }
        Ok(Self(id))
    }

    /// The id as given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DocumentId({:?})", &*self.0)
    }
}

impl AsRef<str> for DocumentId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for DocumentId {
    type Err = InvalidDocumentId;

    fn from_str(id: &str) -> Result<Self, InvalidDocumentId> {
        Self::new(id)
    }
}

/// A document as given to a store: an id and a sketch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Document {
    /// The caller's name for the document.
    pub id: DocumentId,
    /// The features compared with other documents, and the buckets that lead to the document.
    pub sketch: Sketch,
    /// The origin of the document, if the caller gave one. No search depends on the source.
    pub source: Option<Source>,
}

/// A document as kept by a store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoredDocument {
    /// The document as given.
    pub document: Document,
    /// The time of insertion or of the last replacement, by the clock of the writing process.
    /// Inserting the document again unchanged does not renew the time.
    pub inserted_at: Timestamp,
}

/// A stored document found by a search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Match {
    /// The id of the stored document.
    pub id: DocumentId,
    /// The fingerprint of the stored document.
    pub fingerprint: Fingerprint,
    /// The nearness of the stored document to the query.
    pub nearness: Nearness,
}

impl Match {
    /// The match of the document stored under `id`.
    #[must_use]
    pub fn new(id: DocumentId, fingerprint: Fingerprint, nearness: Nearness) -> Self {
        Self { id, fingerprint, nearness }
    }

    /// The number of bits in which the two fingerprints differ: see
    /// [`Features::distance`](crate::Features::distance).
    #[must_use]
    pub fn distance(&self) -> Distance {
        self.nearness.distance
    }

    /// The Jaccard similarity of document and query, where the index verifies.
    #[must_use]
    pub fn similarity(&self) -> Option<Similarity> {
        self.nearness.similarity
    }
}

/// The answer of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The nearest documents, by nearness, then id; at most `limit` of them.
    pub matches: Vec<Match>,
    /// The number of all near documents, so a cut is never silent.
    pub n_matches: u64,
    /// The work of the search. The candidates of a call with several queries are shared out evenly
    /// among its answers, so the sum over the answers is the cost of the call.
    pub cost: Cost,
}

/// The answer of a search, with the documents themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NearDocuments {
    /// The nearest documents with their nearness, by nearness, then id; at most `limit` of them.
    pub documents: Vec<(Nearness, StoredDocument)>,
    /// As [`Neighbours::n_matches`].
    pub n_matches: u64,
    /// As [`Neighbours::cost`].
    pub cost: Cost,
}

/// The outcome of an insertion.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Insertion {
    /// The id was not there; now it is.
    Inserted,
    /// The id is there with the same sketch, and where texts are kept with the same text. Nothing
    /// was written, so the document keeps its source and the time of its insertion.
    Unchanged,
    /// The id was there with another sketch, which is gone.
    Replaced,
    /// `insert_if_new` only: this document under another id is near, the nearest by nearness, then
    /// id. Nothing was written.
    Duplicate(Match),
}

impl Insertion {
    /// The document of which the inserted one is a duplicate, if any.
    #[must_use]
    pub fn original(self) -> Option<Match> {
        match self {
            Self::Duplicate(found) => Some(found),
            Self::Inserted | Self::Unchanged | Self::Replaced => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_checked() {
        for (id, expected) in [
            ("", Some(InvalidDocumentId::Empty)),
            ("a\tb", Some(InvalidDocumentId::Control { character: '\t', position: 1 })),
            ("é\n", Some(InvalidDocumentId::Control { character: '\n', position: 2 })),
            ("\u{85}", Some(InvalidDocumentId::Control { character: '\u{85}', position: 0 })),
            ("\0", Some(InvalidDocumentId::Control { character: '\0', position: 0 })),
            (" ", None),
            ("https://example.org/?a=b#c", None),
            ("微博 4711", None),
        ] {
            assert_eq!(DocumentId::new(id).err(), expected, "{id:?}");
        }
        let longest = "é".repeat(MAX_ID_BYTES / 2);
        assert_eq!(DocumentId::new(longest.as_str()).unwrap().as_str(), longest);
        assert_eq!(DocumentId::new(longest + "a"), Err(InvalidDocumentId::TooLong(MAX_ID_BYTES + 1)));
    }
}
