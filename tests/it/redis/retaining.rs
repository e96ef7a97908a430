//! Retention in Redis: documents that expire.

use index::testsuite::FakeClock;
use index::{MemoryStore, Metadata, Retention, Store};

use super::{document, metadata, open_with_clock};
use crate::support::{Random, Redis, apart, redis};

const RETAIN_MS: i64 = 100_000;

/// Makes a new index that retains its documents for [`RETAIN_MS`].
fn create_retaining(url: &str, clock: &FakeClock) -> Box<dyn Store> {
    let store = open_with_clock(url, clock.clock());
    let retain = Retention::from_seconds((RETAIN_MS / 1_000) as u32);
    store.create(&Metadata { retain, ..metadata() }).unwrap();
    store
}

/// Returns the number of keys and the used memory of a server, without answers stored for
/// repetitions.
fn weigh(redis: &Redis, name: &str) -> (u64, u64) {
    let forget = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end";
    redis.cli(&["eval", forget, "0", &format!("pigeonhole:{{{name}}}:a:*")]);
    let n_keys = redis.cli(&["dbsize"]).trim().parse().unwrap();
    let info = redis.cli(&["info", "memory"]);
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
    (n_keys, used.trim().parse().unwrap())
}

/// Ten turn-overs take no more room than three. When the last has expired, single writes free all
/// of it.
#[test]
fn what_expires_gives_its_room_back() {
    let Some(redis) = Redis::start(&[]) else { return };
    let clock = FakeClock::at_present();
    let store = create_retaining(&redis.url("level"), &clock);
    let mut random = Random(6);
    let mut weights = Vec::new();
    for _turn in 0..10 {
        for step in 0..10 {
            // With boilerplate, more than a small run has.
            let mut documents: Vec<_> =
                (0..150).map(|_| random.next()).map(|bits| document(&format!("{bits:016x}"), bits)).collect();
            documents.extend((0..30).map(|_| document(&format!("{:016x}", random.next()), 7)));
            store.insert(&documents).unwrap();
            assert_eq!(
                store.near(&[document("query", 7).sketch], &apart(0).into(), 1).unwrap()[0].n_matches % 30,
                0,
                "{step}"
            );
            clock.advance_ms(RETAIN_MS / 10);
        }
        weights.push(weigh(&redis, "level"));
    }
    let ((n_keys, bytes), (n_keys_last, bytes_last)) = (weights[2], weights[9]);
    assert!(n_keys_last <= n_keys + n_keys / 50, "{weights:?}");
    // A server's own use varies; seven turn-overs left behind would need three times as much.
    assert!(bytes_last <= bytes + bytes / 4, "{weights:?}");
    assert!(n_keys > 10_000, "{weights:?}");

    clock.advance_ms(RETAIN_MS);
    assert_eq!(store.status().unwrap().n_documents, Some(0));
    for n in 0..40 {
        store.insert(&[document("last", 1 << n)]).unwrap();
    }
    // Metadata, the last write, the number of writes, ids, times, one record, one run and ten
    // buckets.
    assert_eq!(weigh(&redis, "level").0, 17);
}

/// Redis finds the same as memory in large, partly expired runs.
#[test]
fn large_runs_that_expire() {
    let Some(redis) = redis() else { return };
    let clock = FakeClock::at_present();
    let memory = MemoryStore::with_clock(clock.clock());
    memory.create(&Metadata { retain: Retention::from_seconds(100), ..metadata() }).unwrap();
    let store = create_retaining(&redis.url("large-runs"), &clock);
    let stores = [&*store, &memory as &dyn Store];
    let mut random = Random(9);
    for n in 0..50_u64 {
        let documents: Vec<_> =
            (0..60).map(|_| document(&format!("{:016x}", random.next()), n % 3 * 0xff)).collect();
        for store in stores {
            store.insert(&documents).unwrap();
        }
        clock.advance_ms(1_000);
    }
    // Most, some, and few of the three runs of 1,000 ids each are left; then of one larger than is
    // answered whole.
    for (advance_ms, n_more) in [(0, 0), (50_000, 0), (20_000, 2_000), (29_000, 0), (1_000, 0), (70_999, 0)] {
        clock.advance_ms(advance_ms);
        let more: Vec<_> = (0..n_more).map(|_| document(&format!("{:016x}", random.next()), 0)).collect();
        let queries: Vec<_> = (0..3).map(|n| document("query", (n * 0xff) ^ 1).sketch).collect();
        for store in stores {
            store.insert(&more).unwrap();
        }
        for limit in [0, 1, 7, 900, 1_500, 5_000] {
            let found = stores.map(|store| {
                let found = store.near(&queries, &apart(2).into(), limit).unwrap();
                found.into_iter().map(|found| (found.matches, found.n_matches)).collect::<Vec<_>>()
            });
            assert_eq!(found[0], found[1], "limit {limit} after {advance_ms} ms");
        }
    }
    let new = [0, 1, 0xff, 0x1fe].map(|bits| document("new", bits));
    for document in new {
        let answers = stores
            .map(|store| store.insert_if_new(std::slice::from_ref(&document), &apart(2).into()).unwrap());
        assert_eq!(answers[0], answers[1]);
    }
}

/// Two programs with different clocks: a document lives longer or shorter by the difference, and
/// each program is consistent.
#[test]
fn clocks_that_differ() {
    let Some(redis) = redis() else { return };
    let (clock, slow) = (FakeClock::at_present(), FakeClock::at_present());
    slow.advance_ms(clock.now().as_ms() - slow.now().as_ms() - 10_000);
    let url = redis.url("clocks");
    let store = create_retaining(&url, &clock);
    let behind = open_with_clock(&url, slow.clock());
    let n_found = |store: &dyn Store| {
        store.near(&[document("query", 0).sketch], &apart(3).into(), 0).unwrap()[0].n_matches
    };
    store.insert(&[document("a", 0)]).unwrap();
    let elapse = |ms| [&clock, &slow].map(|clock| clock.advance_ms(ms));
    elapse(RETAIN_MS - 1);
    assert_eq!((n_found(&*store), n_found(&*behind)), (1, 1));
    elapse(1);
    assert_eq!((n_found(&*store), n_found(&*behind)), (0, 1));
    elapse(10_000);
    assert_eq!((n_found(&*store), n_found(&*behind)), (0, 0));
    // A document of the slow program is 10 s old for the other from the start.
    behind.insert(&[document("b", 0)]).unwrap();
    elapse(RETAIN_MS - 10_000);
    assert_eq!((n_found(&*store), n_found(&*behind)), (0, 1));
}
