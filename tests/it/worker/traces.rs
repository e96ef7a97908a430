//! Traces of requests, sent to a collector in the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::TEXT;
use crate::support::{Worker, command, free_ports};

const TRACE: [u8; 16] = [0xa7; 16];
const CALLER: [u8; 8] = [0x5b; 8];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Accepts one request after another, and returns the path and the body of each.
fn collector() -> (String, mpsc::Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (collect, collected) = mpsc::channel();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = BufReader::new(connection.unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(connection.read_line(&mut head).unwrap() > 0, "{head}");
            }
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect(&head);
            let mut body = vec![0; length.parse().unwrap()];
            connection.read_exact(&mut body).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            connection.get_mut().write_all(answer).unwrap();
            collect.send((head.lines().next().unwrap().to_owned(), body)).unwrap_or(());
        }
    });
    (url, collected)
}

#[test]
fn a_request_goes_on_with_the_trace_of_its_caller() {
    let (url, collected) = collector();
    let worker = Worker::start("memory:", &["--otlp-endpoint", &url]);
    let mut connection = TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap();
    let body = json!({ "id": "kanarienvogel", "text": TEXT }).to_string();
    write!(
        connection,
        "POST /v1/documents HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-request-id: the-request\r\n\
         traceparent: 00-{}-{}-01\r\ncontent-length: {}\r\n\r\n{body}",
        hex(&TRACE),
        hex(&CALLER),
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    // The remaining spans are sent at the stop.
    worker.send_stop();
    let (code, log) = worker.wait();
    assert_eq!(code, Some(0), "{log}");
    let (asked, spans) = collected.recv_timeout(Duration::from_secs(60)).expect("spans are sent");
    assert_eq!(asked, "post /v1/traces http/1.1");
    for part in [&TRACE[..], &CALLER, b"the-request", b"POST /v1/documents", b"http.route", b"query-worker"] {
        assert!(contains(&spans, part), "{}", String::from_utf8_lossy(&spans));
    }
    for part in ["ferry", "kanarienvogel"] {
        assert!(!contains(&spans, part.as_bytes()), "what clients say is in no span");
    }
}

/// One collector is absent, and one accepts connections and stays silent.
#[test]
fn a_collector_that_is_away() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let [port] = free_ports();
    let gone = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    for address in [gone, silent.local_addr().unwrap()] {
        let url = format!("http://{address}");
        let args = ["--store", "memory:", "--listen", "127.0.0.1:0", "--otlp-endpoint", &url];
        let mut worker = Worker::start_as(command("query-worker", args).env("OTEL_BSP_SCHEDULE_DELAY", "20"));
        for n in 0..50 {
            assert_eq!(
                worker.post("/v1/documents", &json!({ "id": n.to_string(), "text": TEXT })).0 / 100,
                2
            );
        }
        if address == gone {
            worker.log_until("the collector takes no traces");
            assert_eq!(worker.get("/healthz").0, 200);
        }
        let stopped = Instant::now();
        worker.send_stop();
        let (code, log) = worker.wait();
        assert_eq!(code, Some(0), "{log}");
        assert!(stopped.elapsed() < Duration::from_secs(10), "{:?}", stopped.elapsed());
        assert!(!log.contains("the collector takes no traces"), "it is said once: {log}");
    }
}

#[test]
fn an_address_that_is_none() {
    for url in ["localhost:4318", "https://collector.example", "http://"] {
        let args = ["--store", "memory:", "--otlp-endpoint", url];
        let run = crate::support::run("query-worker", args).expect(2);
        assert!(run.stderr.contains("http://localhost:4318"), "{}", run.stderr);
    }
}
