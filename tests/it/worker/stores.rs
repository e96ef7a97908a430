//! The worker and its store: the store goes away and comes back, and other workers use it too.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{TEXT, is_problem};
use crate::hbase::{create, url};
use crate::support::{DURABLE, Door, Random, Redis, Worker, command, hbase, redis, run, until_within};

/// `--store-wait-seconds` of these tests, which bounds the time of an answer that reports the store
/// as away. `ANSWER_MAX` leaves more for a busy machine.
const WAIT: &str = "1";
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// The time limit for a worker to find its store again.
const BACK_MAX: Duration = Duration::from_secs(60);

/// Returns seven words that no other number has.
fn text(number: u64) -> String {
    let mut random = Random(number);
    (0..7).map(|_| format!("{:x} ", random.next())).collect()
}

fn insert(worker: &Worker, number: u64) -> (u16, Value) {
    worker.post("/v1/documents", &json!({ "id": number.to_string(), "text": text(number) }))
}

/// Checks that an answer reports in time that the store is away.
fn is_away(worker: &Worker, path: &str, body: &Value) {
    let begun = Instant::now();
    let answer = worker.post(path, body);
    assert!(begun.elapsed() < ANSWER_MAX, "{path} took {:?}", begun.elapsed());
    is_problem(answer, 503, "store-unavailable");
}

