//! Indexes carried over: exported and imported, by records of one's own, and from one index to
//! another.

mod own;
mod reindex;
mod texts;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{CLASSIC, digest, json_lines, made_up_corpus, run};

/// Documents of every kind: Chinese and English, short, of symbols only, and one without features.
fn corpus(folder: &Path) -> String {
    let more = [("short", "Rain stops."), ("symbols", "😂😂😂 → ☂"), ("地,\"b\"", "鸽巢原理"), ("none", " ")];
    let path = folder.join("corpus.jsonl");
    fs::write(&path, made_up_corpus(120, 5) + &json_lines(more)).unwrap();
    path.to_str().unwrap().to_owned()
}

pub(crate) fn at(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

pub(crate) fn embedded(folder: &Path, name: &str) -> String {
    format!("embedded:{}", at(folder, name))
}

pub(crate) fn indexed(folder: &Path, name: &str, flags: &[&str]) -> String {
    let (store, corpus) = (embedded(folder, name), corpus(folder));
    let args = [&["index", "-q", &corpus, "--store", &store, "--source", "wire 7"], flags].concat();
    run("indexer", args).expect(0);
    store
}

/// Returns the records of an index without the times, in the order of their ids.
pub(crate) fn records(folder: &Path, store: &str) -> Vec<Value> {
    let path = at(folder, "records.jsonl");
    run("indexer", ["export", "-q", "--force", "--store", store, "--output", &path]).expect(0);
    let text = fs::read_to_string(path).unwrap();
    let mut records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for record in &mut records {
        let time = record.as_object_mut().unwrap().remove("inserted_at").unwrap();
        assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
    }
    records.sort_by_key(|record| record["id"].as_str().unwrap().to_owned());
    records
}

/// Returns the flags of the import that `export` prints.
fn way_back(summary: &str) -> Vec<String> {
    let line = summary.lines().last().unwrap();
    let flags = line.strip_prefix("the same index again: indexer import FILE --store URL").unwrap();
    flags.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn what_was_exported_is_imported_as_the_same_index() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (n, flags) in [
        &[][..],
        &["--profile", "minhash", "--min-similarity", "0.75"],
        &["--profile", "classic", "--segmenter", "words", "--seed", "7"],
        &[&CLASSIC[..], &["--scheme", "t11", "--max-distance", "2"]].concat(),
    ]
    .iter()
    .enumerate()
    {
        let old = indexed(folder, &format!("old-{n}"), flags);
        let expected = records(folder, &old);
        let of = |id: &str| expected.iter().find(|record| record["id"] == id);
        assert!(of("none").is_none() && of("short").unwrap()["source"] == "wire 7");
        if flags.is_empty() {
            let symbols = of("symbols").unwrap();
            assert!(symbols["fingerprint"].is_null() && symbols["signature"].is_string(), "{symbols}");
        }
        let mut before = Vec::new();
        for name in ["a.parquet", "a.jsonl", "a.jsonl.zst", "a.csv", "a.tsv.gz"] {
            let (file, new) = (at(folder, name), embedded(folder, &format!("new-{n}-{name}")));
            let summary = run("indexer", ["export", "-q", "--force", "--store", &old, "--output", &file])
                .expect(0)
                .stdout;
            let back = way_back(&summary);
            assert!(before.is_empty() || before == back);
            before.clone_from(&back);
            let import = ["import", "-q", &file, "--store", &new].map(str::to_owned);
            let told = run("indexer", import.iter().chain(&back)).expect(0).stdout;
            assert!(told.contains("rejected                 0"), "{told}");
            assert_eq!(records(folder, &new), expected, "{flags:?} {name}");
            assert_eq!(digest(&new), digest(&old), "{flags:?} {name}");
            let again = run("indexer", import).expect(0).stdout;
            assert!(again.contains("indexed                  0"), "{again}");
        }
    }
}

#[test]
fn an_export_goes_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let old = indexed(folder, "old", &[]);
    let inside = at(folder, "old/records.jsonl");
    let missing = embedded(folder, "never made");
    for (store, output, part) in [
        (&*old, &*inside, "in the directory of the index"),
        (&missing, "a.jsonl", "there is no index"),
        ("memory:", "a.jsonl", "in memory:"),
        (&old, "s3://bucket/a.jsonl", "is elsewhere"),
        (&old, "a.xlsx", "promises .xlsx"),
    ] {
        let said = run("indexer", ["export", "-q", "--store", store, "--output", output]).expect(2).stderr;
        assert!(said.contains(part), "{said}: {part}");
    }
    assert!(!folder.join("never made").exists());
    let told = run("indexer", ["export", "-q", "--store", &old, "--output", "-"]).expect(0);
    assert_eq!(told.stdout.lines().count(), 123);
    assert!(told.stderr.contains("records                123"), "{}", told.stderr);
}
