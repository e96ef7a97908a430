//! Examinations beside other processes: work in progress is not reported, and nothing removed is
//! brought back.

use std::sync::atomic::AtomicBool;
use std::thread;

use index::Retention;

use super::super::meet::SWEPT_AFTER;
use super::between::Between;
use super::examine::{cells_hidden, examine, filled};
use super::*;

const SWEPT_AFTER_MS: i64 = SWEPT_AFTER.as_millis() as i64;

/// A removal or a replacement while cells are written anew must not be undone, even one by a
/// process with a slow clock, which would lose by timestamps alone.
fn mending_never_brings_back_what_went(on: On) {
    for (removes, behind_ms) in [(true, -1), (true, 50), (false, -1), (false, 50)] {
        for nth in 0..30 {
            let (place, documents) = filled(on);
            place.advance(100);
            let place = Arc::new(place);
            let rows = place.hbase.rows("t", OPTIONS);
            cells_hidden(&*rows, &documents[1], 1);
            let replaced = document("d1", spread(100));
            let step = Arc::new(AtomicI64::new(0));
            let (inside, new, steps) = (Arc::clone(&place), replaced.clone(), Arc::clone(&step));
            let between = move || {
                if steps.fetch_add(1, Ordering::Relaxed) == nth {
                    inside.clock.fetch_sub(behind_ms, Ordering::Relaxed);
                    let (store, new) = (inside.store(), std::slice::from_ref(&new));
                    match removes {
                        true => drop(store.remove(&[id("d1")]).unwrap()),
                        // Plain insertions need clocks that agree.
                        false if behind_ms < 0 => drop(store.insert(new).unwrap()),
                        false => drop(store.insert_if_new(new, &within(3)).unwrap()),
                    }
                    inside.clock.fetch_add(behind_ms, Ordering::Relaxed);
                }
            };
            let clock = Arc::clone(&place.clock);
            let clock = Clock::new(move || clock.load(Ordering::Relaxed));
            let store = HbaseStore::over(Box::new(Between { rows, between }), clock);
            examine(&store, true);
            if step.load(Ordering::Relaxed) <= nth {
                assert!(nth > 6, "an examination has more requests");
                break;
            }
            let context = format!("removes: {removes}, {behind_ms} ms behind, after request {nth}");
            let expected = if removes { None } else { Some(replaced.clone()) };
            assert_eq!(get(&place.store(), &[id("d1")]), [expected], "{context}");
            // Once all is quiet, by the fast clock too, the tables are sound.
            place.advance(SWEPT_AFTER_MS + 2);
            examine(&place.store(), true);
            assert_eq!(examine(&place.store(), false).1, [], "{context}");
            place.check_cells(&contents(&place.store()));
        }
    }
}

/// All that may happen to a document, thousands of times: none has a fault.
fn a_healthy_index(on: On) {
    let place = Place::new(on);
    let store = place.store();
    for round in 0..5_u64 {
        let documents: Vec<_> =
            (0..1_000).map(|n| document(&format!("{round}-{n}"), spread(1_000 * round + n))).collect();
        let moved = |from: usize, by: u64| -> Vec<_> {
            let moved = documents[from..from + 100].iter();
            moved
                .map(|old| Document { sketch: sketch(old.sketch.fingerprint().0 ^ by), ..old.clone() })
                .collect()
        };
        let ids =
            |from: usize| -> Vec<_> { documents[from..from + 100].iter().map(|d| d.id.clone()).collect() };
        store.insert(&documents[..500]).unwrap();
        store.insert_if_new(&documents[500..], &within(3)).unwrap();
        place.advance(1);
        // Each way of inserting after each, within the neighbourhood and out of it.
        store.insert(&moved(0, 1)).unwrap();
        store.insert_if_new(&moved(100, 1 << 40), &within(3)).unwrap();
        store.insert(&moved(500, u64::MAX)).unwrap();
        store.insert_if_new(&moved(600, u64::MAX), &within(3)).unwrap();
        for from in [200, 700] {
            store.remove(&ids(from)).unwrap();
        }
        place.advance(1);
        store.insert(&documents[200..250]).unwrap();
        store.insert_if_new(&documents[750..800], &within(3)).unwrap();
        store.insert_if_new(&documents[250..260], &within(3)).unwrap();
        // Back to the first version.
        store.insert(&documents[0..50]).unwrap();
        store.insert_if_new(&documents[600..650], &within(3)).unwrap();
        assert_eq!(examine(&store, round % 2 == 0).1, []);
        place.advance(SWEPT_AFTER_MS / 2);
    }
    for later in [1, SWEPT_AFTER_MS, 25 * HOUR] {
        place.advance(later);
        let n_documents = contents(&store).len();
        assert_eq!(n_documents, 5 * 910);
        let before = (place.index_rows(), place.document_rows());
        let (n_items, findings) = examine(&store, true);
        assert_eq!(findings, []);
        assert!(n_items >= 11 * n_documents as u64, "{n_items} items");
        assert!((place.index_rows(), place.document_rows()) == before, "something has been mended");
    }
    place.hbase.major_compact();
    assert_eq!(examine(&store, true).1, []);
}

