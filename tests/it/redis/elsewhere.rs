//! Servers that answer but cannot serve: replicas, too many clients, dropped keys, withdrawn
//! rights.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread;

use index::{DocumentId, ErrorKind};
use serde_json::json;

use super::{create, document, open};
use crate::support::{Redis, Worker, apart, free_ports, made_up_corpus, run, until};

const TEXT: &str =
    "The ferry leaves at noon and comes back at night, whatever the weather in the harbour is.";

const OTHER_TEXT: &str =
    "Bees are kept on the roof of the old customs house, and their honey is sold in May.";

/// A write waits until the server is a primary again, on a new connection.
#[test]
fn a_demoted_primary_is_waited_for() {
    let Some(redis) = Redis::start(&["--replica-serve-stale-data", "yes"]) else { return };
    let store = create(&redis.url("demoted"));
    store.insert(&[document("a", 0)]).unwrap();
    redis.cli(&["replicaof", "127.0.0.1", "1"]);
    assert_eq!(store.ready().unwrap_err().kind(), ErrorKind::Unavailable);
    let n_before = n_connections(&redis);
    thread::scope(|scope| {
        let written = scope.spawn(|| store.insert(&[document("b", 1 << 40)]));
        // The write has come over another connection.
        until(|| n_connections(&redis) >= n_before + 3);
        assert!(!written.is_finished());
        redis.cli(&["replicaof", "no", "one"]);
        written.join().unwrap().unwrap();
    });
    assert!(store.ready().is_ok());
}

fn n_connections(redis: &Redis) -> u64 {
    let info = redis.cli(&["info", "stats"]);
    let n = info.lines().find_map(|line| line.strip_prefix("total_connections_received:")).unwrap();
    n.trim().parse().unwrap()
}

/// Clients wait for a server that refuses connections, even without a first connection.
#[test]
fn too_many_clients() {
    let Some(redis) = Redis::start(&["--maxclients", "4"]) else { return };
    let url = redis.url("crowded");
    create(&url);
    let mut others: Vec<_> = (0..4).map(|_| TcpStream::connect(redis.address).unwrap()).collect();
    thread::scope(|scope| {
        let written = scope.spawn(|| open(&url).insert(&[document("a", 0)]));
        // Another client is told the number of refused clients.
        until(|| {
            let said = others.iter_mut().find_map(|other| rejected(other).ok());
            assert!(!written.is_finished());
            said.is_some_and(|n_rejected| n_rejected > 2)
        });
        others.clear();
        written.join().unwrap().unwrap();
    });
}

fn rejected(connection: &mut TcpStream) -> std::io::Result<u64> {
    connection.write_all(b"INFO stats\r\n")?;
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    let mut n_rejected = None;
    // The next call reads the rest of this answer first.
    while n_rejected.is_none() {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        n_rejected = line.strip_prefix("rejected_connections:").and_then(|n| n.trim().parse().ok());
    }
    Ok(n_rejected.unwrap_or_default())
}

/// The worker says 503, and accepts writes again when the server does.
#[test]
fn writes_that_need_replicas() {
    let Some(redis) = Redis::start(&[]) else { return };
    let worker = Worker::start(&redis.url("replicas"), &["--store-wait-seconds", "1"]);
    let insert = |id: &str| worker.post("/v1/documents", &json!({ "text": id })).0;
    assert_eq!(insert(TEXT), 201);
    redis.cli(&["config", "set", "min-replicas-to-write", "1"]);
    assert_eq!(insert(OTHER_TEXT), 503);
    assert_eq!(worker.get("/readyz").0, 503);
    redis.cli(&["config", "set", "min-replicas-to-write", "0"]);
    assert_eq!(worker.get("/readyz").0, 200);
}

/// A node of a cluster without servers for its slots is away; once they are served, the same worker
/// goes on.
#[test]
fn a_cluster_that_is_down() {
    let [bus] = free_ports();
    let bus = bus.to_string();
    let Some(redis) = Redis::start(&["--cluster-enabled", "yes", "--cluster-port", &bus]) else { return };
    let url = redis.url("cluster");
    let is = |state: &str| redis.cli(&["cluster", "info"]).contains(&format!("cluster_state:{state}"));
    let serve = |command: &str| redis.cli(&["cluster", command, "0", "16383"]);
    serve("addslotsrange");
    until(|| is("ok"));
    let worker = Worker::start(&url, &["--store-wait-seconds", "1"]);
    let insert = |text: &str| worker.post("/v1/documents", &json!({ "text": text }));
    assert_eq!(insert(TEXT).0, 201);
    serve("delslotsrange");
    until(|| is("fail"));
    assert_eq!(insert(OTHER_TEXT).0, 503);
    assert_eq!(worker.post("/v1/query", &json!({ "text": TEXT })).0, 503);
    assert_eq!(worker.get("/readyz").0, 503);
    let corpus = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(corpus.path(), made_up_corpus(200, 12)).unwrap();
    let index =
        || run("indexer", ["index", "-q", "--store", &url, corpus.path().to_str().unwrap()]).expect(0);
    thread::scope(|scope| {
        // The indexer is more patient.
        let n_before = n_connections(&redis);
        let indexed = scope.spawn(index);
        until(|| n_connections(&redis) >= n_before + 5);
        assert!(!indexed.is_finished());
        serve("addslotsrange");
        indexed.join().unwrap();
    });
    assert_eq!(worker.get("/readyz").0, 200);
    assert_eq!(insert(OTHER_TEXT).0, 201);
    assert_eq!(worker.post("/v1/query", &json!({ "text": TEXT })).1["n_matches"], 1);
}

