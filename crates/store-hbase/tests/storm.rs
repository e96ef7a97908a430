//! The store without a gateway, on a cluster in this process with events all the time: calls fail
//! in all the ways of servers and networks, regions are split, merged and moved, and servers are
//! killed. Nothing is lost, no answer is wrong, and of near-duplicates inserted at once one stays.
#![expect(clippy::unwrap_used, reason = "what fails here is a failed test")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hbase_rpc::fake::{FakeCluster, Fault, FaultKind};
use index::{
    Clock, Cursor, Document, DocumentId, Error, Examined, FORMAT_VERSION, FindingKind, Identity, Insertion,
    Metadata, Rule, SketchKind, Store,
};
use pigeonhole_store_hbase::{HbaseStore, HbaseUri};
use simhash::{Distance, Fingerprint};

const MAX_DISTANCE: Distance = Distance::of_differing(0b111);

/// The number of documents inserted before.
const N_OLD: usize = 200;

/// The number of documents loaded meanwhile, and of those in a batch.
const N_LOADED: usize = 1_000;
const BATCH: usize = 100;

/// The number of groups of near-duplicates inserted meanwhile, of those in a batch, and of their
/// writers.
const N_GROUPS: usize = 120;
const GROUPS_AT_ONCE: usize = 20;
const N_RACERS: usize = 3;

/// The number of calls between two events.
const CALLS_BETWEEN: u64 = 5;

/// The fewest events, and the fewest searches answered meanwhile.
const ENOUGH_EVENTS: usize = 150;
const ENOUGH_ANSWERS: usize = 40;

/// Splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> usize {
        (self.next() % n) as usize
    }
}

/// Returns documents whose fingerprints are far from those of all others.
fn documents(name: &str, n: usize, seed: u64) -> Vec<Document> {
    let (mut random, kind) = (Random(seed), SketchKind::default());
    (0..n).map(|i| document(&kind, &format!("{name}/{i}"), random.next())).collect()
}

fn document(kind: &SketchKind, id: &str, bits: u64) -> Document {
    Document { id: DocumentId::new(id).unwrap(), sketch: kind.sketch(Fingerprint(bits)), source: None }
}

/// Returns one document of each group, which differs in a bit from those of the other racers.
fn racer(number: usize) -> Vec<Document> {
    let (mut random, kind) = (Random(31), SketchKind::default());
    let member = |i| document(&kind, &format!("group/{i}/{number}"), random.next() ^ (1 << number));
    (0..N_GROUPS).map(member).collect()
}

fn open(cluster: &FakeCluster) -> HbaseStore {
    let (host, port) = cluster.master();
    let uri: HbaseUri = format!("hbase+rpc://{host}:{port}/t").parse().unwrap();
    // A call without an answer takes as long.
    HbaseStore::open(&uri, Clock::system(), Some(Duration::from_secs(2))).unwrap()
}

/// Makes a call until it succeeds, as a restarted program does: all calls of a store may be
/// repeated.
fn insist<T>(mut call: impl FnMut() -> Result<T, Error>) -> T {
    loop {
        match call() {
            Ok(answer) => return answer,
            Err(error) => assert!(error.kind().is_transient(), "{error:?}"),
        }
    }
}

/// Makes one event happen.
fn happen(cluster: &FakeCluster, random: &mut Random) {
    let table = ["t", "t_docs"][random.below(2)];
    // Keys of the index begin with a segment, and those of documents with hexadecimal digits.
    let key = match table {
        "t" => (random.next() as u32 >> 6).to_be_bytes().to_vec(),
        _ => format!("{:04x}", random.next() as u16).into_bytes(),
    };
    let fail = |method: &str, kind: FaultKind| cluster.fail(Fault::on(method, kind));
    let classes = [
        "CallQueueTooBigException",
        "RegionTooBusyException",
        "NotServingRegionException",
        "ipc.ServerNotRunningYetException",
        "regionserver.RegionServerStoppedException",
        "java.io.IOException",
    ];
    let class = classes[random.below(classes.len() as u64)];
    let method = ["Multi", "Scan"][random.below(2)];
    match random.below(16) {
        0 => fail(method, FaultKind::Close),
        1 => fail(method, FaultKind::CloseAfter),
        2 | 3 => fail(method, FaultKind::CutAfter(1 + random.below(400))),
        4 | 5 => fail(method, FaultKind::Exception(class)),
        6 => fail(method, FaultKind::ExceptionAfter("java.io.IOException")),
        7 => fail("Multi", FaultKind::Action(random.below(8), class)),
        8 => fail("Multi", FaultKind::Region(random.below(3), class)),
        9 => fail(method, FaultKind::Delay(Duration::from_millis(20))),
        10 => fail("Scan", FaultKind::Heartbeat),
        11 => cluster.move_region(table, &key, random.below(2)),
        12 if cluster.n_regions(table) < 12 => cluster.split(table, &key),
        13 => cluster.merge(table, &key),
        14 => cluster.forget_scans(),
        15 if random.below(4) == 0 => {
            let server = random.below(2);
            cluster.kill(server);
            cluster.recover(server);
            cluster.start_again(server);
        }
        _ if random.below(8) == 0 => fail(method, FaultKind::StallAfter),
        _ => {}
    }
}

