//! Reasons for fields that are missing or hold another value, with the fields there are.

use super::field_path::{FieldPath, Step};
use super::members::Members;
use super::value::Value;

/// Number of fields named.
const NAMES_MAX: usize = 16;

/// Number of characters shown of a name.
const NAME_CHARS_MAX: usize = 40;

/// Formats the names, as in `"id", "body" and 3 more`.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names = names.map(|name| match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{:?}…", &name[..end]),
        None => format!("{name:?}"),
    });
    let first: Vec<String> = names.by_ref().take(NAMES_MAX).collect();
    match (first.is_empty(), names.count()) {
        (true, _) => "no fields".to_owned(),
        (false, 0) => first.join(", "),
        (false, n_more) => format!("{} and {n_more} more", first.join(", ")),
    }
}

/// Formats the fields of a line of JSON, and those of the object in which the last step to `path`
/// finds nothing.
pub(crate) fn in_line(line: &[u8], path: &FieldPath) -> String {
    let Some(members) = Members::of(line) else { return "no fields".to_owned() };
    let mut there = format!("it has {}", listed(members.names()));
    let mut level = members;
    for step in path.ways().last().unwrap_or_default() {
        let Step::Name(name) = step else { break };
        let Some(value) = level.value(name).map(str::to_owned) else { break };
        let Some(next) = Members::of(value.as_bytes()) else { break };
        there = format!("{there}; in {name:?} {}", listed(next.names()));
        level = next.into_owned();
    }
    there
}

/// Formats the reason why `value` is unfit.
pub(crate) fn unfit(value: Option<&Value<'_>>, path: &FieldPath, wanted: &str, help: &str) -> String {
    match value {
        None => format!("there is no field {path}; {help}"),
        Some(value) => format!("field {path} holds {value}, expected {wanted}; {help}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_listed_as_far_as_the_path_leads() {
        let line = br#"{"id":1,"meta":{"link":"x","of":{"a":1}},"body":"b"}"#;
        for (path, expected) in [
            ("text", r#"it has "id", "meta", "body""#),
            ("meta.url", r#"it has "id", "meta", "body"; in "meta" "link", "of""#),
            ("/meta/of/b", r#"it has "id", "meta", "body"; in "meta" "link", "of"; in "of" "a""#),
            ("/body/x", r#"it has "id", "meta", "body""#),
        ] {
            assert_eq!(in_line(line, &path.parse().unwrap()), expected);
        }
        assert_eq!(in_line(b"{}", &FieldPath::name("a")), "it has no fields");
    }

    #[test]
    fn lists_are_bounded() {
        let names: Vec<String> = (0..100).map(|n| format!("{n}{}", "x".repeat(1000))).collect();
        let shown = listed(names.iter().map(String::as_str));
        assert!(shown.ends_with(" and 84 more") && shown.len() < 1000, "{shown}");
        assert_eq!(listed(["a\n\u{1b}"].into_iter()), r#""a\n\u{1b}""#);
    }
}
