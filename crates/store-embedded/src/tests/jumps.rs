//! A clock that jumps ahead and comes back, across openings, processes and deaths.

use index::testsuite::{FakeClock, within};
use index::{Examined, Finding, FindingKind, Timestamp};

use super::damage::meddle;
use super::processes::Other;
use super::retaining::{RETAIN_MS, open_retaining};
use super::*;
use crate::record::encode_numbers;

const T: i64 = 1_700_000_000_000;
const DAY_MS: i64 = 24 * 3_600_000;
const TEN_YEARS_MS: i64 = 3_650 * DAY_MS;

fn turn(clock: &FakeClock, to: i64) {
    clock.advance_ms(to - clock.now().as_ms());
}

fn begins(store: &EmbeddedStore) -> Vec<u64> {
    let environment = &store.shared.environment;
    let runs = environment.with(|opened| {
        let txn = opened.read_txn()?;
        times::runs(opened, &txn)
    });
    runs.unwrap().begins().to_vec()
}

/// Asserts that exactly the `expected` documents are there, by every kind of query.
fn check(store: &EmbeddedStore, n_documents: u64, expected: &[u64]) {
    let (there, gone): (Vec<u64>, Vec<u64>) = (0..n_documents).partition(|n| expected.contains(n));
    assert_found(store, &documents(there));
    assert_not_found(store, &documents(gone));
    assert_eq!(store.status().unwrap().n_documents, Some(expected.len() as u64));
    assert_eq!(store.scan(Cursor::start(), index::MAX_BATCH).unwrap().documents.len(), expected.len());
}

/// The clock of another process jumps, and the process is killed at some moment of its next call.
/// This process goes on, and opens the store anew.
#[test]
fn a_process_whose_clock_was_ahead() {
    for n_more in [1, 300, 2_000] {
        let directory = directory();
        let clock = FakeClock::at(T);
        let store = open_retaining(directory.path(), clock.clock());
        store.prepare().unwrap();
        store.insert(&documents(0..5)).unwrap();
        let mut other = Other::start("retainer", directory.path());
        other.say(&format!("{} 5..10", T + TEN_YEARS_MS));
        assert_eq!(other.hear().as_deref(), Some("done"));
        // The clock comes back, which begins a run, and the process dies.
        other.say(&format!("{} 20..{}", T + 1_000, 20 + n_more));
        other.kill();
        let is_done = store.get(&[document(20).id]).unwrap()[0].is_some();
        let more: Vec<u64> = if is_done { (20..20 + n_more).collect() } else { Vec::new() };
        turn(&clock, T + 50_000);
        store.insert(&documents(10..15)).unwrap();
        assert_eq!(begins(&store).len(), 1);
        drop(store);
        let store = open_retaining(directory.path(), clock.clock());
        let n_all = 20 + n_more;
        let all = |rest: &[u64]| [rest, &more].concat();
        check(&store, n_all, &all(&(0..15).collect::<Vec<_>>()));
        turn(&clock, T + RETAIN_MS - 1);
        check(&store, n_all, &all(&(0..15).collect::<Vec<_>>()));
        turn(&clock, T + RETAIN_MS);
        check(&store, n_all, &all(&(5..15).collect::<Vec<_>>()));
        turn(&clock, T + 50_000 + RETAIN_MS - 1);
        check(&store, n_all, &(5..15).collect::<Vec<_>>());
        turn(&clock, T + 50_000 + RETAIN_MS);
        check(&store, n_all, &(5..10).collect::<Vec<_>>());
        // All expired documents are swept, and those ahead stay; when these are removed there is
        // one run again.
        assert_eq!(store.insert(&documents([0])).unwrap(), [Insertion::Inserted]);
        while snapshot(&store, |opened, txn| opened.log.len(txn)) > 6 {
            assert_eq!(store.insert(&documents([0])).unwrap(), [Insertion::Unchanged]);
        }
        let ahead: Vec<_> = documents(5..10).into_iter().map(|document| document.id).collect();
        assert_eq!(store.remove(&ahead).unwrap(), [true; 5]);
        assert_eq!(begins(&store), [0; 0]);
        check(&store, n_all, &[0]);
    }
}

