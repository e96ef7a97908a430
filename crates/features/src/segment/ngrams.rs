//! Character n-grams: every run of n characters of the normalised text with a letter or digit in
//! it.

use super::is_letter_or_digit;

/// Hands each n-gram of `text` to `emit`. A text of fewer than `n` characters is one n-gram.
pub(crate) fn for_each_ngram<'t>(text: &'t str, n: usize, emit: &mut impl FnMut(&'t str)) {
    // The starts of the window's characters; and the last letter or digit seen.
    let mut starts = vec![0; n];
    let mut last_wordlike = None;
    let mut count = 0;
    for (i, (at, c)) in text.char_indices().enumerate() {
        if i >= n && last_wordlike.is_some_and(|last| last >= i - n) {
            emit(&text[starts[i % n]..at]);
        }
        starts[i % n] = at;
        if is_letter_or_digit(c) {
            last_wordlike = Some(i);
        }
        count = i + 1;
    }
    let first = count.saturating_sub(n);
    if last_wordlike.is_some_and(|last| last >= first) {
        emit(&text[starts[first % n]..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_with_a_letter_or_digit() {
        for (text, n, expected) in [
            ("", 3, &[][..]),
            ("...", 2, &[]),
            ("ab", 3, &["ab"]),
            ("abc", 3, &["abc"]),
            ("鸽巢原理", 3, &["鸽巢原", "巢原理"]),
            ("a b", 2, &["a ", " b"]),
            ("a...", 2, &["a."]),
            ("..a..", 1, &["a"]),
            ("..a", 2, &[".a"]),
        ] {
            let mut grams = Vec::new();
            for_each_ngram(text, n, &mut |gram| grams.push(gram));
            assert_eq!(grams, expected, "{text:?}");
        }
    }
}
