//! Counts of rejections by kind: reasons that differ only in an id, a number or a position are of
//! one kind.

use crate::top::Top;

/// Bound on the kinds counted at once.
const KINDS_MAX: usize = 1000;

#[derive(Clone, Debug)]
pub(crate) struct Reasons(Top<String>);

impl Default for Reasons {
    fn default() -> Self {
        Self(Top::new(KINDS_MAX))
    }
}

impl Reasons {
    pub(crate) fn add(&mut self, reason: &str) {
        self.0.add(kind(reason));
    }

    /// The `n` most frequent kinds.
    pub(crate) fn first(&self, n: usize) -> Vec<(String, u64)> {
        self.0.first(n)
    }
}

/// The kind of a reason: `N` for each number, `"…"` for each quotation. Field names stay, because
/// they are few.
fn kind(reason: &str) -> String {
    let mut kind = String::new();
    let mut rest = reason;
    while let Some(c) = rest.chars().next() {
        let starts_word = !kind.ends_with(|before: char| before.is_alphanumeric() || before == '-');
        let quoted = || end_of_quotes(rest).filter(|_| !kind.ends_with("field "));
        if let Some(end) = quoted() {
            kind.push_str("\"…\"");
            rest = &rest[end..];
        } else if c.is_ascii_digit() && starts_word {
            kind.push('N');
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        } else {
            kind.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    kind
}

/// The end of the quotation with which `text` begins; `None` if there is none. A backslash escapes
/// the next character.
fn end_of_quotes(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('"')?;
    let mut is_escaped = false;
    for (i, c) in inside.char_indices() {
        match c {
            '"' if !is_escaped => return Some(i + 2),
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_particular_is_cut_out() {
        for (reason, expected) in [
            (r#"id "a-7" was used by an earlier record"#, r#"id "…" was used by an earlier record"#),
            (r#"id "a\"7" stands"#, r#"id "…" stands"#),
            (r#"no field "text", 3 others"#, r#"no field "text", N others"#),
            ("14 cells, where the header has 3", "N cells, where the header has N"),
            ("not valid UTF-8 after its byte 17", "not valid UTF-8 after its byte N"),
            (r#"an open " and the end"#, r#"an open " and the end"#),
            ("字 12。", "字 N。"),
        ] {
            assert_eq!(kind(reason), expected);
        }
    }
}
