//! Insertions of new documents, and removals, by a process that dies at any step.

use std::sync::atomic::AtomicBool;
use std::thread;

use index::FindingKind;

use super::super::claiming::LEASE;
use super::super::remove::REMEMBER;
use super::super::write::LINGER;
use super::between::{PACE_MS, store_of_the_patient, store_with};
use super::claims::{Before, check_found, insert_if_new};
use super::examine::examine;
use super::*;

const LEASE_MS: i64 = LEASE.as_millis() as i64;

/// The requests of an insertion of a document without near ones: three for the metadata, its row, a
/// look, and then these.
const ANNOUNCED: i64 = 5;
const FILED: i64 = 6;

/// A dead process keeps others waiting for a lease, and leaves nothing that stays.
fn a_death_at_any_step(on: On) {
    let documents = [document("a", 5), document("b", spread(9)), document("c", spread(9) ^ 1)];
    let one_at_a_time = Options { n_connections: 1, ..OPTIONS };
    for method in [Call::Apply, Call::Swap] {
        let whole = Place::new(on);
        let n_before = whole.hbase.n_calls(method);
        whole.store_with(one_at_a_time).insert_if_new(&documents, &within(3)).unwrap();
        let n_steps = whole.hbase.n_calls(method) - n_before;
        assert!(n_steps > 0);
        for nth in 1..=n_steps {
            for kind in [Mishap::Refused, Mishap::FailedAfterSome(3), Mishap::FailedAfter] {
                let context = format!("{method:?} {nth} of {n_steps}: {kind:?}");
                let place = Place::new(on);
                place.hbase.fail(method, nth, kind);
                let impatient =
                    Options { patience: Duration::ZERO, first_patience: Duration::ZERO, ..one_at_a_time };
                let outcome = place.store_with(impatient).insert_if_new(&documents, &within(3));
                assert_eq!(place.hbase.n_faults(), 0, "{context}");
                if let Err(error) = &outcome {
                    assert!(error.kind().is_transient(), "{context}: {error:?}");
                }
                let early = contents(&place.store());
                // Another process has near documents, and does not know of the death.
                let others = [document("x", 4), document("y", spread(9) ^ 2)];
                let answers = store_of_the_patient(&place).insert_if_new(&others, &within(3)).unwrap();
                let all = check_found(&place, &context);
                assert_eq!(all.len(), 2, "{context}: {answers:?} {all:?}");
                assert!(early.iter().all(|document| all.contains(document)), "{context}: {early:?} {all:?}");
                // By then the cells that were met are swept, and the rest has vanished.
                place.advance(HOUR);
                store_of_the_patient(&place)
                    .insert_if_new(&[document("z", 1), document("u", spread(9) ^ 8)], &within(3))
                    .unwrap();
                place.check_cells(&all);
                let n_rows = place.document_rows().len();
                assert_eq!(n_rows, all.len(), "{context}: {:?}", place.document_rows());
            }
        }
    }
}

/// The lease of a process with a fast or slow clock is believed for a lease of our own clock at
/// most.
fn leases_by_clocks_that_differ(on: On) {
    for ahead_ms in [-HOUR, -LEASE_MS, 0, LEASE_MS, HOUR] {
        let place = Arc::new(Place::new(on));
        // A process has announced and filed, and dies.
        let dead = store_with(&place, FILED, |_| panic!("dies here"));
        place.set_clock(BEGIN + ahead_ms);
        let dying = thread::scope(|scope| scope.spawn(|| insert_if_new(&dead, &document("a", 1))).join());
        assert!(dying.is_err());
        assert_eq!((place.document_rows().len(), place.cells().len()), (1, 10), "announced and filed");
        place.set_clock(BEGIN);
        let began = place.clock.load(Ordering::Relaxed);
        assert_eq!(insert_if_new(&store_of_the_patient(&place), &document("b", 2)), Insertion::Inserted);
        let took = place.clock.load(Ordering::Relaxed) - began;
        assert!(took <= LEASE_MS + 20 * PACE_MS, "{ahead_ms} ms ahead: {took} ms");
        assert_eq!(check_found(&place, &format!("{ahead_ms} ms ahead")), [document("b", 2)]);
    }
}

/// A committed claim is written into the record before the next claim takes its place. Such a put,
/// of a writer that died, can be under way when the document has long been removed and is claimed
/// anew. A remover, too, may die before it deletes the record.
fn an_old_version_beneath_a_claim(on: On) {
    let cases = [Before::Inserted, Before::Claimed].into_iter();
    for (before, dies_before_cleaning) in cases.flat_map(|before| [(before, false), (before, true)]) {
        let context = format!("{before:?}, dies before cleaning: {dies_before_cleaning}");
        let place = before.make(on, 1);
        if dies_before_cleaning {
            place.hbase.fail(Call::Apply, 1, Mishap::Refused);
        }
        assert_eq!(place.store().remove(&[id("a")]).is_err(), dies_before_cleaning);
        assert_eq!(place.hbase.n_faults(), 0);
        let row = super::super::layout::document_row(&id("a"));
        let put_record = |timestamp| {
            let record =
                super::super::layout::Record { sketch: sketch(1), timestamp, source: None, text: None };
            let value = record.encode(&SketchKind::default());
            place.hbase.put_raw("t_docs", &row, b"d:record", &value, timestamp);
        };
        if dies_before_cleaning {
            // A plain insertion in the very moment of the removal.
            put_record(BEGIN + 1);
            assert_eq!(contents(&place.store()), [], "{context}");
        }
        // A process claims the document and dies. Its own old cells, where they are there, take a
        // request more, and the rest of the record another one.
        let announced = if dies_before_cleaning { ANNOUNCED + 2 } else { ANNOUNCED + 1 };
        let dying = store_with(&place, announced, |_| panic!("dies here"));
        let claim = || insert_if_new(&dying, &document("a", 2));
        assert!(thread::scope(|scope| scope.spawn(claim).join()).is_err());
        let rows = place.document_rows();
        let is_pending = |value: &[u8]| value.starts_with(b"pending");
        assert!(
            rows.iter().any(|(_, cells)| cells.iter().any(|(_, value, _)| is_pending(value))),
            "{context}"
        );
        assert_eq!(contents(&place.store()), [], "{context}");

        put_record(BEGIN);
        assert_eq!(contents(&place.store()), [], "{context}");
        place.advance(2 * LEASE_MS);
        assert_eq!(insert_if_new(&place.store(), &document("a", 1)), Insertion::Inserted, "{context}");
        assert_eq!(check_found(&place, &context), [document("a", 1)]);
    }
}

