//! `query-worker`: HTTP in, HTTP out.

mod batches;
mod bounds;
mod browser;
mod browsing;
mod connections;
mod contract;
mod documents;
mod explaining;
mod files;
mod handles;
mod keys;
mod limits;
mod logging;
mod metrics;
mod openapi;
mod page;
mod queries;
mod settings;
mod stopping;
mod stores;
mod texts;
mod tls;
mod traces;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;

use serde_json::{Value, json};

use crate::support::{Random, Worker, json_lines, news, run, run_with_input};

const TEXT: &str = "The ferry terminal on the east side of the harbour reopened on Monday after a winter of repairs, \
                    and ferries now leave every ninety minutes between six in the morning and nine at night.";

/// Checks that an answer has the common body of all errors.
#[track_caller]
fn is_problem((got, problem): (u16, Value), status: u16, kind: &str) {
    assert_eq!(got, status, "{problem}");
    assert_eq!(problem["type"], format!("urn:pigeonhole:problem:{kind}"), "{problem}");
    assert_eq!(problem["status"], status);
    assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
}

/// Begins a batch of queries, and waits for the answer to its first line, when it has its place.
fn open_batch(worker: &Worker, headers: &str) -> BufReader<TcpStream> {
    let mut batch = TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap();
    let line = format!("{}\n", json!({ "text": TEXT }));
    write!(
        batch,
        "POST /v1/query:batch HTTP/1.1\r\nhost: localhost\r\n{headers}transfer-encoding: chunked\r\n\r\n{:x}\r\n{line}\r\n",
        line.len()
    )
    .unwrap();
    let mut batch = BufReader::new(batch);
    let mut answer = String::new();
    while !answer.starts_with('{') {
        answer.clear();
        assert!(batch.read_line(&mut answer).unwrap() > 0, "the worker hung up");
    }
    assert!(answer.contains("\"status\":200"), "{answer}");
    batch
}

/// Returns the fields of a match with an equal text in an index with texts.
fn counted_as_equal() -> Value {
    json!({ "exact": true, "numbers_differ": false, "share_of_a": 1.0, "share_of_b": 1.0, "similarity": 1.0 })
}

#[test]
fn insert_and_query() {
    let worker = Worker::start("memory:", &[]);
    assert_eq!(worker.get("/healthz"), (200, json!({ "status": "ok" })));
    let (status, inserted) = worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT }));
    assert_eq!((status, &inserted["outcome"]), (201, &json!("inserted")));
    let (status, again) = worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT }));
    assert_eq!((status, &again["outcome"]), (200, &json!("unchanged")));
    let (status, duplicate) =
        worker.post("/v1/documents", &json!({ "id": "b", "text": TEXT.to_uppercase() }));
    assert_eq!((status, &duplicate["outcome"]), (200, &json!("duplicate")));
    assert_eq!(duplicate["duplicate_of"]["id"], "a");
    assert_eq!(duplicate["duplicate_of"]["distance"], 0);
    assert_eq!(duplicate["duplicate_of"]["similarity"], 1.0);

    // Integers are ids as they are in the inputs of the batch job.
    for (id, is) in [(json!(-7), "-7"), (json!(u64::MAX), "18446744073709551615"), (json!(3.0), "3")] {
        let (_, duplicate) = worker.post("/v1/documents", &json!({ "id": id, "text": TEXT }));
        assert_eq!((&duplicate["outcome"], &duplicate["id"]), (&json!("duplicate"), &json!(is)));
    }

    let (_, mut expected) = worker.get("/v1/documents/a");
    expected.as_object_mut().unwrap().remove("has_text");
    expected["distance"] = json!(0);
    // A fingerprint is found by its bits, and is not verified.
    let by_fingerprint = json!({ "fingerprint": inserted["fingerprint"], "max_distance": 0 });
    for (query, counted, n_buckets) in
        [(json!({ "text": TEXT }), Some(counted_as_equal()), 26), (by_fingerprint, None, 10)]
    {
        let mut expected = expected.clone();
        if let Some(fields) = counted {
            expected.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        }
        let (status, found) = worker.post("/v1/query", &query);
        assert_eq!((status, &found["matches"], &found["n_matches"]), (200, &json!([expected]), &json!(1)));
        assert_eq!(found["cost"]["n_buckets"], n_buckets);
    }
    let (status, counted) = worker.post("/v1/query", &json!({ "text": TEXT, "limit": 0.0 }));
    assert_eq!((status, &counted["matches"], &counted["n_matches"]), (200, &json!([]), &json!(1)));
}