#[test]
fn nothing_is_lost_and_no_answer_is_wrong_in_a_storm() {
    let cluster = FakeCluster::start(2);
    cluster.create_table("t", &["f"], &[b"\x00\x80\x00\x00", b"\x01\x80"]);
    cluster.create_table("t_docs", &["d", "m"], &[b"8"]);
    let (format_version, max_distance) = (FORMAT_VERSION, MAX_DISTANCE);
    let (kind, recipe, identity) = (SketchKind::default(), [].into(), Identity::new([1; 16]));
    let metadata = Metadata {
        format_version,
        max_distance,
        min_similarity: None,
        texts: index::TextKeeping::None,
        same_numbers: false,
        key: None,
        retain: None,
        kind,
        recipe,
        identity,
    };
    let store = open(&cluster);
    insist(|| store.create(&metadata));
    let rule: Rule = MAX_DISTANCE.into();
    let old = documents("old", N_OLD, 1);
    insist(|| store.insert(&old));
    let sketches: Vec<_> = old.iter().map(|document| document.sketch.clone()).collect();
    let ids = |found: &[index::Neighbours]| -> Vec<Vec<DocumentId>> {
        found.iter().map(|found| found.matches.iter().map(|near| near.id.clone()).collect()).collect()
    };
    let expected = ids(&insist(|| store.near(&sketches, &rule, 10)));
    assert!(expected.iter().zip(&old).all(|(found, document)| found.contains(&document.id)));

    let loaded = documents("loaded", N_LOADED, 2);
    let (n_left, is_over) = (Arc::new(AtomicUsize::new(1 + N_RACERS)), AtomicBool::new(false));
    let n_answered = AtomicUsize::new(0);
    let (mut n_failed, mut n_happened) = (0, 0);
    thread::scope(|scope| {
        let jobs = (0..=N_RACERS).map(|job| {
            let (cluster, loaded, rule, n_left) = (&cluster, &loaded, &rule, Arc::clone(&n_left));
            scope.spawn(move || {
                // Also where it panics.
                let _done = Done(n_left);
                let store = open(cluster);
                match job {
                    0 => loaded.chunks(BATCH).for_each(|batch| drop(insist(|| store.insert(batch)))),
                    _ => racer(job).chunks(GROUPS_AT_ONCE).for_each(|batch| {
                        let insertions = insist(|| store.insert_if_new(batch, rule));
                        assert!(insertions.iter().all(|done| !matches!(done, Insertion::Replaced)));
                    }),
                }
            })
        });
        let jobs: Vec<_> = jobs.collect();
        let searching = scope.spawn(|| {
            let mut n_failed = 0;
            for at in (0..N_OLD).step_by(4).cycle() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                match store.near(&sketches[at..at + 4], &rule, 10) {
                    Ok(found) => {
                        assert_eq!(ids(&found), expected[at..at + 4]);
                        n_answered.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => {
                        assert!(error.kind().is_transient(), "{error:?}");
                        n_failed += 1;
                    }
                }
            }
            n_failed
        });
        let mut random = Random(3);
        let n_calls = || cluster.n_calls("Multi") + cluster.n_calls("Scan");
        let mut n_before = n_calls();
        // The storm lasts until enough has happened, however the threads take turns on a busy
        // machine.
        let is_enough =
            |n_happened| n_happened >= ENOUGH_EVENTS && n_answered.load(Ordering::Relaxed) >= ENOUGH_ANSWERS;
        while (n_left.load(Ordering::Relaxed) > 0 || !is_enough(n_happened)) && !searching.is_finished() {
            if n_calls() >= n_before + CALLS_BETWEEN && cluster.n_faults() < 4 {
                happen(&cluster, &mut random);
                (n_before, n_happened) = (n_calls(), n_happened + 1);
            }
            thread::sleep(Duration::from_micros(200));
        }
        is_over.store(true, Ordering::Relaxed);
        cluster.clear_faults();
        jobs.into_iter().for_each(|job| job.join().unwrap());
        n_failed = searching.join().unwrap();
    });
    let n_answered = n_answered.into_inner();
    println!("{n_happened} things happened; {n_answered} searches were answered, {n_failed} failed");

    let mut all = BTreeSet::new();
    let mut next = Some(Cursor::start());
    while let Some(after) = next {
        let page = insist(|| store.scan(after.clone(), 1_000));
        for stored in page.documents {
            assert!(all.insert(stored.document.id.as_str().to_owned()), "it comes once");
        }
        next = page.next;
    }
    for document in old.iter().chain(&loaded) {
        assert!(all.remove(document.id.as_str()), "{:?} is lost", document.id);
    }
    let groups: Vec<_> = all.iter().map(|id| id.rsplit_once('/').unwrap().0).collect();
    assert_eq!((groups.len(), groups.iter().collect::<BTreeSet<_>>().len()), (N_GROUPS, N_GROUPS));
    insist(|| {
        store.examine(false, &mut |examined| match examined {
            Examined::Found(finding) => assert_eq!(finding.kind, FindingKind::Ghost, "{finding:?}"),
            Examined::Items(_) => {}
        })
    });
}

/// Counts down when it is dropped.
struct Done(Arc<AtomicUsize>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
