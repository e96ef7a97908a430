//! Segmentation: cuts a normalised text into terms.

pub(crate) mod jieba;
pub(crate) mod ngrams;
pub(crate) mod shingles;
pub(crate) mod words;

use std::fmt;
use std::str::FromStr;

/// A method to cut a text into terms. Its text form is `jieba`, `jieba-no-hmm`, `words`, `chars:N`
/// or `shingles:N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Segmenter {
    /// jieba's words for Han text, words as in [`Segmenter::Words`] for the rest.
    Jieba {
        /// True if jieba's hidden Markov model joins characters into words that the dictionary
        /// lacks.
        hmm: bool,
    },
    /// Words as of UAX #29, where each Han character is a word.
    Words,
    /// Every run of this many characters with a letter or digit in it, white space and punctuation
    /// included.
    CharNgrams(u8),
    /// Every run of this many words, joined by a space.
    Shingles(u8),
}

impl Segmenter {
    pub(crate) const EXPECTED: &str =
        "`jieba`, `jieba-no-hmm`, `words`, `chars:N` or `shingles:N` with N from 1 to 255";

    pub(crate) fn uses_dictionary(self) -> bool {
        matches!(self, Self::Jieba { .. })
    }
}

impl fmt::Display for Segmenter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jieba { hmm: true } => write!(f, "jieba"),
            Self::Jieba { hmm: false } => write!(f, "jieba-no-hmm"),
            Self::Words => write!(f, "words"),
            Self::CharNgrams(n) => write!(f, "chars:{n}"),
            Self::Shingles(n) => write!(f, "shingles:{n}"),
        }
    }
}

/// A text that names no segmenter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseSegmenterError;

impl fmt::Display for ParseSegmenterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", Segmenter::EXPECTED)
    }
}

impl std::error::Error for ParseSegmenterError {}

impl FromStr for Segmenter {
    type Err = ParseSegmenterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let size = |text: &str| text.parse().ok().filter(|&n| n > 0).ok_or(ParseSegmenterError);
        match text.split_once(':') {
            None if text == "jieba" => Ok(Self::Jieba { hmm: true }),
            None if text == "jieba-no-hmm" => Ok(Self::Jieba { hmm: false }),
            None if text == "words" => Ok(Self::Words),
            Some(("chars", n)) => size(n).map(Self::CharNgrams),
            Some(("shingles", n)) => size(n).map(Self::Shingles),
            _ => Err(ParseSegmenterError),
        }
    }
}

/// Returns true if a term counts: if it holds a letter or a digit of some script.
#[inline]
pub(crate) fn is_wordlike(term: &str) -> bool {
    term.chars().any(is_letter_or_digit)
}

/// Returns `char::is_alphanumeric`, with a quick answer for the most frequent characters of Chinese
/// text.
#[inline]
pub(crate) fn is_letter_or_digit(c: char) -> bool {
    match c {
        '\u{4e00}'..='\u{9fff}' | 'a'..='z' => true,
        _ => !is_punctuation(c) && c.is_alphanumeric(),
    }
}

/// Returns true for the punctuation most often beside Han: characters of General Punctuation and of
/// CJK Symbols and Punctuation that are no letter, digit or mark and stand in no word or number.
#[inline]
pub(crate) fn is_punctuation(c: char) -> bool {
    matches!(c, '\u{201c}'..='\u{2023}' | '\u{2026}' | '\u{3001}'..='\u{3004}' | '\u{3008}'..='\u{3020}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_answers_are_right() {
        for c in '\0'..=char::MAX {
            assert_eq!(is_letter_or_digit(c), c.is_alphanumeric(), "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn text_forms_round_trip() {
        for text in ["jieba", "jieba-no-hmm", "words", "chars:1", "chars:255", "shingles:3"] {
            assert_eq!(text.parse::<Segmenter>().map(|segmenter| segmenter.to_string()).as_deref(), Ok(text));
        }
        for text in
            ["", "Jieba", "chars", "chars:", "chars:0", "chars:256", "shingles:-1", "words:2", "jieba:1"]
        {
            assert_eq!(text.parse::<Segmenter>(), Err(ParseSegmenterError), "{text:?}");
        }
    }
}
