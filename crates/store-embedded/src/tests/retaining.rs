//! Documents with a retention: the sizes of the file, and the tables of other processes.

use index::testsuite::{FakeClock, within};
use index::{Retention, Timestamp};

use super::processes::Other;
use super::*;

pub(super) const RETAIN_MS: i64 = 100_000;

/// Larger than the limits of the other tests, under which every follower would build its tables
/// anew; and so large that the number of documents bounds the removals.
const LIMITS: Limits = Limits { removals_kept_max: 5_000, removals_kept_min: 50, ..SMALL };

pub(super) fn open_retaining(path: &Path, clock: Clock) -> EmbeddedStore {
    let store = EmbeddedStore::open_with(path, Mode::CreateIfMissing, LIMITS, clock).unwrap();
    let retain = Retention::from_seconds((RETAIN_MS / 1000) as u32);
    store.create(&Metadata { retain, ..metadata() }).unwrap();
    store
}

fn n_rows(store: &EmbeddedStore) -> u64 {
    snapshot(store, |opened, txn| opened.log.len(txn))
}

/// After ten times the whole contents the file is no larger than after three, nor are the tables
/// and the removals kept for followers.
#[test]
fn the_file_stays_level() {
    const STEPS_PER_TURN: u64 = 20;
    const STEP: u64 = 100;
    let directory = directory();
    let clock = FakeClock::at(1_000_000);
    let store = open_retaining(directory.path(), clock.clock());
    store.prepare().unwrap();
    let mut sizes = Vec::new();
    for turn in 0..10 {
        for step in 0..STEPS_PER_TURN {
            let first = STEP * (STEPS_PER_TURN * turn + step);
            let new = documents(first..first + STEP);
            if step % 2 == 0 {
                store.insert(&new).unwrap();
            } else {
                store.insert_if_new(&new, &within(3)).unwrap();
            }
            clock.advance_ms(RETAIN_MS / STEPS_PER_TURN as i64);
            let n_removals = snapshot(&store, |opened, txn| opened.removals.len(txn));
            assert!(n_removals <= n_rows(&store).max(50), "{n_removals} removals");
            assert!(n_rows(&store) <= STEP * (STEPS_PER_TURN + 1));
        }
        let ram = store.shared.ram.read().unwrap();
        let tables = &ram.as_ref().unwrap().tables;
        sizes.push((store.status().unwrap().n_disk_bytes.unwrap(), tables.n_postings(), tables.heap_bytes()));
    }
    let ((disk, postings, heap), (disk_last, postings_last, heap_last)) = (sizes[2], sizes[9]);
    assert!(disk_last <= disk, "{sizes:?}");
    assert_eq!(postings_last, postings, "{sizes:?}");
    assert!(heap_last <= heap + heap / 20, "{sizes:?}");
    let live = STEP * STEPS_PER_TURN * 10;
    assert_found(&store, &documents(live - STEP * (STEPS_PER_TURN - 1)..live));
}

/// After a long rest each write sweeps a bounded piece, which also leaves the tables of all other
/// handles.
#[test]
fn a_write_sweeps_a_bounded_piece() {
    let directory = directory();
    let clock = FakeClock::at(1_000_000);
    let store = open_retaining(directory.path(), clock.clock());
    store.prepare().unwrap();
    store.insert(&documents(0..500)).unwrap();
    clock.advance_ms(RETAIN_MS);
    let mut expected = 500;
    for n in 1..=100 {
        assert_eq!(n_rows(&store), expected);
        assert_eq!(store.status().unwrap().n_documents, Some(n - 1));
        assert_not_found(&store, &documents([0, 499]));
        store.insert(&documents([1_000 + n])).unwrap();
        // Two for the inserted document, and the least bound.
        let n_swept = (expected - (n - 1)).min(2 + LIMITS.swept_min as u64);
        expected = expected - n_swept + 1;
    }
    assert_eq!(n_rows(&store), 100);
    assert_found(&store, &documents(1_001..1_101));
    let n_postings = store.shared.ram.read().unwrap().as_ref().map(|ram| ram.tables.n_postings());
    assert_eq!(n_postings, Some(100));
    // A call without effect sweeps as well.
    clock.advance_ms(RETAIN_MS);
    store.remove(&documents(0..60).into_iter().map(|document| document.id).collect::<Vec<_>>()).unwrap();
    assert_eq!(n_rows(&store), 0);
}

/// A clock that goes back a little, as set by NTP, begins no run: the next documents take the time
/// of the last one.
#[test]
fn a_little_back_is_not_back() {
    let directory = directory();
    let clock = FakeClock::at(1_000_000);
    let store = open_retaining(directory.path(), clock.clock());
    store.insert(&documents([1])).unwrap();
    clock.advance_ms(-5_000);
    store.insert(&documents([2])).unwrap();
    let at = |n: u64| store.get(&[document(n).id]).unwrap()[0].as_ref().map(|stored| stored.inserted_at);
    let began = Timestamp::new(1_000_000);
    assert_eq!((at(1), at(2)), (began, began));
    clock.advance_ms(5_000 + RETAIN_MS - 1);
    assert_found(&store, &documents([1, 2]));
    clock.advance_ms(1);
    assert_not_found(&store, &documents([1, 2]));
}

