//! The fields of id, text and source in a record.

use crate::support::{run, run_with_input};

#[test]
fn other_field_names() {
    let line = "{\"url\": 7, \"body\": \"seven words are enough for a fingerprint\", \"id\": null}\n";
    let args = ["fingerprint", "-q", "--id-field", "url", "--text-field", "body", "-"];
    assert!(run_with_input("indexer", args, line.as_bytes()).expect(0).stdout.starts_with("7\t"));
}

/// Fields taken by pointers and in parts have the fingerprint of the joined text.
#[test]
fn nested_and_joined_fields() {
    let joined = r#"{"id":"a","text":"The ferry terminal\nreopened after months of work"}"#;
    let parts = r#"{"meta":{"ids":["x","a"]},"title":"The ferry terminal","body/en":"reopened after months of work"}"#;
    let plain = run_with_input("indexer", ["fingerprint", "-q", "-"], joined.as_bytes()).expect(0).stdout;
    assert!(plain.starts_with("a\t") && plain.trim_end().len() == 18, "{plain}");
    for fields in
        [&["--text-field", "title,body/en"][..], &["--text-field", "/title", "--text-field", "/body~1en"]]
    {
        let args = [&["fingerprint", "-q", "-", "--id-field", "/meta/ids/1"], fields].concat();
        assert_eq!(run_with_input("indexer", args, parts.as_bytes()).expect(0).stdout, plain);
    }
}

#[test]
fn a_field_that_will_not_do_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let rejects = folder.path().join("rejects");
    let lines = [
        (r#"{"meta":{"id":"a"}}"#, "there is no field \\\"title\\\""),
        (r#"{"meta":{"id":"a","body":null}}"#, "field \\\"/meta/body\\\" holds null"),
        (r#"{"meta":{"id":"a","body":["x"]},"title":"x"}"#, "holds an array, expected a string as text"),
        (r#"{"meta":{"id":2.5,"body":"x"},"title":"x"}"#, "field \\\"/meta/id\\\" holds a number"),
        (r#"{"meta":"a","title":"x"}"#, "there is no field \\\"/meta/id\\\""),
    ];
    let input = lines.map(|(line, _)| line).join("\n");
    let args = ["fingerprint", "-q", "-", "--id-field", "/meta/id", "--text-field", "title,/meta/body"];
    let args = [&args[..], &["--rejects", rejects.to_str().unwrap()]].concat();
    assert_eq!(run_with_input("indexer", args, input.as_bytes()).expect(1).stdout, "");
    let rejects = std::fs::read_to_string(rejects).unwrap();
    assert_eq!(rejects.lines().count(), lines.len());
    for (reject, (line, part)) in rejects.lines().zip(lines) {
        assert!(reject.contains(part), "{line} should be rejected for {part}: {reject}");
    }
}

#[test]
fn the_source_may_be_nested_too() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").to_str().unwrap());
    let line = r#"{"id":"a","text":"seven words are enough for a fingerprint","meta":{"feed":"wire-7"}}"#;
    let args = ["index", "-q", "-", "--store", &store, "--source-field", "/meta/feed"];
    run_with_input("indexer", args, line.as_bytes()).expect(0);
    let removed = run("pigeonhole", ["remove", "--store", &store, "--source", "wire-7"]).expect(0).stdout;
    assert!(removed.starts_with("removed       1\n"), "{removed}");
}