/// Writers of every kind at work on the same ids, and examinations one after another, which mend.
fn beside_writers(on: On) {
    let place = Place::new(on);
    let is_done = AtomicBool::new(false);
    let time = AtomicI64::new(0);
    thread::scope(|scope| {
        let (place, is_done, time) = (&place, &is_done, &time);
        let writers: Vec<_> = (0..3_u64)
            .map(|writer| {
                scope.spawn(move || {
                    let store = place.store();
                    for round in 0..60 {
                        place.advance(1);
                        time.fetch_add(1, Ordering::Relaxed);
                        let own = (0..5).map(|n| {
                            document(&format!("{writer}-{n}"), spread(10 * writer + n) ^ (1 << (round % 7)))
                        });
                        let shared =
                            (0..3).map(|n| document(&format!("s{n}"), spread(100 + (round + writer) % 4)));
                        let documents: Vec<_> = own.chain(shared).collect();
                        match (round + writer) % 4 {
                            0 | 2 => drop(store.insert_if_new(&documents, &within(3)).unwrap()),
                            1 => drop(store.insert(&documents[..5]).unwrap()),
                            _ => {
                                let ids: Vec<_> =
                                    documents.iter().map(|document| document.id.clone()).collect();
                                store.remove(&ids[2..]).unwrap();
                            }
                        }
                    }
                })
            })
            .collect();
        let examiner = scope.spawn(move || {
            let store = place.store();
            let mut n_rounds = 0;
            while !is_done.load(Ordering::Relaxed) || n_rounds < 2 {
                n_rounds += 1;
                assert_eq!(examine(&store, n_rounds % 2 == 0).1, []);
            }
        });
        let outcomes: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_done.store(true, Ordering::Relaxed);
        examiner.join().unwrap();
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    // Each version is newer than the one before, also within a millisecond: times may be ahead of
    // the clock.
    place.advance(SWEPT_AFTER_MS + 1_000);
    examine(&place.store(), true);
    assert_eq!(examine(&place.store(), false).1, []);
    place.check_cells(&contents(&place.store()));
}

/// A document is replaced or removed after any request of an examination.
fn between_any_two_requests(on: On) {
    for removes in [true, false] {
        for nth in 0..30 {
            let (place, documents) = filled(on);
            let place = Arc::new(place);
            place.advance(SWEPT_AFTER_MS + 1);
            let step = Arc::new(AtomicI64::new(0));
            let (inside, steps) = (Arc::clone(&place), Arc::clone(&step));
            let between = move || {
                if steps.fetch_add(1, Ordering::Relaxed) == nth {
                    let store = inside.store();
                    if removes {
                        store.remove(&[id("d1"), id("d5")]).unwrap();
                    } else {
                        store.insert(&[document("d1", spread(101)), document("d6", spread(106))]).unwrap();
                        store
                            .insert_if_new(
                                &[document("d2", spread(102)), document("d5", spread(105))],
                                &within(3),
                            )
                            .unwrap();
                    }
                }
            };
            let rows = place.hbase.rows("t", OPTIONS);
            let clock = Arc::clone(&place.clock);
            let clock = Clock::new(move || clock.load(Ordering::Relaxed));
            let store = HbaseStore::over(Box::new(Between { rows, between }), clock);
            assert_eq!(examine(&store, true).1, [], "removes: {removes}, after request {nth}");
            if step.load(Ordering::Relaxed) <= nth {
                assert!(nth > 4, "an examination has more requests");
                break;
            }
            assert_eq!(contents(&place.store()).len(), documents.len() - if removes { 2 } else { 0 });
        }
    }
}

/// The tables let cells expire by the server's clock, which is not the examiner's.
fn what_expires_is_not_told(on: On) {
    let place = Place::bare(on);
    for (table, family) in [("t", "f"), ("t_docs", "d")] {
        place.hbase.set_time_to_live(table, family, 3_600);
    }
    place.store().create(&Metadata { retain: Retention::from_seconds(3_600), ..metadata() }).unwrap();
    let store = place.store();
    for n in 0..12 {
        store.insert(&[document(&format!("a{n}"), spread(n))]).unwrap();
        store.insert_if_new(&[document(&format!("b{n}"), spread(100 + n))], &within(3)).unwrap();
        place.advance(HOUR / 6);
        for behind_ms in [0, 30_000, -30_000, 0] {
            place.set_clock(place.hbase.now_ms() - behind_ms);
            assert_eq!(examine(&store, true).1, [], "{behind_ms} ms behind");
        }
    }
}

hazards! {
    mending_never_brings_back_what_went,
    a_healthy_index,
    beside_writers,
    between_any_two_requests,
    what_expires_is_not_told,
}
