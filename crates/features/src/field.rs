//! The fields of a recipe: the names under which they are stored, and by which errors speak of them; and the version of all
//! that they do not say.

/// The version of everything that a recipe's fields do not say: the order of the steps, the normal forms, what counts
/// as a term, how weights are rounded, the hash. Whoever changes a golden vector raises it.
pub const RECIPE_VERSION: u32 = 1;

pub(crate) const VERSION: &str = "version";
pub(crate) const SIMPLIFY: &str = "simplify";
pub(crate) const SEGMENTER: &str = "segmenter";
pub(crate) const WEIGHTS: &str = "weights";
pub(crate) const TOP_TERMS: &str = "top-terms";
pub(crate) const SEED: &str = "seed";
pub(crate) const DICTIONARY: &str = "dictionary";
pub(crate) const USER_DICTIONARY: &str = "user-dictionary";
pub(crate) const STOP_WORDS: &str = "stop-words";
pub(crate) const IDF: &str = "idf";

pub(crate) const ALL: [&str; 10] =
    [VERSION, SIMPLIFY, SEGMENTER, WEIGHTS, TOP_TERMS, SEED, DICTIONARY, USER_DICTIONARY, STOP_WORDS, IDF];
