//! The text of a document, where it is at hand, and the count that decides how similar two texts are.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use minhash::Comparison;

use crate::{Error, Result};

/// A document's text, as it was given or reduced to the characters that its index compares. A clone shares it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text {
    content: Arc<str>,
    is_reduced: bool,
}

impl Text {
    /// A text that is reduced to the characters that its index compares, so that a count need not do it.
    #[must_use]
    pub fn reduced(characters: &str) -> Self {
        Self { content: characters.into(), is_reduced: true }
    }

    /// True for a text that is reduced, false for one as it was given.
    #[must_use]
    pub fn is_reduced(&self) -> bool {
        self.is_reduced
    }

    /// True if the two are one and the same in memory.
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

/// Counts what two texts have in common. This crate knows no language, so the caller brings it.
pub trait CountTexts: Sync {
    /// A name that no other way to count has.
    fn name(&self) -> &'static str;

    /// How similar two texts are, counted over the sets that signatures estimate.
    fn compare(&self, a: &Text, b: &Text) -> Comparison;

    /// Whether two texts are the same in normal form. The sets of two texts may be equal although they are not: one may
    /// say something twice.
    fn are_copies(&self, a: &Text, b: &Text) -> bool;
}

/// A way to count, by which the verdicts of an index are made where texts are at hand.
#[derive(Clone, Copy)]
pub struct Counter(&'static dyn CountTexts);

impl Counter {
    /// This way to count.
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

/// Says whether an index keeps the texts of its documents. Where it does, its verdicts are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TextKeeping {
    /// No texts: estimates by signatures decide.
    #[default]
    None,
    /// Each text, compressed by Zstandard, in a place that searches do not read.
    Zstd,
}

impl TextKeeping {
    /// All of them, with their names.
    pub const ALL: [(Self, &str); 2] = [(Self::None, "none"), (Self::Zstd, "zstd")];

    /// The name it goes by.
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

/// A place for the texts of the documents of a store in memory, by their numbers.
pub trait TextPlace: Send + Sync {
    /// Keeps a text under a number that had none.
    ///
    /// # Errors
    /// Those of a write, for a place on a disk.
    fn put(&mut self, number: u64, text: &Text) -> Result<()>;

    /// The text under a number, where there is one.
    ///
    /// # Errors
    /// Those of a read, for a place on a disk; `Corrupt` where it is not what was put there.
    fn get(&self, number: u64) -> Result<Option<Text>>;

    /// Forgets the text under a number. Its room may stay taken.
    fn remove(&mut self, number: u64);
}

/// Texts as they are, in memory.
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
