//! Excessive requests are refused with a named limit, and other clients are unaffected.

use std::io::Write;
use std::net::TcpStream;

use serde_json::json;

use super::{TEXT, is_problem, open_batch};
use crate::support::{Worker, limited};

#[test]
fn a_text_that_is_too_long() {
    let length = TEXT.len().to_string();
    let worker = Worker::start("memory:", &["--text-bytes-max", &length]);
    let long = format!("{TEXT}!");
    let sides = |a: &str, b: &str| json!({ "a": { "text": a }, "b": { "text": b } });
    for (path, fits, is_too_long) in [
        ("/v1/query", json!({ "text": TEXT }), json!({ "text": long })),
        ("/v1/documents", json!({ "text": TEXT }), json!({ "text": long })),
        ("/v1/analyze", json!({ "text": TEXT }), json!({ "text": long })),
        ("/v1/compare", sides(TEXT, TEXT), sides(TEXT, &long)),
        ("/v1/compare", sides(TEXT, TEXT), sides(&long, TEXT)),
    ] {
        assert!(worker.post(path, &fits).0 < 300, "{path}");
        is_problem(worker.post(path, &is_too_long), 413, "text-too-long");
    }
    for path in ["/v1/query:batch", "/v1/documents:batch"] {
        let lines = format!("{}\n{}\n", json!({ "text": long }), json!({ "text": TEXT }));
        let (_, answers) = worker.post_lines(path, lines.as_bytes());
        is_problem((413, answers[0].clone()), 413, "text-too-long");
        assert_eq!(answers[1]["status"], 200);
    }
}

/// One character of these becomes eighteen. Before, sixty such requests took 4 GB, and continued
/// after their clients had left.
#[test]
fn what_a_text_grows_to_is_counted() {
    const N_REQUESTS: usize = 24;
    let worker = Worker::start("memory:", &[]);
    let text = "\u{fdfa}".repeat((1 << 20) / 3);
    let body =
        json!({ "a": { "text": text }, "b": { "text": text.replacen('\u{fdfa}', "x", 1) } }).to_string();
    for _ in 0..N_REQUESTS {
        let mut client = TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap();
        let length = body.len();
        write!(
            client,
            "POST /v1/compare HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
    }
    // All requests were taken, and have ended.
    let gone = format!("route=\"/v1/compare\",method=\"POST\",status=\"gone\"}} {N_REQUESTS}");
    crate::support::until(|| worker.get_text("/metrics").contains(&gone));
    let status = std::fs::read_to_string(format!("/proc/{}/status", worker.id())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let most_kb: u64 = most.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(most_kb < 900 << 10, "{most_kb} kB");
    assert_eq!(worker.post("/v1/query", &json!({ "text": TEXT })).0, 200);
}

/// Before, the allocator ended the process.
#[test]
fn work_that_would_take_more_memory_than_there_is() {
    let args = ["--store", "memory:", "--listen", "127.0.0.1:0"];
    let mut command = limited("-d 60000", "query-worker", &args);
    // Each thread has a stack, on a machine of many cores too.
    let worker = Worker::start_as(command.env("TOKIO_WORKER_THREADS", "2"));
    let text: String = (0..80_000).map(|n| format!("ferry {n} ")).collect();
    let sides = json!({ "a": { "text": text }, "b": { "text": format!("{text} leaves") } });
    let (status, problem) = worker.post("/v1/compare", &sides);
    assert!(problem["detail"].as_str().unwrap().contains("(ulimit -d)"), "{problem}");
    is_problem((status, problem), 503, "busy");
    assert_eq!(worker.post("/v1/query", &json!({ "text": TEXT })).0, 200);
}

#[test]
fn a_batch_of_too_many_lines() {
    let worker = Worker::start("memory:", &["--batch-lines-max", "3"]);
    let line = json!({ "text": TEXT }).to_string();
    for (lines, n_answers) in [
        ([&*line; 3].join("\n"), 3),
        ([&*line; 3].join("\n") + "\n", 3),
        ([&*line; 4].join("\n"), 4),
        (vec![&*line; 100].join("\n") + "\n", 4),
        // Blank lines are lines, and hold a batch's place as well.
        ("\n".repeat(10), 1),
    ] {
        let (status, answers) = worker.post_lines("/v1/query:batch", lines.as_bytes());
        assert_eq!((status, answers.len()), (200, n_answers), "{answers:?}");
        let last = answers.last().unwrap().clone();
        if n_answers == 3 {
            assert_eq!(last["status"], 200);
        } else {
            assert_eq!(last["line"], 4);
            is_problem((413, last), 413, "too-many-lines");
        }
    }
}

/// Batches have separate places: with all taken, single requests are answered, and another batch is
/// refused.
#[test]
fn batches_do_not_take_the_place_of_requests() {
    let worker = Worker::start("memory:", &["--batches-max", "1", "--requests-max", "1"]);
    let mut batch = open_batch(&worker, "");
    let other = || worker.post_bytes("/v1/query:batch", b"");
    is_problem(other(), 503, "busy");
    assert_eq!(worker.post("/v1/query", &json!({ "text": TEXT })).0, 200);
    batch.get_mut().write_all(b"0\r\n\r\n").unwrap();
    crate::support::until(|| other().0 == 200);
}

#[test]
fn more_of_bodies_than_there_is_room_for() {
    let worker = Worker::start("memory:", &["--bodies-bytes-max", "300"]);
    assert_eq!(worker.post("/v1/query", &json!({ "text": TEXT })).0, 200);
    is_problem(worker.post("/v1/query", &json!({ "text": TEXT.repeat(2) })), 503, "busy");
    assert_eq!(worker.post("/v1/query", &json!({ "text": TEXT })).0, 200);
}

#[test]
fn limits_that_are_none() {
    for (flag, value) in
        [("--requests-max", "0"), ("--idle-seconds-max", "0"), ("--body-seconds-max", "1e300")]
    {
        let run = crate::support::run("query-worker", ["--store", "memory:", flag, value]).expect(2);
        assert!(run.stderr.contains(flag), "{}", run.stderr);
    }
}
