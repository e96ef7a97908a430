//! Deletion and retention, as users and operators meet them.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Worker, digest, json_lines, news, redis, run, run_with_input};

/// Returns texts with little in common, by id and source.
fn corpus() -> String {
    let record = |(id, source, text): &(&str, Value, &str)| {
        format!("{}\n", json!({ "id": id, "source": source, "text": text }))
    };
    let records = [
        ("a", json!("crawl-1"), "The ferry terminal on the east side of the harbour reopened on Monday."),
        ("b", json!("crawl-1"), "Twelve thousand reeds and willows stand along the old gravel pit now."),
        ("c", json!(7), "Astronomers have finished a survey of faint galaxies after eleven years."),
        ("d", Value::Null, "The chess club celebrated its hundredth anniversary with a tournament."),
    ];
    records.iter().map(record).collect()
}

fn n_documents(store: &str) -> u64 {
    let info = run("pigeonhole", ["info", "--store", store]).expect(0).stdout;
    let line = info.lines().find_map(|line| line.strip_prefix("documents")).unwrap();
    line.trim().parse().unwrap()
}

fn check_removing(store: &str) {
    let index = |more: &[&str]| {
        let args = [&["index", "-q", "--store", store][..], more, &["-"]].concat();
        run_with_input("indexer", args, corpus().as_bytes()).expect(0)
    };
    let remove = |more: &[&str]| run("pigeonhole", [&["remove", "--store", store][..], more].concat());
    index(&["--source", "others"]);
    // A trial run lists documents, and removes none.
    for (args, expected) in [
        (&["--source", "crawl-1"][..], &["crawl-1\ta", "crawl-1\tb"][..]),
        (&["--source", "others"], &["others\td"]),
        (&["--source", "7", "--inserted-from", "1h"], &["7\tc"]),
        (&["--inserted-until", "1h"], &[]),
        (&["--inserted-until", "2026-01-31T18:00:00+08:00", "--source", "7"], &[]),
        (&["--all"], &["7\tc", "crawl-1\ta", "crawl-1\tb", "others\td"]),
        (&["--source", "crawl-1", "a", "b"], &["crawl-1\ta", "crawl-1\tb"]),
    ] {
        let listed = remove(&[args, &["--dry-run"]].concat()).expect(0).stdout;
        let mut lines: Vec<_> = listed
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_once('\t').expect("a time, a source and an id").1)
            .collect();
        lines.sort_unstable();
        assert_eq!(lines, expected, "{args:?}");
    }
    assert_eq!(n_documents(store), 4);

    // Documents outside of the selection stay, even if named.
    let refused = remove(&["a", "d", "--source", "crawl-1"]).expect(1);
    assert!(refused.stdout.contains("removed       1\nnot there     1\n"), "{}", refused.stdout);
    assert!(refused.stderr.contains("not there, or not selected: d"), "{}", refused.stderr);
    let removed = remove(&["--source", "crawl-1"]).expect(0).stdout;
    assert_eq!(removed, "removed       1\nkept          2\n");
    let found = run(
        "pigeonhole",
        ["query", "--store", store, "twelve thousand reeds and willows stand along the old gravel pit now"],
    );
    assert!(!found.expect(0).stdout.contains("\tb\n"));

    // By a file, in which one line is no valid id.
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "c\r\n\nx\na\tb\nd").unwrap();
    let from_file = remove(&["--ids-from", file.path().to_str().unwrap()]).expect(1);
    assert_eq!(from_file.stdout, "removed       2\nnot there     2\n");
    assert!(
        from_file.stderr.contains("not there: x") && from_file.stderr.contains("control"),
        "{}",
        from_file.stderr
    );
    assert_eq!(n_documents(store), 0);

    // The same documents make the same index again, and `--inserted-from` removes all at once.
    index(&[]);
    let before = digest(store);
    assert_eq!(remove(&["--inserted-from", "1d"]).expect(0).stdout, "removed       4\nkept          0\n");
    index(&[]);
    assert_eq!(digest(store), before);
    assert_eq!(remove(&["--all"]).expect(0).stdout, "removed       4\nkept          0\n");
    let removed =
        run_with_input("pigeonhole", ["remove", "--store", store, "--ids-from", "-"], b"a\na\n").expect(1);
    assert_eq!(removed.stdout, "removed       0\nnot there     1\n");
}

#[test]
fn removing_from_embedded() {
    let folder = tempfile::tempdir().unwrap();
    check_removing(&format!("embedded:{}", folder.path().to_str().unwrap()));
}

