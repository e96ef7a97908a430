//! `dedup --dry-run`: the same answers, and nothing written.

use std::fs;

use serde_json::Value;

use super::{LONG, news_arg};
use crate::support::{digest, json_lines, news, run, run_with_input};

#[test]
fn a_dry_run_says_what_the_run_would_and_leaves_the_index_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").to_str().unwrap());
    let old =
        json_lines([("old", LONG), ("en-chess", "another text under an id of the corpus, to be replaced")]);
    run_with_input("indexer", ["index", "-q", "--store", &store, "-"], old.as_bytes()).expect(0);
    let before = digest(&store);
    let input = fs::read_to_string(news()).unwrap() + &json_lines([("new", LONG)]);
    let dedup = |more: &[&str]| {
        let args = [&["dedup", "-q", "-", "--store", &store, "--groups", "99"], more].concat();
        let run = run_with_input("indexer", args, input.as_bytes()).expect(0);
        let stdout: String = run.stdout.lines().filter(|line| !line.starts_with("seconds")).collect();
        (stdout, run.stderr)
    };
    let (dry, stderr) = dedup(&["--dry-run"]);
    assert!(stderr.contains("a dry run"), "{stderr}");
    assert_eq!(digest(&store), before);
    assert_eq!(dedup(&[]).0, dry);
    assert_ne!(digest(&store), before);
}

#[test]
fn a_dry_run_writes_reports_only() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json").to_str().unwrap().to_owned();
    run("indexer", ["dedup", "-q", &news_arg(), "--dry-run", "--report", &report]).expect(0);
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    assert_eq!((&report["options"]["dry_run"], &report["counts"]["duplicates"]), (&true.into(), &19.into()));
    let missing = format!("embedded:{}", folder.path().join("missing").to_str().unwrap());
    for (flags, part) in [
        (["--output", "kept.jsonl"], "cannot be used with"),
        (["--duplicates", "dups.jsonl"], "cannot be used with"),
        (["--store", &*missing], "there is no index at"),
    ] {
        let run = run("indexer", [&["dedup", "-q", &news_arg(), "--dry-run"], &flags[..]].concat()).expect(2);
        assert!(run.stderr.contains(part), "{flags:?}: {}", run.stderr);
    }
    assert!(!folder.path().join("missing").exists());
}