/// No answer pretends that the index is complete, and acknowledged documents are not lost silently.
#[test]
fn dropped_keys_are_noticed() {
    let Some(redis) = Redis::start(&[]) else { return };
    let store = create(&redis.url("evicted"));
    let documents: Vec<_> = (0..2_000_u64).map(|n| document(&format!("{n}"), n << 20 | n)).collect();
    store.insert(&documents).unwrap();
    redis.cli(&["config", "set", "maxmemory-policy", "allkeys-random"]);
    redis.cli(&["config", "set", "maxmemory", "1mb"]);
    // The next command drops something.
    redis.cli(&["set", "another", "value"]);
    let id = [DocumentId::new("1").unwrap()];
    let refused = [
        store.near(&[document("a", 0).sketch], &apart(3).into(), 1).map(|_| ()),
        store.get(&id).map(|_| ()),
        store.scan(index::Cursor::start(), 1).map(|_| ()),
        store.insert(&[document("new", 7)]).map(|_| ()),
        store.remove(&id).map(|_| ()),
        store.ready(),
        store.status().map(|_| ()),
    ];
    for refused in refused {
        let refused = refused.unwrap_err();
        // The index itself may be dropped.
        assert!(matches!(refused.kind(), ErrorKind::Corrupt | ErrorKind::NotFound), "{refused}");
    }
    let fresh = run("pigeonhole", ["info", "--store", &redis.url("evicted")]).expect(2).stderr;
    assert!(fresh.contains("noeviction"), "{fresh}");
}

/// Ready means that a document could be inserted.
#[test]
fn ready_for_writes() {
    let Some(redis) = Redis::start(&[]) else { return };
    let store = create(&redis.url("rights"));
    assert!(store.ready().is_ok());
    redis.cli(&["acl", "setuser", "default", "-eval", "-evalsha"]);
    assert_eq!(store.ready().unwrap_err().kind(), ErrorKind::PermissionDenied);
    redis.cli(&["acl", "setuser", "default", "+eval", "+evalsha"]);
    assert!(store.ready().is_ok());
    redis.cli(&["set", "pigeonhole:{rights}:ids", "another program's"]);
    assert_eq!(store.ready().unwrap_err().kind(), ErrorKind::Corrupt);
    redis.cli(&["del", "pigeonhole:{rights}:ids"]);
    assert!(store.ready().is_ok());
}

/// A user of the access control list; the password changes while the program runs.
#[test]
fn a_user_with_a_password() {
    let Some(redis) = Redis::start(&[]) else { return };
    create(&redis.url("user"));
    let password = tempfile::NamedTempFile::new().unwrap();
    let set = |word: &str| {
        redis.cli(&["acl", "setuser", "reader", "on", "resetpass", &format!(">{word}"), "~*", "+@all"]);
        std::fs::write(password.path(), format!("{word}\n")).unwrap();
    };
    set("one");
    let store =
        open(&format!("{}?user=reader&password-file={}", redis.url("user"), password.path().display()));
    assert!(store.ready().is_ok());
    set("two");
    redis.cli(&["client", "kill", "user", "reader"]);
    assert!(store.ready().is_ok());
}

/// A batch is written by several scripts, and the server is full at one of them: the documents of
/// the earlier scripts are there.
#[test]
fn lines_of_a_batch_that_met_a_full_server_may_be_done() {
    let Some(redis) = Redis::start(&["--maxmemory", "3mb"]) else { return };
    let worker = Worker::start(&redis.url("batch"), &[]);
    let corpus = made_up_corpus(3_000, 9);
    let lines: Vec<&str> = corpus.lines().collect();
    let post = |lines: &[&str]| worker.post_lines("/v1/documents:batch", lines.join("\n").as_bytes()).1;
    let (mut refused, mut n_done) = (Vec::new(), 0);
    for lines in lines.chunks(600) {
        for (line, answer) in lines.iter().zip(post(lines)) {
            if answer["status"] == 503 {
                let detail = answer["detail"].as_str().unwrap();
                assert!(
                    detail.contains("may have been written") && detail.contains("`unchanged`"),
                    "{detail}"
                );
                refused.push(*line);
            } else {
                assert!(answer["outcome"].is_string(), "{answer}");
                n_done += 1;
            }
        }
    }
    assert!(n_done > 0 && !refused.is_empty(), "{n_done} done, {} refused", refused.len());
    redis.cli(&["config", "set", "maxmemory", "0"]);
    until(|| worker.get("/readyz").0 == 200);
    // Each of them is safe to repeat, whether it was done or not.
    for lines in refused.chunks(600) {
        for answer in post(lines) {
            assert!(answer["outcome"].is_string(), "{answer}");
        }
    }
    // And so is everything.
    for lines in lines.chunks(600) {
        for answer in post(lines) {
            assert!(answer["outcome"] == "unchanged" || answer["outcome"] == "duplicate", "{answer}");
        }
    }
}
