//! Errors of opening an engine.

use std::fmt;

use features::RecipeError;

use crate::shown;

/// The reason for which an index was not opened with its recipe. Calls of an open engine fail with
/// the errors of the store.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The recipe of the options cannot be followed. Nothing was opened or made.
    Recipe(RecipeError),
    /// The store or the index failed; the kind of `source` tells the remedy.
    Index {
        /// The URL that was opened.
        uri: String,
        /// The failure to open or make the index.
        source: index::Error,
    },
    /// The recipe of the index cannot be followed with the dictionaries of the options.
    StoredRecipe {
        /// The URL of the index.
        uri: String,
        /// The fault of the recipe.
        source: RecipeError,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recipe(_) => f.write_str("the recipe asked for cannot be followed"),
            Self::Index { uri, .. } => write!(f, "failed to open index `{}`", shown(uri)),
            Self::StoredRecipe { uri, .. } => write!(f, "failed to build the recipe of `{}`", shown(uri)),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Recipe(source) | Self::StoredRecipe { source, .. } => Some(source),
            Self::Index { source, .. } => Some(source),
        }
    }
}
