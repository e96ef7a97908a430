//! A server that is emptied and gets another index, under programs that have the old one open.

use std::fs;
use std::rc::Rc;

use index::testsuite::{self, Place};
use serde_json::json;

use super::{create, open};
use crate::support::{Redis, Worker, command, made_up_corpus, news, run, until};

#[test]
fn every_call_notices() {
    let Some(redis) = Redis::start(&[]) else { return };
    let redis = Rc::new(redis);
    testsuite::check_made_anew(&|| {
        redis.cli(&["flushall"]);
        let url = redis.url("made");
        let (server, other) = (Rc::clone(&redis), url.clone());
        let remake = move |metadata: Option<&index::Metadata>| {
            server.cli(&["flushall"]);
            if let Some(metadata) = metadata {
                open(&other).create(metadata).unwrap();
            }
        };
        let (store, reopen) = (open(&url), move || open(&url));
        Place { store, remake: Box::new(remake), reopen: Box::new(reopen) }
    });
}

/// Before, the worker went on with the old seed: other programs never found its documents, nor the
/// worker theirs.
#[test]
fn a_worker_does_not_go_on() {
    let Some(redis) = Redis::start(&[]) else { return };
    let url = redis.url("served");
    let make = |seed: &str| {
        let news = news();
        run("indexer", ["index", "-q", "--seed", seed, "--store", &url, news.to_str().unwrap()]).expect(0);
    };
    make("0");
    let worker = Worker::start(&url, &[]);
    let text = json!({ "text": "The harbour of the old town is closed to ships until the end of the week." });
    let document = json!({ "id": "posted", "text": text["text"] });
    assert_eq!(worker.post("/v1/query", &text).0, 200);
    assert_eq!(worker.get("/readyz").0, 200);
    redis.cli(&["flushall"]);
    let refuses = |worker: &Worker, says: &str| {
        for (path, body) in [("/v1/query", &text), ("/v1/documents", &document)] {
            let (status, problem) = worker.post(path, body);
            assert_eq!(status, 503, "{path}: {problem}");
            assert!(problem["detail"].as_str().unwrap().contains(says), "{path}: {problem}");
        }
        assert_eq!(worker.delete("/v1/documents/en-harbour").0, 503);
        assert_eq!(worker.get("/readyz").0, 503);
        assert_eq!(worker.get("/v1/index").0, 503);
        // The process itself is unaffected.
        assert_eq!(worker.get("/healthz").0, 200);
    };
    refuses(&worker, "has no index any more");
    make("5");
    let digest = || run("pigeonhole", ["info", "--digest", "--store", &url]).expect(0).stdout;
    let before = digest();
    refuses(&worker, "start the worker again");
    assert_eq!(digest(), before, "nothing was written");
    let counted = worker.get_text("/metrics");
    assert!(counted.contains("kind=\"replaced\""), "{counted}");
    drop(worker);
    let worker = Worker::start(&url, &[]);
    assert_eq!(worker.get("/readyz").0, 200);
    assert_eq!(worker.post("/v1/query", &text).0, 200);
    assert_eq!(worker.post("/v1/documents", &document).0, 201);
    assert_ne!(digest(), before);
}

/// A job stops at once, writes nothing into the later index, and does not resume there either.
#[test]
fn a_job_does_not_go_on() {
    let Some(redis) = Redis::start(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("corpus.jsonl"), made_up_corpus(20_000, 3)).unwrap();
    let url = redis.url("job");
    let [journal, kept, corpus] = ["journal", "kept.jsonl", "corpus.jsonl"].map(at);
    let args = ["--store", &url, "--journal", &journal, "--checkpoint-records", "500", &corpus];
    let index = [&["index", "-q"][..], &args].concat();
    let dedup = [&["dedup", "-q", "--output", &kept][..], &args].concat();
    for job in [index, dedup] {
        redis.cli(&["flushall"]);
        fs::remove_dir_all(&journal).unwrap_or(());
        let running = command("indexer", &job).spawn().unwrap();
        let count = || redis.cli(&["zcard", "pigeonhole:{job}:ids"]).trim().parse::<u64>().unwrap_or(0);
        until(|| count() >= 2_000);
        redis.cli(&["flushall"]);
        create(&url);
        let ended = running.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{said}");
        assert!(said.contains("is not there any more") || said.contains("was made anew"), "{said}");
        // `create` leaves an empty recipe, which would be refused first. An index made by the
        // program has the same recipe, and is refused by its identity.
        redis.cli(&["flushall"]);
        run("indexer", ["index", "-q", "--store", &url, news().to_str().unwrap()]).expect(0);
        let n_documents = count();
        let again = run("indexer", &job).expect(2);
        assert!(again.stderr.contains("was made anew since the job of the journal"), "{}", again.stderr);
        assert_eq!(count(), n_documents);
    }
}

/// A program without identities could write with another scheme. Its documents are found; with
/// another seed they could not be.
#[test]
fn what_another_scheme_has_filed_is_found() {
    let Some(redis) = Redis::start(&[]) else { return };
    let news = news();
    let make = |name: &str, scheme: &str| {
        let store = redis.url(name);
        run("indexer", ["index", "-q", "--scheme", scheme, "--store", &store, news.to_str().unwrap()])
            .expect(0);
    };
    make("a", "5c2");
    make("b", "t11");
    // Copies the record of a document in one index into the other.
    let copied = "local record = redis.call('GET', 'pigeonhole:{b}:d:en-harbour') \
                  redis.call('SET', 'pigeonhole:{a}:d:en-harbour', record)";
    redis.cli(&["eval", copied, "0"]);
    let found = run("pigeonhole", ["verify", "-q", "--store", &redis.url("a")]).expect(1).stdout;
    assert!(found.lines().any(|line| line.split_whitespace().eq(["foreign", "1"])), "{found}");
    assert!(found.contains("en-harbour") && found.contains("cannot be mended"), "{found}");
}
