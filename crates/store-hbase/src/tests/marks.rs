//! Tables put back to a copy made before the mark of a job.

use std::collections::BTreeSet;
use std::thread;

use index::WriteMark;

use super::*;

fn mark(store: &HbaseStore) -> WriteMark {
    store.mark(true).unwrap().unwrap()
}

/// A copy is another gateway with the same index, which had the same writes until some moment.
fn an_older_copy_lacks_them(on: On) {
    let place = Place::new(on);
    let copy = Place::new(on);
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

fn of_several_jobs_each_has_its_own(on: On) {
    const N_JOBS: usize = 4;
    const N_MARKS: usize = 25;
    let place = Place::new(on);
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
fn a_lost_answer_costs_a_number(on: On) {
    let place = Place::new(on);
    let store = place.store();
    let before = mark(&store);
    place.hbase.fail(Call::Swap, 1, Mishap::ClosedAfter);
    let after = mark(&store);
    assert_eq!(place.hbase.n_faults(), 0);
    assert!(after.number > before.number, "{before:?}, {after:?}");
    assert_eq!(store.mark(false).unwrap(), Some(after));
}

fn a_damaged_one_is_told(on: On) {
    let place = Place::new(on);
    let store = place.store();
    store.metadata().unwrap();
    let (row, column) = (METADATA_ROW, super::super::layout::MARK_COLUMN);
    for (damaged, later) in
        ["", "7", "7 ", "x 00000001", "7 1234567g", "+7 00000001", "7 00000001 "].into_iter().zip(1..)
    {
        place.hbase.put_raw("t_docs", row, column, damaged.as_bytes(), BEGIN + later);
        check_fails(store.mark(false), ErrorKind::Corrupt, &["the row pigeonhole", "is not one of a job"]);
        check_fails(store.mark(true), ErrorKind::Corrupt, &["is not one of a job"]);
    }
}

hazards! {
    an_older_copy_lacks_them,
    of_several_jobs_each_has_its_own,
    a_lost_answer_costs_a_number,
    a_damaged_one_is_told,
}
