//! Which normal form texts are brought into before they are cut and compared.

use crate::field::RECIPE_VERSION;

/// A normal form of texts: two texts with the same one are the same text to an index.
///
/// An index keeps the form that it was made with, so older versions stay as they were. Version 2, step by step:
///
/// 1. Left out: characters without width and controls, Arabic vowel marks and tatweel, Hebrew points. White space that
///    is a control stays. Once more after step 3, for what those steps bring forth.
/// 2. Unicode NFKC.
/// 3. Full case folding, letter by letter: `ß` is `ss`, `ς` is `σ`. All four of `İ`, `I`, `ı` and `i` are `i`, so that
///    Turkish capitals meet their lower case; what differs in them alone is one text.
/// 4. With [`fold_diacritics`](Self::fold_diacritics): marks above, below and through letters of the alphabets left out
///    (`é` is `e`, `ớ` is `o`, `й` is `и`), and letters with strokes as those without (`đ` is `d`, `ø` is `o`, `æ` is `ae`).
/// 5. Unicode NFC.
/// 6. Traditional to simplified Chinese, by OpenCC's phrases and characters, and some variants that its later data know.
/// 7. White space: a run of it is one line feed where a line ends in it, else one space; none at either end.
///
/// Version 1 knows NFKC, lower case, simplified Chinese and single spaces.
///
/// What of the form is compared, and where symbols count, is told in [`shingles`](crate::shingles).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NormalForm {
    /// The version of the recipe that it is part of: 1 or 2.
    pub version: u32,
    /// Whether `Việt` and `Viet` are one word. Version 1 takes no notice of it.
    pub fold_diacritics: bool,
}

impl Default for NormalForm {
    /// The newest one, with diacritics.
    fn default() -> Self {
        Self { version: RECIPE_VERSION, fold_diacritics: false }
    }
}

impl NormalForm {
    /// The form of indexes that were made before version 2.
    pub const FIRST: Self = Self { version: 1, fold_diacritics: false };

    /// Whether it is version 1.
    pub(crate) fn is_first(self) -> bool {
        self.version <= 1
    }

    /// Whether diacritics are left out.
    pub(crate) fn folds(self) -> bool {
        self.fold_diacritics && !self.is_first()
    }
}
