//! An index carried over to Redis and back.

use crate::carry::{embedded, indexed, records};
use crate::support::{digest, redis, run};

#[test]
fn there_and_back() {
    let Some(redis) = redis() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let old = indexed(folder, "old", &["--segmenter", "words"]);
    let (there, back) = (redis.url("carried"), embedded(folder, "back"));
    for (from, to) in [(&old, &there), (&there, &back)] {
        let told = run("indexer", ["reindex", "-q", from, to]).expect(0).stdout;
        assert!(told.contains("missing                  0"), "{told}");
        assert_eq!(digest(to), digest(&old));
        assert_eq!(records(folder, to), records(folder, &old));
    }
}

/// Texts are carried over on request.
#[test]
fn there_and_back_with_texts() {
    let Some(redis) = redis() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let old = indexed(folder, "old", &[]);
    let (there, back) = (redis.url("carried-texts"), embedded(folder, "back"));
    run("indexer", ["reindex", "-q", &old, &there, "--texts", "zstd"]).expect(0);
    run("indexer", ["reindex", "-q", &there, &back]).expect(0);
    let exported = [&old, &there, &back].map(|store| {
        let export = ["export", "--with-texts", "-q", "--store", store, "--output", "-"];
        let mut lines: Vec<_> = run("indexer", export).expect(0).stdout.lines().map(with_fields).collect();
        lines.sort();
        lines
    });
    assert!(exported[0].len() > 100 && exported[0].iter().any(|(_, text)| text.is_some()));
    assert!(exported[0] == exported[1] && exported[1] == exported[2]);
}

/// Returns the id and the text of an exported record.
fn with_fields(line: &str) -> (String, Option<String>) {
    let record: serde_json::Value = serde_json::from_str(line).unwrap();
    let field = |name: &str| record[name].as_str().map(str::to_owned);
    (field("id").unwrap(), field("text"))
}
