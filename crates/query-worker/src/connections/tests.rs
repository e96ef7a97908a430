//! One connection over a pipe, with a paused clock that advances while nothing happens.

use axum::routing::get;
use clap::Parser;
use tokio::io::DuplexStream;
use tokio::time::{Instant, sleep};

use super::*;
use crate::config::Config;
use crate::request::Client;

/// Capacity of a pipe.
const PIPE_BYTES: usize = 1024;

const LONG_ANSWER_BYTES: usize = 1 << 20;

/// Serves one end of a pipe with the default limits; returns the other, the stage, and the served
/// end's task.
fn begin() -> (DuplexStream, watch::Sender<Stage>, tokio::task::JoinHandle<Instant>) {
    begin_with(Turns::seated(&Arc::default()))
}

fn begin_with(turns: Arc<Turns>) -> (DuplexStream, watch::Sender<Stage>, tokio::task::JoinHandle<Instant>) {
    let (client, stream) = tokio::io::duplex(PIPE_BYTES);
    let router = Router::new()
        .route("/", get(async || "soon"))
        .route("/late", get(async || sleep(Duration::from_secs(1000)).await))
        .route(
            "/heavy",
            get(async |request: Request<Body>| {
                let client: &Client = request.extensions().get().unwrap();
                client.ends_the_work();
                sleep(Duration::from_secs(1000)).await;
            }),
        )
        .route("/long", get(async || vec![b'x'; LONG_ANSWER_BYTES]));
    let stage = watch::Sender::new(Stage::Serving);
    let limits = Config::parse_from(["query-worker"]).limits;
    let metrics = Arc::new(Metrics::new());
    let served = serve(stream, http(), router, &limits, stage.subscribe(), metrics, turns);
    let ended = tokio::spawn(async move {
        served.await;
        Instant::now()
    });
    (client, stage, ended)
}

/// Reads an answer to the end of its head and of a body that ends with `end`.
async fn answer(client: &mut DuplexStream, end: &str) -> String {
    let mut answer = Vec::new();
    while !answer.ends_with(end.as_bytes()) {
        answer.push(client.read_u8().await.unwrap());
    }
    String::from_utf8(answer).unwrap()
}

fn seconds(from: Instant, to: Instant) -> u64 {
    (to - from).as_secs()
}

#[tokio::test(start_paused = true)]
async fn a_head_in_trickles() {
    let (mut client, _stage, ended) = begin();
    sleep(Duration::from_secs(30)).await;
    let begun = Instant::now();
    client.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    // Each byte follows the previous one soon, but the head never ends.
    while client.write_all(b"x").await.is_ok() {
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(seconds(begun, ended.await.unwrap()), 10);
}

#[tokio::test(start_paused = true)]
async fn silence() {
    let (_client, _stage, ended) = begin();
    let begun = Instant::now();
    assert_eq!(seconds(begun, ended.await.unwrap()), 60);
}

/// The time of a request is no silence, and the silence after it counts from its end.
#[tokio::test(start_paused = true)]
async fn silence_after_an_answer() {
    let (mut client, _stage, ended) = begin();
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    answer(&mut client, "soon").await;
    sleep(Duration::from_secs(50)).await;
    client.write_all(b"GET /late HTTP/1.1\r\n\r\n").await.unwrap();
    let begun = Instant::now();
    answer(&mut client, "\r\n\r\n").await;
    assert_eq!(seconds(begun, Instant::now()), 1000);
    assert_eq!(seconds(begun, ended.await.unwrap()), 1060);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_read() {
    let (mut client, _stage, ended) = begin();
    let begun = Instant::now();
    client.write_all(b"GET /long HTTP/1.1\r\n\r\n").await.unwrap();
    assert_eq!(seconds(begun, ended.await.unwrap()), 10);
}

/// The client reads all the time, but so little that the answer would take hours.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_read_in_sips() {
    let (mut client, _stage, ended) = begin();
    let begun = Instant::now();
    client.write_all(b"GET /long HTTP/1.1\r\n\r\n").await.unwrap();
    let mut n_read = 0;
    while let Ok(1..) = client.read(&mut [0; 100]).await {
        n_read += 100;
        sleep(Duration::from_secs(1)).await;
    }
    assert!(n_read < 10 * PIPE_BYTES, "{n_read} bytes");
    assert_eq!(seconds(begun, ended.await.unwrap()), 10);
}

/// Slow, but not too slow: longer than the time for one piece, again and again.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_read_slowly() {
    let (mut client, _stage, _ended) = begin();
    client.write_all(b"GET /long HTTP/1.1\r\n\r\n").await.unwrap();
    let mut n_read = 0;
    while n_read < LONG_ANSWER_BYTES {
        let n = client.read(&mut [0; PIPE_BYTES]).await.unwrap();
        assert!(n > 0, "cut off after {n_read} bytes");
        n_read += n;
        sleep(Duration::from_millis(100)).await;
    }
}

