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

/// The version of the recipe.
pub const VERSION: &str = "version";
/// Traditional Chinese counts as simplified.
pub const SIMPLIFY: &str = "simplify";
/// Marks on letters do not count.
pub const FOLD: &str = "fold";
/// The cut of texts into terms.
pub const SEGMENTER: &str = "segmenter";
/// The weights of terms.
pub const WEIGHTS: &str = "weights";
/// Terms that count.
pub const TOP_TERMS: &str = "top-terms";
/// The seed of the term hash.
pub const SEED: &str = "seed";
/// jieba's dictionary.
pub const DICTIONARY: &str = "dictionary";
/// The user's dictionary.
pub const USER_DICTIONARY: &str = "user-dictionary";
/// Stop words.
pub const STOP_WORDS: &str = "stop-words";
/// Document frequencies.
pub const IDF: &str = "idf";

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
