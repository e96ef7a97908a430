//! Word shingles: every run of n words, joined by a space.

use std::collections::VecDeque;

use super::words;

/// Hands each shingle of the words of `text` that `keep` accepts to `emit`. Fewer than `n` words
/// are one shingle.
pub(crate) fn for_each_shingle(
    text: &str,
    n: usize,
    keep: impl Fn(&str) -> bool,
    emit: &mut impl FnMut(&str),
) {
    let mut window: VecDeque<&str> = VecDeque::with_capacity(n);
    let mut shingle = String::new();
    let mut join = |window: &VecDeque<&str>| {
        shingle.clear();
        for word in window {
            if !shingle.is_empty() {
                shingle.push(' ');
            }
            shingle.push_str(word);
        }
        emit(&shingle);
    };
    let mut complete = false;
    words::for_each_word(text, &mut |word| {
        if keep(word) {
            if window.len() == n {
                window.pop_front();
            }
            window.push_back(word);
            complete = window.len() == n;
            if complete {
                join(&window);
            }
        }
    });
    if !complete && !window.is_empty() {
        join(&window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_words() {
        for (text, n, expected) in [
            ("", 2, &[][..]),
            ("- - -", 2, &[]),
            ("one", 2, &["one"]),
            ("one two", 2, &["one two"]),
            ("one, two; the three", 2, &["one two", "two three"]),
            ("鸽巢a", 2, &["鸽 巢", "巢 a"]),
            ("one two", 1, &["one", "two"]),
        ] {
            let mut shingles = Vec::new();
            for_each_shingle(text, n, |word| word != "the", &mut |shingle| shingles.push(shingle.to_owned()));
            assert_eq!(shingles, expected, "{text:?}");
        }
    }
}
