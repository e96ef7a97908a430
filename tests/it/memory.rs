//! Memory that may not grow further (`ulimit -d`): a run stops in order before it would be killed,
//! and continues with more memory.

use std::collections::BTreeMap;
use std::fs;

use crate::support::{limited, made_up_corpus, run};

/// The search tables of an index on disk are in memory, so such a run cannot turn to files. Packed
/// outputs show at which records the checkpoints were: those of a run that never stopped.
#[test]
fn a_run_that_needs_more_stops_in_order_and_goes_on_with_more() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let corpus = at("corpus.jsonl");
    fs::write(&corpus, made_up_corpus(40_000, 3)).unwrap();
    let args = |name: &str| {
        let (kept, store) = (at(&format!("{name}.gz")), format!("embedded:{}", at(&format!("{name}-index"))));
        let args = ["dedup", "-q", "--threads", "1", "--profile", "minhash", &corpus, "--output", &kept];
        let of_job = ["--store", &store, "--journal", &at(name), "--checkpoint-records", "1000"];
        args.iter().chain(&of_job).map(|arg| (*arg).to_owned()).collect::<Vec<_>>()
    };
    run("indexer", args("whole")).expect(0);
    let args = args("stopped");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = limited("-d 36000", "indexer", &args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    for part in ["stopped before memory runs out", "(ulimit -d)", "goes on from"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    run("indexer", args).expect(0);
    assert!(fs::read(at("stopped.gz")).unwrap() == fs::read(at("whole.gz")).unwrap());
}

/// Steps after the last record take memory of their own: a step that would not fit is not begun.
#[test]
fn pairs_and_clusters_stop_in_order_too() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let [corpus, kept, found] = ["corpus.jsonl", "kept", "found.jsonl"].map(at);
    fs::write(&corpus, made_up_corpus(12_000, 3)).unwrap();
    let mut ends = Vec::new();
    for option in ["--pairs", "--clusters"] {
        for kib in [41_000, 44_000, 47_000, 400_000] {
            let args = ["dedup", "-q", "--threads", "1", "--profile", "minhash", &corpus, "--output", &kept];
            let args = [&args[..], &[option, &found, "--force"]].concat();
            let output = limited(&format!("-d {kib}"), "indexer", &args).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let is_in_order =
                output.status.code() == Some(2) && said.contains("stopped before memory runs out");
            assert!(
                output.status.success() || is_in_order,
                "{option} with {kib} KiB: {}, {said}",
                output.status
            );
            ends.push(output.status.success());
        }
    }
    assert!(ends.contains(&false) && ends.contains(&true), "{ends:?}");
}

/// The memory of each thread is foreseen: sixteen at once would pass the limit between two looks.
#[test]
fn the_pairs_of_an_index_stop_in_order_and_go_on_with_more() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let [corpus, whole, pairs] = ["corpus.jsonl", "whole", "pairs"].map(at);
    let store = format!("embedded:{}", at("index"));
    fs::write(&corpus, made_up_corpus(6_000, 3)).unwrap();
    run("indexer", ["index", "-q", "--profile", "minhash", "--store", &store, &corpus]).expect(0);
    let args = |threads, output| {
        ["pairs", "-q", "--threads", threads, "--parts", "64", "--store", &store, "--output", output]
    };
    run("indexer", args("16", &whole)).expect(0);
    let files = |folder: &str| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let parts = entries.filter(|path| path.extension().is_some_and(|suffix| suffix == "jsonl"));
        let parts = parts.map(|path| (path.file_name().unwrap().to_owned(), fs::read(path).unwrap()));
        parts.collect::<BTreeMap<_, _>>()
    };
    for kib in [36_000, 46_000, 54_000] {
        let output = limited(&format!("-d {kib}"), "indexer", &args("16", &pairs)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{kib} KiB: {output:?}");
        for part in ["--threads", "stopped before memory runs out", "(ulimit -d)"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    // A quarter of the threads needs less.
    let output = limited("-d 54000", "indexer", &args("4", &pairs)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(files(&pairs).len(), 64);
    assert!(files(&pairs) == files(&whole));
}
