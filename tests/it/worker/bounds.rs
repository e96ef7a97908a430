//! Each documented bound, at the bound and one past it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::{Value, json};

use super::{TEXT, is_problem};
use crate::support::Worker;

/// The most bytes of a request's head.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// The most header lines of a request.
const HEAD_LINES_MAX: usize = 100;

/// The most bytes of a path with its query.
const URI_BYTES_MAX: usize = 16 << 10;

/// Sends bytes in pieces of `piece_bytes`, and returns the status and the body of the last answer.
fn last_answer(worker: &Worker, bytes: &[u8], piece_bytes: usize) -> (u16, Value) {
    let mut connection = TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap();
    connection.set_nodelay(true).unwrap();
    let mut reader = connection.try_clone().unwrap();
    let answers = std::thread::spawn(move || {
        let mut answers = Vec::new();
        // A reset ends the answers, too.
        reader.read_to_end(&mut answers).unwrap_or(0);
        String::from_utf8(answers).unwrap()
    });
    // The worker may answer and close before it has all bytes.
    bytes.chunks(piece_bytes).try_for_each(|piece| connection.write_all(piece)).unwrap_or(());
    connection.shutdown(Shutdown::Write).unwrap_or(());
    let answers = answers.join().unwrap();
    let last = &answers[answers.rfind("HTTP/1.1 ").expect(&answers)..];
    let (head, body) = last.split_once("\r\n\r\n").expect(last);
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap_or(Value::Null))
}

/// Returns a whole request without a body, with a head of `n_bytes`.
fn head_of(n_bytes: usize) -> Vec<u8> {
    let begin = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-long: ";
    let end = "\r\n\r\n";
    format!("{begin}{}{end}", "a".repeat(n_bytes - begin.len() - end.len())).into_bytes()
}

