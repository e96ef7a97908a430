//! The lock of the file of pages, which every user with read permission can take.

use std::cell::Cell;
use std::fs::File;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::super::turns::Turns;
use super::*;

const PATIENCE: Duration = Duration::from_millis(50);

/// The line at a directory without a store.
fn line(directory: &Path) -> Turns {
    File::create(directory.join("data.mdb")).unwrap();
    Turns::at(directory).unwrap()
}

/// Another opening of the file, with the lock, as in another process.
fn locked(path: &Path) -> File {
    let other = File::open(path.join("data.mdb")).unwrap();
    flock(&other, FlockOperation::LockExclusive).unwrap();
    other
}

/// Regression: a lock kept by another process stopped all insertions for good, without an error.
#[test]
fn a_lock_that_is_kept_is_busy_and_not_ready() {
    let directory = directory();
    let limits = Limits { patience: PATIENCE, ..SMALL };
    let store =
        EmbeddedStore::open_with(directory.path(), Mode::CreateIfMissing, limits, Clock::system()).unwrap();
    store.create(&metadata()).unwrap();
    store.insert(&documents([1])).unwrap();
    let other = locked(directory.path());
    for refused in [store.insert(&documents([2])).map(drop), store.ready()] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        assert!(error.to_string().contains("lslocks"), "{error}");
    }
    // Searches need no turn.
    assert_found(&store, &documents([1]));
    flock(&other, FlockOperation::Unlock).unwrap();
    // A cancelled wait takes no turn: otherwise this would never return.
    flock(&other, FlockOperation::LockExclusive).unwrap();
    flock(&other, FlockOperation::Unlock).unwrap();
    store.ready().unwrap();
    store.insert(&documents([2])).unwrap();
    assert_found(&store, &documents([1, 2]));
}

/// Other users may open a directory of mode 0755.
#[test]
fn a_lock_of_the_directory_keeps_nobody_away() {
    let directory = directory();
    let store = open(directory.path());
    let other = File::open(directory.path()).unwrap();
    flock(&other, FlockOperation::LockExclusive).unwrap();
    store.ready().unwrap();
    store.insert(&documents([1])).unwrap();
}

/// A long batch of another process, and one after it: neither the waiting nor the working one is at
/// fault.
#[test]
fn a_wait_goes_on_while_others_commit() {
    let directory = directory();
    let turns = line(directory.path());
    let other = locked(directory.path());
    let n_asked = Cell::new(0);
    let turn = turns.take(PATIENCE, || {
        n_asked.set(n_asked.get() + 1);
        if n_asked.get() == 5 {
            flock(&other, FlockOperation::Unlock).unwrap();
        }
        Ok(n_asked.get())
    });
    drop(turn.unwrap());
    assert_eq!(n_asked.get(), 5);
    drop(turns.take(PATIENCE, || panic!("the lock is free")).unwrap());
    // But not for ever.
    flock(&other, FlockOperation::LockExclusive).unwrap();
    let refused = turns.take(Duration::from_millis(1), || {
        n_asked.set(n_asked.get() + 1);
        Ok(n_asked.get())
    });
    assert_eq!(refused.err().map(|error| error.kind()), Some(ErrorKind::Busy));
}

/// Threads of one process take turns too, even after a wait for the lock.
#[test]
fn threads_that_wait_at_once_all_get_their_turn() {
    const PATIENT: Duration = Duration::from_secs(60);
    let directory = directory();
    let turns = line(directory.path());
    let other = locked(directory.path());
    let n_at_once = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let turn = turns.take(PATIENT, || Ok(0)).unwrap();
                    assert_eq!(n_at_once.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                    n_at_once.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    drop(turn);
                }
            });
        }
        flock(&other, FlockOperation::Unlock).unwrap();
    });
}
