//! Errors of a recipe, and of the dictionaries that go with it.

use std::fmt;

use crate::Digest;
use crate::field::{RECIPE_VERSION, USER_DICTIONARY};

/// The reason why no fingerprinter can be built; each kind names the recipe's field in question.
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
        /// The field.
        field: &'static str,
        /// The text of the field.
        value: String,
        /// The texts allowed.
        expected: &'static str,
    },
    /// The dictionary given is not the one of the recipe.
    Mismatch {
        /// The field of the dictionary.
        field: &'static str,
        /// The digest in the recipe.
        recipe: Digest,
        /// The digest of the dictionary given.
        given: Digest,
    },
    /// The recipe was made with a dictionary, and none was given.
    NotGiven {
        /// The field of the dictionary.
        field: &'static str,
        /// The digest in the recipe.
        recipe: Digest,
    },
    /// A dictionary was given, and the recipe was made without one.
    NotExpected {
        /// The field of the dictionary.
        field: &'static str,
    },
    /// A dictionary was given, and the recipe's segmenter or weights never read it.
    Unused {
        /// The field of the dictionary.
        field: &'static str,
        /// The segmenter or weights that would read the dictionary.
        read_by: &'static str,
    },
    /// The document frequencies given are of terms that the recipe makes otherwise.
    CountedOtherwise {
        /// The field of the recipe that differs.
        field: &'static str,
        /// The value in the file of document frequencies.
        counted: String,
        /// The value in the recipe.
        recipe: String,
    },
    /// A dictionary cannot be read.
    Dictionary {
        /// The field of the dictionary.
        field: &'static str,
        /// The error, with its line.
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

/// An error in a dictionary, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// The line, counted from 1; 0 for an error of the whole file.
    pub line: usize,
    /// The rule that the line breaks.
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
