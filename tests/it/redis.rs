//! The programs and the store on a real Redis.

mod retaining;
mod upkeep;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use index::{
    Clock, Document, DocumentId, ErrorKind, FORMAT_VERSION, Insertion, MemoryStore, Metadata, Mode,
    RedisStore, Store, StoreUri, testsuite,
};
use serde_json::{Value, json};
use simhash::{BucketKey, Fingerprint, SCHEME_NAMES, Sketch, TableScheme};

use crate::support::{
    Random, Redis, Worker, command, digest, kept, made_up_corpus, matches, news, redis, run,
};

fn open(url: &str) -> Box<dyn Store> {
    url.parse::<StoreUri>().unwrap().open(Mode::CreateIfMissing).unwrap()
}

fn open_with_clock(url: &str, clock: Clock) -> Box<dyn Store> {
    let Ok(StoreUri::Redis(uri)) = url.parse() else { panic!("{url} is an index in Redis") };
    Box::new(RedisStore::with_clock(&uri, clock).unwrap())
}

/// A new index of the default scheme.
fn create(url: &str) -> Box<dyn Store> {
    let store = open(url);
    store.create(&metadata()).unwrap();
    store
}

fn metadata() -> Metadata {
    let scheme = TableScheme::default();
    let (max_distance, recipe) = (scheme.max_distance(), [].into());
    Metadata { format_version: FORMAT_VERSION, max_distance, scheme, retain: None, recipe }
}

fn document(id: &str, bits: u64) -> Document {
    let sketch = TableScheme::default().sketch(Fingerprint(bits));
    Document { id: DocumentId::new(id).unwrap(), sketch, source: None }
}

#[test]
fn conformance() {
    let Some(redis) = redis() else { return };
    let n_opened = AtomicUsize::new(0);
    testsuite::check(&|clock| {
        let n = n_opened.fetch_add(1, Ordering::Relaxed);
        open_with_clock(&redis.url(&format!("suite-{n}")), clock)
    });
}

/// One corpus, every store, every program: the same answers.
#[test]
fn the_stores_agree() {
    let Some(redis) = redis() else { return };
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus.jsonl");
    fs::write(&corpus, [fs::read_to_string(news()).unwrap(), made_up_corpus(1_000, 11)].concat()).unwrap();
    let corpus = corpus.to_str().unwrap();
    let embedded = format!("embedded:{}", folder.path().join("index").display());
    let in_redis = redis.url("agree");
    for store in [&embedded, &in_redis] {
        run("indexer", ["index", "-q", "--store", store, corpus]).expect(0);
    }
    assert_eq!(digest(&embedded), digest(&in_redis));

    let mut n_found = 0;
    let workers = [&embedded, &in_redis].map(|store| Worker::start(store, &[]));
    for line in fs::read_to_string(corpus).unwrap().lines().step_by(20) {
        let text = &serde_json::from_str::<Value>(line).unwrap()["text"];
        let query = json!({ "text": text, "limit": 1000 });
        let answers = workers.each_ref().map(|worker| worker.post("/v1/query", &query));
        assert_eq!(answers[0].0, answers[1].0);
        assert_eq!(matches(&answers[0].1), matches(&answers[1].1));
        assert_eq!(answers[0].1["n_matches"], answers[1].1["n_matches"]);
        n_found += matches(&answers[0].1).map_or(0, |matches| matches.len());
    }
    assert!(n_found > 50, "{n_found}: documents are found, and near ones with them");
    let known = ["--limit", "10", "--fingerprint", "7b8df48109ca0e0c"];
    let printed = [&embedded, &in_redis]
        .map(|store| run("pigeonhole", [&["query", "--store", store][..], &known].concat()).expect(0).stdout);
    assert!(printed[1].contains("en-harbour"), "{}", printed[1]);
    assert_eq!(printed[0].lines().next(), printed[1].lines().next());

    let expected = kept("memory:", "5c2", corpus);
    assert!(expected.lines().count() < 1_000);
    assert_eq!(kept(&redis.url("agree-dedup"), "5c2", corpus), expected);
}

