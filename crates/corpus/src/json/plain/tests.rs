use proptest::prelude::*;

use super::super::super::field_path::FieldPath;
use super::super::JsonFields;
use super::*;

const PATHS: [&str; 4] = ["id", "text", "meta.lang", "n"];

fn fields() -> JsonFields {
    let paths = PATHS.map(|path| path.parse::<FieldPath>().unwrap());
    JsonFields::new(paths.iter())
}

/// The values that are read here, if any.
fn plain<'a>(fields: &JsonFields, line: &'a str) -> Option<Vec<Option<Value<'a>>>> {
    let mut values = vec![None; fields.n_all()];
    read(line, &fields.root, &mut values)?;
    Some(values)
}

fn check(line: &str) -> bool {
    let fields = fields();
    let plain = plain(&fields, line);
    let mut judged = vec![None; fields.n_all()];
    let is_valid = fields.judge(line, &mut judged).is_ok();
    assert!(plain.is_none() || is_valid && plain.as_ref() == Some(&judged), "{line:?} {plain:?} {judged:?}");
    plain.is_some()
}

#[test]
fn plain_objects_are_read() {
    for line in [
        "{}",
        " {\t} \r",
        r#"{"id": "a", "text": "Ferries leave at noon."}"#,
        r#"{"id":7,"text":"one\ntwo\t\"three\" \\ \/ \u4e2d\u00e9 \b\f\r"}"#,
        r#"{"text": null, "n": 0, "other": [1, -2.5e+7, {"a": [], "b": {}, "c": [[true], false]}, null, "\n\ud83d"]}"#,
        r#"{"text": "one", "text": "two", "id": 123456789012345678}"#,
        r#"{ "meta" : "no object" , "text" : "" }"#,
        r#"{"text": "\ud83d\ude00", "n": -1.5, "id": 1234567890123456789}"#,
        r#"{"n": true, "meta": {"lang": "en", "other": [1]}, "id": [{}], "text": "last"}"#,
    ] {
        assert!(check(line), "{line}");
    }
}

#[test]
fn a_text_takes_the_memory_of_its_own_letters() {
    let line = format!(r#"{{"text": "a\n{}", "other": "{}"}}"#, "\\u0416".repeat(100), "x".repeat(10_000));
    let mut values = vec![None; PATHS.len() + 1];
    read(&line, &fields().root, &mut values).unwrap();
    let Some(Value::Text(Cow::Owned(text))) = &values[1] else { panic!("{values:?}") };
    assert!(text.starts_with("a\nЖ") && text.capacity() < 300, "{}", text.capacity());
}

#[test]
fn all_else_is_left_to_serde_json() {
    let deep = format!(r#"{{"other": {}1{}}}"#, "[".repeat(33), "]".repeat(33));
    for line in [
        "",
        "{",
        "[]",
        "{}{}",
        r#"{"text": "one",}"#,
        r#"{"text": "one" "id": 1}"#,
        r#"{"te\u0078t": "one"}"#,
        r#"{"text": "\ud83d"}"#,
        r#"{"text": "\x"}"#,
        "{\"text\": \"a\tb\"}",
        r#"{"n": 01}"#,
        r#"{"n": 1e999}"#,
        r#"{"n": trup}"#,
        r#"{"other": 01}"#,
        r#"{"other": 1.}"#,
        r#"{"other": -}"#,
        r#"{"other": [1,]}"#,
        r#"{"other": {"a": 1,}}"#,
        r#"{"other": {"a": 1]}"#,
        r#"{"other": tru}"#,
        r#"{"text": "one"#,
        &deep,
    ] {
        assert!(!check(line), "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]
    /// Where an object is read here, serde_json reads the same: objects, some with a byte changed.
    #[test]
    fn what_is_read_is_what_serde_json_reads(
        fields in proptest::collection::vec(
            concat!(
                r#" ?"(id|text|n|other|meta)": ?("#,
                r#""([ -!#-\[\]-~é中]|\\[nt"/\\]|\\u[0-9a-f]{4}|\\ud83d\\ude00){0,6}(\\ud83d)?""#,
                r#"|-?[0-9]{1,20}(\.[0-9]+)?([eE][+-]?[0-9])?"#,
                r#"|true|null|\[(1|"a"|\{\}){0,2}\]|\{"lang": ?"en"\}) ?"#,
            ),
            0..4,
        ),
        place: prop::sample::Index,
        byte in "[\\[\\]{},:\"\\\\0-9a-f\n \u{1}]",
        is_changed: bool,
    ) {
        let mut line = format!("{{{}}}", fields.join(","));
        if is_changed {
            let at = (0..=place.index(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap();
            let end = at + line[at..].chars().next().map_or(0, char::len_utf8);
            line.replace_range(at..end, &byte);
        }
        check(&line);
    }

    #[test]
    fn letters_end_at_the_first_byte_that_is_none(text in "[ -~\u{0}-\u{1f}é中\u{7f}\u{80}\"\\\\]{0,40}") {
        let expected = text.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\');
        prop_assert_eq!(n_letters(text.as_bytes()), expected.unwrap_or(text.len()));
    }
}