/// A connection that waits for its client ends at once; one under way answers first.
#[tokio::test(start_paused = true)]
async fn one_that_makes_place() {
    for (sent, n_answers, n_seconds) in [
        ("", 0, 0),
        ("GET / HTTP/1.1\r\n\r\n", 1, 0),
        ("GET /late HTTP/1.1\r\n\r\n", 1, 999),
        ("GET / HTTP/1.1\r\n\r\nGET /late HTTP/1.1\r\n\r\n", 2, 999),
    ] {
        let turns = Turns::seated(&Arc::default());
        let (mut client, _stage, ended) = begin_with(Arc::clone(&turns));
        client.write_all(sent.as_bytes()).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        let begun = Instant::now();
        turns.call();
        let mut answers = String::new();
        client.read_to_string(&mut answers).await.unwrap();
        assert_eq!(answers.matches("HTTP/1.1 200").count(), n_answers, "{answers}");
        assert_eq!(seconds(begun, ended.await.unwrap()), n_seconds, "{sent}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_closes_what_is_idle() {
    let (mut client, stage, ended) = begin();
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let kept = answer(&mut client, "soon").await;
    assert!(!kept.contains("connection: close"), "{kept}");
    let begun = Instant::now();
    stage.send_replace(Stage::Stopping);
    assert_eq!(seconds(begun, ended.await.unwrap()), 0);
}

/// Regression: clients that open a connection for each request lost some of those on their way at a
/// stop.
#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_what_is_on_its_way() {
    let (mut client, stage, ended) = begin();
    stage.send_replace(Stage::Stopping);
    sleep(FIRST_BYTE_WAIT_MAX - Duration::from_millis(1)).await;
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut last = String::new();
    client.read_to_string(&mut last).await.unwrap();
    assert!(last.contains("200 OK") && last.contains("connection: close"), "{last}");
    ended.await.unwrap();
}

/// The wait is bounded, and is none after the grace period.
#[tokio::test(start_paused = true)]
async fn a_stop_closes_what_sends_nothing() {
    for (last, wait) in [(Stage::Stopping, FIRST_BYTE_WAIT_MAX), (Stage::Ending, Duration::ZERO)] {
        let (_client, stage, ended) = begin();
        sleep(Duration::from_secs(1)).await;
        let begun = Instant::now();
        stage.send_replace(last);
        let took = ended.await.unwrap() - begun;
        // Timers are a millisecond coarse.
        assert!(took >= wait && took <= wait + Duration::from_millis(1), "{took:?}");
    }
}

/// As a probe of the port leaves it. Regression: such a head held the worker beyond its grace
/// period.
#[tokio::test(start_paused = true)]
async fn a_head_that_is_not_finished_in_the_grace() {
    let (mut client, stage, ended) = begin();
    client.write_all(b"GET /hea").await.unwrap();
    sleep(Duration::from_secs(1)).await;
    stage.send_replace(Stage::Stopping);
    sleep(Duration::from_secs(5)).await;
    assert!(!ended.is_finished());
    let begun = Instant::now();
    stage.send_replace(Stage::Ending);
    // Bytes that a client sends after the end are read for a second.
    assert!(seconds(begun, ended.await.unwrap()) <= 1);
}

/// A request of which a part has been read is answered, as the last of its connection.
#[tokio::test(start_paused = true)]
async fn a_stop_answers_what_has_begun() {
    let (mut client, stage, ended) = begin();
    client.write_all(b"GET / HT").await.unwrap();
    sleep(Duration::from_secs(1)).await;
    stage.send_replace(Stage::Stopping);
    sleep(Duration::from_secs(1)).await;
    client.write_all(b"TP/1.1\r\n\r\n").await.unwrap();
    let mut last = String::new();
    client.read_to_string(&mut last).await.unwrap();
    assert!(last.contains("200 OK") && last.contains("connection: close"), "{last}");
    ended.await.unwrap();
}

/// The head of this answer, which keeps the connection open, was sent before the stop.
#[tokio::test(start_paused = true)]
async fn a_stop_in_the_middle_of_an_answer() {
    let (mut client, stage, ended) = begin();
    client.write_all(b"GET /long HTTP/1.1\r\n\r\n").await.unwrap();
    let head = answer(&mut client, "\r\n\r\n").await;
    let begun = Instant::now();
    stage.send_replace(Stage::Stopping);
    let mut body = Vec::new();
    client.read_to_end(&mut body).await.unwrap();
    assert!(!head.contains("connection: close") && body.len() == LONG_ANSWER_BYTES, "{head}");
    assert_eq!(seconds(begun, ended.await.unwrap()), 0);
}

/// As `nc -N` does after a request.
#[tokio::test(start_paused = true)]
async fn a_client_that_has_no_more_to_ask() {
    let (mut client, _stage, ended) = begin();
    let begun = Instant::now();
    client.write_all(b"GET / HTTP/1.1\r\n\r\nGET /late HTTP/1.1\r\n\r\n").await.unwrap();
    client.shutdown().await.unwrap();
    let mut answers = String::new();
    client.read_to_string(&mut answers).await.unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
    // The connection ends right after the last answer.
    assert_eq!(seconds(begun, ended.await.unwrap()), 1000);
}

/// Looks like the client of the test before until a write fails.
#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away() {
    let (mut client, _stage, ended) = begin();
    let begun = Instant::now();
    client.write_all(b"GET /late HTTP/1.1\r\n\r\n").await.unwrap();
    drop(client);
    assert_eq!(seconds(begun, ended.await.unwrap()), 1000);
}

