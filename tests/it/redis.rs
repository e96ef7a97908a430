//! The programs and the store on a real Redis.

mod carried;
mod elsewhere;
mod faults;
mod made_anew;
mod retaining;
mod upkeep;

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use engine::StoreUri;
use index::Sketch;
use index::{
    Clock, Document, DocumentId, FORMAT_VERSION, Identity, Insertion, MemoryStore, Metadata, Mode,
    SketchKind, Store, testsuite,
};
use serde_json::{Value, json};
use simhash::{BucketKey, Fingerprint};
use store_redis::{RedisStore, RedisUri};

use crate::support::{
    CLASSIC, Random, Redis, Worker, apart, command, digest, free_ports, json_lines, kept, made_up_corpus,
    matches, news, redis, run,
};

fn open(url: &str) -> Box<dyn Store> {
    url.parse::<StoreUri>().unwrap().open(Mode::CreateIfMissing, Clock::system(), None).unwrap()
}

fn open_with_clock(url: &str, clock: Clock) -> Box<dyn Store> {
    let uri: RedisUri = url.strip_prefix("redis://").unwrap().parse().unwrap();
    Box::new(RedisStore::with_clock(&uri, clock).unwrap())
}

/// Makes a new index of the default scheme.
fn create(url: &str) -> Box<dyn Store> {
    let store = open(url);
    store.create(&metadata()).unwrap();
    store
}

fn metadata() -> Metadata {
    let kind = SketchKind::default();
    let (max_distance, recipe, identity) = (kind.max_distance(), [].into(), Identity::new([1; 16]));
    Metadata {
        format_version: FORMAT_VERSION,
        max_distance,
        min_similarity: None,
        kind,
        texts: index::TextKeeping::None,
        same_numbers: false,
        key: None,
        retain: None,
        recipe,
        identity,
    }
}