/// Before, a head of 70 KB was accepted: hyper checks its buffer between two reads, and one read
/// may exceed the bound.
#[test]
fn the_bytes_of_a_head() {
    let worker = Worker::start("memory:", &[]);
    let before = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let body = json!({ "text": TEXT }).to_string();
    let with_body =
        format!("POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    for (n_bytes, status) in
        [(HEAD_BYTES_MAX, 200), (HEAD_BYTES_MAX + 1, 431), (70_000, 431), (HEAD_BYTES_MAX + (64 << 10), 431)]
    {
        let head = head_of(n_bytes);
        assert_eq!(head.len(), n_bytes);
        for (before, piece_bytes) in [
            (&b""[..], usize::MAX),
            (b"", 1),
            (b"", 4096),
            // The bytes of another request, or of its body, do not belong to this head.
            (before, usize::MAX),
            (with_body.as_bytes(), usize::MAX),
            (with_body.as_bytes(), 1000),
        ] {
            let answer = last_answer(&worker, &[before, &head].concat(), piece_bytes);
            if status == 200 {
                assert_eq!(answer, (200, json!({ "status": "ok" })), "{n_bytes} in pieces of {piece_bytes}");
            } else {
                is_problem(answer, 431, "head-too-large");
            }
        }
    }
    // The bytes of a later body do not belong to the head, either.
    let mut head = head_of(HEAD_BYTES_MAX);
    let line = b"\r\ncontent-length: 3";
    let at = head.len() - 4;
    head.splice(at - line.len()..at, line.iter().copied());
    assert_eq!(head.len(), HEAD_BYTES_MAX);
    assert_eq!(last_answer(&worker, &[&head[..], b"abc"].concat(), usize::MAX).0, 200);
}

#[test]
fn the_lines_of_a_head() {
    let worker = Worker::start("memory:", &[]);
    for (n_lines, status) in [(HEAD_LINES_MAX, 200), (HEAD_LINES_MAX + 1, 431)] {
        let lines: String = (1..n_lines).map(|n| format!("x-{n}: y\r\n")).collect();
        let request = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{lines}\r\n");
        assert_eq!(last_answer(&worker, request.as_bytes(), usize::MAX).0, status, "{n_lines}");
    }
}

#[test]
fn the_bytes_of_an_address() {
    let worker = Worker::start("memory:", &[]);
    for form in ["", "http://localhost"] {
        for (n_bytes, status, kind) in
            [(URI_BYTES_MAX, 404, "not-found"), (URI_BYTES_MAX + 1, 414, "uri-too-long")]
        {
            for begin in ["/", "/v1?"] {
                let path = format!("{begin}{}", "a".repeat(n_bytes - begin.len()));
                let request = format!("GET {form}{path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
                is_problem(last_answer(&worker, request.as_bytes(), usize::MAX), status, kind);
            }
        }
    }
    // The longest id fits, even if escaped.
    let id = "%41".repeat(4096);
    for path in [format!("/v1/documents/{id}"), format!("/v1/documents/{id}/text")] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let (status, problem) = last_answer(&worker, request.as_bytes(), usize::MAX);
        assert_eq!((status, &problem["type"]), (404, &json!("urn:pigeonhole:problem:no-such-document")));
    }
}

/// Returns a request of JSON with `n_bytes`.
fn json_of(n_bytes: usize) -> String {
    let json = json!({ "text": TEXT }).to_string();
    format!("{json}{}", " ".repeat(n_bytes - json.len()))
}

fn chunked(path: &str, body: &str, chunk_bytes: usize) -> Vec<u8> {
    let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n");
    let mut request = head.into_bytes();
    for chunk in body.as_bytes().chunks(chunk_bytes) {
        request.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        request.extend(chunk);
        request.extend(b"\r\n");
    }
    request.extend(b"0\r\n\r\n");
    request
}

#[test]
fn the_bytes_of_a_body() {
    let worker = Worker::start("memory:", &["--body-bytes-max", "1000"]);
    for (n_bytes, is_good) in [(1000, true), (1001, false)] {
        let body = json_of(n_bytes);
        let mut answers = vec![worker.post_bytes("/v1/query", body.as_bytes())];
        for chunk_bytes in [1, 7, 1000, 1001] {
            answers.push(last_answer(&worker, &chunked("/v1/query", &body, chunk_bytes), usize::MAX));
        }
        for answer in answers {
            if is_good {
                assert_eq!(answer.0, 200);
            } else {
                is_problem(answer, 413, "too-large");
            }
        }
    }
}

#[test]
fn the_bytes_of_all_bodies() {
    for (bodies_bytes_max, status) in [("1000", 200), ("999", 503)] {
        let worker = Worker::start("memory:", &["--bodies-bytes-max", bodies_bytes_max]);
        assert_eq!(worker.post_bytes("/v1/query", json_of(1000).as_bytes()).0, status);
    }
}

#[test]
fn the_bytes_of_a_line() {
    let worker = Worker::start("memory:", &["--body-bytes-max", "1000"]);
    let lines = [json_of(1000), json_of(1001), json_of(1000)].join("\n");
    for path in ["/v1/query:batch", "/v1/documents:batch"] {
        let (_, answers) = worker.post_lines(path, lines.as_bytes());
        assert!(answers[0]["status"].as_u64().unwrap() < 300 && answers[2]["status"] == 200, "{answers:?}");
        is_problem((413, answers[1].clone()), 413, "too-large");
    }
}

#[test]
fn what_a_request_may_ask_for() {
    let worker = Worker::start("memory:", &[]);
    let document = |id: usize, source: usize| json!({ "id": "i".repeat(id), "source": "s".repeat(source), "text": TEXT });
    for (path, at_bound, past) in [
        ("/v1/query", json!({ "text": TEXT, "limit": 1000 }), json!({ "text": TEXT, "limit": 1001 })),
        ("/v1/query", json!({ "text": TEXT, "max_distance": 3 }), json!({ "text": TEXT, "max_distance": 4 })),
        ("/v1/documents", document(4096, 255), document(4097, 255)),
        ("/v1/documents", document(4096, 255), document(4096, 256)),
    ] {
        assert!(worker.post(path, &at_bound).0 < 300, "{path} {at_bound}");
        is_problem(worker.post(path, &past), 400, "bad-request");
    }
    for (n_bytes, is_taken) in [(64, true), (65, false)] {
        let id = "r".repeat(n_bytes);
        let request = format!(
            "POST /v1/query HTTP/1.1\r\nhost: localhost\r\nx-request-id: {id}\r\ncontent-length: 0\r\n\r\n"
        );
        let (_, problem) = last_answer(&worker, request.as_bytes(), usize::MAX);
        assert_eq!(problem["instance"] == format!("urn:pigeonhole:request:{id}"), is_taken, "{problem}");
    }
}
