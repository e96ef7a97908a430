//! Stops: requests under way are answered, and their answers are true.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::{TEXT, is_problem};
use crate::support::{Random, Worker};

fn connect(worker: &Worker) -> TcpStream {
    TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap()
}

fn post(path: &str, body: &Value) -> String {
    let body = body.to_string();
    format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Reads the head and the body of an answer; `None` if the connection ends before the first byte.
fn answer(connection: &mut impl BufRead) -> Option<(String, Value)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        match connection.read_line(&mut head) {
            Ok(1..) => {}
            _ if head.is_empty() => return None,
            _ => panic!("the answer broke off: {head:?}"),
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect(&head);
    let mut body = vec![0; length.parse().unwrap()];
    connection.read_exact(&mut body).expect("the answer broke off");
    Some((head, serde_json::from_slice(&body).unwrap()))
}

/// Clients post one document after another over connections that stay open, and the stop comes in
/// between. No answer breaks off, the process ends in order, and every acknowledged document is
/// there.
#[test]
fn a_stop_under_load() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let mut worker = Worker::start(&store, &["--requests-max", "4"]);
    let acknowledged = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for client in 0..16 {
            let (acknowledged, mut to) = (&acknowledged, connect(&worker));
            scope.spawn(move || {
                let mut from = BufReader::new(to.try_clone().unwrap());
                let mut random = Random(client);
                for n in 0.. {
                    let text: String = (0..20).map(|_| format!("{:x} ", random.next())).collect();
                    let id = format!("{client}-{n}");
                    let request = post("/v1/documents", &json!({ "id": id, "text": text }));
                    if to.write_all(request.as_bytes()).is_err() {
                        return;
                    }
                    let Some((head, inserted)) = answer(&mut from) else { return };
                    assert!(head.starts_with("HTTP/1.1 201"), "{head}{inserted}");
                    acknowledged.lock().unwrap().push(id);
                    if head.contains("connection: close") {
                        return;
                    }
                }
            });
        }
        crate::support::until(|| acknowledged.lock().unwrap().len() >= 500);
        worker.send_stop();
        worker.log_until("stopping");
    });
    let (code, log) = worker.wait();
    assert_eq!(code, Some(0), "{log}");
    let worker = Worker::start(&store, &[]);
    for id in acknowledged.into_inner().unwrap() {
        assert_eq!(worker.get(&format!("/v1/documents/{id}")).0, 200, "{id} was acknowledged");
    }
}

/// A draining worker answers, but reports that it is not ready. A second signal ends the drain.
#[test]
fn a_stop_that_drains_and_a_second_one() {
    let mut worker = Worker::start("memory:", &["--drain-seconds", "600"]);
    assert_eq!(worker.get("/readyz").0, 200);
    worker.send_stop();
    worker.log_until("stopping");
    crate::support::until(|| worker.get("/readyz").0 == 503);
    is_problem(worker.get("/readyz"), 503, "stopping");
    assert_eq!(worker.get("/healthz").0, 200);
    let mut connection = connect(&worker);
    connection.write_all(post("/v1/documents", &json!({ "text": TEXT })).as_bytes()).unwrap();
    let (head, _) = answer(&mut BufReader::new(connection)).unwrap();
    assert!(head.starts_with("HTTP/1.1 201") && head.contains("connection: close"), "{head}");
    worker.send_stop();
    let (code, log) = worker.wait();
    assert_eq!(code, Some(2), "{log}");
    assert!(log.contains("told twice"), "{log}");
    assert!(!log.contains("route=\"/readyz\""), "that is no failure: {log}");
}

/// Like a probe of the port, which sends `GET /hea` and waits. The process ends in order all the
/// same.
#[test]
fn a_stop_does_not_answer_half_a_head() {
    let mut worker = Worker::start("memory:", &["--grace-seconds", "1"]);
    let mut probe = connect(&worker);
    probe.write_all(b"GET /hea").unwrap();
    // Accepted after the probe, and so read after it.
    assert_eq!(worker.get("/healthz").0, 200);
    worker.send_stop();
    worker.log_until("stopping");
    let (code, log) = worker.wait();
    assert_eq!(code, Some(0), "{log}");
}

/// Before, the signal ended the process if no file could be read again.
#[test]
fn a_hang_up_is_no_stop() {
    let mut worker = Worker::start("memory:", &[]);
    worker.send_hang_up();
    worker.log_until("told by SIGHUP");
    assert_eq!(worker.get("/healthz").0, 200);
    worker.send_stop();
    let (code, log) = worker.wait();
    assert_eq!(code, Some(0), "{log}");
}

/// An endless batch is ended between two lines, and its client knows between which.
#[test]
fn a_stop_ends_a_batch() {
    let mut worker = Worker::start("memory:", &["--grace-seconds", "0"]);
    let mut to = connect(&worker);
    let mut from = BufReader::new(to.try_clone().unwrap());
    to.write_all(
        b"POST /v1/documents:batch HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n",
    )
    .unwrap();
    let line = format!("{}\n", json!({ "text": TEXT }));
    write!(to, "{:x}\r\n{line}\r\n", line.len()).unwrap();
    let mut last = String::new();
    while !last.starts_with('{') {
        last.clear();
        assert!(from.read_line(&mut last).unwrap() > 0, "the worker hung up");
    }
    worker.send_stop();
    worker.log_until("stopping");
    let mut rest = String::new();
    from.read_to_string(&mut rest).unwrap();
    let problem = rest.lines().find(|line| line.starts_with('{')).expect(&rest);
    let problem: Value = serde_json::from_str(problem).unwrap();
    assert_eq!(problem["line"], 2);
    is_problem((503, problem), 503, "stopping");
    let (code, log) = worker.wait();
    assert_eq!(code, Some(0), "{log}");
}
