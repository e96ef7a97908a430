//! `/v1/documents:batch` and `/v1/query:batch`: a line in, a line out.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{TEXT, is_problem};
use crate::support::{Worker, command, made_up_corpus};

#[test]
fn each_line_has_its_answer() {
    let worker = Worker::start("memory:", &["--body-bytes-max", "1000"]);
    let lines = [
        json!({ "id": "a", "text": TEXT, "source": "wire-7" }).to_string(),
        String::new(),
        "{".to_owned(),
        json!({ "id": "b", "text": TEXT }).to_string(),
        json!({ "id": "c", "text": "\u{3000}" }).to_string(),
        json!({ "text": "x".repeat(1000) }).to_string(),
        json!({ "id": "\u{1}", "text": TEXT }).to_string(),
        json!({ "id": "a", "text": TEXT }).to_string(),
    ];
    let (status, answers) = worker.post_lines("/v1/documents:batch", lines.join("\n").as_bytes());
    assert_eq!(status, 200);
    let short: Vec<Value> =
        answers.iter().map(|answer| json!([answer["line"], answer["status"], answer["outcome"]])).collect();
    let expected = json!([
        [1, 201, "inserted"],
        [3, 400, null],
        [4, 200, "duplicate"],
        [5, 422, null],
        [6, 413, null],
        [7, 400, null],
        [8, 200, "unchanged"]
    ]);
    assert_eq!(json!(short), expected, "{answers:#?}");
    assert_eq!(answers[2]["duplicate_of"]["id"], "a");
    for answer in &answers {
        if let status @ 400.. = answer["status"].as_u64().unwrap() {
            let kind = answer["type"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
            is_problem((status as u16, answer.clone()), status as u16, &kind);
        }
    }

    let queries = [
        json!({ "text": TEXT }),
        json!({ "text": TEXT, "max_distance": 4 }),
        json!({ "fingerprint": answers[0]["fingerprint"], "limit": 0 }),
        json!([1]),
        json!({ "text": TEXT }),
    ];
    let queries: String = queries.iter().map(|query| format!("{query}\r\n")).collect();
    let (status, found) = worker.post_lines("/v1/query:batch", queries.as_bytes());
    let statuses: Vec<_> = found.iter().map(|found| found["status"].as_u64().unwrap()).collect();
    assert_eq!((status, &statuses[..]), (200, &[200, 400, 200, 400, 200][..]), "{found:#?}");
    let (_, single) = worker.post("/v1/query", &json!({ "text": TEXT }));
    assert_eq!((&found[0]["matches"], &found[4]["n_matches"]), (&single["matches"], &json!(1)));
    assert_eq!((&found[2]["matches"], &found[2]["n_matches"]), (&json!([]), &json!(1)));

    assert_eq!(worker.post_lines("/v1/query:batch", b""), (200, vec![]));
    is_problem(worker.get("/v1/query:batch"), 405, "method-not-allowed");
}

/// Far more than one call or one body may hold, in one request: the same as one document after
/// another.
#[test]
fn a_long_batch_is_as_many_requests() {
    let corpus = made_up_corpus(1000, 7);
    let worker = Worker::start("memory:", &["--body-bytes-max", "20000"]);
    let (status, answers) = worker.post_lines("/v1/documents:batch", corpus.as_bytes());
    assert_eq!((status, answers.len()), (200, 1000));
    let other = Worker::start("memory:", &[]);
    for (n, (line, answer)) in corpus.lines().zip(&answers).enumerate() {
        let (status, mut single) = other.post_bytes("/v1/documents", line.as_bytes());
        single["line"] = json!(n + 1);
        single["status"] = json!(status);
        assert_eq!(*answer, single);
    }
    assert!(answers.iter().any(|answer| answer["outcome"] == "duplicate"));
}

/// Lines that request many documents are answered in several parts, in order; any number is a valid
/// bound.
#[test]
fn lines_that_ask_for_much() {
    let worker = Worker::start("memory:", &["--batch-lines-max", &u64::MAX.to_string()]);
    assert_eq!(worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT })).0, 201);
    let line = |limit: usize| format!("{}\n", json!({ "text": TEXT, "limit": limit }));
    let lines: String = (0..100).map(|n| line(if n % 3 == 0 { 1000 } else { 0 })).collect();
    let (status, answers) = worker.post_lines("/v1/query:batch", lines.as_bytes());
    assert_eq!((status, answers.len()), (200, 100));
    for (n, answer) in answers.iter().enumerate() {
        let n_listed = answer["matches"].as_array().unwrap().len();
        assert_eq!((&answer["line"], n_listed), (&json!(n + 1), usize::from(n % 3 == 0)), "{answer}");
    }
}

