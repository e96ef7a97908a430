//! Options for opening an engine.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use features::{Dictionaries, Fingerprinter, Recipe};
use index::{Key, Mode, OpenOptions, Profile, Retention, TextKeeping};
use minhash::Similarity;
use simhash::Distance;

use crate::OpenError;
use crate::dedup::Spilled;

/// Settings of a new index, with which an existing index must agree. The default opens an existing
/// index as it is, and makes one with the default recipe if there is none.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The action where there is no index.
    pub mode: Mode,
    /// The name of the table scheme; for a new index the default is `5c2`.
    pub scheme: Option<String>,
    /// The greatest distance of simhashes that propose a near-duplicate, in bits; for a new index
    /// the default is the scheme's.
    pub max_distance: Option<Distance>,
    /// The features that documents are filed by; for a new index the default is both simhashes and
    /// signatures.
    pub profile: Option<Profile>,
    /// Confirms near-duplicates by their signatures; a new index does, unless this is
    /// `Some(false)`.
    pub verify: Option<bool>,
    /// The least similarity of a confirmed near-duplicate; for a new index the default is 0.8.
    pub min_similarity: Option<Similarity>,
    /// The form in which texts are kept for counting similarities; for a new index the default is
    /// the place's.
    pub texts: Option<TextKeeping>,
    /// True if documents come without their texts: a new index then keeps none unless `texts` says
    /// so.
    pub without_texts: bool,
    /// The folder for the texts of an index in memory, which go to a compressed file there. `None`
    /// keeps the texts in memory.
    pub spool: Option<PathBuf>,
    /// True for an index that serves one run whose caller needs no fingerprints. Unless other
    /// options ask for words, a new index in memory then files by signatures alone.
    pub is_for_run: bool,
    /// The documents of a run that an index in memory decides from files, instead of holding them.
    pub spilled: Option<Arc<Spilled>>,
    /// Treats documents with different numbers as different documents; a new index does so only for
    /// `Some(true)`.
    pub same_numbers: Option<bool>,
    /// The use of a secret key for signatures, drawn at random for a new index.
    pub keyed: Option<bool>,
    /// The key of a new index, instead of a random one.
    pub key: Option<Key>,
    /// The time from insertion to expiry of documents; in a new index the default is no expiry.
    pub retain: Option<Retention>,
    /// The limit by which the clock may be ahead of the last write; without it a clock far ahead
    /// only causes a warning.
    pub clock_ahead_max: Option<Duration>,
    /// The recipe of a new index.
    pub recipe: Recipe,
    /// The fields of `recipe` that an existing index must agree with, by name, with their values.
    pub insisted: BTreeMap<String, String>,
    /// The dictionaries that a recipe may name.
    pub dictionaries: Dictionaries,
    /// The longest wait of calls for a server that has answered before; the default is two minutes.
    pub patience: Option<Duration>,
    /// The number of threads that make features; the default is the number of cores of the process.
    pub n_threads: Option<NonZeroUsize>,
}

impl Options {
    /// Checks the recipe, before an index is made.
    ///
    /// # Errors
    /// [`OpenError::Recipe`].
    pub fn check(&self) -> Result<(), OpenError> {
        Fingerprinter::check(&self.recipe, &self.dictionaries).map_err(OpenError::Recipe)
    }

    /// The profile of a new index in memory.
    ///
    /// A run keeps the same by signatures alone as by both, in less time and memory. Words are
    /// needed where an option is about them.
    pub(crate) fn profile_in_memory(&self) -> Option<Profile> {
        let needs_words = self.scheme.is_some() || self.max_distance.is_some() || !self.insisted.is_empty();
        let is_verified = self.verify != Some(false);
        self.profile.or((self.is_for_run && is_verified && !needs_words).then_some(Profile::Minhash))
    }

    /// The part of the options that concerns the index.
    #[must_use]
    pub fn open_options(&self) -> OpenOptions {
        OpenOptions {
            mode: self.mode,
            scheme: self.scheme.clone(),
            max_distance: self.max_distance,
            profile: self.profile,
            verify: self.verify,
            min_similarity: self.min_similarity,
            retain: self.retain,
            clock_ahead_max: self.clock_ahead_max,
            texts: self.texts,
            same_numbers: self.same_numbers,
            keyed: self.keyed,
            key: self.key,
            texts_default: TextKeeping::None,
            recipe: self.insisted.clone(),
            recipe_default: self.recipe.fields(),
        }
    }
}

#[cfg(test)]
impl Options {
    /// Options of an index whose features need no dictionaries, which take long to read.
    pub(crate) fn of_words() -> Self {
        let (segmenter, weights) = (features::Segmenter::Words, features::Weights::Uniform);
        let recipe = Recipe { segmenter, weights, dictionary: None, idf: None, ..Recipe::default() };
        Self { recipe, ..Self::default() }
    }
}
