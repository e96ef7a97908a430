//! A worker over a failing store: clients receive problems, and the worker goes on.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::thread;
use std::time::Duration;

use clap::Parser;
use engine::Engine;
use features::{Dictionaries, Recipe};
use index::testsuite::FailAt;
use index::{Index, MemoryStore, OpenOptions};
use query_worker::config::Config;
use query_worker::server::{self, Service};
use query_worker::worker::Worker;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

const TEXT: &str = "The ferry terminal on the east side of the harbour reopened on Monday after repairs.";

/// Number of store calls that opening the index makes, before the first request.
const N_CALLS_TO_OPEN: u64 = 2;

/// Starts a worker whose store fails at the `n`-th call of requests, runs `ask` with the worker's
/// base URL, and stops the worker.
fn with_failing(n: u64, ask: impl FnOnce(&str)) {
    let store = FailAt::before(Box::new(MemoryStore::new()), N_CALLS_TO_OPEN + n);
    let options = OpenOptions { recipe_default: Recipe::default().fields(), ..OpenOptions::default() };
    let index = Index::over(Box::new(store), &options).unwrap();
    let config = Config::parse_from(["query-worker", "--requests-max", "4", "--body-bytes-max", "10000"]);
    let engine = Engine::over(index, &Dictionaries::default()).unwrap();
    let worker = Worker::over(engine, &"memory:".parse().unwrap(), config.limits);
    let (stop, stopped) = oneshot::channel::<()>();
    let (address, listening) = std::sync::mpsc::channel();
    let served = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            address.send(listener.local_addr().unwrap()).unwrap();
            let stop = async { stopped.await.unwrap() };
            server::serve(
                listener,
                worker,
                Service { grace: Duration::from_secs(10), ..Service::default() },
                stop,
            )
            .await
            .unwrap();
        });
    });
    ask(&format!("http://{}", listening.recv().unwrap()));
    stop.send(()).unwrap();
    served.join().unwrap();
}

/// Returns the status and the body of an answer; keeps no connection.
fn ask(method: &str, url: &str, body: &Value) -> (u16, Value) {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).max_idle_connections(0).build().into();
    let answer = match method {
        "GET" => agent.get(url).call(),
        "DELETE" => agent.delete(url).call(),
        _ => agent.post(url).send(body.to_string()),
    };
    let mut answer = answer.unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// A search with matches calls the store twice: for the near documents, and for their records.
#[test]
fn a_search_that_breaks_off_half_way() {
    with_failing(3, |base| {
        let document = json!({ "id": "a", "text": TEXT });
        assert_eq!(ask("POST", &format!("{base}/v1/documents"), &document).0, 201);
        let url = format!("{base}/v1/query");
        assert_eq!(ask("POST", &url, &json!({ "text": TEXT })).0, 503);
        assert_eq!(ask("POST", &url, &json!({ "text": TEXT })).0, 200);
    });
}

/// The failure is the answer to the lines that it met; the other lines, in calls of their own, go
/// on.
#[test]
fn a_batch_over_a_store_that_fails_once() {
    let line = |n: usize| json!({ "id": n.to_string(), "text": format!("{TEXT} {n}") });
    let lines: String = (0..3000).map(|n| format!("{}\n", line(n))).collect();
    with_failing(1, |base| {
        let url = format!("{base}/v1/documents:batch");
        let mut answer = ureq::post(&url).send(&lines).unwrap();
        let answers = answer.body_mut().read_to_string().unwrap();
        let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(
            answers
                .iter()
                .map(|answer| &answer["line"])
                .eq(&(1..=3000).map(|n| json!(n)).collect::<Vec<_>>())
        );
        let failed = answers.iter().take_while(|answer| answer["status"] == 503).count();
        assert!((1..=1024).contains(&failed), "{failed} lines met the failure");
        assert!(answers[failed..].iter().all(|answer| answer["status"].as_u64().unwrap() < 300));
    });
}

#[test]
fn a_store_that_fails_once_is_a_problem_once() {
    for (method, path, body, then) in [
        ("POST", "/v1/query", json!({ "text": TEXT }), 200),
        ("POST", "/v1/documents", json!({ "id": "a", "text": TEXT }), 201),
        ("POST", "/v1/compare", json!({ "a": { "id": "a" }, "b": { "text": TEXT } }), 404),
        ("GET", "/v1/documents/a", json!(null), 404),
        ("DELETE", "/v1/documents/a", json!(null), 404),
        ("GET", "/v1/index", json!(null), 200),
        ("GET", "/readyz", json!(null), 200),
    ] {
        with_failing(1, |base| {
            let url = format!("{base}{path}");
            assert_eq!(ask("GET", &format!("{base}/healthz"), &json!(null)).0, 200);
            let (status, problem) = ask(method, &url, &body);
            assert_eq!(status, 503, "{method} {path} {problem}");
            assert_eq!(problem["type"], "urn:pigeonhole:problem:store-unavailable");
            assert!(problem["detail"].as_str().unwrap().contains("may succeed later"), "{problem}");
            assert_eq!(ask(method, &url, &body).0, then, "{method} {path}");
        });
    }
}