/// Work for a client that has left would keep out others.
#[tokio::test(start_paused = true)]
async fn heavy_work_ends_with_its_client() {
    for is_half in [true, false] {
        let (mut client, _stage, ended) = begin();
        let begun = Instant::now();
        client.write_all(b"GET /heavy HTTP/1.1\r\n\r\n").await.unwrap();
        sleep(Duration::from_secs(10)).await;
        if is_half {
            client.shutdown().await.unwrap();
        } else {
            drop(client);
        }
        assert_eq!(seconds(begun, ended.await.unwrap()), 10);
    }
}

/// Half a head is no reason to keep a place that others wait for.
#[tokio::test(start_paused = true)]
async fn half_a_head_makes_place() {
    let turns = Turns::seated(&Arc::default());
    let (mut client, _stage, ended) = begin_with(Arc::clone(&turns));
    client.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let begun = Instant::now();
    turns.call();
    assert_eq!((ended.await.unwrap() - begun).as_millis(), 500);
}

/// A refusal of hyper itself becomes a problem, also after an answer on the same connection, and
/// whole however little the client takes at once.
#[tokio::test(start_paused = true)]
async fn what_is_no_request() {
    for before in ["", "GET / HTTP/1.1\r\n\r\n", "GET /long HTTP/1.1\r\n\r\n"] {
        let (mut client, _stage, ended) = begin();
        client.write_all(before.as_bytes()).await.unwrap();
        client.write_all(b"no request\r\n\r\n").await.unwrap();
        let mut said = String::new();
        client.read_to_string(&mut said).await.unwrap();
        ended.await.unwrap();
        let (answers, refusal) = said.split_at(said.rfind("HTTP/1.1 4").unwrap());
        assert_eq!(answers.matches("HTTP/1.1 200").count(), usize::from(!before.is_empty()), "{answers}");
        let (head, body) = refusal.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 400 ") && head.contains("connection: close"), "{head}");
        let id = head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).expect(head);
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(problem["type"], "urn:pigeonhole:problem:not-http");
        assert_eq!(problem["instance"], format!("urn:pigeonhole:request:{id}"));
    }
}

/// hyper would close without a word.
#[tokio::test(start_paused = true)]
async fn http2_is_told_that_it_is_not_spoken() {
    let (mut client, _stage, ended) = begin();
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut said = String::new();
    client.read_to_string(&mut said).await.unwrap();
    ended.await.unwrap();
    assert!(said.starts_with("HTTP/1.1 400 ") && said.contains("for HTTP/2 put a proxy before"), "{said}");
}