/// Two handles with different clocks: a document inserted by one lives 10 s longer for the handle
/// 10 s behind, and the other way round.
#[test]
fn clocks_that_differ() {
    let directory = directory();
    let (clock, slow) = (FakeClock::at(1_000_000), FakeClock::at(990_000));
    let store = open_retaining(directory.path(), clock.clock());
    let behind = open_retaining(directory.path(), slow.clock());
    let elapse = |ms| [&clock, &slow].map(|clock| clock.advance_ms(ms));
    let n_found =
        |store: &EmbeddedStore| store.near(&[document(1).sketch], &within(0), 0).unwrap()[0].n_matches;
    let counts = |store: &EmbeddedStore| (n_found(store), store.status().unwrap().n_documents);
    store.insert(&documents([1])).unwrap();
    elapse(RETAIN_MS - 1);
    assert_eq!((counts(&store), counts(&behind)), ((1, Some(1)), (1, Some(1))));
    elapse(1);
    for _ in 0..2 {
        // In turns, because the handles share their knowledge of the first live documents.
        assert_eq!((counts(&store), counts(&behind)), ((0, Some(0)), (1, Some(1))));
    }
    elapse(10_000);
    assert_eq!((counts(&store), counts(&behind)), ((0, Some(0)), (0, Some(0))));
    behind.remove(&[document(1).id]).unwrap();
    behind.insert(&documents([1])).unwrap();
    elapse(RETAIN_MS - 10_000);
    assert_eq!((counts(&store), counts(&behind)), ((0, Some(0)), (1, Some(1))));
}

/// Followers of all kinds, some of which miss removals, end with the same tables as a new build;
/// and searches find the documents that are live by the clock, swept or not.
#[test]
fn followers_of_a_store_that_turns_over() {
    let directory = directory();
    let clock = FakeClock::at(1_000_000);
    let store = open_retaining(directory.path(), clock.clock());
    let mut followers = [(1, 1000), (3, 7), (10, 1000), (40, 5)].map(|how| (how, None));
    for n in 0..80_u64 {
        store.insert(&documents(10 * n..10 * n + 10)).unwrap();
        for ((every, step), ram) in &mut followers {
            if n % *every == 0 {
                follower::follow(&store, ram, *step);
            }
        }
        clock.advance_ms(RETAIN_MS / 8);
        let live = documents(10 * (n + 1).saturating_sub(7)..10 * n + 10);
        assert_found(&store, &live);
        assert_eq!(store.status().unwrap().n_documents, Some(live.len() as u64));
        assert_not_found(&store, &documents((10 * n).saturating_sub(200)..10 * (n + 1).saturating_sub(7)));
    }
    let mut built = None;
    follower::follow(&store, &mut built, 1);
    let built = built.unwrap();
    for ((every, step), mut ram) in followers {
        while follower::follow(&store, &mut ram, step) < follower::last_change(&store) {}
        let ram = ram.unwrap();
        assert_eq!(follower::answers(&ram), follower::answers(&built), "every {every} in steps of {step}");
        assert_eq!(ram.tables.n_postings(), built.tables.n_postings());
    }
}

/// Inserts the documents `from..to` at the time `ms`, for each line `ms from..to`.
pub(super) fn inserts_at(path: &Path, lines: impl Iterator<Item = String>) {
    let clock = FakeClock::at(0);
    let store = open_retaining(path, clock.clock());
    for line in lines {
        let (ms, range) = line.split_once(' ').unwrap();
        clock.advance_ms(ms.parse::<i64>().unwrap() - clock.now().as_ms());
        let (from, to) = range.split_once("..").unwrap();
        store.insert(&documents(from.parse().unwrap()..to.parse().unwrap())).unwrap();
        processes::tell("done");
    }
}

/// Another process writes and sweeps; this one only reads, and sees no document a millisecond too
/// long or too short.
#[test]
fn a_reader_beside_a_process_that_sweeps() {
    let directory = directory();
    let clock = FakeClock::at(1_000_000);
    let store = open_retaining(directory.path(), clock.clock());
    store.prepare().unwrap();
    let mut writer = Other::start("retainer", directory.path());
    for n in 0..30_u64 {
        let first = 20 * n;
        writer.say(&format!("{} {first}..{}", clock.now().as_ms(), first + 20));
        assert_eq!(writer.hear().as_deref(), Some("done"));
        // Documents of the last five times are there; one millisecond later, of the last four.
        let [five_times, four_times] = [4, 3].map(|n_before| 20 * n.saturating_sub(n_before));
        clock.advance_ms(RETAIN_MS / 5 - 1);
        assert_found(&store, &documents(five_times..first + 20));
        clock.advance_ms(1);
        assert_found(&store, &documents(four_times..first + 20));
        assert_not_found(&store, &documents(four_times.saturating_sub(100)..four_times));
    }
    let n_postings = store.shared.ram.read().unwrap().as_ref().map(|ram| ram.tables.n_postings());
    assert!(n_postings < Some(200), "{n_postings:?}: what the other process sweeps leaves these tables too");
    writer.finish();
}

/// Removes the documents `from..to` of each line.
pub(super) fn removes(store: &EmbeddedStore, lines: impl Iterator<Item = String>) {
    for line in lines {
        let (from, to) = line.split_once("..").unwrap();
        let ids: Vec<_> = documents(from.parse().unwrap()..to.parse().unwrap())
            .into_iter()
            .map(|document| document.id)
            .collect();
        assert!(store.remove(&ids).unwrap().iter().all(|removed| *removed));
        processes::tell("done");
    }
}

#[test]
fn what_one_process_removes_another_finds_no_more() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&documents(0..100)).unwrap();
    store.prepare().unwrap();
    let mut remover = Other::start("remover", directory.path());
    for from in (0..100).step_by(20) {
        assert_found(&store, &documents(from..100));
        remover.say(&format!("{from}..{}", from + 20));
        assert_eq!(remover.hear().as_deref(), Some("done"));
        assert_not_found(&store, &documents(0..from + 20));
        assert_eq!(store.insert_if_new(&documents([from]), &within(3)).unwrap(), [Insertion::Inserted]);
        assert_eq!(store.remove(&[document(from).id]).unwrap(), [true]);
    }
    remover.finish();
}