/// The ways in which the region server writes to disk, each day of a test.
const WRITES: [fn(&Place); 3] = [|_| {}, |place| place.hbase.flush(), |place| place.hbase.major_compact()];

fn has_record(place: &Place) -> bool {
    let is_record = |(column, ..): &(Vec<u8>, Vec<u8>, i64)| column == b"d:record";
    place.document_rows().iter().any(|(_, cells)| cells.iter().any(is_record))
}

/// Checks that live documents stay and others do not come back, as days pass and after a repair.
fn check_stays(place: &Place, write: fn(&Place), context: &str) -> Vec<Document> {
    let all = contents(&place.store());
    for days in 0..3 {
        write(place);
        assert_eq!(contents(&place.store()), all, "{context}, {days} days later");
        place.advance(REMEMBER.as_millis() as i64 + 10);
    }
    let is_half_removed = all.is_empty() && has_record(place);
    let told = examine(&place.store(), true).1;
    let is_told = told.iter().any(|finding| finding.kind == FindingKind::HalfRemoved);
    assert_eq!(is_told, is_half_removed, "{context}: {told:?}");
    assert_eq!(examine(&place.store(), false).1, [], "{context}");
    assert_eq!(contents(&place.store()), all, "{context}");
    assert!(!(has_record(place) && all.is_empty()), "{context}");
    place.check_cells(&all);
    for document in &all {
        assert_eq!(
            found(&place.store(), document.sketch.fingerprint().0),
            [document.id.as_str()],
            "{context}"
        );
    }
    all
}

/// Removes a document until the remover dies after its `nth` request; returns true if it did.
fn dies_removing(place: &Arc<Place>, nth: i64) -> bool {
    let dying = store_with(place, nth, |_| panic!("dies here"));
    let removal = || dying.remove(&[id("a")]).unwrap();
    thread::scope(|scope| scope.spawn(removal).join()).is_err()
}

const ALL_THERE: [Before; 4] =
    [Before::Inserted, Before::Claimed, Before::ClaimedTwice, Before::RemovedAndInserted];

/// Once, the claim of a removal expired after a day even over a record: a document whose remover
/// had died showed again.
fn a_removal_that_nobody_ends_stands(on: On) {
    for (before, write) in ALL_THERE.into_iter().flat_map(|before| WRITES.map(|write| (before, write))) {
        for nth in 0.. {
            let context = format!("{before:?}, dies after request {nth}");
            let place = before.make(on, 1);
            write(&place);
            let is_dead = dies_removing(&place, nth);
            let left = check_stays(&place, write, &context);
            insert_if_new(&place.store(), &document("a", spread(3)));
            assert_eq!(check_found(&place, &context), [document("a", spread(3))]);
            if !is_dead {
                assert_eq!(left, [], "{context}");
                break;
            }
        }
    }
}

/// A plain insertion of a document ends its removal.
fn a_removal_that_the_next_insertion_ends(on: On) {
    for before in ALL_THERE {
        for nth in 0.. {
            let context = format!("{before:?}, dies after request {nth}");
            let place = before.make(on, 1);
            let is_dead = dies_removing(&place, nth);
            let next = [document("a", spread(3))];
            place.store().insert(&next).unwrap();
            place.advance(2 * LINGER.as_millis() as i64);
            place.check_cells(&next);
            assert_eq!(check_found(&place, &context), next);
            if !is_dead {
                break;
            }
        }
    }
}

/// Once, a plain insertion in the very moment of a removal lost against its claim, was not cleaned
/// up, and showed when the claim had expired.
fn a_removal_in_the_moment_of_an_insertion(on: On) {
    for write in WRITES {
        for nth in 0..10 {
            for nth_of_removal in 0.. {
                let context = format!("after request {nth}, the remover dies after {nth_of_removal}");
                let place = Before::Inserted.make(on, 1);
                let is_dead = Arc::new(AtomicBool::new(false));
                let died = Arc::clone(&is_dead);
                let inside = Arc::clone(&place);
                let store = store_with(&place, nth, move |_| {
                    died.store(dies_removing(&inside, nth_of_removal), Ordering::Relaxed);
                });
                store.insert(&[document("a", spread(3))]).unwrap();
                check_stays(&place, write, &context);
                if !is_dead.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
    }
}

hazards! {
    a_death_at_any_step,
    leases_by_clocks_that_differ,
    an_old_version_beneath_a_claim,
    a_removal_that_nobody_ends_stands,
    a_removal_that_the_next_insertion_ends,
    a_removal_in_the_moment_of_an_insertion,
}
