//! The text of a document, where it is at hand, and the counter of the similarity of two texts.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use minhash::Comparison;

use crate::{Error, Result};

/// A document's text, as given or reduced to the characters compared by its index. Clones share it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text {
    content: Arc<str>,
    is_reduced: bool,
}

impl Text {
    /// A text reduced to the characters compared by its index, which saves a count the reduction.
    #[must_use]
    pub fn reduced(characters: &str) -> Self {
        Self { content: characters.into(), is_reduced: true }
    }

    /// Returns true for a reduced text, false for a text as given.
    #[must_use]
    pub fn is_reduced(&self) -> bool {
        self.is_reduced
    }

    /// Returns true if both are the same allocation.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.content, &other.content)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self { content: text.into(), is_reduced: false }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self { content: text.into(), is_reduced: false }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.content
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.chars().take(24).collect();
        write!(f, "Text({shown:?}…, {} B)", self.len())
    }
}

/// A count of the common part of two texts. This crate knows no language, so the caller brings the
/// counter.
pub trait CountTexts: Sync {
    /// The name of this way to count, unique among all ways.
    fn name(&self) -> &'static str;

    /// Returns the similarity of two texts, counted over the sets that signatures estimate.
    fn compare(&self, a: &Text, b: &Text) -> Comparison;

    /// Returns true if two texts are the same in normal form. Different texts may have equal sets:
    /// one may repeat a passage.
    fn are_copies(&self, a: &Text, b: &Text) -> bool;
}

/// The way to count texts by which an index judges documents where texts are at hand.
#[derive(Clone, Copy)]
pub struct Counter(&'static dyn CountTexts);

impl Counter {
    /// Wraps a way to count.
    #[must_use]
    pub fn new(counts: &'static dyn CountTexts) -> Self {
        Self(counts)
    }

    /// See [`CountTexts::compare`].
    #[must_use]
    pub fn compare(self, a: &Text, b: &Text) -> Comparison {
        self.0.compare(a, b)
    }

    /// See [`CountTexts::are_copies`].
    #[must_use]
    pub fn are_copies(self, a: &Text, b: &Text) -> bool {
        self.0.are_copies(a, b)
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counter({})", self.0.name())
    }
}

impl PartialEq for Counter {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for Counter {}

impl Hash for Counter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name().hash(state);
    }
}

/// The way an index keeps the texts of its documents, if at all. An index with texts judges by
/// counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TextKeeping {
    /// No texts: estimates by signatures decide.
    #[default]
    None,
    /// Each text, compressed by Zstandard, in a place that searches do not read.
    Zstd,
}

impl TextKeeping {
    /// All variants, with their names.
    pub const ALL: [(Self, &str); 2] = [(Self::None, "none"), (Self::Zstd, "zstd")];

    /// The name of this variant.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for TextKeeping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for TextKeeping {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.iter().find(|(_, known)| *known == name);
        known
            .map(|(texts, _)| *texts)
            .ok_or_else(|| Error::invalid(format!("{name:?} is no way to keep texts: take none or zstd")))
    }
}

/// A place for the texts of a store in memory, by the numbers of their documents.
pub trait TextPlace: Send + Sync {
    /// Keeps a text under a number without a text.
    ///
    /// # Errors
    /// Those of a write, for a place on a disk.
    fn put(&mut self, number: u64, text: &Text) -> Result<()>;

    /// Returns the text under a number, if there is one.
    ///
    /// # Errors
    /// Those of a read, for a place on a disk; `Corrupt` for other bytes than written.
    fn get(&self, number: u64) -> Result<Option<Text>>;

    /// Forgets the text under a number. The space may stay taken.
    fn remove(&mut self, number: u64);

    /// As [`Store::give_memory`](crate::Store::give_memory).
    fn give_memory(&mut self, _n_bytes: u64) {}
}

/// Texts in memory, uncompressed.
#[derive(Debug, Default)]
pub(crate) struct TextsInMemory(std::collections::HashMap<u64, Text>);

impl TextPlace for TextsInMemory {
    fn put(&mut self, number: u64, text: &Text) -> Result<()> {
        self.0.insert(number, text.clone());
        Ok(())
    }

    fn get(&self, number: u64) -> Result<Option<Text>> {
        Ok(self.0.get(&number).cloned())
    }

    fn remove(&mut self, number: u64) {
        self.0.remove(&number);
    }
}