/// A line is answered before the next one comes: nothing waits for the end of the batch.
#[test]
fn lines_are_answered_as_they_come() {
    let worker = Worker::start("memory:", &[]);
    let connection = TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap();
    let mut to = connection.try_clone().unwrap();
    let mut from = BufReader::new(connection);
    to.write_all(b"POST /v1/query:batch HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n")
        .unwrap();
    let mut answer_to = |line: &str| {
        write!(to, "{:x}\r\n{line}\r\n", line.len()).unwrap();
        loop {
            let mut answer = String::new();
            assert!(from.read_line(&mut answer).unwrap() > 0, "the worker hung up");
            if answer.starts_with('{') {
                return serde_json::from_str::<Value>(&answer).unwrap();
            }
        }
    };
    for line in 1..=3 {
        let answer = answer_to(&format!("{}\n", json!({ "text": TEXT })));
        assert_eq!((&answer["line"], &answer["n_matches"]), (&json!(line), &json!(0)));
    }
}

/// Concurrent batches keep one document of each text, from any batch.
#[test]
fn batches_at_once() {
    let corpus = made_up_corpus(200, 11);
    let worker = Worker::start("memory:", &[]);
    let inserted: usize = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..3)
            .map(|client| {
                let (worker, corpus) = (&worker, corpus.replace("made-up/", &format!("{client}/")));
                scope.spawn(move || worker.post_lines("/v1/documents:batch", corpus.as_bytes()).1)
            })
            .collect();
        let answers: Vec<Value> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        assert_eq!(answers.len(), 600);
        answers.iter().filter(|answer| answer["status"] == 201).count()
    });
    assert_eq!(worker.get("/v1/index").1["n_documents"], inserted);
    let (_, again) = worker.post_lines("/v1/documents:batch", corpus.as_bytes());
    assert!(again.iter().all(|answer| answer["outcome"] == "duplicate"), "{again:#?}");
}

/// Like Python's http.client with a body. Before, the connection was reset without an answer, and
/// the request counted as answered.
#[test]
fn a_client_that_sends_all_before_it_reads() {
    let args = ["--store", "memory:", "--listen", "127.0.0.1:0"];
    let mut worker =
        Worker::start_as(command("query-worker", args).env("PIGEONHOLE_ANSWER_SECONDS_MAX", "4"));
    let word =
        |n: usize, k: usize| format!("{:x} ", (n * 31 + k * 7919 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let text = |n: usize| (0..12).map(|k| word(n, k)).collect::<String>();
    let line = |n: usize| format!("{}\n", json!({ "id": format!("{n}"), "text": text(n) }));
    let body: String = (0..150_000).map(line).collect();
    let mut client = TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap();
    let length = body.len();
    let head = format!(
        "POST /v1/documents:batch HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    client.write_all(head.as_bytes()).unwrap();
    client.write_all(body.as_bytes()).unwrap();
    let answers: Vec<String> = BufReader::new(client).lines().map_while(Result::ok).collect();
    let last: Value = answers
        .iter()
        .rev()
        .find(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .unwrap();
    let n_done = last["line"].as_u64().unwrap() - 1;
    is_problem((408, last), 408, "too-slow");
    assert!(n_done > 0 && n_done < 150_000, "{n_done}");
    let gone = "route=\"/v1/documents:batch\",method=\"POST\",status=\"gone\"} 1";
    crate::support::until(|| worker.get_text("/metrics").contains(gone));
    // The answers were true.
    for (n, status) in [(0, 200), (n_done - 1, 200), (n_done, 404)] {
        assert_eq!(worker.get(&format!("/v1/documents/{n}")).0, status, "{n} of {n_done}");
    }
    worker.log_until("does not read the answers");
}