#[test]
fn every_scheme_finds_the_same() {
    let Some(redis) = redis() else { return };
    let corpus = tempfile::NamedTempFile::new().unwrap();
    fs::write(corpus.path(), made_up_corpus(400, 5)).unwrap();
    let corpus = corpus.path().to_str().unwrap();
    let expected = kept("memory:", "5c2", corpus);
    assert!(expected.lines().count() < 400);
    for scheme in SCHEME_NAMES {
        assert_eq!(kept(&redis.url(&format!("scheme-{scheme}")), scheme, corpus), expected, "{scheme}");
    }
}

/// Stores of their own, as processes have them, and batches large enough that calls of both meet in the middle.
#[test]
fn near_duplicates_from_several_processes() {
    let Some(redis) = redis() else { return };
    const N_GROUPS: u64 = 600;
    let url = redis.url("race");
    create(&url);
    let mut random = Random(1);
    let centres: Vec<u64> = (0..N_GROUPS).map(|_| random.next()).collect();
    let inserted: Vec<Vec<usize>> = thread::scope(|scope| {
        let writers: Vec<_> = (0..3_u32)
            .map(|writer| {
                let (url, centres) = (&url, &centres);
                scope.spawn(move || {
                    let group = |(group, centre): (usize, &u64)| {
                        document(&format!("{group} {writer}"), centre ^ 1 << writer)
                    };
                    let documents: Vec<_> = centres.iter().enumerate().map(group).collect();
                    let insertions = open(url).insert_if_new(&documents, 3).unwrap();
                    let is_new = |group: &usize| insertions[*group] == Insertion::Inserted;
                    (0..documents.len()).filter(is_new).collect()
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let mut groups: Vec<usize> = inserted.concat();
    groups.sort_unstable();
    assert!(groups.into_iter().eq(0..N_GROUPS as usize), "exactly one of each group");
    assert_eq!(open(&url).status().unwrap().n_documents, Some(N_GROUPS));

    // The same by the programs: two of them drop the duplicates of one corpus at once.
    let corpus = tempfile::NamedTempFile::new().unwrap();
    fs::write(corpus.path(), made_up_corpus(1_500, 8)).unwrap();
    let corpus = corpus.path().to_str().unwrap();
    let store = redis.url("race-dedup");
    let indexers: Vec<_> = (0..2)
        .map(|_| command("indexer", ["dedup", "-q", "--store", &store, corpus]).spawn().unwrap())
        .collect();
    for indexer in indexers {
        let done = indexer.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let alone = redis.url("race-alone");
    run("indexer", ["dedup", "-q", "--store", &alone, corpus]).expect(0);
    let (kept, expected) = (open(&store), open(&alone));
    assert!(expected.status().unwrap().n_documents.is_some_and(|n| n > 500));
    // No two of those that are kept are near each other, whoever was first.
    let page = kept.scan(index::Cursor::start(), 10_000).unwrap();
    assert!(page.next.is_none() && page.documents.len() > 500);
    let sketches: Vec<_> = page.documents.iter().map(|stored| stored.document.sketch.clone()).collect();
    assert!(kept.near(&sketches, 3, 0).unwrap().iter().all(|found| found.n_matches == 1));
}

/// Boilerplate: more documents of one fingerprint than a page of a bucket, and others behind them in the same buckets.
#[test]
fn large_buckets() {
    let Some(redis) = redis() else { return };
    let (store, memory) = (create(&redis.url("large")), MemoryStore::new());
    memory.create(&metadata()).unwrap();
    let mut all: Vec<_> = (0..1_000).map(|n| document(&format!("equal {n}"), 0)).collect();
    // All of these share the bucket of their first bits, near ones among them.
    all.extend((0..1_000).map(|n| document(&format!("other {n}"), n)));
    let keys = [BucketKey { flag: 1, segment: 0 }];
    all.extend((0..300).map(|n| Document {
        id: DocumentId::new(format!("listed {n}")).unwrap(),
        sketch: Sketch::new(Fingerprint(n % 7), keys.to_vec()),
        source: None,
    }));
    for store in [&*store, &memory] {
        store.insert(&all).unwrap();
    }
    let queries: Vec<_> = (0..40).map(|n| document("query", n * 25).sketch).collect();
    for (max_distance, limit) in [(0, 5), (3, 0), (3, 7), (3, 5_000), (64, 100)] {
        let found = [&*store, &memory].map(|store| {
            let found = store.near(&queries, max_distance, limit).unwrap();
            found.into_iter().map(|found| (found.matches, found.n_matches)).collect::<Vec<_>>()
        });
        assert_eq!(found[0], found[1], "within {max_distance}, limit {limit}");
    }
    let new: Vec<_> = (0..200).map(|n| document(&format!("equal {}", n * 9), n * 5 % 64)).collect();
    let inserted = [&*store, &memory].map(|store| store.insert_if_new(&new, 2).unwrap());
    assert_eq!(inserted[0], inserted[1]);
}

/// Keys of every sketch, in batches that one script could not take, are gone when their documents are.
#[test]
fn nothing_is_left_behind() {
    let Some(redis) = Redis::start(&[]) else { return };
    let store = create(&redis.url("emptied"));
    let sketch = |n: u32| {
        let keys = (0..255).map(|key| BucketKey { flag: 1 + (key % 9) as u8, segment: key * (n % 5) });
        Sketch::new(Fingerprint(n.into()), keys.collect())
    };
    let documents: Vec<_> = (0..300)
        .map(|n| Document { id: DocumentId::new(format!("{n}")).unwrap(), sketch: sketch(n), source: None })
        .collect();
    store.insert(&documents).unwrap();
    let moved: Vec<_> = documents
        .iter()
        .map(|document| Document {
            id: document.id.clone(),
            sketch: sketch(document.sketch.fingerprint().0 as u32 + 1),
            source: None,
        })
        .collect();
    store.insert(&moved).unwrap();
    let ids: Vec<_> = documents.iter().map(|document| document.id.clone()).collect();
    assert!(store.remove(&ids).unwrap().iter().all(|removed| *removed));
    let keys = redis.cli(&["--scan"]);
    let left: Vec<_> = keys.lines().filter(|key| !key.starts_with("pigeonhole:{emptied}:a:")).collect();
    assert_eq!(left, ["pigeonhole:{emptied}:metadata"]);
    // What answers are kept for repetitions goes by itself.
    for answer in keys.lines().filter(|key| key.contains(":a:")) {
        assert_ne!(redis.cli(&["ttl", answer]).trim(), "-1");
    }
}

/// A server that is killed and comes back, three times in one load, changes nothing in what is kept.
#[test]
fn a_server_that_comes_back() {
    let Some(redis) = Redis::start(&[]) else { return };
    let corpus = tempfile::NamedTempFile::new().unwrap();
    fs::write(corpus.path(), made_up_corpus(10_000, 3)).unwrap();
    let corpus = corpus.path().to_str().unwrap();
    let (url, output) = (redis.url("away"), tempfile::NamedTempFile::new().unwrap());
    let path = output.path().to_str().unwrap();
    let loading =
        command("indexer", ["dedup", "-q", "--store", &url, "--output", path, corpus]).spawn().unwrap();
    for n_documents in [200, 1_500, 3_000] {
        let count = || redis.cli(&["zcard", "pigeonhole:{away}:ids"]).trim().parse::<u64>().unwrap_or(0);
        while count() < n_documents {
            thread::sleep(Duration::from_millis(2));
        }
        redis.down();
        thread::sleep(Duration::from_millis(500));
        redis.up();
    }
    let loaded = loading.wait_with_output().unwrap();
    assert!(loaded.status.success(), "{}", String::from_utf8_lossy(&loaded.stderr));
    assert_eq!(fs::read_to_string(path).unwrap(), kept("memory:", "5c2", corpus));
}

/// The server does its work, and every third answer is lost on the way: what a caller is told is what was done first.
#[test]
fn lost_answers() {
    let Some(redis) = redis() else { return };
    create(&redis.url("lossy"));
    let store = open(&format!("redis://{}/lossy", lose_answers(redis.address, 3)));
    let memory = MemoryStore::new();
    memory.create(&metadata()).unwrap();
    let mut random = Random(4);
    let mut bits = || (0..2).fold(random.next() & 0xff_ffff, |bits, _| bits ^ 1 << (random.next() % 64));
    for round in 0..40 {
        let documents: Vec<_> =
            (0..20).map(|n| document(&format!("{}", n * (round + 1) % 97), bits())).collect();
        let ids: Vec<_> = documents.iter().step_by(3).map(|document| document.id.clone()).collect();
        let answers = [&*store, &memory].map(|store| {
            let inserted = store.insert_if_new(&documents, 3).unwrap();
            (inserted, store.insert(&documents[..5]).unwrap(), store.remove(&ids).unwrap())
        });
        assert_eq!(answers[0], answers[1], "round {round}");
    }
}

/// Between a store and the server, closing the connection in place of every n-th answer.
fn lose_answers(server: SocketAddr, every: usize) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        // The first two answers of a connection are those of its own greeting, without which it never gets further.
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

/// Redis refuses writes above its `maxmemory`, and takes them when there is room.
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
    // Reading and removing go on.
    let found = store.scan(index::Cursor::start(), 10).unwrap();
    let ids: Vec<_> = found.documents.iter().map(|stored| stored.document.id.clone()).collect();
    assert_eq!(store.remove(&ids).unwrap(), [true; 10]);
    redis.cli(&["config", "set", "maxmemory", "0"]);
    assert!(store.insert(&refused.1).is_ok());
}

/// What a user sees who forgot something.
#[test]
fn errors_say_what_to_do() {
    let Some(redis) = redis() else { return };
    let news = news();
    let index = |store: &str, more: &[&str]| {
        run("indexer", [&["index", "-q", "--store", store, news.to_str().unwrap()], more].concat())
    };
    let url = redis.url("errors");
    let missing =
        run("pigeonhole", ["query", "--store", &url, "--fingerprint", "7b8df48109ca0e0c"]).expect(2).stderr;
    assert!(missing.contains("there is no index here yet"), "{missing}");
    index(&url, &[]).expect(0);
    let refused = index(&url, &["--scheme", "t11"]).expect(2).stderr;
    assert!(refused.contains("scheme is \"5c2\""), "{refused}");

    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let nobody = free.local_addr().unwrap();
    drop(free);
    let away = index(&format!("redis://{nobody}/errors"), &[]).expect(2).stderr;
    assert!(away.contains(&nobody.to_string()) && away.contains("is it running"), "{away}");
    let beyond = index(&format!("{url}?db=99"), &[]).expect(2).stderr;
    assert!(beyond.contains("database 99") && beyond.contains("databases"), "{beyond}");

    redis.cli(&["sadd", "pigeonhole:{taken}:ids", "x"]);
    let taken = index(&redis.url("taken"), &[]).expect(2).stderr;
    assert!(taken.contains("another program") && taken.contains("another name"), "{taken}");
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
    // An index that is lost is not an empty one.
    let store = open(&redis.url("a"));
    assert!(store.near(&[document("a", 0).sketch], 3, 1).is_ok());
    redis.cli(&["flushall"]);
    let kinds = [
        store.near(&[document("a", 0).sketch], 3, 1).map(|_| ()),
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
    let mut worker = command("query-worker", ["--store", &url, "--listen", "127.0.0.1:0"]).spawn().unwrap();
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

/// A record that was changed behind the store's back is an error, and never an answer.
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
