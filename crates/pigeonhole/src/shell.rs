//! Words of commands that are printed to be copied.

use std::borrow::Cow;

/// Quotes a word for a shell.
pub(crate) fn of_shell(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        for (word, expected) in [
            ("news/a.jsonl", "news/a.jsonl"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("hbase+rpc://m/news?user=x&tier-mb=64", "'hbase+rpc://m/news?user=x&tier-mb=64'"),
            ("", "''"),
            ("语料", "语料"),
        ] {
            assert_eq!(of_shell(word), expected);
        }
    }
}
