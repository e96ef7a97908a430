//! How an engine is opened.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use features::{Dictionaries, Fingerprinter, Recipe};
use index::{Key, Mode, OpenOptions, Profile, Retention, TextKeeping};
use minhash::Similarity;
use simhash::Distance;

use crate::OpenError;

/// What a new index is made with, and what an existing one has to agree with. The default takes an index as it is, and
/// makes one with the default recipe where there is none.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What to do where there is no index.
    pub mode: Mode,
    /// The name of the table scheme; for a new index the default is `5c2`.
    pub scheme: Option<String>,
    /// The greatest distance of simhashes that propose a near-duplicate, in bits; for a new index the default is the scheme's.
    pub max_distance: Option<Distance>,
    /// What documents are filed by; for a new index the default is both simhashes and signatures.
    pub profile: Option<Profile>,
    /// Whether near-duplicates are confirmed by their signatures; in a new index they are, unless this is `Some(false)`.
    pub verify: Option<bool>,
    /// The least similarity of a near-duplicate that is confirmed; for a new index the default is .8.
    pub min_similarity: Option<Similarity>,
    /// Says whether texts are kept, by which similarities are counted; for a new index the default is its place's.
    pub texts: Option<TextKeeping>,
    /// Says that documents come without their texts, so that a new index keeps none unless `texts` asks for it.
    pub without_texts: bool,
    /// The folder for the texts of an index in memory, which are compressed in a file there; they stay in memory without it.
    pub spool: Option<PathBuf>,
    /// Says that documents with other numbers are other documents; in a new index they are not unless this is `Some(true)`.
    pub same_numbers: Option<bool>,
    /// Says whether the index has a secret key for its signatures; for a new one it is drawn.
    pub keyed: Option<bool>,
    /// The key of a new index, where it is not to be drawn.
    pub key: Option<Key>,
    /// How long documents stay after their insertion; in a new index they stay for good unless this is set.
    pub retain: Option<Retention>,
    /// How far the clock may be ahead of the last write; without it a clock that is far ahead is warned of.
    pub clock_ahead_max: Option<Duration>,
    /// The recipe of a new index.
    pub recipe: Recipe,
    /// The fields of `recipe` that an existing index must agree with, by name, with their values.
    pub insisted: BTreeMap<String, String>,
    /// The dictionaries that a recipe may name.
    pub dictionaries: Dictionaries,
    /// How long calls wait for a server that has answered before; two minutes unless this is set.
    pub patience: Option<Duration>,
    /// Threads that make the features of texts; as many as the process has cores unless this is set.
    pub n_threads: Option<NonZeroUsize>,
}

impl Options {
    /// Whether the recipe can be followed, found out before an index is made by it.
    ///
    /// # Errors
    /// [`OpenError::Recipe`].
    pub fn check(&self) -> Result<(), OpenError> {
        Fingerprinter::check(&self.recipe, &self.dictionaries).map_err(OpenError::Recipe)
    }

    /// What of them is for the index.
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