#[test]
fn removing_from_redis() {
    let Some(redis) = redis() else { return };
    check_removing(&redis.url("removing"));
}

#[test]
fn nothing_is_removed_without_a_word_about_what() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").to_str().unwrap());
    for (args, part) in [
        (&[][..], "--all removes every document"),
        (&["--all", "a"], "cannot be used with"),
        (&["--all", "--source", "a"], "cannot be used with"),
        (&["--source", ""], "must not be empty"),
        (&["--inserted-from", "yesterday"], "RFC 3339"),
        (&["--inserted-from", "1h", "--inserted-until", "2h"], "turn them round"),
        (&["--ids-from", "/does/not/exist"], "failed to"),
        (&["a"], "indexer index --store"),
    ] {
        let refused = run("pigeonhole", [&["remove", "--store", &store][..], args].concat()).expect(2);
        assert!(refused.stderr.contains(part), "{args:?} should say {part:?}: {}", refused.stderr);
        assert_eq!(refused.stdout, "");
    }
    let help = run("pigeonhole", ["remove", "--help"]).expect(0).stdout;
    for part in ["--dry-run", "--ids-from takedowns.txt", "Exit status: 0 done, 1", "--all"] {
        assert!(help.contains(part), "{part:?} is missing in\n{help}");
    }
}

/// A query right after the removal does not find the document: two processes, one store.
#[test]
fn a_worker_forgets_what_another_program_removes() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let worker = Worker::start(&store, &[]);
    let text = "Volunteers planted twelve thousand reeds and willows along the old gravel pit in spring.";
    let new = json!({ "id": "a", "text": text, "source": "desk" });
    assert_eq!(worker.post("/v1/documents", &new).0, 201);
    let n_matches = || worker.post("/v1/query", &json!({ "text": text })).1["n_matches"].clone();
    assert_eq!(n_matches(), 1);
    let removed = run("pigeonhole", ["remove", "--store", &store, "--source", "desk"]).expect(0).stdout;
    assert_eq!(removed, "removed       1\nkept          0\n");
    assert_eq!(n_matches(), 0);
    assert_eq!(worker.post("/v1/documents", &new).1["outcome"], "inserted");
    let bad = json!({ "id": "b", "text": text, "source": "a\tb" });
    assert_eq!(worker.post("/v1/documents", &bad).0, 400);
}

#[test]
fn an_index_keeps_its_retention() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let news = news();
    let index = |more: &[&str]| {
        run("indexer", [&["index", "-q", "--store", &store, news.to_str().unwrap()], more].concat())
    };
    index(&["--retain", "36h"]).expect(0);
    let info = run("pigeonhole", ["info", "--store", &store]).expect(0).stdout;
    assert!(info.contains("retain        1d12h after insertion\n"), "{info}");
    for again in [&[][..], &["--retain", "1d12h"]] {
        index(again).expect(0);
    }
    let refused = index(&["--retain", "2d"]).expect(2).stderr;
    assert!(refused.contains("retain is \"1d12h\" in the index and \"2d\" was asked for"), "{refused}");
    let refused = index(&["--retain", "0s"]).expect(2).stderr;
    assert!(refused.contains("for example 2d"), "{refused}");
    let dedup =
        ["dedup", "-q", "--output", "-", "--retain", "1d12h", "--store", &store, news.to_str().unwrap()];
    run("indexer", dedup).expect(0);
    let refused = run("query-worker", ["--store", &store, "--retain", "1w"]).expect(2).stderr;
    assert!(refused.contains("retain"), "{refused}");
}

/// With the clock of this machine, the only one of the programs.
#[test]
fn a_worker_forgets_what_has_expired() {
    let worker = Worker::start("memory:", &["--retain", "1s"]);
    let input = json_lines([("a", "The chess club celebrated its hundredth anniversary with a tournament.")]);
    let new: Value = serde_json::from_str(input.trim()).unwrap();
    assert_eq!(worker.post("/v1/documents", &new).1["outcome"], "inserted");
    // Inserted again only after the expiry, however long that takes here.
    let begun = Instant::now();
    let outcome = loop {
        let outcome = worker.post("/v1/documents", &new).1["outcome"].clone();
        if outcome != "unchanged" || begun.elapsed() > Duration::from_secs(60) {
            break outcome;
        }
    };
    assert_eq!(outcome, "inserted");
}
