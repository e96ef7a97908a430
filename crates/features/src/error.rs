//! Why a recipe, or a dictionary that goes with it, is refused.

use std::fmt;

use crate::Digest;
use crate::field::{RECIPE_VERSION, USER_DICTIONARY};

/// Why no fingerprinter can be built; each kind names the field of the recipe that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecipeError {
    /// The recipe was written by another version of the pipeline.
    Version(u32),
    /// A stored recipe has a field that this version does not know.
    UnknownField(String),
    /// A stored recipe lacks a field.
    MissingField(&'static str),
    /// A field's text cannot be read.
    BadValue {
        /// Which field.
        field: &'static str,
        /// What it says.
        value: String,
        /// What it may say.
        expected: &'static str,
    },
    /// The dictionary that was given is not the one that the recipe was made with.
    Mismatch {
        /// Which dictionary.
        field: &'static str,
        /// What the recipe says.
        recipe: Digest,
        /// What was given.
        given: Digest,
    },
    /// The recipe was made with a dictionary, and none was given.
    NotGiven {
        /// Which dictionary.
        field: &'static str,
        /// What the recipe says.
        recipe: Digest,
    },
    /// A dictionary was given, and the recipe was made without one.
    NotExpected {
        /// Which dictionary.
        field: &'static str,
    },
    /// A dictionary was given that the recipe's segmenter or weights never read.
    Unused {
        /// Which dictionary.
        field: &'static str,
        /// What would read it.
        read_by: &'static str,
    },
    /// The document frequencies that were given are of terms that the recipe makes otherwise.
    CountedOtherwise {
        /// Which field of the recipe differs.
        field: &'static str,
        /// What the file of document frequencies says.
        counted: String,
        /// What the recipe says.
        recipe: String,
    },
    /// A dictionary cannot be read.
    Dictionary {
        /// Which dictionary.
        field: &'static str,
        /// What is wrong with it.
        source: LineError,
    },
}

impl fmt::Display for RecipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(
                f,
                "the recipe has version {version}, and this program makes fingerprints of versions 1 to {RECIPE_VERSION} only"
            ),
            Self::UnknownField(field) => {
                write!(f, "the recipe has a field {field:?} that this program does not know")
            }
            Self::MissingField(field) => write!(f, "the recipe lacks the field `{field}`"),
            Self::BadValue { field, value, expected } => {
                write!(f, "the recipe's field `{field}` must be {expected}, got {value:?}")
            }
            Self::Mismatch { field, recipe, given } => {
                write!(
                    f,
                    "the recipe was made with another `{field}`: its digest is {recipe}, and {given} was given"
                )
            }
            Self::NotGiven { field, recipe } => {
                let option = if *field == USER_DICTIONARY { "user-dict" } else { field };
                write!(
                    f,
                    "the recipe was made with the `{field}` of digest {recipe}, and none was given; name its file \
                     with --{option}"
                )
            }
            Self::NotExpected { field } => {
                write!(f, "a `{field}` was given, and the recipe was made without one")
            }
            Self::Unused { field, read_by } => {
                write!(f, "a `{field}` was given, and only {read_by} would read it")
            }
            Self::CountedOtherwise { field, counted, recipe } => write!(
                f,
                "the `idf` was counted with another `{field}`: with {counted}, and the recipe has {recipe}"
            ),
            Self::Dictionary { field, source } => write!(f, "bad `{field}`: {source}"),
        }
    }
}

impl std::error::Error for RecipeError {}

/// What is wrong with a dictionary, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// The line, counted from 1; 0 where it is about the whole file.
    pub line: usize,
    /// What is wrong.
    pub reason: &'static str,
    /// The start of the line.
    pub text: String,
}

impl LineError {
    /// Longest excerpt of the bad line, in characters.
    const EXCERPT_CHARS_MAX: usize = 60;

    pub(crate) fn new(line: usize, reason: &'static str, text: &str) -> Self {
        Self { line, reason, text: text.chars().take(Self::EXCERPT_CHARS_MAX).collect() }
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.reason),
            line => write!(f, "line {line}: {}, got {:?}", self.reason, self.text),
        }
    }
}

impl std::error::Error for LineError {}
