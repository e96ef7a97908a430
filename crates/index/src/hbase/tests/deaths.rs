//! Insertions of what is new by somebody who dies, at every step.

use std::thread;

use super::super::claiming::LEASE;
use super::between::{PACE_MS, store_of_the_patient, store_with};
use super::claims::{Before, check_found, insert_if_new};
use super::*;

const LEASE_MS: i64 = LEASE.as_millis() as i64;

/// The requests of an insertion of a document that nothing is near to: three for the metadata, its row, a look, and then
/// these.
const ANNOUNCED: i64 = 5;
const FILED: i64 = 6;

/// Whoever dies keeps others waiting for a lease, and leaves nothing that stays.
#[test]
fn a_death_at_any_step() {
    let message = || "java.io.IOException: injected".to_owned();
    let documents = [document("a", 5), document("b", spread(9)), document("c", spread(9) ^ 1)];
    let one_at_a_time = Options { n_connections: 1, ..OPTIONS };
    for method in ["mutateRowsTs", "checkAndPut"] {
        let whole = Place::new();
        let n_before = whole.gateway.n_calls(method);
        whole.store_with(one_at_a_time).insert_if_new(&documents, 3).unwrap();
        let n_steps = whole.gateway.n_calls(method) - n_before;
        assert!(n_steps > 0);
        for nth in 1..=n_steps {
            for kind in [
                FaultKind::DoNotRetry(message()),
                FaultKind::IoErrorAfterRows(3, message()),
                FaultKind::IoErrorAfter(message()),
            ] {
                let context = format!("{method} {nth} of {n_steps}: {kind:?}");
                let place = Place::new();
                place.gateway.fail(Fault::on(method, kind.clone()).nth(nth));
                let impatient =
                    Options { patience: Duration::ZERO, first_patience: Duration::ZERO, ..one_at_a_time };
                let outcome = place.store_with(impatient).insert_if_new(&documents, 3);
                assert_eq!(place.gateway.n_faults(), 0, "{context}");
                if let Err(error) = &outcome {
                    assert!(error.kind().is_transient(), "{context}: {error:?}");
                }
                let early = contents(&place.store());
                // Somebody else has near documents, and does not know of the death.
                let others = [document("x", 4), document("y", spread(9) ^ 2)];
                let answers = store_of_the_patient(&place).insert_if_new(&others, 3).unwrap();
                let all = check_found(&place, &context);
                assert_eq!(all.len(), 2, "{context}: {answers:?} {all:?}");
                assert!(early.iter().all(|document| all.contains(document)), "{context}: {early:?} {all:?}");
                // What was met has been swept by then, and the rest has vanished.
                place.advance(HOUR);
                store_of_the_patient(&place)
                    .insert_if_new(&[document("z", 1), document("u", spread(9) ^ 8)], 3)
                    .unwrap();
                place.check_cells(&all);
                let n_rows = place.document_rows().len();
                assert_eq!(n_rows, all.len(), "{context}: {:?}", place.document_rows());
            }
        }
    }
}

/// A lease of somebody whose clock is ahead or behind is believed for a lease of our own clock at most.
#[test]
fn leases_by_clocks_that_differ() {
    for ahead_ms in [-HOUR, -LEASE_MS, 0, LEASE_MS, HOUR] {
        let place = Arc::new(Place::new());
        // Somebody has announced himself and filed, and is not heard of again.
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

/// What a claim said is written into the record before the next one takes its place; a put of that kind whose writer died
/// can still be under way when the document has long been removed and is claimed anew. And whoever removes may die before
/// the record is gone.
#[test]
fn an_old_version_beneath_a_claim() {
    let cases = [Before::Inserted, Before::Claimed].into_iter();
    for (before, dies_before_cleaning) in cases.flat_map(|before| [(before, false), (before, true)]) {
        let context = format!("{before:?}, dies before cleaning: {dies_before_cleaning}");
        let place = before.make(1);
        if dies_before_cleaning {
            place.gateway.fail(Fault::on("mutateRowsTs", FaultKind::DoNotRetry("injected".to_owned())));
        }
        assert_eq!(place.store().remove(&[id("a")]).is_err(), dies_before_cleaning);
        assert_eq!(place.gateway.n_faults(), 0);
        // Somebody claims it and is not heard of again. His own old cells, where they are there, take him a request more,
        // and what is left of the record another one.
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

        let late = super::super::layout::Record { sketch: sketch(1), timestamp: BEGIN, source: None };
        let row = super::super::layout::document_row(&id("a"));
        let value = late.encode(&TableScheme::default());
        place.gateway.put_raw("t_docs", &row, b"d:record", &value, BEGIN);
        assert_eq!(contents(&place.store()), [], "{context}");
        place.advance(2 * LEASE_MS);
        assert_eq!(insert_if_new(&place.store(), &document("a", 1)), Insertion::Inserted, "{context}");
        assert_eq!(check_found(&place, &context), [document("a", 1)]);
    }
}