/// An index of a version without notes of runs and writes goes on as one run; damage is reported.
#[test]
fn what_is_noted_of_time() {
    let directory = directory();
    let clock = FakeClock::at(T);
    let store = open_retaining(directory.path(), clock.clock());
    store.insert(&documents(0..3)).unwrap();
    meddle(&store, |opened, txn| {
        assert!(opened.meta.delete(txn, "last_write")?);
        assert!(!opened.meta.delete(txn, "runs")?);
        Ok(())
    });
    turn(&clock, T + 1_000);
    store.insert(&documents(3..6)).unwrap();
    check(&store, 6, &[0, 1, 2, 3, 4, 5]);
    turn(&clock, T + RETAIN_MS);
    check(&store, 6, &[3, 4, 5]);
    for (key, bytes) in [
        ("runs", encode_numbers(&[3, 3])),
        ("runs", b"123456789012".to_vec()),
        ("last_write", encode_numbers(&[1, 2])),
        ("last_write", encode_numbers(&[u64::MAX])),
    ] {
        meddle(&store, |opened, txn| opened.meta.put(txn, key, &bytes));
        assert_eq!(store.insert(&documents([9])).unwrap_err().kind(), ErrorKind::Corrupt, "{key}");
        meddle(&store, |opened, txn| opened.meta.delete(txn, key).map(drop));
        store.insert(&documents([3])).unwrap();
    }
}

/// A clock that is to be refused writes nothing, and the store is as before when the clock is right
/// again.
#[test]
fn a_clock_that_is_refused() {
    let directory = directory();
    let clock = FakeClock::at(T);
    let refusing = clock.clock().refusing_ahead(Duration::from_secs(3_600));
    let store = open_retaining(directory.path(), refusing);
    store.insert(&documents(0..3)).unwrap();
    turn(&clock, T + 3_600_001);
    let calls: [&dyn Fn() -> Result<()>; 3] = [
        &|| store.insert(&documents([3])).map(drop),
        &|| store.insert_if_new(&documents([3]), &within(3)).map(drop),
        &|| store.remove(&[document(0).id]).map(drop),
    ];
    for call in calls {
        let refused = call().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unavailable);
        assert!(refused.to_string().contains("set the clock right"), "{refused}");
    }
    // A handle that only warns of the clock sweeps nothing.
    let warned = open_retaining(directory.path(), clock.clock());
    turn(&clock, T + 2 * DAY_MS);
    warned.insert(&documents([3])).unwrap();
    turn(&clock, T + 50_000);
    store.insert(&documents([4])).unwrap();
    check(&store, 5, &[0, 1, 2, 3, 4]);
}

/// The clock flaps by two months, with documents of each time still there: at last it is terms,
/// until they are removed.
#[test]
fn a_clock_that_flaps() {
    let directory = directory();
    let clock = FakeClock::at(T);
    let store = open_retaining(directory.path(), clock.clock());
    let n_max = index::backend::RUNS_MAX as u64;
    for n in 0..=n_max {
        turn(&clock, T);
        store.insert(&documents([2 * n])).unwrap();
        turn(&clock, T + 60 * DAY_MS);
        store.insert(&documents([2 * n + 1])).unwrap();
    }
    turn(&clock, T);
    check(&store, 2 * n_max + 2, &(0..2 * n_max + 2).collect::<Vec<_>>());
    assert_eq!(begins(&store).len() as u64, n_max);
    let refused = store.insert(&documents([1_000])).unwrap_err();
    assert!(refused.to_string().contains("`pigeonhole verify` names"), "{refused}");
    let mut ahead = Vec::new();
    let mut report = |examined| {
        if let Examined::Found(finding) = examined {
            ahead.push(finding);
        }
    };
    store.examine(true, &mut report).unwrap();
    let place = format!("document 1 inserted at {}", Timestamp::new(T + 60 * DAY_MS).unwrap());
    assert_eq!(ahead[0], Finding { kind: FindingKind::Ahead, place, is_mended: false });
    assert_eq!(ahead.len() as u64, n_max + 1);
    let ids: Vec<_> = (0..=n_max).map(|n| document(2 * n + 1).id).collect();
    assert!(store.remove(&ids).unwrap().into_iter().all(|removed| removed));
    assert_eq!(begins(&store), [0; 0]);
    store.insert(&documents([1_000])).unwrap();
}