/// Takes the store away in the middle of insertions, and gives it back. Returns the log.
fn goes_away_and_comes_back(store: &str, down: &dyn Fn(), up: &dyn Fn()) -> String {
    let worker = Worker::start(store, &["--store-wait-seconds", WAIT]);
    assert_eq!(worker.get("/readyz").0, 200);
    // One after another, until one is not acknowledged.
    let n_acknowledged = AtomicU64::new(0);
    thread::scope(|scope| {
        let inserting = scope.spawn(|| {
            while insert(&worker, n_acknowledged.load(Ordering::Relaxed)).0 == 201 {
                n_acknowledged.fetch_add(1, Ordering::Relaxed);
            }
        });
        while n_acknowledged.load(Ordering::Relaxed) < 20 && !inserting.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        down();
    });
    let n_acknowledged = n_acknowledged.into_inner();
    assert!(n_acknowledged >= 20);
    assert_eq!(worker.get("/healthz").0, 200);
    is_problem(worker.get("/readyz"), 503, "store-unavailable");
    is_away(&worker, "/v1/query", &json!({ "text": TEXT }));
    is_away(&worker, "/v1/documents", &json!({ "text": TEXT }));
    assert_eq!(worker.header("/readyz", "retry-after").as_deref(), Some("1"));
    let metrics = worker.get_text("/metrics");
    assert!(metrics.contains("pigeonhole_store_errors_total{kind=\"unavailable\"}"), "{metrics}");
    assert!(!metrics.contains("pigeonhole_documents "), "{metrics}");

    up();
    until_within(BACK_MAX, || worker.get("/readyz").0 == 200);
    for number in 0..n_acknowledged {
        let (status, found) = worker.post("/v1/query", &json!({ "text": text(number) }));
        assert_eq!((status, &found["matches"][0]["id"]), (200, &json!(number.to_string())));
    }
    assert_eq!(insert(&worker, u64::MAX).0, 201);
    // At least one connection was opened again, and none is in use.
    let metrics = worker.get_text("/metrics");
    let connections = |which: &str| {
        let name = format!("pigeonhole_store_connections{which} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(&name)).expect(&name);
        value.parse::<u64>().unwrap()
    };
    assert!((1..=connections("_max")).contains(&connections("")), "{metrics}");
    assert_eq!(connections("_in_use"), 0, "{metrics}");

    worker.send_stop();
    let (code, log) = worker.wait();
    assert_eq!(code, Some(0), "{log}");
    // The id of a failed request leads to the cause in the log.
    let id_of = |line: &str| Some(line.split_once("request{id=\"")?.1.split_once('"')?.0.to_owned());
    let with_id = |level: &str, part: &str| {
        let lines = log.lines().filter(|line| line.contains(level) && line.contains(part));
        lines.filter_map(id_of).collect::<BTreeSet<_>>()
    };
    let why = with_id("ERROR", "the store failed");
    for route in ["/readyz", "/v1/query", "/v1/documents"] {
        let failed = with_id("WARN", &format!("route=\"{route}\" status=503"));
        assert!(!failed.is_disjoint(&why), "{route}\n{log}");
    }
    // One line, however many attempts failed.
    let n_away = log.matches("the store does not answer").count();
    assert!(n_away <= 1 && log.matches("the store answers again").count() == n_away, "{log}");
    log
}

#[test]
fn redis_goes_away_and_comes_back() {
    let Some(redis) = Redis::start(&DURABLE) else { return };
    let log = goes_away_and_comes_back(&redis.url("away"), &|| redis.down(), &|| redis.up());
    assert!(log.contains("the store does not answer"), "{log}");
}

#[test]
fn redis_hangs_and_comes_back() {
    let Some(redis) = Redis::start(&[]) else { return };
    goes_away_and_comes_back(&redis.url("hangs"), &|| redis.freeze(), &|| redis.thaw());
}

/// A server without data on disk comes back empty. The running worker makes no new index unasked.
#[test]
fn redis_comes_back_empty() {
    let Some(redis) = Redis::start(&[]) else { return };
    let worker = Worker::start(&redis.url("emptied"), &[]);
    assert_eq!(insert(&worker, 1).0, 201);
    redis.cli(&["flushall"]);
    for answer in [worker.get("/readyz"), insert(&worker, 2)] {
        let detail = answer.1["detail"].to_string();
        is_problem(answer, 503, "store-unavailable");
        assert!(detail.contains("no index any more"), "{detail}");
    }
}

#[test]
fn hbase_goes_away_and_comes_back() {
    let Some(hbase) = hbase() else { return };
    create(hbase, "create_worker_away", &[("worker_away", "5c2")]);
    let door = Door::open(hbase.gateway);
    let store = url(door.address, "worker_away");
    goes_away_and_comes_back(&store, &|| door.close(), &|| door.open_again());
}

/// Each worker finds the other's acknowledged documents, and takes them for originals of
/// duplicates. The tests of races check texts that come to both at once.
fn see_each_other(store: &str) {
    let workers = [(); 2].map(|()| Worker::start(store, &[]));
    for number in 0..20 {
        let [one, other] = [0, 1].map(|n| &workers[(number as usize + n) % 2]);
        assert_eq!(insert(one, number).0, 201);
        let (_, found) = other.post("/v1/query", &json!({ "text": text(number) }));
        assert_eq!(found["matches"][0]["id"], number.to_string(), "at once");
        let (_, again) = other.post("/v1/documents", &json!({ "text": text(number) }));
        assert_eq!(
            (&again["outcome"], &again["duplicate_of"]["id"]),
            (&json!("duplicate"), &json!(number.to_string()))
        );
        assert_eq!(other.delete(&format!("/v1/documents/{number}")).0, 204);
        assert_eq!(one.post("/v1/query", &json!({ "text": text(number) })).1["n_matches"], 0);
    }
}

/// A typo in a name must not make an empty index. Before, a worker served it like the intended one.
fn is_not_made_unasked(store: &str) {
    let start =
        |more: &[&str]| run("query-worker", [&["--store", store, "--listen", "127.0.0.1:0"], more].concat());
    for more in [&[][..], &["--check"], &["--scheme", "5c2"]] {
        let said = start(more).expect(2).stderr;
        for part in [store, "--create-index", "indexer index --store"] {
            assert!(said.contains(part), "{part:?}: {said}");
        }
    }
    let missing = run("pigeonhole", ["info", "--store", store]);
    assert!(missing.expect(2).stderr.contains("there is no index"));
    let made = Worker::start(store, &[]);
    assert_eq!(insert(&made, 1).0, 201);
    drop(made);
    let args = ["--store", store, "--listen", "127.0.0.1:0"];
    let again = Worker::start_as(&mut command("query-worker", args));
    assert_eq!(again.get("/v1/documents/1").0, 200);
}

#[test]
fn a_directory_without_an_index() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["missing", "empty"] {
        let path = folder.path().join(name);
        if name == "empty" {
            std::fs::create_dir(&path).unwrap();
        }
        let files = || std::fs::read_dir(&path).map_or(0, Iterator::count);
        let store = format!("embedded:{}", path.display());
        let refused = run("query-worker", ["--store", &store, "--listen", "127.0.0.1:0"]);
        refused.expect(2);
        assert_eq!((path.exists(), files()), (name == "empty", 0));
        is_not_made_unasked(&store);
    }
}

#[test]
fn a_redis_without_an_index() {
    let Some(redis) = redis() else { return };
    is_not_made_unasked(&redis.url("unmade"));
}

#[test]
fn two_workers_on_one_directory() {
    let folder = tempfile::tempdir().unwrap();
    see_each_other(&format!("embedded:{}", folder.path().display()));
}

#[test]
fn two_workers_on_one_redis() {
    let Some(redis) = redis() else { return };
    see_each_other(&redis.url("two-workers"));
}