fn document(id: &str, bits: u64) -> Document {
    let sketch = SketchKind::default().sketch(Fingerprint(bits));
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

/// Every store and every program give the same answers about one corpus.
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
        run("indexer", ["index", "-q", "--store", store, "--texts", "zstd", corpus]).expect(0);
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

/// Counted verdicts, estimates and other numbers are equal in the programs, whichever store
/// decides.
#[test]
fn texts_and_numbers_decide_as_in_other_stores() {
    let Some(redis) = redis() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let corpus = at("corpus.jsonl");
    let numbered = (0..40).map(|n| {
        (
            format!("numbered {n}"),
            format!(
                "{} The harbour office counts {n} boats.",
                "The ferry leaves at noon and comes back at night. ".repeat(2)
            ),
        )
    });
    let numbered: Vec<(String, String)> = numbered.collect();
    let numbered = json_lines(numbered.iter().map(|(id, text)| (id.as_str(), text.as_str())));
    fs::write(&corpus, [fs::read_to_string(news()).unwrap(), numbered, made_up_corpus(600, 13)].concat())
        .unwrap();
    let mut n_dropped = Vec::new();
    for (name, flags) in [
        ("counted", &["--texts", "zstd"][..]),
        ("numbers", &["--texts", "zstd", "--same-numbers"]),
        ("estimated", &["--texts", "none"]),
        ("estimated-numbers", &["--texts", "none", "--same-numbers"]),
    ] {
        let stores = [format!("embedded:{}", at(name)), redis.url(name)];
        let [a, b] = [0, 1].map(|n| {
            let dropped = at(&format!("{name}-{n}.jsonl"));
            let args = ["dedup", "-q", "--store", &stores[n], &corpus, "--duplicates", &dropped];
            run("indexer", [&args[..], flags].concat()).expect(0);
            let dropped = fs::read_to_string(dropped).unwrap();
            let folder = at(&format!("{name}-{n}-pairs"));
            run("indexer", ["pairs", "-q", "--store", &stores[n], "--output", &folder]).expect(0);
            let parts = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            let parts = parts.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
            let pairs: String = parts.map(|part| fs::read_to_string(part).unwrap()).collect();
            let pairs: BTreeSet<_> = pairs.lines().map(str::to_owned).collect();
            let info = run("pigeonhole", ["info", "--store", &stores[n]]).expect(0).stdout;
            let texts = info.lines().find(|line| line.starts_with("texts ")).map(str::to_owned);
            run("pigeonhole", ["verify", "--store", &stores[n]]).expect(0);
            (dropped, pairs, digest(&stores[n]), texts)
        });
        assert_eq!(a, b, "{name}");
        assert_eq!(a.0.contains("\"exact\":true"), name == "counted" || name == "numbers");
        n_dropped.push(a.0.lines().count());
    }
    assert!(
        n_dropped[0] > 100 && n_dropped[1] < n_dropped[0] && n_dropped[3] < n_dropped[2],
        "{n_dropped:?}"
    );
    // By default, the server has nothing of a text.
    run("indexer", ["index", "-q", "--store", &redis.url("default"), &corpus]).expect(0);
    assert_eq!(redis.cli(&["--scan", "--pattern", "pigeonhole:{default}:x:*"]).trim(), "");
    assert_ne!(redis.cli(&["--scan", "--pattern", "pigeonhole:{counted}:x:*"]).trim(), "");
}

#[test]
fn every_scheme_finds_the_same() {
    let Some(redis) = redis() else { return };
    let corpus = tempfile::NamedTempFile::new().unwrap();
    fs::write(corpus.path(), made_up_corpus(400, 5)).unwrap();
    let corpus = corpus.path().to_str().unwrap();
    let expected = kept("memory:", "5c2", corpus);
    assert!(expected.lines().count() < 400);
    for scheme in SketchKind::NAMES {
        assert_eq!(kept(&redis.url(&format!("scheme-{scheme}")), scheme, corpus), expected, "{scheme}");
    }
}

/// Separate stores, as in several processes, with batches so large that calls overlap.
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
                    let insertions = open(url).insert_if_new(&documents, &apart(3).into()).unwrap();
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

    // The programs do the same: two of them drop the duplicates of one corpus at once.
    let corpus = tempfile::NamedTempFile::new().unwrap();
    fs::write(corpus.path(), made_up_corpus(1_500, 8)).unwrap();
    let corpus = corpus.path().to_str().unwrap();
    let store = redis.url("race-dedup");
    let indexers: Vec<_> = (0..2)
        .map(|_| {
            command("indexer", ["dedup", "-q", "--store", &store, corpus]).args(CLASSIC).spawn().unwrap()
        })
        .collect();
    for indexer in indexers {
        let done = indexer.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let alone = redis.url("race-alone");
    run("indexer", [&["dedup", "-q", "--store", &alone, corpus][..], &CLASSIC].concat()).expect(0);
    let (kept, expected) = (open(&store), open(&alone));
    assert!(expected.status().unwrap().n_documents.is_some_and(|n| n > 500));
    // No two kept documents are near each other, whatever the order.
    let page = kept.scan(index::Cursor::start(), 10_000).unwrap();
    assert!(page.next.is_none() && page.documents.len() > 500);
    let sketches: Vec<_> = page.documents.iter().map(|stored| stored.document.sketch.clone()).collect();
    assert!(kept.near(&sketches, &apart(3).into(), 0).unwrap().iter().all(|found| found.n_matches == 1));
}

/// Boilerplate: more documents of one fingerprint than a page of a bucket, and others behind them
/// in the same buckets.
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
            let found = store.near(&queries, &apart(max_distance).into(), limit).unwrap();
            found.into_iter().map(|found| (found.matches, found.n_matches)).collect::<Vec<_>>()
        });
        assert_eq!(found[0], found[1], "within {max_distance}, limit {limit}");
    }
    let new: Vec<_> = (0..200).map(|n| document(&format!("equal {}", n * 9), n * 5 % 64)).collect();
    let inserted = [&*store, &memory].map(|store| store.insert_if_new(&new, &apart(2).into()).unwrap());
    assert_eq!(inserted[0], inserted[1]);
}

/// Keys of every sketch are gone with their documents, in batches too large for one script.
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
    let mut left: Vec<_> = keys.lines().filter(|key| !key.starts_with("pigeonhole:{emptied}:a:")).collect();
    left.sort_unstable();
    assert_eq!(left, ["pigeonhole:{emptied}:metadata", "pigeonhole:{emptied}:writes"]);
    // Answers stored for repetitions expire by themselves.
    for answer in keys.lines().filter(|key| key.contains(":a:")) {
        assert_ne!(redis.cli(&["ttl", answer]).trim(), "-1");
    }
}

/// Errors after common omissions name a remedy.
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

    let [port] = free_ports();
    let nobody = format!("127.0.0.1:{port}");
    let away = index(&format!("redis://{nobody}/errors"), &[]).expect(2).stderr;
    assert!(away.contains(&nobody) && away.contains("is it running"), "{away}");
    let beyond = index(&format!("{url}?db=99"), &[]).expect(2).stderr;
    assert!(beyond.contains("database 99") && beyond.contains("databases"), "{beyond}");

    redis.cli(&["sadd", "pigeonhole:{taken}:ids", "x"]);
    let taken = index(&redis.url("taken"), &[]).expect(2).stderr;
    assert!(taken.contains("another program") && taken.contains("another name"), "{taken}");
}
