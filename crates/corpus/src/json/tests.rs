use super::*;

/// Returns the values at `paths`, or the reason why the line cannot be read.
fn read(paths: &[&str], line: impl AsRef<[u8]>) -> Result<Vec<Option<String>>, String> {
    let paths: Vec<FieldPath> = paths.iter().map(|path| path.parse().unwrap()).collect();
    let values = JsonFields::new(paths.iter()).parse(line.as_ref())?;
    let show = |value| match value {
        Value::Text(text) => text.into_owned(),
        Value::Integer(digits) => format!("integer {digits}"),
        other => other.to_string(),
    };
    Ok(values.into_iter().map(|value| value.map(show)).collect())
}

#[test]
fn fields_wherever_they_stand() {
    for (path, line, expected) in [
        ("a", r#"{"a":"b"}"#, Some("b")),
        ("a", r#"{"a":"b","a":"c"}"#, Some("c")),
        ("a", r#"{"\u0061":"b\u0063"}"#, Some("bc")),
        ("a", r#"{"x":{"a":1}}"#, None),
        ("/a", r#"{"a":18446744073709551615}"#, Some("integer 18446744073709551615")),
        ("/a/b", r#"{"a":{"x":[{}],"b":-1}}"#, Some("integer -1")),
        ("/a/b", r#"{"a":{"b":{"c":1}}}"#, Some("an object")),
        ("/a/b", r#"{"a":"b"}"#, None),
        ("/a/b", r#"{"a":null}"#, None),
        ("/a/b", r#"{"a":[{"b":1}]}"#, None),
        ("/a/1/b", r#"{"a":[{"b":1},{"b":"two"},{"b":3}]}"#, Some("two")),
        ("/a/2", r#"{"a":[1,2]}"#, None),
        ("/x~1y", r#"{"x/y":false}"#, Some("a boolean")),
        ("a/b", r#"{"a/b":null}"#, Some("null")),
        ("a", r#"{"a":1e3}"#, Some("a number that is no 64-bit integer")),
        ("a", r#"{"a":[[["x"]]]}"#, Some("an array")),
    ] {
        assert_eq!(read(&[path], line).unwrap(), [expected.map(str::to_owned)], "{path} in {line}");
    }
}

#[test]
fn one_field_may_be_asked_for_twice_and_with_what_is_in_it() {
    let read = read(&["a", "/b/c", "/a", "b"], r#"{"b":{"c":"d"},"a":"x"}"#).unwrap();
    assert_eq!(read, ["x", "d", "x", "an object"].map(|value| Some(value.to_owned())));
}

/// A field of the whole name is meant before a nested one, wherever it stands.
#[test]
fn dotted_paths_and_lists() {
    for (path, line, expected) in [
        ("a.b", r#"{"a":{"b":"c"}}"#, Some("c")),
        ("a.b", r#"{"a.b":"d","a":{"b":"c"}}"#, Some("d")),
        ("a.b", r#"{"a":{"b":"c"},"a.b":"d"}"#, Some("d")),
        ("a.b", r#"{"a":"b"}"#, None),
        ("a.0.b", r#"{"a":[{"b":"c"},{"b":"d"}]}"#, Some("c")),
        ("a[1].b", r#"{"a":[{"b":"c"},{"b":"d"}]}"#, Some("d")),
        ("a[*].b", r#"{"a":[{"b":"c"},{"b":null},{},{"b":"d"}]}"#, Some("c\nd")),
        ("a[*].b", r#"{"a":[{"b":null},{"b":"d"}]}"#, Some("d")),
        ("a[*].b", r#"{"a":[]}"#, None),
        ("a[*].b", r#"{"a":[{"b":null}]}"#, Some("null")),
        ("a[*].b", r#"{"a":[{"b":"c"},{"b":[1]},{"b":"d"}]}"#, Some("an array")),
        ("a[*]", r#"{"a":["b","c"]}"#, Some("b\nc")),
        ("a[*][*]", r#"{"a":[["b"],["c","d"]]}"#, Some("b\nc\nd")),
    ] {
        assert_eq!(read(&[path], line).unwrap(), [expected.map(str::to_owned)], "{path} in {line}");
    }
    let read = read(&["/a/0/b", "a[*].b", "a[*].c"], r#"{"a":[{"b":"x","c":"1"},{"b":"y","c":"2"}]}"#);
    assert_eq!(read.unwrap(), ["x", "x\ny", "1\n2"].map(|value| Some(value.to_owned())));
}

#[test]
fn what_is_no_number_counts_as_null() {
    let line = r#"{"a":NaN,"b":"NaN","c":-Infinity}"#;
    assert_eq!(read(&["a", "b"], line).unwrap(), ["null", "NaN"].map(|value| Some(value.to_owned())));
    assert!(read(&["a"], r#"{"a":NaN,"b"}"#).unwrap_err().contains("expected `:`"));
}

#[test]
fn reasons() {
    for (line, part) in [
        (&b""[..], "EOF"),
        (b"[1]", "one object on each line"),
        (b"1", "expected a JSON object"),
        (br#"{"id":"a","text":"b"} x"#, "trailing characters at column 23"),
        (br#"{"id":"a","text":"\ud800"}"#, "lone surrogate"),
        (br#"{"id":"a","text":"\ud800\u0041"}"#, "hex escape"),
        (b"{\"id\":\"a\",\"text\":\"\xff\"}", "invalid UTF-8 after byte 18"),
        (format!(r#"{{"id":"a","x":{}"#, "[".repeat(1_000_000)).as_bytes(), "EOF"),
        (format!(r#"{{"text":{}"#, "[".repeat(1_000_000)).as_bytes(), "EOF"),
        (format!(r#"{{"text":{}"#, r#"{"text":"#.repeat(1_000_000)).as_bytes(), "EOF"),
    ] {
        let reason = read(&["id", "text"], line).unwrap_err();
        assert!(reason.contains(part), "{reason:?} should say {part:?}");
    }
}
