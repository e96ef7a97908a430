//! Workers that share a corpus and coordinate only through an index.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use simhash::Fingerprint;

use crate::hbase::{create, url};
use crate::support::{CLASSIC, apart, command, hbase, made_up_corpus, run};

const N: usize = 1_500;
const N_WORKERS: usize = 3;

/// Runs three workers at once, as Kubernetes would start them: the kept documents have no
/// near-duplicates, and each dropped one is near a kept one.
fn check(folder: &Path, store: &str) {
    let corpus = folder.join("corpus.jsonl");
    let corpus = corpus.to_str().unwrap();
    // The beginning is repeated at the end, and some lines are no records.
    let lines = made_up_corpus(N, 11);
    let again: String = lines.lines().take(200).map(|line| format!("{line}\n")).collect();
    let bad = "no record\n".repeat(30);
    fs::write(corpus, format!("{lines}{bad}{again}")).unwrap();
    let n_lines = N + 30 + 200;
    let workers: Vec<_> = (0..N_WORKERS)
        .map(|n| {
            let [kept, dropped] = ["kept", "dropped"]
                .map(|name| folder.join(format!("{name}-{n}")).to_str().unwrap().to_owned());
            let args = ["dedup", "-q", "--store", store, corpus, "--output", &kept, "--duplicates", &dropped];
            let mut worker = command("indexer", args);
            worker.args(CLASSIC);
            worker.env("PIGEONHOLE_SHARDS", N_WORKERS.to_string()).env("JOB_COMPLETION_INDEX", n.to_string());
            (worker.spawn().unwrap(), kept, dropped)
        })
        .collect();
    let fingerprints: HashMap<String, Fingerprint> = run("indexer", ["fingerprint", "-q", corpus])
        .expect(1)
        .stdout
        .lines()
        .map(|line| line.split_once('\t').unwrap())
        .map(|(id, fingerprint)| (id.to_owned(), fingerprint.parse().unwrap()))
        .collect();
    let (mut kept, mut dropped, mut n_rejected, mut n_again) = (Vec::new(), Vec::new(), 0, 0);
    for (worker, kept_by, dropped_by) in workers {
        let output = worker.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        let report = String::from_utf8(output.stdout).unwrap();
        let count = |name: &str| -> usize {
            let rest = report.lines().find_map(|line| line.trim_start().strip_prefix(name)).unwrap();
            rest.split_whitespace().next().unwrap().replace(',', "").parse().unwrap()
        };
        n_rejected += count("rejected");
        // A repeat of a kept document with the same text has no row.
        n_again += count("same id");
        let ids = |path: &str| -> Vec<String> {
            let lines = fs::read_to_string(path).unwrap();
            let id = |line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
            lines.lines().map(id).collect()
        };
        let (kept_here, dropped_here) = (ids(&kept_by), ids(&dropped_by));
        assert!(kept_here.len() > N / N_WORKERS / 4, "a worker has kept only {}", kept_here.len());
        kept.extend(kept_here);
        dropped.extend(dropped_here);
    }
    assert_eq!(n_rejected, 30);
    assert_eq!(kept.len() + dropped.len() + n_again + n_rejected, n_lines, "every record is in one shard");
    for (i, id) in kept.iter().enumerate() {
        for other in &kept[..i] {
            let distance = fingerprints[id].distance(fingerprints[other]);
            assert!(distance > apart(3), "{id} and {other} are {distance} bits apart, and both are kept");
        }
    }
    for id in &dropped {
        let is_near = |kept: &String| fingerprints[id].distance(fingerprints[kept]) <= apart(3);
        assert!(kept.iter().any(is_near), "{id} was dropped, and nothing near it is kept");
    }
}

#[test]
fn of_an_index_on_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    check(folder.path(), &format!("embedded:{}", folder.path().join("index").to_str().unwrap()));
}

#[test]
fn of_an_index_in_hbase() {
    let Some(hbase) = hbase() else { return };
    create(hbase, "create_shards", &[("shards", "5c2")]);
    check(tempfile::tempdir().unwrap().path(), &url(hbase.gateway, "shards"));
}

#[test]
fn shards_that_cannot_be() {
    for (args, part) in [
        (&["--shard", "0/3"][..], "name one that all of them can reach"),
        (&["--shard", "3/3", "--store", "embedded:x"], "the last one 2/3"),
        (&["--shards", "3", "--store", "embedded:x"], "JOB_COMPLETION_INDEX"),
    ] {
        let mut command = command("indexer", [&["dedup", "-q", "/dev/null"], args].concat());
        let output = command.env_remove("JOB_COMPLETION_INDEX").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(part), "{args:?} should say {part:?}: {said}");
    }
}
