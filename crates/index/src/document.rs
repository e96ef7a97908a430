//! The nouns of the seam: a document and its id, what a search found, what an insertion did.

use std::fmt;
use std::str::FromStr;

use minhash::Similarity;
use simhash::{Distance, Fingerprint};
use tables::Cost;

use crate::{Nearness, Sketch, Source, Timestamp};

/// The longest id, in bytes of UTF-8.
pub const MAX_ID_BYTES: usize = 4096;

/// The caller's name for a document: 1 to [`MAX_ID_BYTES`] bytes of UTF-8 without control characters.
///
/// Ids are printed one a line with tabs between fields, so neither may occur in one. Order is byte order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(Box<str>);

/// A text that cannot be a document id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidDocumentId {
    /// No characters at all.
    Empty,
    /// More than [`MAX_ID_BYTES`]; holds how many there are.
    TooLong(usize),
    /// A control character.
    Control {
        /// Which one.
        character: char,
        /// Where it starts, in bytes.
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
    pub fn new(id: impl Into<String>) -> Result<Self, InvalidDocumentId> {
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
        Ok(Self(id.into_boxed_str()))
    }

    /// The id as it was given.
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

/// What a store is given: an id, and the sketch it is to be found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Document {
    /// Its name.
    pub id: DocumentId,
    /// By what it is compared, and the buckets it is filed under.
    pub sketch: Sketch,
    /// Where it came from, if somebody said so. It makes no difference to any search.
    pub source: Option<Source>,
}

/// What a store keeps of a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoredDocument {
    /// What was given.
    pub document: Document,
    /// When the store wrote it, by the clock of the process that did: the time of its insertion, or of its last
    /// replacement. Inserting it again unchanged does not renew it.
    pub inserted_at: Timestamp,
}

/// A stored document that a search met.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Match {
    /// Its name.
    pub id: DocumentId,
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// How near it is to the query.
    pub nearness: Nearness,
}

impl Match {
    /// What `sketch` stands for, stored under `id`, that is so near.
    #[must_use]
    pub fn new(id: DocumentId, fingerprint: Fingerprint, nearness: Nearness) -> Self {
        Self { id, fingerprint, nearness }
    }

    /// In how many bits it differs from the query: see [`Features::distance`](crate::Features::distance).
    #[must_use]
    pub fn distance(&self) -> Distance {
        self.nearness.distance
    }

    /// The share of both that is in common, where the index verifies.
    #[must_use]
    pub fn similarity(&self) -> Option<Similarity> {
        self.nearness.similarity
    }
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The nearest first, by nearness, then id; at most as many as were asked for.
    pub matches: Vec<Match>,
    /// How many there are in all, so that a cut is never silent.
    pub n_matches: u64,
    /// What was read to find them. The candidates of a call of several queries are shared out evenly among its answers,
    /// so that they add up.
    pub cost: Cost,
}

/// What a search found, with the documents themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NearDocuments {
    /// With their nearness; the nearest first, by nearness, then id; at most as many as were asked for.
    pub documents: Vec<(Nearness, StoredDocument)>,
    /// As [`Neighbours::n_matches`].
    pub n_matches: u64,
    /// As [`Neighbours::cost`].
    pub cost: Cost,
}

/// What an insertion did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Insertion {
    /// The id was not there; now it is.
    Inserted,
    /// The id is there with the same sketch, and where texts are kept with the same text; nothing was written, so it keeps its source and the time of its insertion.
    Unchanged,
    /// The id was there with another sketch, which is gone.
    Replaced,
    /// `insert_if_new` only: this document under another id is near, the nearest by nearness, then id. Nothing was
    /// written.
    Duplicate(Match),
}

impl Insertion {
    /// The document that kept this one out, if one did.
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
