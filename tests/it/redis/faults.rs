//! Servers that fail or are unfit: the stored documents, and the errors.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use index::{Document, DocumentId, ErrorKind, MemoryStore, Store};

use super::{create, document, metadata, open};
use crate::support::{
    DURABLE, Figures, Log, Random, Redis, apart, command, kept, made_up_corpus, news, redis, run,
};

/// A server that is killed and comes back, three times in one load, does not change the result.
#[test]
fn a_server_that_comes_back() {
    let Some(redis) = Redis::start(&DURABLE) else { return };
    let corpus = tempfile::NamedTempFile::new().unwrap();
    fs::write(corpus.path(), made_up_corpus(10_000, 3)).unwrap();
    let corpus = corpus.path().to_str().unwrap();
    let (url, output) = (redis.url("away"), tempfile::NamedTempFile::new().unwrap());
    let path = output.path().to_str().unwrap();
    let args = ["dedup", "-q", "--store", &url, "--texts", "zstd", "--force", "--output", path, corpus];
    let mut loading = command("indexer", args).spawn().unwrap();
    let mut log = Log::of(&mut loading);
    let mut figures = Figures { acknowledged: 10_000, ..Figures::default() };
    for n_documents in [200, 1_500, 3_000] {
        let count = || redis.cli(&["zcard", "pigeonhole:{away}:ids"]).trim().parse::<u64>().unwrap_or(0);
        while count() < n_documents {
            thread::sleep(Duration::from_millis(2));
        }
        redis.down();
        log.until("the store does not answer");
        redis.up();
        figures.faults += 1;
    }
    let loaded = figures.round(|| loading.wait_with_output()).unwrap();
    assert!(loaded.status.success(), "{}", log.rest());
    figures.wrong = u64::from(fs::read_to_string(path).unwrap() != kept("memory:", "5c2", corpus));
    figures.end("Redis killed under dedup");
}

/// The server does its work, and every third answer is lost: the caller gets the outcome of the
/// first attempt.
#[test]
fn lost_answers() {
    let Some(redis) = redis() else { return };
    create(&redis.url("lossy"));
    let n_lost = Arc::new(AtomicU64::new(0));
    let store = open(&format!("redis://{}/lossy", lose_answers(redis.address, 3, Arc::clone(&n_lost))));
    let memory = MemoryStore::new();
    memory.create(&metadata()).unwrap();
    let mut random = Random(4);
    let mut figures = Figures::default();
    let mut bits = || (0..2).fold(random.next() & 0xff_ffff, |bits, _| bits ^ 1 << (random.next() % 64));
    for round in 0..40 {
        let documents: Vec<_> =
            (0..20).map(|n| document(&format!("{}", n * (round + 1) % 97), bits())).collect();
        let ids: Vec<_> = documents.iter().step_by(3).map(|document| document.id.clone()).collect();
        let answers = figures.round(|| {
            [&*store, &memory].map(|store| {
                let inserted = store.insert_if_new(&documents, &apart(3).into()).unwrap();
                (inserted, store.insert(&documents[..5]).unwrap(), store.remove(&ids).unwrap())
            })
        });
        figures.acknowledged += documents.len() as u64;
        assert_eq!(answers[0], answers[1], "round {round}");
    }
    figures.faults = n_lost.load(Ordering::Relaxed);
    figures.end("answers of Redis lost");
    assert!(figures.faults > 10, "{figures:?}");
}

/// Starts a proxy that closes the connection instead of every n-th answer, and returns its address.
fn lose_answers(server: SocketAddr, every: usize, n_lost: Arc<AtomicU64>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        // The first two answers of a connection belong to its greeting, without which no connection
        // works.
        let mut n_answers = 0;
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut server = TcpStream::connect(server).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let requests = thread::spawn(move || {
                std::io::copy(&mut from, &mut to).unwrap_or(0);
                to.shutdown(Shutdown::Both).unwrap_or(());
            });
            let mut buffer = vec![0; 1 << 20];
            let mut n_here = 0;
            while let Ok(n @ 1..) = server.read(&mut buffer) {
                n_here += 1;
                n_answers += usize::from(n_here > 5);
                if n_here > 5 && n_answers % every == 0 {
                    n_lost.fetch_add(1, Ordering::Relaxed);
                    break;
                }
                client.write_all(&buffer[..n]).unwrap_or(());
            }
            client.shutdown(Shutdown::Both).unwrap_or(());
            server.shutdown(Shutdown::Both).unwrap_or(());
            requests.join().unwrap();
        }
    });
    address
}

