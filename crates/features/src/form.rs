//! The normal form into which texts are brought before they are cut and compared.

use crate::field::RECIPE_VERSION;

/// A normal form of texts: to an index, two texts with the same normal form are the same text.
///
/// An index keeps its form for life: older versions stay unchanged. Version 2, step by step:
///
/// 1. Left out: characters without width and controls, Arabic vowel marks and tatweel, Hebrew
///    points. White space that is a control stays. Once more after step 3, as steps 2 and 3 may
///    bring some forth.
/// 2. Unicode NFKC.
/// 3. Full case folding, letter by letter: `ß` is `ss`, `ς` is `σ`. All four of `İ`, `I`, `ı` and
///    `i` are `i`: Turkish capitals meet their lower case, and texts that differ in these alone are
///    one text.
/// 4. With [`fold_diacritics`](Self::fold_diacritics): marks above, below and through letters of
///    the alphabets left out (`é` is `e`, `ớ` is `o`, `й` is `и`), and letters with strokes as
///    those without (`đ` is `d`, `ø` is `o`, `æ` is `ae`).
/// 5. Unicode NFC.
/// 6. Traditional to simplified Chinese, by OpenCC's phrases and characters, and some variants from
///    its later data.
/// 7. White space: a run is one line feed if a line ends in it, else one space; none at either end.
///
/// Version 1 has NFKC, lower case, simplified Chinese and single spaces.
///
/// [`shingles`](crate::shingles) lists the compared parts of the form, and the symbols that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NormalForm {
    /// The version of the recipe with this form: 1 or 2.
    pub version: u32,
    /// True if `Việt` and `Viet` are one word. Version 1 ignores this field.
    pub fold_diacritics: bool,
}

impl Default for NormalForm {
    /// The newest form, with diacritics.
    fn default() -> Self {
        Self { version: RECIPE_VERSION, fold_diacritics: false }
    }
}

impl NormalForm {
    /// The form of indexes from before version 2.
    pub const FIRST: Self = Self { version: 1, fold_diacritics: false };

    /// Returns true for version 1.
    pub(crate) fn is_first(self) -> bool {
        self.version <= 1
    }

    /// Returns true if diacritics are left out.
    pub(crate) fn folds(self) -> bool {
        self.fold_diacritics && !self.is_first()
    }
}