#[test]
fn what_goes_wrong_is_a_problem() {
    let worker = Worker::start("memory:", &["--body-bytes-max", "1000"]);
    for (path, body, status, kind) in [
        ("/v1/query", json!({}), 400, "bad-request"),
        ("/v1/query", json!({ "text": "a", "fingerprint": "0123456789abcdef" }), 400, "bad-request"),
        ("/v1/query", json!({ "fingerprint": "0123" }), 400, "bad-request"),
        ("/v1/query", json!({ "text": TEXT, "max_distance": 4 }), 400, "bad-request"),
        ("/v1/query", json!({ "text": TEXT, "limit": 1001 }), 400, "bad-request"),
        ("/v1/query", json!({ "text": TEXT, "limit": 1.5 }), 400, "bad-request"),
        ("/v1/query", json!({ "text": TEXT, "limit": -1 }), 400, "bad-request"),
        ("/v1/query", json!({ "text": TEXT, "max_distance": 1e300 }), 400, "bad-request"),
        ("/v1/query", json!({ "text": TEXT, "limti": 1 }), 400, "bad-request"),
        ("/v1/query", json!({ "text": TEXT, "min_similarity": 0.79 }), 400, "bad-request"),
        ("/v1/query", json!({ "text": TEXT, "min_similarity": 1.1 }), 400, "bad-request"),
        (
            "/v1/query",
            json!({ "fingerprint": "0123456789abcdef", "min_similarity": 0.9 }),
            400,
            "bad-request",
        ),
        ("/v1/query", json!({ "text": " \n" }), 422, "no-features"),
        ("/v1/query", json!({ "text": "x".repeat(1000) }), 413, "too-large"),
        ("/v1/documents", json!({ "id": "", "text": TEXT }), 400, "bad-request"),
        ("/v1/documents", json!({ "id": 1.5, "text": TEXT }), 400, "bad-request"),
        ("/v1/documents", json!({ "id": "a" }), 400, "bad-request"),
        ("/v1/documents", json!({ "id": "a", "text": TEXT, "source": "" }), 400, "bad-request"),
        ("/v1/documents", json!({ "id": "a", "text": "" }), 422, "no-features"),
        ("/v1/nothing", json!({}), 404, "not-found"),
        ("/healthz", json!({}), 405, "method-not-allowed"),
    ] {
        is_problem(worker.post(path, &body), status, kind);
    }
    for body in [&b""[..], b"{", b"\xff", b"{\"text\":\"\\ud800\"}", b"[1]", b"[\"a text\",null,null,1]"] {
        let (status, problem) = worker.post_bytes("/v1/query", body);
        assert_eq!(
            (status, &problem["type"]),
            (400, &json!("urn:pigeonhole:problem:bad-request")),
            "{body:?}"
        );
    }
}

#[test]
fn a_method_that_a_path_does_not_have() {
    let worker = Worker::start("memory:", &[]);
    for (answer, detail) in [
        (worker.post("/healthz", &json!({})), "/healthz answers GET, not POST"),
        (worker.post("/openapi.json", &json!({})), "/openapi.json answers GET, not POST"),
        (worker.get("/v1/query"), "/v1/query answers POST, not GET"),
        (worker.post("/v1/documents/a", &json!({})), "/v1/documents/a answers DELETE and GET, not POST"),
    ] {
        assert_eq!(answer.1["detail"], detail);
        is_problem(answer, 405, "method-not-allowed");
    }
}

