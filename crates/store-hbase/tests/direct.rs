//! The store without a gateway, on a cluster in this process: its patience with servers that are
//! away, the calls for which it needs no master, its messages, and the remains of a race.
#![expect(clippy::unwrap_used, reason = "what fails here is a failed test")]

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hbase_rpc::fake::{FakeCluster, Fault, FaultKind};
use index::testsuite::{document, id, sketch, spread, within};
use index::{
    Clock, Document, Error, ErrorKind, Examined, Identity, Insertion, Metadata, OpenOptions, Profile, Store,
};
use pigeonhole_store_hbase::{HbaseStore, HbaseUri};

const PATIENCE: Duration = Duration::from_secs(3);

/// For the last try of a call, and a busy machine. A wait of twice the patience is longer.
const SLACK: Duration = Duration::from_millis(2_900);

fn metadata() -> Metadata {
    let options =
        OpenOptions { profile: Some(Profile::Classic), verify: Some(false), ..OpenOptions::default() };
    Metadata { identity: Identity::new([1; 16]), ..options.new_metadata().unwrap() }
}

/// Starts a cluster with the tables of the index `t`, and the index.
fn cluster() -> FakeCluster {
    let cluster = FakeCluster::start(2);
    cluster.create_table("t", &["f"], &[b"\x00\x80\x00\x00", b"\x01\x80"]);
    cluster.create_table("t_docs", &["d", "m"], &[b"8"]);
    open(&cluster, Clock::system()).create(&metadata()).unwrap();
    cluster
}

fn open(cluster: &FakeCluster, clock: Clock) -> HbaseStore {
    let [(host, port), (_, region_server)] = [cluster.master(), cluster.region_server(0)];
    let uri: HbaseUri = format!("hbase+rpc://{host}:{port},{host}:{region_server}/t").parse().unwrap();
    HbaseStore::open(&uri, clock, Some(PATIENCE)).unwrap()
}

fn told(error: &Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

fn check_waits(name: &str, store: &HbaseStore) {
    let begun = Instant::now();
    let error = store.get(&[id("a")]).unwrap_err();
    let waited = begun.elapsed();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{}", told(&error));
    assert!((PATIENCE..PATIENCE + SLACK).contains(&waited), "{name}: {waited:?}, {}", told(&error));
}

/// A call waits its whole patience, and no longer.
#[test]
fn what_is_away_is_waited_for_as_long_as_was_said() {
    for (name, kind) in [
        ("a queue is full", FaultKind::Exception("CallQueueTooBigException")),
        ("a region is on its way", FaultKind::Exception("NotServingRegionException")),
        ("connections are closed", FaultKind::Close),
        ("nothing is said", FaultKind::Stall),
    ] {
        let cluster = cluster();
        let store = open(&cluster, Clock::system());
        store.metadata().unwrap();
        cluster.fail(Fault::any(kind.clone()).times(1_000_000));
        check_waits(name, &store);
        cluster.clear_faults();
        store.get(&[id("a")]).unwrap();
    }
    let cluster = cluster();
    let store = open(&cluster, Clock::system());
    store.metadata().unwrap();
    cluster.kill_master();
    cluster.kill(0);
    cluster.kill(1);
    check_waits("all are gone", &store);
}

#[test]
fn an_index_is_opened_while_the_master_is_away() {
    let cluster = cluster();
    let documents = [document("a", 1), document("b", spread(2))];
    open(&cluster, Clock::system()).insert(&documents).unwrap();
    cluster.kill_master();
    let store = open(&cluster, Clock::system());
    assert_eq!(store.metadata().unwrap(), Some(metadata()));
    store.prepare().unwrap();
    assert_eq!(store.near(&[sketch(0)], &within(3), 1).unwrap()[0].n_matches, 1);
    assert_eq!(store.insert_if_new(&[document("c", spread(3))], &within(3)).unwrap(), [Insertion::Inserted]);
    // A new index is not made of unchecked tables.
    cluster.create_table("t", &["f"], &[]);
    cluster.create_table("t_docs", &["d", "m"], &[]);
    let error = open(&cluster, Clock::system()).create(&metadata()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{}", told(&error));
}

/// Each message states the case, and none asks for ports where a server has answered.
#[test]
fn messages_say_what_is_the_case() {
    for (class, says) in [
        ("NotServingRegionException", "a region of t or t_docs is with no server (for 3 s)"),
        ("RegionServerStoppedException", "taken over from a server that failed. Wait"),
        ("CallQueueTooBigException", "has too much to do (for 3 s)"),
        ("RegionTooBusyException", "a queue or a memstore is full"),
    ] {
        let cluster = cluster();
        let store = open(&cluster, Clock::system());
        store.metadata().unwrap();
        cluster.fail(Fault::on("Multi", FaultKind::Exception(class)).times(1_000_000));
        let error = store.get(&[id("a")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let told = told(&error);
        assert!(told.contains(says) && !told.contains("port"), "{told}");
    }
    let cluster = cluster();
    let store = open(&cluster, Clock::system());
    store.metadata().unwrap();
    cluster.enable_table("t_docs", false);
    let error = store.get(&[id("a")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Disabled, "{}", told(&error));
    assert!(told(&error).contains("`enable 't_docs'` in the HBase shell"), "{}", told(&error));
}

/// Several writers at once, each with a member of every group of near-duplicates: one of each is
/// kept, and there is nothing else, however long after.
#[test]
fn a_race_leaves_nothing() {
    const N_WRITERS: u64 = 3;
    const N_GROUPS: u64 = 40;
    let cluster = cluster();
    let start = Barrier::new(N_WRITERS as usize);
    let n_inserted: usize = thread::scope(|scope| {
        let (cluster, start) = (&cluster, &start);
        let race = |writer: u64| {
            let store = open(cluster, Clock::system());
            let member = |group| document(&format!("{group}/{writer}"), spread(group) ^ (1 << writer));
            let batches: Vec<Vec<Document>> =
                (0..N_GROUPS / 5).map(|batch| (5 * batch..5 * batch + 5).map(member).collect()).collect();
            let insert = |batch: &Vec<Document>| {
                start.wait();
                let insertions = store.insert_if_new(batch, &within(3)).unwrap();
                insertions.iter().filter(|insertion| **insertion == Insertion::Inserted).count()
            };
            batches.iter().map(insert).sum::<usize>()
        };
        let writers: Vec<_> = (0..N_WRITERS).map(|writer| scope.spawn(move || race(writer))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert_eq!(n_inserted as u64, N_GROUPS);
    let an_hour_later = Clock::new(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        (now + Duration::from_secs(3_600)).as_millis() as i64
    });
    let mut n_items = 0;
    let store = open(&cluster, an_hour_later);
    store
        .examine(false, &mut |examined| match examined {
            Examined::Items(n) => n_items += n,
            Examined::Found(finding) => panic!("{finding:?}"),
        })
        .unwrap();
    // Each withdrawn claim stays in its row, for a day.
    assert!((N_GROUPS * 11..=N_GROUPS * 13).contains(&n_items), "{n_items} rows and cells");
}
