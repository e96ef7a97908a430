//! Tiers beside writers that take minutes.

use super::super::between::{Between, store_with, store_with_pace};
use super::*;

/// After any request of a writer, a quarter of an hour passes and another process fills its tier.
fn a_tier_is_filled_beside_a_slow_writer(on: On) {
    type Work = fn(&HbaseStore) -> index::Result<Vec<Insertion>>;
    // The document was written by a clock ahead before, so the cells of the insertion without a
    // claim have two times, and are written by two requests.
    let works: [Work; 2] = [
        |store| store.insert_if_new(&[document("slow", spread(1))], &within(3)),
        |store| store.insert(&[document("other", spread(2)), document("slow", spread(1))]),
    ];
    for (work, n_requests_min) in works.into_iter().zip([6, 5]) {
        for nth in 0.. {
            let place = Arc::new(Place::new(on));
            place.set_clock(BEGIN + 2 * MINUTE);
            place.store().insert(&[document("slow", spread(3))]).unwrap();
            place.set_clock(BEGIN);
            let store = Arc::new(tiered(&place));
            let filling = Arc::clone(&store);
            let has_filled = Arc::new(AtomicI64::new(0));
            let filled = Arc::clone(&has_filled);
            let slow = store_with(&place, nth, move |place| {
                place.advance(15 * MINUTE);
                fill(&filling, 1);
                filled.store(1, Ordering::Relaxed);
            });
            assert_eq!(work(&slow).unwrap().pop(), Some(Insertion::Replaced), "after request {nth}");
            if has_filled.load(Ordering::Relaxed) == 0 {
                assert!(nth >= n_requests_min, "only {nth} requests");
                break;
            }
            assert!(is_duplicate(&store, spread(1) ^ 1), "after request {nth}");
        }
    }
}

/// After any request of a writer, a quarter of an hour passes and a claimant meets its cells, which
/// it would sweep.
fn what_a_writer_that_stood_still_wrote_is_found(on: On) {
    for nth in 0.. {
        let place = Arc::new(Place::new(on));
        let has_stood = Arc::new(AtomicI64::new(0));
        let stood = Arc::clone(&has_stood);
        let slow = store_with(&place, nth, move |place| {
            place.advance(15 * MINUTE);
            is_duplicate(&place.store(), spread(1) ^ 1);
            stood.store(1, Ordering::Relaxed);
        });
        assert_eq!(slow.insert(&[document("slow", spread(1))]).unwrap(), [Insertion::Inserted]);
        if has_stood.load(Ordering::Relaxed) == 0 {
            assert!(nth >= 3, "only {nth} requests");
            break;
        }
        assert!(is_duplicate(&place.store(), spread(1) ^ 1), "after request {nth}");
    }
}

/// A batch whose cells always come too late for its claims ends, and says why.
#[test]
fn a_server_that_is_always_slow_is_told() {
    let place = Place::new(On::Memory);
    let slow = store_with_pace(&place, MINUTE + 1);
    let error = slow.insert_if_new(&[document("slow", spread(1))], &within(3)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("over 60 s to write the cells of 1 documents, 3 times"), "{cause}");
    assert!(place.clock.load(Ordering::Relaxed) < BEGIN + HOUR, "more than three writes");
    assert_eq!(insert_if_new(&place.store(), &document("slow", spread(1))), Insertion::Inserted);
}

/// The note of a slow insertion comes also after an error that hides what was written, since the
/// same call again finds it. Requests take minutes; after any of them another process fills its
/// tier.
fn a_slow_insertion_that_fails_leaves_a_note(on: On) {
    let impatient = Options { patience: Duration::ZERO, first_patience: Duration::ZERO, ..OPTIONS };
    let whole = Place::new(on);
    let n_before = whole.hbase.n_calls(Call::Apply);
    whole.store().insert(&[document("slow", spread(1))]).unwrap();
    let records = whole.hbase.n_calls(Call::Apply) - n_before;
    let mut n_unchanged = 0;
    for nth in 0.. {
        let place = Arc::new(Place::new(on));
        let store = Arc::new(tiered(&place));
        place.hbase.fail(Call::Apply, records, Mishap::FailedAfter);
        let (inside, filling) = (Arc::clone(&place), Arc::clone(&store));
        let step = Arc::new(AtomicI64::new(0));
        let steps = Arc::clone(&step);
        let between = move || {
            inside.advance(2 * MINUTE);
            if steps.fetch_add(1, Ordering::Relaxed) == nth {
                inside.advance(15 * MINUTE);
                fill(&filling, 1);
            }
        };
        let (rows, clock) = (place.hbase.rows("t", impatient), Arc::clone(&place.clock));
        let clock = Clock::new(move || clock.load(Ordering::Relaxed));
        let failing = HbaseStore::over(Box::new(Between { rows, between }), clock);
        let outcome = failing.insert(&[document("slow", spread(1))]);
        assert_eq!(place.hbase.n_faults(), 0, "after request {nth}");
        if step.load(Ordering::Relaxed) <= nth {
            assert!(nth >= 4 && n_unchanged > 1, "only {nth} requests, {n_unchanged} times unchanged");
            break;
        }
        assert!(outcome.is_err(), "after request {nth}");
        let again = place.store().insert(&[document("slow", spread(1))]).unwrap();
        // Cells that came too late are written anew, and the error is one of these then.
        n_unchanged += u32::from(again == [Insertion::Unchanged]);
        assert_ne!(again, [Insertion::Replaced], "after request {nth}");
        assert!(is_duplicate(&store, spread(1) ^ 1), "after request {nth}");
    }
}

hazards! {
    a_tier_is_filled_beside_a_slow_writer,
    a_slow_insertion_that_fails_leaves_a_note,
    what_a_writer_that_stood_still_wrote_is_found,
}
