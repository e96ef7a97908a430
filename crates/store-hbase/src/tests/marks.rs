//! Tables put back to a copy made before the mark of a job.

use std::collections::BTreeSet;
use std::thread;

use index::WriteMark;

use super::*;

fn mark(store: &HbaseStore) -> WriteMark {
    store.mark(true).unwrap().unwrap()
}

/// A copy is another gateway with the same index, which had the same writes until some moment.
#[test]
fn an_older_copy_lacks_them() {
    let place = Place::new();
    let copy = Place::new();
    for place in [&place, &copy] {
        place.store().insert(&[document("old", 0)]).unwrap();
    }
    let (store, copied) = (place.store(), copy.store());
    assert_eq!(store.mark(false).unwrap(), None);
    let (first, second) = (mark(&store), mark(&store));
    for written in [first, second] {
        assert!(store.has_written(&written).unwrap());
        assert!(!copied.has_written(&written).unwrap(), "a copy without marks");
    }
    // Another job, with a mark of its own, does not hide that the first mark is missing.
    mark(&copied);
    assert!(!copied.has_written(&first).unwrap(), "a copy with as many marks");
    assert!(!copied.has_written(&second).unwrap(), "a copy with fewer marks");
    // Any process sees them, and the index is otherwise as it was.
    assert_eq!(place.store().mark(false).unwrap(), Some(second));
    assert_eq!(contents(&store), contents(&copied));
    assert_eq!(store.last_write().unwrap(), None, "a scan is not in the order of the marks");
}

#[test]
fn of_several_jobs_each_has_its_own() {
    const N_JOBS: usize = 4;
    const N_MARKS: usize = 25;
    let place = Place::new();
    let marks: Vec<WriteMark> = thread::scope(|scope| {
        let job = || (0..N_MARKS).map(|_| mark(&place.store())).collect::<Vec<_>>();
        let jobs: Vec<_> = (0..N_JOBS).map(|_| scope.spawn(job)).collect();
        jobs.into_iter().flat_map(|job| job.join().unwrap()).collect()
    });
    let numbers: BTreeSet<u64> = marks.iter().map(|mark| mark.number).collect();
    assert_eq!(numbers, (1..=(N_JOBS * N_MARKS) as u64).collect());
    assert!(marks.iter().all(|mark| place.store().has_written(mark).unwrap()));
}

/// A lost answer leaves open which number was written; the returned one was.
#[test]
fn a_lost_answer_costs_a_number() {
    let place = Place::new();
    let store = place.store();
    let before = mark(&store);
    place.gateway.fail(Fault::on("checkAndPut", FaultKind::CloseAfter));
    let after = mark(&store);
    assert_eq!(place.gateway.n_faults(), 0);
    assert!(after.number > before.number, "{before:?}, {after:?}");
    assert_eq!(store.mark(false).unwrap(), Some(after));
}

#[test]
fn a_damaged_one_is_told() {
    let place = Place::new();
    let store = place.store();
    store.metadata().unwrap();
    let (row, column) = (super::super::layout::METADATA_ROW, super::super::layout::MARK_COLUMN);
    for (damaged, later) in
        ["", "7", "7 ", "x 00000001", "7 1234567g", "+7 00000001", "7 00000001 "].into_iter().zip(1..)
    {
        place.gateway.put_raw("t_docs", row, column, damaged.as_bytes(), BEGIN + later);
        check_fails(store.mark(false), ErrorKind::Corrupt, &["the row pigeonhole", "is not one of a job"]);
        check_fails(store.mark(true), ErrorKind::Corrupt, &["is not one of a job"]);
    }
}
