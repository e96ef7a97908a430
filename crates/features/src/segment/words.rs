//! Words as of UAX #29: the segments between word boundaries with a letter or digit in them.
//!
//! Han characters are words of one character each, as are Thai, Lao, Khmer and Burmese ones:
//! Unicode leaves the words of scripts without spaces to dictionaries.

use unicode_segmentation::UnicodeSegmentation;

/// Hands each word of `text` to `emit`.
///
/// The words must equal `text.unicode_words()`. That library gets one space-separated piece at a
/// time: pure ASCII pieces take its short cut even where other pieces cannot.
pub(crate) fn for_each_word<'t>(text: &'t str, emit: &mut impl FnMut(&'t str)) {
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(piece_len(rest));
        piece.unicode_words().for_each(&mut *emit);
        rest = after;
    }
}

/// Returns the length up to a space with a word boundary after it: one before an ASCII character
/// other than a space. (A mark or a second space would join the space.)
fn piece_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let ends_here = |pair: &[u8]| pair[0] == b' ' && pair[1].is_ascii() && pair[1] != b' ';
    bytes.windows(2).position(ends_here).map_or(bytes.len(), |space| space + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::tests::mixed_text;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn pieces_have_the_words_of_the_whole(text in mixed_text()) {
            let mut words = Vec::new();
            for_each_word(&text, &mut |word| words.push(word));
            prop_assert_eq!(words, text.unicode_words().collect::<Vec<_>>());
        }
    }
}
