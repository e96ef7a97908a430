//! Flags for records that lack the fields of their id or text, guessed from the fields they have,
//! and for those of another format or encoding.

use crate::encoding::{decode_given, likely};
use crate::format::Format;
use crate::members::Members;

/// Usual names of a text, the likeliest first.
const TEXTS: [&str; 18] = [
    "text",
    "body",
    "content",
    "raw_content",
    "page_content",
    "article",
    "passage",
    "document",
    "main_text",
    "plain_text",
    "markdown",
    "story",
    "abstract",
    "message",
    "description",
    "sentence",
    "summary",
    "title",
];

/// Usual names of an id, the likeliest first.
const IDS: [&str; 14] = [
    "id",
    "_id",
    "doc_id",
    "docid",
    "document_id",
    "uuid",
    "uid",
    "guid",
    "key",
    "url",
    "uri",
    "link",
    "path",
    "filename",
];

/// Maximum number of bytes in the name of a column.
const NAME_BYTES_MAX: usize = 40;

/// Least bytes of a string that may be a text, whatever its name is.
const TEXT_BYTES_MIN: usize = 40;

/// The flags that name what a record lacks. `there` lists its fields, each in quotes.
pub(super) fn flags(there: &str, line: Option<&[u8]>, lacks_id: bool, lacks_text: bool) -> Option<String> {
    let mut flags = Vec::new();
    if lacks_id {
        let id = of_names(there, &IDS).map(|name| format!("--id-field {}", in_shell(&name)));
        flags.push(id.unwrap_or_else(|| "--make-ids".to_owned()));
    }
    if lacks_text {
        let text = of_names(there, &TEXTS).or_else(|| longest_string(line?))?;
        flags.push(format!("--text-field {}", in_shell(&text)));
    }
    (!flags.is_empty()).then(|| flags.join(" "))
}

/// The flag that names the format of a file whose first line, which is no JSON, names columns.
pub(super) fn format(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?;
    let delimiter = ['\t', ',', ';', '|'].into_iter().find(|delimiter| line.contains(*delimiter))?;
    let is_name = |cell: &str| cell.len() <= NAME_BYTES_MAX && !cell.contains(['{', '}', '[', ']', '#']);
    let format = if delimiter == '\t' { Format::Tsv } else { Format::Csv };
    line.split(delimiter).all(is_name).then(|| format!("--format {format}"))
}

/// The flag that names the encoding of a file whose first line, an object of JSON, is not in UTF-8.
pub(super) fn encoding(line: &[u8]) -> Option<String> {
    let is_other = line.starts_with(b"{") && std::str::from_utf8(line).is_err();
    let likely = is_other.then(|| likely(line, true))?;
    Members::of(decode_given(line, likely).ok()?.as_bytes())?;
    Some(format!("--encoding {}", likely.name().to_ascii_lowercase()))
}

/// The first of `names` among the quoted ones in `there`, as it is written there.
fn of_names(there: &str, names: &[&str]) -> Option<String> {
    let lower = there.to_ascii_lowercase();
    names.iter().find_map(|name| {
        let start = lower.find(&format!("\"{name}\""))? + 1;
        there.get(start..start + name.len()).map(str::to_owned)
    })
}

/// The name of the longest string in a line of JSON.
fn longest_string(line: &[u8]) -> Option<String> {
    let members = Members::of(line)?;
    let strings = members.iter().filter(|(_, value)| value.starts_with('"'));
    let (name, value) = strings.max_by_key(|(_, value)| value.len())?;
    (value.len() >= TEXT_BYTES_MIN).then(|| name.to_owned())
}

/// The name as a word of a shell.
fn in_shell(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if !name.is_empty() && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_it_and_else_the_longest_string_does() {
        let long = "x".repeat(TEXT_BYTES_MIN);
        let line = format!(r#"{{"n":7,"what it's":"{long}","short":"x"}}"#);
        for (there, line, lacks_id, lacks_text, expected) in [
            (r#"it has "title", "Body", "url""#, None, true, true, Some("--id-field url --text-field Body")),
            (r#"it has "title", "Body", "url""#, None, false, true, Some("--text-field Body")),
            (r#"it has "somebody""#, None, true, false, Some("--make-ids")),
            (r#"it has "somebody""#, None, true, true, None),
            ("it has", Some(line.as_bytes()), false, true, Some(r"--text-field 'what it'\''s'")),
            ("it has", Some(br#"{"short":"x"}"#), false, true, None),
        ] {
            assert_eq!(flags(there, line, lacks_id, lacks_text).as_deref(), expected, "{there}");
        }
    }

    /// Such files were once rejected line by line, without a word on the flag that reads them.
    #[test]
    fn a_line_of_json_in_another_encoding_says_which() {
        let line = r#"{"id":"1","text":"地铁七号线南延段今天开始空载试运行，预计年底前载客运营。"}"#;
        let (gbk, ..) = encoding_rs::GBK.encode(line);
        for (line, expected) in [
            (&gbk[..], Some("--encoding gbk")),
            (line.as_bytes(), None),
            (&gbk[1..], None),
            (&gbk[..gbk.len() - 5], None),
            (b"", None),
        ] {
            assert_eq!(encoding(line).as_deref(), expected, "{}", line.escape_ascii());
        }
    }

    #[test]
    fn a_line_that_names_columns_says_the_format() {
        for (line, expected) in [
            ("id,text", Some("--format csv")),
            ("\u{feff}id;text", Some("--format csv")),
            ("\"id\"\t\"text, long\"", Some("--format tsv")),
            ("text", None),
            ("\"id\":1, \"text\":\"a\"}", None),
            ("It was a long sentence, which went on and on and named no column.", None),
        ] {
            assert_eq!(format(line.as_bytes()).as_deref(), expected, "{line}");
        }
    }
}
