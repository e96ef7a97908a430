//! Connections: more than the worker has places for, and slow clients. Tests beside the code check
//! the times, with a clock that does not wait.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use serde_json::{Value, json};

use super::keys::{add_key, key_file};
use super::{TEXT, open_batch};
use crate::support::Worker;

fn connect(worker: &Worker) -> TcpStream {
    TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap()
}

/// Returns the bytes until the worker closes the connection.
fn rest(mut connection: &TcpStream) -> String {
    let mut rest = Vec::new();
    // A reset ends the bytes, too.
    connection.read_to_end(&mut rest).unwrap_or(0);
    String::from_utf8(rest).unwrap()
}

#[test]
fn one_connection_too_many() {
    let worker = Worker::start("memory:", &["--connections-max", "2"]);
    // Connections with a request under way are not closed to make room.
    let open = [(); 2].map(|()| open_batch(&worker, ""));
    let refused = connect(&worker);
    (&refused).write_all(b"GET /v1/index HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let answer = rest(&refused);
    let (head, body) = answer.split_once("\r\n\r\n").expect(&answer);
    assert!(head.starts_with("HTTP/1.1 503 ") && head.contains("retry-after: 1"), "{answer}");
    let problem = (503, serde_json::from_str(body).unwrap());
    super::is_problem(problem, 503, "too-many-connections");
    // A closed connection frees its place.
    open[0].get_ref().shutdown(Shutdown::Both).unwrap();
    crate::support::until(|| {
        let next = connect(&worker);
        (&next).write_all(b"GET /v1/index HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        rest(&next).starts_with("HTTP/1.1 200")
    });
}

/// A flooded worker does not seem dead: incomplete heads hold all places, and more wait.
#[test]
fn probes_have_places_of_their_own() {
    let worker = Worker::start("memory:", &["--connections-max", "2"]);
    let _under_way = [(); 2].map(|()| open_batch(&worker, ""));
    let half = |_| {
        let half = connect(&worker);
        (&half).write_all(b"GET /heal").unwrap();
        half
    };
    let _halves: Vec<TcpStream> = (0..600).map(half).collect();
    for (method, path) in [("GET", "/healthz"), ("GET", "/readyz"), ("HEAD", "/readyz")] {
        for _ in 0..10 {
            let probe = connect(&worker);
            write!(&probe, "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
                .unwrap();
            let answer = rest(&probe);
            assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer:?}");
        }
    }
}

/// These bytes are no request, and still get the usual error: with a body, an id and a count.
#[test]
fn what_is_no_request_is_a_problem() {
    let worker = Worker::start("memory:", &["--log-level", "debug"]);
    // hyper checks the bound between two reads.
    let long = "a".repeat(1 << 20);
    let many_lines: String = (0..101).map(|n| format!("x-{n}: y\r\n")).collect();
    let mut ids = Vec::new();
    for (request, status, kind) in [
        ("\x16\x03\x01 junk\r\n\r\n", 400, "not-http"),
        ("GET / HTTP/9.9\r\n\r\n", 400, "not-http"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "not-http"),
        ("GET / HTTP/1.1\r\nhost: localhost\r\nno header\r\n\r\n", 400, "not-http"),
        (
            &format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-long: {long}\r\n\r\n"),
            431,
            "head-too-large",
        ),
        (&format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{many_lines}\r\n"), 431, "head-too-large"),
        (&format!("GET /{long} HTTP/1.1\r\nhost: localhost\r\n\r\n"), 431, "head-too-large"),
    ] {
        let connection = connect(&worker);
        // The worker may answer before it has all bytes.
        (&connection).write_all(request.as_bytes()).unwrap_or(());
        let answer = rest(&connection);
        let (head, body) = answer.split_once("\r\n\r\n").expect(&answer);
        assert!(head.contains("content-type: application/problem+json"), "{head}");
        let id = head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).expect(head);
        let problem: Value = serde_json::from_str(body).unwrap();
        assert_eq!(problem["instance"], format!("urn:pigeonhole:request:{id}"));
        ids.push(id.to_owned());
        super::is_problem((status, problem), status, kind);
    }
    let metrics = worker.get_text("/metrics");
    for line in ["status=\"400\"} 4", "status=\"431\"} 3"] {
        let line = format!("pigeonhole_requests_total{{route=\"none\",method=\"none\",{line}");
        assert!(metrics.contains(&line), "{line}\n{metrics}");
    }
    worker.send_stop();
    let (_, log) = worker.wait();
    for id in ids {
        assert_eq!(
            log.lines().filter(|line| line.contains(&id) && line.contains("refused")).count(),
            1,
            "{log}"
        );
    }
}

/// Pages of a site whose name resolves to this machine use that name as host. A client with a key
/// knows the worker that it calls.
#[test]
fn by_what_name_the_worker_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    add_key(&file, "a", "read", "");
    let keys = ["--keys", file.to_str().unwrap()];
    let names = ["--allowed-host", "a.example", "--allowed-host", "b.example"];
    let workers = [&[][..], &names, &keys].map(|more| Worker::start("memory:", more));
    for (host, expected) in [
        ("host: localhost:8080\r\n", [200, 200, 200]),
        ("host: 127.0.0.1\r\n", [200, 200, 200]),
        ("host: b.example\r\n", [421, 200, 200]),
        ("host: evil.example\r\n", [421, 421, 200]),
        ("", [400, 400, 400]),
        ("host: localhost\r\nhost: localhost\r\n", [400, 400, 400]),
    ] {
        for (worker, expected) in workers.iter().zip(expected) {
            let connection = connect(worker);
            write!(&connection, "GET /healthz HTTP/1.1\r\n{host}connection: close\r\n\r\n").unwrap();
            let answer = rest(&connection);
            assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{host:?} {answer}");
            assert!(expected != 421 || answer.contains("--allowed-host"), "{answer}");
        }
    }
}

/// Like `nc -N` after a request.
#[test]
fn a_client_that_has_no_more_to_ask() {
    let worker = Worker::start("memory:", &[]);
    let connection = connect(&worker);
    (&connection).write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    connection.shutdown(Shutdown::Write).unwrap();
    assert!(rest(&connection).starts_with("HTTP/1.1 200"));
}

/// Each client sends bytes all the time, and never a complete request. Another client is answered
/// meanwhile.
#[test]
fn clients_that_trickle_are_given_up() {
    let limits = ["--header-seconds-max", "0.3", "--body-seconds-max", "0.3", "--requests-max", "2"];
    let worker = Worker::start("memory:", &limits);
    let body = "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n{";
    let batch = "POST /v1/query:batch HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n{";
    for (begins, ends) in [("GET /heal", ""), (body, "too-slow"), (batch, "too-slow")] {
        let mut connection = connect(&worker);
        connection.write_all(begins.as_bytes()).unwrap();
        let mut reader = connection.try_clone().unwrap();
        let answer = std::thread::spawn(move || {
            let mut answer = Vec::new();
            reader.read_to_end(&mut answer).unwrap_or(0);
            String::from_utf8(answer).unwrap()
        });
        let begun = Instant::now();
        while begun.elapsed().as_secs() < 120 && !answer.is_finished() {
            assert_eq!(worker.post("/v1/query", &json!({ "text": TEXT })).0, 200);
            // The connection may be closed by now.
            connection.write_all(b"x").unwrap_or(());
        }
        assert!(answer.is_finished(), "{begins:?} was waited for");
        let answer = answer.join().unwrap();
        assert!(answer.contains(ends) && answer.is_empty() == ends.is_empty(), "{answer}");
    }
}