#[test]
fn texts_posted_at_once_are_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    for store in ["memory:".to_owned(), format!("embedded:{}", folder.path().to_str().unwrap())] {
        let worker = Worker::start(&store, &[]);
        let n_clients = 8;
        let barrier = Barrier::new(n_clients);
        let answers: Vec<(u16, Value)> = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..n_clients)
                .map(|client| {
                    let (worker, barrier) = (&worker, &barrier);
                    scope.spawn(move || {
                        let mut answers = Vec::new();
                        for group in 0..20 {
                            // The same seven words in every client, so one group has one text.
                            let mut random = Random(group);
                            let text: String = (0..7).map(|_| format!("{:x} ", random.next())).collect();
                            barrier.wait();
                            let id = format!("{group}-{client}");
                            answers.push(worker.post("/v1/documents", &json!({ "id": id, "text": text })));
                        }
                        answers
                    })
                })
                .collect();
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
        });
        for (status, answer) in &answers {
            assert!(*status == 201 || answer["outcome"] == "duplicate", "{answer}");
        }
        let created = answers.iter().filter(|(status, _)| *status == 201).count();
        assert_eq!(created, 20, "exactly one of each group ({store})");
    }
}

/// An indexer and a worker share one embedded store: each sees the other's acknowledged documents.
#[test]
fn a_worker_beside_an_indexer() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let worker = Worker::start(&store, &[]);
    let (_, before) = worker.post("/v1/query", &json!({ "text": TEXT }));
    assert_eq!(before["n_matches"], 0);
    let input = json_lines([("from-indexer", TEXT)]);
    run_with_input("indexer", ["index", "-q", "--store", &store, "-"], input.as_bytes()).expect(0);
    let (_, after) = worker.post("/v1/query", &json!({ "text": TEXT }));
    assert_eq!(after["matches"][0]["id"], "from-indexer");

    let other = TEXT.replace("ferr", "night train").replace("winter of repairs", "long strike")
        + " It is a long way.";
    assert_eq!(worker.post("/v1/documents", &json!({ "id": "from-worker", "text": other })).0, 201);
    let seen = run("pigeonhole", ["query", "--store", &store, &other]).expect(0).stdout;
    assert!(seen.contains("from-worker"), "{seen}");

    // Replaced by the indexer: the worker no longer finds the old text.
    let replaced = json_lines([("from-indexer", "Now something entirely different, about bees and honey.")]);
    run_with_input("indexer", ["index", "-q", "--store", &store, "-"], replaced.as_bytes()).expect(0);
    let (_, gone) = worker.post("/v1/query", &json!({ "text": TEXT }));
    assert_eq!(gone["n_matches"], 0);
}

#[test]
fn a_worker_answers_over_an_index_that_the_indexer_made() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let news = news();
    let options = ["--scheme", "t11", "--top-terms", "50"];
    run("indexer", [&["index", "-q", "--store", &store, news.to_str().unwrap()], &options[..]].concat())
        .expect(0);
    let worker = Worker::start(&store, &[]);
    let news = std::fs::read_to_string(news).unwrap();
    for line in news.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let (status, found) = worker.post("/v1/query", &json!({ "text": record["text"] }));
        if record["text"] == "" {
            assert_eq!(status, 422);
        } else {
            let matches = found["matches"].as_array().unwrap();
            assert!(
                matches.iter().any(|m| m["id"] == record["id"] && m["distance"] == 0),
                "{record} {found}"
            );
        }
    }
}

/// Half of the request is sent before the stop, and half after. The worker had accepted the
/// request, so the answer comes.
#[test]
fn a_stop_answers_what_was_accepted() {
    let worker = Worker::start("memory:", &[]);
    let body = json!({ "id": "a", "text": TEXT }).to_string();
    let mut connection = TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap();
    let head = format!(
        "POST /v1/documents HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes()).unwrap();
    // The worker asks for the body: it has accepted the request.
    let mut go_on = [0; 25];
    connection.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    let mut worker = worker;
    worker.send_stop();
    worker.log_until("stopping");
    connection.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let (code, log) = worker.wait();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("stopped"), "{log}");
    assert!(!log.contains("ferry"), "texts are never logged: {log}");
}

#[test]
fn a_worker_that_cannot_run_says_why() {
    for (args, part) in [
        (vec!["--listen", "127.0.0.1:0"], "--store"),
        (vec!["--store", "nonsense"], "nonsense"),
        (vec!["--store", "memory:", "--listen", "192.0.2.1:1"], "192.0.2.1:1"),
        (vec!["--store", "memory:", "--listen", "localhost:8080"], "as in 127.0.0.1:8080"),
        (vec!["--store", "memory:", "--scheme", "9c9"], "9c9"),
    ] {
        let run = run("query-worker", &args).expect(2);
        assert!(run.stderr.contains(part), "{args:?} should say {part:?}: {}", run.stderr);
    }
}
