use super::super::origin::Origin;
use super::super::records::Position;
use super::testing::names;
use super::*;

#[track_caller]
fn check(names: FieldNames, line: impl AsRef<[u8]>, expected: Result<(&str, &str), &str>) {
    let record = RawRecord { form: Form::Json, bytes: line.as_ref(), cells: &[], columns: "" };
    let place = Place { origin: &Origin::named("news/a.jsonl", 5), number: 7, position: Position::default() };
    match (Fields::new(names).parse(record, place), expected) {
        (Ok(Some(record)), Ok((id, text))) => assert_eq!((record.id.as_str(), &*record.text), (id, text)),
        (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason:?} should say {part:?}"),
        (got, expected) => panic!("{got:?} instead of {expected:?}"),
    }
}

#[test]
fn one_text() {
    let check = |line: &[u8], expected| check(names(&["text"], false), line, expected);
    check(br#"{"id":"a","text":"b"}"#, Ok(("a", "b")));
    check(br#" {"text":"b\n\u00e9\ud83d\ude00","x":{"id":[1,null]},"id":7}"#, Ok(("7", "b\né😀")));
    check(b"{\"id\":-1,\"text\":\"\"}\r", Ok(("-1", "")));
    check(br#"{"id":"a","text":"nul \u0000 inside"}"#, Ok(("a", "nul \0 inside")));
    check(br#"{"id":"a"}"#, Err("no field \"text\""));
    check(br#"{"text":"a"}"#, Err("no field \"id\""));
    check(br#"{"id":null,"text":"a"}"#, Err("field \"id\" holds null"));
    check(br#"{"id":"a","text":null}"#, Err("field \"text\" holds null, expected a string as text"));
    check(br#"{"id":"a","text":3}"#, Err("holds an integer, expected a string as text"));
    check(br#"{"id":"a","text":{"de":"b"}}"#, Err("holds an object, expected a string as text"));
    check(br#"{"id":1.5,"text":""}"#, Err("expected a string or an integer as id"));
    check(br#"{"id":"","text":""}"#, Err("id must not be empty"));
    check(br#"{"id":"a\tb","text":""}"#, Err("control characters"));
}

#[test]
fn several_texts_are_joined() {
    let names = || names(&["title", "/meta/body"], false);
    check(names(), br#"{"meta":{"body":"b"},"id":"a","title":"t"}"#, Ok(("a", "t\nb")));
    check(names(), br#"{"meta":{"body":""},"id":"a","title":"t"}"#, Ok(("a", "t\n")));
    check(names(), br#"{"meta":{},"id":"a","title":"t"}"#, Ok(("a", "t\n")));
    check(names(), br#"{"meta":{"body":"b"},"id":"a","title":null}"#, Ok(("a", "\nb")));
    check(names(), br#"{"meta":{"body":null},"id":"a"}"#, Err("field \"/meta/body\" holds null"));
    check(names(), br#"{"meta":{"body":"b"},"id":"a","title":3}"#, Err("field \"title\" holds an integer"));
    check(
        names(),
        br#"{"meta":{"bodies":"b"},"id":"a"}"#,
        Err("no field \"title\"; it has \"meta\", \"id\";"),
    );
}

#[test]
fn a_field_that_no_record_has_is_known() {
    let fields = Fields::new(names(&["title", "titel", "body"], true));
    let unseen = || fields.unseen_texts().map(FieldPath::given).collect::<Vec<_>>();
    assert!(unseen().is_empty(), "there was no record");
    for (line, expected) in [
        (r#"{"title":"a"}"#, &["titel", "body"][..]),
        (r#"{"body":null,"title":"b"}"#, &["titel"]),
        (r#"{"titel":"c"}"#, &[]),
    ] {
        let record = RawRecord { form: Form::Json, bytes: line.as_bytes(), cells: &[], columns: "" };
        let place = Place { origin: &Origin::named("a", 0), number: 1, position: Position::default() };
        fields.parse(record, place).unwrap();
        assert_eq!(unseen(), expected);
    }
    let fields = Fields::new(names(&["title", "body"], true));
    let line = br#"{"title":5,"body":"b"}"#;
    let record = RawRecord { form: Form::Json, bytes: line, cells: &[], columns: "" };
    let place = Place { origin: &Origin::named("a", 0), number: 1, position: Position::default() };
    assert!(fields.parse(record, place).unwrap_err().contains("field \"title\" holds an integer"));
    assert_eq!(fields.unseen_texts().count(), 0, "a field behind one that will not do is there, too");
}

#[test]
fn ids_are_made_where_there_are_none() {
    let names = || names(&["text"], true);
    check(names(), br#"{"text":"b"}"#, Ok(("a.jsonl:7", "b")));
    check(names(), br#"{"id":null,"text":"b"}"#, Ok(("a.jsonl:7", "b")));
    check(names(), br#"{"id":"","text":"b"}"#, Ok(("a.jsonl:7", "b")));
    check(names(), br#"{"id":"own","text":"b"}"#, Ok(("own", "b")));
    check(names(), br#"{"id":true,"text":"b"}"#, Err("holds a boolean"));
}

/// The record's own source takes precedence over the default; an invalid one is reported where
/// sources are requested.
#[test]
fn sources() {
    let long = format!(r#"{{"id":"a","text":"b","source":"{}"}}"#, "s".repeat(256));
    for (line, own, without) in [
        (r#"{"id":"a","text":"b"}"#, Ok(None), Ok(Some("all"))),
        (r#"{"id":"a","text":"b","source":null}"#, Ok(None), Ok(Some("all"))),
        (r#"{"source":"feed \u00e9","id":"a","text":"b"}"#, Ok(Some("feed é")), Ok(Some("feed é"))),
        (r#"{"id":"a","text":"b","source":7}"#, Ok(Some("7")), Ok(Some("7"))),
        (r#"{"id":"a","text":"b","source":""}"#, Err("--source-field"), Err("must not be empty")),
        (r#"{"id":"a","text":"b","source":"a\tb"}"#, Err("control"), Err("--source-field")),
        (r#"{"id":"a","text":"b","source":[1]}"#, Err("or null as source"), Err("or null as source")),
        (&long, Err("at most 255 bytes"), Err("at most 255 bytes")),
    ] {
        let record = RawRecord { form: Form::Json, bytes: line.as_bytes(), cells: &[], columns: "" };
        let parse = |source: Option<&str>, source_default: Option<&str>| {
            let source = source.map(|source| source.parse().unwrap());
            let source_default = source_default.map(|source| Source::new(source).unwrap());
            let fields = Fields::new(FieldNames { source, source_default, ..names(&["text"], false) });
            let place = Place { origin: &Origin::named("a", 0), number: 1, position: Position::default() };
            fields.parse(record, place).map(Option::unwrap)
        };
        for (source_default, expected) in [(None, own), (Some("all"), without)] {
            match (parse(Some("source"), source_default), expected) {
                (Ok(record), Ok(source)) => {
                    assert_eq!(record.source.as_ref().map(Source::as_str), source, "{line}");
                }
                (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason:?}: {part:?}"),
                (got, expected) => panic!("{got:?} instead of {expected:?}"),
            }
        }
        // An invalid source does not matter unless sources are requested.
        assert_eq!(parse(None, None).unwrap().source, None);
        assert_eq!(parse(None, Some("all")).unwrap().source, None);
    }
}

/// A text or a page has no field, and takes the default where sources are requested.
#[test]
fn sources_of_texts() {
    for form in [Form::Text, Form::Html] {
        for (source, expected) in [(None, None), (Some("source"), Some("all"))] {
            let source = source.map(|source| source.parse().unwrap());
            let source_default = Some(Source::new("all").unwrap());
            let fields = Fields::new(FieldNames { source, source_default, ..names(&["text"], false) });
            let record = RawRecord { form, bytes: b"a text", cells: &[], columns: "" };
            let place = Place { origin: &Origin::named("a", 0), number: 1, position: Position::default() };
            let record = fields.parse(record, place).unwrap().unwrap();
            assert_eq!(record.source.as_ref().map(Source::as_str), expected, "{form:?}");
        }
    }
}

/// A label of any length is read beside a source, and an invalid one is reported.
#[test]
fn labels() {
    let long = "https://example.org/".repeat(100);
    for (label, expected) in [
        (format!("{long:?}"), Ok(Some(long.as_str()))),
        (r#""two\nlines""#.to_owned(), Ok(Some("two\nlines"))),
        ("17".to_owned(), Ok(Some("17"))),
        ("null".to_owned(), Ok(None)),
        (r#""""#.to_owned(), Ok(None)),
        ("[]".to_owned(), Err("expected a string, an integer or null as label")),
    ] {
        let line = format!(r#"{{"family":{label},"id":"a","text":"b","source":"s"}}"#);
        let record = RawRecord { form: Form::Json, bytes: line.as_bytes(), cells: &[], columns: "" };
        let place = Place { origin: &Origin::named("a", 5), number: 7, position: Position::default() };
        let names = FieldNames { source: Some("source".parse().unwrap()), ..names(&["text"], false) };
        let fields = Fields::new(names).labelled("family".parse().unwrap());
        match (fields.parse(record, place), expected) {
            (Ok(Some(record)), Ok(expected)) => {
                assert_eq!(record.label.as_deref(), expected);
                assert_eq!(record.source.unwrap().as_str(), "s");
            }
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}"),
            (got, expected) => panic!("{got:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn a_table_read_as_json_suggests_its_format() {
    for (number, line, expected) in
        [(1, "id,text", Some("--format csv")), (2, "id,text", None), (1, "{,", None)]
    {
        let fields = Fields::new(names(&["text"], false));
        let record = RawRecord { form: Form::Json, bytes: line.as_bytes(), cells: &[], columns: "" };
        let place = Place { origin: &Origin::named("-", 0), number, position: Position::default() };
        fields.parse(record, place).unwrap_err();
        assert_eq!(fields.suggested(), expected, "{number} {line}");
    }
}