/// Redis refuses writes above its `maxmemory`, and accepts them when there is room.
#[test]
fn a_full_server() {
    let Some(redis) = Redis::start(&["--maxmemory", "8mb"]) else { return };
    let store = create(&redis.url("full"));
    let mut random = Random(2);
    let mut batch =
        || (0..1_000).map(|_| random.next()).map(|bits| document(&format!("{bits:x}"), bits)).collect();
    let refused = loop {
        let documents: Vec<Document> = batch();
        if let Err(error) = store.insert(&documents) {
            break (error, documents);
        }
    };
    assert_eq!(refused.0.kind(), ErrorKind::StorageFull);
    assert!(refused.0.to_string().contains("maxmemory"), "{}", refused.0);
    // The buffers of the refused call gave their memory back.
    redis.cli(&["config", "set", "maxmemory", "4mb"]);
    assert_eq!(store.ready().map_err(|error| error.kind()), Err(ErrorKind::StorageFull));
    // Reads and removals go on.
    let found = store.scan(index::Cursor::start(), 10).unwrap();
    let ids: Vec<_> = found.documents.iter().map(|stored| stored.document.id.clone()).collect();
    assert_eq!(store.remove(&ids).unwrap(), [true; 10]);
    redis.cli(&["config", "set", "maxmemory", "0"]);
    assert!(store.insert(&refused.1).is_ok());
    assert!(store.ready().is_ok());
    assert_eq!(redis.cli(&["exists", "pigeonhole:{full}:ready"]).trim(), "0");
}

/// A primary that became a replica answers reads, but is not ready for a service that inserts.
#[test]
fn a_replica() {
    let Some(redis) = Redis::start(&["--replica-serve-stale-data", "yes"]) else { return };
    let store = create(&redis.url("replica"));
    assert!(store.ready().is_ok());
    // The primary does not exist.
    redis.cli(&["replicaof", "127.0.0.1", "1"]);
    assert!(store.get(&[DocumentId::new("a").unwrap()]).is_ok());
    assert_eq!(store.ready().map_err(|error| error.kind()), Err(ErrorKind::Unavailable));
    redis.cli(&["replicaof", "no", "one"]);
    assert!(store.ready().is_ok());
}

#[test]
fn a_server_that_is_not_fit() {
    let Some(redis) = Redis::start(&["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"]) else {
        return;
    };
    let query = |redis: &Redis, more: &str| {
        let url = redis.url("a") + more;
        run("indexer", ["index", "-q", "--store", &url, news().to_str().unwrap()])
    };
    let refused = query(&redis, "").expect(2).stderr;
    assert!(refused.contains("CONFIG SET maxmemory-policy noeviction"), "{refused}");
    redis.cli(&["config", "set", "maxmemory-policy", "noeviction"]);
    query(&redis, "").expect(0);
    // A lost index is not an empty one.
    let store = open(&redis.url("a"));
    assert!(store.near(&[document("a", 0).sketch], &apart(3).into(), 1).is_ok());
    redis.cli(&["flushall"]);
    let kinds = [
        store.near(&[document("a", 0).sketch], &apart(3).into(), 1).map(|_| ()),
        store.get(&[DocumentId::new("a").unwrap()]).map(|_| ()),
        store.scan(index::Cursor::start(), 1).map(|_| ()),
        store.insert(&[document("a", 0)]).map(|_| ()),
        store.remove(&[DocumentId::new("a").unwrap()]).map(|_| ()),
    ];
    assert!(
        kinds.iter().all(|kind| kind.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound)),
        "{kinds:?}"
    );

    redis.cli(&["config", "set", "appendonly", "no"]);
    let url = redis.url("b");
    let args = ["--create-index", "--store", &url, "--listen", "127.0.0.1:0"];
    let mut worker = command("query-worker", args).spawn().unwrap();
    let log = BufReader::new(worker.stderr.take().unwrap()).lines().map(Result::unwrap);
    let before: Vec<_> = log.take_while(|line| !line.contains("ready")).collect();
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(before.iter().any(|line| line.contains("CONFIG SET appendonly yes")), "{before:?}");
    redis.cli(&["config", "set", "requirepass", "open sesame"]);
    let refused = query(&redis, "").expect(2).stderr;
    assert!(refused.contains("password-file=PATH"), "{refused}");
    let password = tempfile::NamedTempFile::new().unwrap();
    let with = |text: &str| {
        fs::write(password.path(), text).unwrap();
        query(&redis, &format!("?password-file={}", password.path().display()))
    };
    let refused = with("wrong\n").expect(2).stderr;
    assert!(refused.contains("does not let us in"), "{refused}");
    with("open sesame\n").expect(0);
}

/// A record changed behind the store's back is an error, and never an answer.
#[test]
fn damage() {
    let Some(redis) = redis() else { return };
    let store = create(&redis.url("damage"));
    store.insert(&[document("a", 0), document("b", 1 << 40)]).unwrap();
    let id = DocumentId::new("a").unwrap();
    redis.cli(&["setrange", "pigeonhole:{damage}:d:a", "5", "x"]);
    let damaged = store.get(std::slice::from_ref(&id)).unwrap_err();
    assert_eq!(damaged.kind(), ErrorKind::Corrupt, "{damaged}");
    redis.cli(&["set", "pigeonhole:{damage}:d:a", "2"]);
    let damaged = store.remove(&[id]).unwrap_err();
    assert_eq!(damaged.kind(), ErrorKind::Corrupt);
    assert!(damaged.to_string().contains("\"a\""), "{damaged}");
}
