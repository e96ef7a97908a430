//! The fields of a recipe, by the names that stores and errors use; and the version of everything
//! that the fields leave open.

/// The version of everything that a recipe's fields leave open: the order of the steps, the normal
/// forms, the definition of a term, the rounding of weights, the hash. A change to a golden vector
/// raises this version.
///
/// Version 2: another [normal form](crate::NormalForm), symbols that count, and a digest of the
/// numbers in a signature. Recipes of version 1 are still followed.
pub const RECIPE_VERSION: u32 = 2;

/// The versions that this program follows.
pub(crate) const RECIPE_VERSIONS: std::ops::RangeInclusive<u32> = 1..=RECIPE_VERSION;

pub(crate) const VERSION: &str = "version";
pub(crate) const SIMPLIFY: &str = "simplify";
pub(crate) const FOLD: &str = "fold";
pub(crate) const SEGMENTER: &str = "segmenter";
pub(crate) const WEIGHTS: &str = "weights";
pub(crate) const TOP_TERMS: &str = "top-terms";
pub(crate) const SEED: &str = "seed";
pub(crate) const DICTIONARY: &str = "dictionary";
pub(crate) const USER_DICTIONARY: &str = "user-dictionary";
pub(crate) const STOP_WORDS: &str = "stop-words";
pub(crate) const IDF: &str = "idf";

/// All fields. Recipes of version 1 lack [`FOLD`].
pub(crate) const ALL: [&str; 11] = [
    VERSION,
    SIMPLIFY,
    FOLD,
    SEGMENTER,
    WEIGHTS,
    TOP_TERMS,
    SEED,
    DICTIONARY,
    USER_DICTIONARY,
    STOP_WORDS,
    IDF,
];

/// Returns true if recipes of this version have the field.
pub(crate) fn is_of(version: u32, field: &str) -> bool {
    version > 1 || field != FOLD
}
