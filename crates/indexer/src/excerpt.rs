//! Excerpts of texts for people.

use unicode_width::UnicodeWidthChar;

/// The beginning of a text as one printable line of at most `n_columns_max` terminal columns,
/// followed by `…` if cut. Control characters and runs of white space become one space.
///
/// An excerpt of an excerpt equals that of the text, unless it is the longer of the two.
pub(crate) fn excerpt(text: &str, n_columns_max: usize) -> String {
    let mut excerpt = String::new();
    let mut n_columns = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        let space = (n_columns > 0).then_some(' ');
        for c in space.into_iter().chain(word.chars()) {
            // Chinese characters take two columns.
            n_columns += c.width().unwrap_or(0);
            if n_columns > n_columns_max {
                excerpt.push('…');
                return excerpt;
            }
            excerpt.push(c);
        }
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_one_safe_line() {
        for (text, expected) in [
            ("", ""),
            (" a\n\tb\u{1b}[31m ", "a b [31m"),
            (&"字".repeat(30), &"字".repeat(30)),
            (&"字".repeat(31), &format!("{}…", "字".repeat(30))),
            (&"e\u{301}".repeat(61), &format!("{}…", "e\u{301}".repeat(60))),
        ] {
            assert_eq!(excerpt(text, 60), expected);
            assert_eq!(excerpt(&excerpt(text, 300), 60), expected);
        }
    }
}
