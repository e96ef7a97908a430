//! The contents of the worker's log, data that it must not contain, and the ids of requests in it.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::TEXT;
use crate::support::Worker;

/// Sends a request unchanged, on a connection of its own, and returns the whole answer.
fn send(worker: &Worker, request: &[u8]) -> String {
    let mut connection = TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap();
    connection.write_all(request).unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends a request with an additional header, and returns the id and the body of the answer.
fn id_of(worker: &Worker, path: &str, header: &str) -> (String, Value) {
    let answer = send(
        worker,
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{header}\r\n").as_bytes(),
    );
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let id = head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap();
    (id.to_owned(), serde_json::from_str(body).unwrap())
}

fn stopped(worker: Worker) -> String {
    worker.send_stop();
    let (code, log) = worker.wait();
    assert_eq!(code, Some(0), "{log}");
    log
}

#[test]
fn a_request_keeps_a_harmless_id_and_else_gets_one() {
    let worker = Worker::start("memory:", &["--log-level", "debug"]);
    let kept = "Trace_1.a-b";
    let (id, problem) = id_of(&worker, "/v1/documents/nobody", &format!("x-request-id: {kept}\r\n"));
    assert_eq!((id.as_str(), &problem["instance"]), (kept, &json!(format!("urn:pigeonhole:request:{kept}"))));
    let mut made = BTreeSet::new();
    let long = format!("X-Request-Id: {}\r\n", "a".repeat(65));
    for header in [
        "",
        "x-request-id:\r\n",
        "x-request-id: a b\r\n",
        "x-request-id: a\"b\r\n",
        "x-request-id: é\r\n",
        &long,
    ] {
        for path in ["/v1/nothing", "/v1/documents:batch"] {
            let (id, problem) = id_of(&worker, path, header);
            assert!(
                id.len() < 40 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'),
                "{id}"
            );
            assert_eq!(problem["instance"], format!("urn:pigeonhole:request:{id}"));
            assert!(made.insert(id), "each request has its own");
        }
    }
    let log = stopped(worker);
    let lines: Vec<_> = log.lines().filter(|line| line.contains(kept)).collect();
    assert_eq!(lines.len(), 1, "{log}");
    for part in ["DEBUG", "GET", "route=\"/v1/documents/{id}\"", "status=404", "seconds=0.", "bytes="] {
        assert!(lines[0].contains(part), "{part} in {}", lines[0]);
    }
    assert!(made.iter().all(|id| log.contains(id.as_str())), "{log}");
    assert!(log.contains("route=\"none\"") && log.contains("status=405"), "{log}");
}

/// Each request has a line with machine-readable fields.
#[test]
fn a_log_of_json() {
    let worker = Worker::start("memory:", &["--log-format", "json", "--log-level", "query_worker=debug"]);
    worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT }));
    worker.post_lines("/v1/query:batch", format!("{}\n", json!({ "text": TEXT })).repeat(3).as_bytes());
    let log = stopped(worker);
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_route = |route: &str| lines.iter().find(|line| line["route"] == route).unwrap().clone();
    let inserted = of_route("/v1/documents");
    assert_eq!(
        (&inserted["status"], &inserted["method"], &inserted["level"]),
        (&json!(201), &json!("POST"), &json!("DEBUG"))
    );
    assert!(inserted["span"]["id"].is_string() && inserted["seconds"].is_f64(), "{inserted}");
    // A batch ends with the answer to its last line.
    assert!(of_route("/v1/query:batch")["bytes"].as_u64().unwrap() > 300, "{log}");
}

/// A word stands in every place for client data, in accepted and in refused requests. Ids are not
/// logged either.
#[test]
fn what_clients_say_is_never_logged() {
    const CANARY: &str = "kanarienvogel";
    let worker = Worker::start("memory:", &["--log-level", "trace", "--body-bytes-max", "2000"]);
    let text = format!("{CANARY} {TEXT}");
    let line = json!({ "id": CANARY, "text": text, "source": CANARY }).to_string();
    let long = json!({ "text": CANARY.repeat(500) }).to_string();
    let broken = [
        &line[..line.len() - 1],
        &line.replace('{', "["),
        &line.replace("text", CANARY),
        "\"kanarienvogel\"",
        CANARY,
    ];
    let mut statuses = BTreeSet::new();
    for path in
        ["/v1/documents", "/v1/query", "/v1/analyze", "/v1/compare", "/v1/documents:batch", "/v1/query:batch"]
    {
        let sides = json!({ "a": { "text": text }, "b": { "id": CANARY } }).to_string();
        let bare = json!({ "text": text }).to_string();
        let wrong = json!({ "text": [CANARY], "limit": CANARY, "fingerprint": CANARY }).to_string();
        let invalid = [line.as_bytes(), b"\xff"].concat();
        let bodies = [&line, &long, &sides, &bare, &wrong].map(|body| body.as_bytes());
        for body in bodies.into_iter().chain(broken.map(str::as_bytes)).chain([&invalid[..]]) {
            statuses.insert(worker.post_lines(path, body).0);
        }
    }
    for path in
        [CANARY, "v1/documents/kanarienvogel", "v1/index?kanarienvogel", "v1/documents/kanarienvogel%ff"]
    {
        statuses.insert(worker.get(&format!("/{path}")).0);
        statuses.insert(worker.delete(&format!("/{path}")).0);
    }
    for request in [
        "KANARIENVOGEL / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer kanarienvogel\r\ncookie: kanarienvogel\r\nconnection: close\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-request-id: kanarienvogel!\r\nconnection: close\r\n\r\n",
        "kanarienvogel\r\n\r\n",
        "POST /v1/query HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 30\r\nexpect: kanarienvogel\r\n\r\n{\"text\": \"kanarienvogel vogel\"}",
    ] {
        send(&worker, request.as_bytes());
    }
    for status in [200, 201, 204, 400, 404, 405, 413] {
        assert!(statuses.contains(&status), "{statuses:?}");
    }
    let log = stopped(worker);
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "{log}");
    assert!(!log.to_lowercase().contains(CANARY), "{log}");
}

/// Returns a worker that dropped log lines, because its log was not read.
fn unread() -> Worker {
    let worker = Worker::start("memory:", &["--log-level", "debug", "--log-format", "json"]);
    let client = ureq::agent();
    let n_dropped = || {
        let metrics = worker.get_text("/metrics");
        let line = metrics.lines().find_map(|line| line.strip_prefix("pigeonhole_log_lines_dropped_total "));
        line.unwrap().parse::<u64>().unwrap()
    };
    crate::support::until(|| {
        for _ in 0..200 {
            let request = client.get(format!("{}/healthz", worker.base()));
            assert_eq!(request.header("x-request-id", "a".repeat(64)).call().unwrap().status(), 200);
        }
        n_dropped() > 0
    });
    worker
}

/// Before, the worker stopped, with all its requests, when the pipe was full.
#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let worker = unread();
    assert_eq!(worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT })).0, 201);
    worker.send_stop();
    assert_eq!(worker.wait_unread(), Some(0));
}

#[test]
fn a_log_that_is_read_again_says_what_it_lacks() {
    let mut worker = unread();
    let line: Value = serde_json::from_str(&worker.log_until("were dropped")).unwrap();
    assert!(line["level"] == "WARN" && line["n_dropped"].as_u64() > Some(0), "{line}");
    assert!(stopped(worker).contains("stopped"));
}
