//! Text safe for terminals: control characters are made visible.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns `text` as one line that a terminal shows and does not obey.
///
/// Control characters are written as in JSON, so a line of JSON stays one, and means the same.
/// Marks that turn the direction of the following text, and so disguise a name as another one, are
/// written likewise.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    printable(text, |_| false)
}

/// Returns `text` likewise, but keeps its line feeds and tabs.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    printable(text, |c| matches!(c, '\n' | '\t'))
}

fn printable(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_obeyed = |c: char| is_obeyed(c) && !stays(c);
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !is_obeyed(c) => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c => write!(shown, "\\u{:04x}", u32::from(c)).expect("a string takes whatever is written"),
        }
    }
    Cow::Owned(shown)
}

/// Returns true if a terminal, or a viewer of logs, does more with the character than show it.
fn is_obeyed(c: char) -> bool {
    // The ends of lines and paragraphs; embeddings, overrides and isolates of other directions.
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        for (text, expected_line, expected_lines) in [
            ("", "", ""),
            ("你好, wörld \u{200f}שלום 👩‍👩‍👧", "你好, wörld \u{200f}שלום 👩‍👩‍👧", "你好, wörld \u{200f}שלום 👩‍👩‍👧"),
            ("a\x1b]0;x\x07b", "a\\u001b]0;x\\u0007b", "a\\u001b]0;x\\u0007b"),
            ("a\nb\tc\rd", "a\\nb\\tc\\rd", "a\nb\tc\\rd"),
            (
                "\0\x7f\u{80}\u{9b}31m\u{9f}",
                "\\u0000\\u007f\\u0080\\u009b31m\\u009f",
                "\\u0000\\u007f\\u0080\\u009b31m\\u009f",
            ),
            (
                "gpj\u{202e}.exe\u{2066}\u{2028}",
                "gpj\\u202e.exe\\u2066\\u2028",
                "gpj\\u202e.exe\\u2066\\u2028",
            ),
        ] {
            assert_eq!(line(text), expected_line);
            assert_eq!(lines(text), expected_lines);
        }
        let all: String = (0..=0x3000).filter_map(char::from_u32).collect();
        assert!(!line(&all).contains(char::is_control));
        assert!(matches!(line("plain"), Cow::Borrowed(_)));
    }
}
