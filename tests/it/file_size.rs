//! Files that may not grow further (`ulimit -f`): an ordinary error that ends no program.

use std::fs;

use serde_json::json;

use crate::support::{Worker, digest, limited, made_up_corpus, run};

#[test]
fn the_batch_job_says_so_and_goes_on_where_there_is_room() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let [corpus, kept, whole, journal] = ["corpus.jsonl", "kept", "whole", "journal"].map(at);
    fs::write(&corpus, made_up_corpus(600, 3)).unwrap();
    run("indexer", ["dedup", "-q", "--output", &whole, &corpus]).expect(0);
    let args =
        ["dedup", "-q", "--output", &kept, &corpus, "--journal", &journal, "--checkpoint-records", "50"];
    let output = limited("-f 200", "indexer", &args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(said.contains("failed to write") && said.contains("ulimit -f"), "{said}");
    run("indexer", args).expect(0);
    assert_eq!(fs::read(kept).unwrap(), fs::read(whole).unwrap());
}

#[test]
fn the_operators_tool_says_so_and_has_changed_nothing_that_it_does_not_say() {
    let place = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", place.path().join("index").to_str().unwrap());
    let corpus = place.path().join("corpus.jsonl");
    fs::write(&corpus, made_up_corpus(2_000, 3)).unwrap();
    run("indexer", ["index", "-q", "--store", &store, corpus.to_str().unwrap()]).expect(0);
    let before = digest(&store);
    let args = ["remove", "--store", &store, "--all", "-q"];
    let output = limited("-f 1", "pigeonhole", &args).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("may not grow further (ulimit -f)"), "{said}");
    assert_eq!(digest(&store), before);
    run("pigeonhole", args).expect(0);
}

#[test]
fn the_worker_answers_so_and_has_what_it_acknowledged() {
    let place = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", place.path().join("index").to_str().unwrap());
    let args = ["--store", &store, "--create-index", "--listen", "127.0.0.1:0"];
    let worker = Worker::start_as(&mut limited("-f 800", "query-worker", &args));
    let text = |n: usize| {
        (0..20)
            .map(|i| format!("{:x} ", ((n * 31 + i * 7) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24))
            .collect::<String>()
    };
    let mut n_stored = 0;
    let (status, problem) = loop {
        let document = json!({ "id": format!("document {n_stored}"), "text": text(n_stored) });
        match worker.post("/v1/documents", &document) {
            (200 | 201, _) => n_stored += 1,
            refused => break refused,
        }
        assert!(n_stored < 5_000, "the limit was not met");
    };
    assert_eq!(status, 503, "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("full"), "{problem}");
    // The worker goes on, and so does another one without the limit.
    let ids = || (0..n_stored).map(|n| format!("/v1/documents/document%20{n}"));
    assert!(ids().all(|id| worker.get(&id).0 == 200));
    worker.send_stop();
    assert_eq!(worker.wait().0, Some(0));
    let worker = Worker::start(&store, &[]);
    assert!(ids().all(|id| worker.get(&id).0 == 200));
}
