//! Claims that are withdrawn because others were faster: they leave no cells, and delete none of
//! another document.

use std::sync::{Barrier, Mutex};
use std::thread;

use super::super::meet::SWEPT_AFTER;
use super::between::{Between, store_with};
use super::claims::{check_found, insert_if_new};
use super::examine::examine;
use super::*;

/// Checks, once all cells are old, for an examination without findings and for the cells of each
/// document.
fn check_clean(place: &Place, context: &str) {
    place.advance(SWEPT_AFTER.as_millis() as i64 + 1);
    assert_eq!(examine(&place.store(), false).1, [], "{context}");
    place.check_cells(&contents(&place.store()));
}

/// Inserts `slow`, and after its `nth` request `fast` with an earlier ticket; checks that one is
/// kept. Returns the outcome of `slow`, unless it made fewer requests.
fn race(place: &Arc<Place>, slow: &Document, fast: &Document, nth: i64) -> Option<Insertion> {
    let answer = Arc::new(Mutex::new(None));
    let (told, fast) = (Arc::clone(&answer), fast.clone());
    let store = store_with(place, nth, move |place| {
        place.set_clock(BEGIN - 1);
        let insertion = insert_if_new(&place.store(), &fast);
        place.set_clock(BEGIN);
        *told.lock().unwrap() = Some(insertion);
    });
    let insertion = insert_if_new(&store, slow);
    let fast = answer.lock().unwrap().take()?;
    // One of the two is kept.
    assert_eq!(
        [&fast, &insertion].iter().filter(|answer| ***answer == Insertion::Inserted).count(),
        1,
        "after request {nth}: {fast:?}, {insertion:?}"
    );
    Some(insertion)
}

fn a_claim_that_is_withdrawn_takes_its_cells_along(on: On) {
    let mut n_withdrawn = 0;
    for nth in 0.. {
        let place = Arc::new(Place::new(on));
        let Some(insertion) = race(&place, &document("slow", 1), &document("fast", 2), nth) else { break };
        n_withdrawn += u32::from(matches!(insertion, Insertion::Duplicate(_)));
        check_clean(&place, &format!("after request {nth}"));
    }
    assert!(n_withdrawn > 2, "{n_withdrawn} of the claims were withdrawn");
}

/// The document was there before, under a sketch that shares rows with the new one or none: the old
/// version stays whole.
fn what_was_there_before_keeps_its_cells(on: On) {
    let banded = |bits, segments: &[u32]| {
        let keys = segments.iter().map(|&segment| simhash::BucketKey { flag: 1, segment });
        Document { id: id("slow"), sketch: Sketch::new(Fingerprint(bits), keys.collect()), source: None }
    };
    let fast = Document { id: id("fast"), ..banded(2, &[1, 2]) };
    for before in [banded(1, &[2, 3]), banded(1 << 40, &[2, 3])] {
        let far = before.sketch.fingerprint() != Fingerprint(1);
        for nth in 0.. {
            let place = Arc::new(Place::new(on));
            place.store().insert(std::slice::from_ref(&before)).unwrap();
            let done = Arc::new(Mutex::new(false));
            let (told, other) = (Arc::clone(&done), fast.clone());
            let store = store_with(&place, nth, move |place| {
                place.set_clock(BEGIN - 1);
                place.store().insert(std::slice::from_ref(&other)).unwrap();
                place.set_clock(BEGIN);
                *told.lock().unwrap() = true;
            });
            let insertion = insert_if_new(&store, &banded(1, &[1, 2]));
            if !*done.lock().unwrap() {
                break;
            }
            let context = format!("far: {far}, after request {nth}: {insertion:?}");
            place.advance(super::super::write::LINGER.as_millis() as i64 + 1);
            if matches!(insertion, Insertion::Duplicate(_)) {
                assert_eq!(contents(&place.store()), [fast.clone(), before.clone()], "{context}");
            }
            check_clean(&place, &context);
        }
    }
}

/// Between a withdrawal and the removal of its cells the other document goes, and the same id is
/// inserted anew.
fn an_id_that_is_inserted_again_meanwhile(on: On) {
    let slow = document("slow", 1);
    for asks in [true, false] {
        for nth in 0.. {
            let place = Arc::new(Place::new(on));
            place.store().insert(&[document("fast", 2)]).unwrap();
            // The look finds nothing, since the other one comes after it.
            place.store().remove(&[id("fast")]).unwrap();
            let done = Arc::new(Mutex::new(false));
            let (told, again) = (Arc::clone(&done), slow.clone());
            let step = AtomicI64::new(0);
            let inside = Arc::clone(&place);
            let between = move || {
                let at = step.fetch_add(1, Ordering::Relaxed);
                // Once the claim is filed.
                if at == 5 {
                    inside.store().insert(&[document("fast", 2)]).unwrap();
                } else if at == 6 + nth {
                    inside.store().remove(&[id("fast")]).unwrap();
                    inside.set_clock(BEGIN - 1);
                    if asks {
                        insert_if_new(&inside.store(), &again);
                    } else {
                        inside.store().insert(std::slice::from_ref(&again)).unwrap();
                    }
                    inside.set_clock(BEGIN);
                    *told.lock().unwrap() = true;
                }
            };
            let rows = place.hbase.rows("t", OPTIONS);
            let clock = Clock::new(|| BEGIN);
            let store = HbaseStore::over(Box::new(Between { rows, between }), clock);
            let insertion = insert_if_new(&store, &slow);
            if !*done.lock().unwrap() {
                assert!(nth > 2, "after request {nth}");
                break;
            }
            let context = format!("asks: {asks}, after request {nth}: {insertion:?}");
            assert_eq!(check_found(&place, &context), std::slice::from_ref(&slow), "{context}");
            check_clean(&place, &context);
        }
    }
}

/// A plain insertion has read the row before a claim on the same document comes and goes, and
/// writes it afterwards.
fn an_insertion_that_asks_nobody_and_takes_its_time(on: On) {
    let slow = document("slow", 1);
    for nth in 0.. {
        let place = Arc::new(Place::new(on));
        let withdrawn = Arc::new(Mutex::new(None));
        let (told, again) = (Arc::clone(&withdrawn), slow.clone());
        let inside = Arc::clone(&place);
        let blind = store_with(&place, nth, move |_| {
            *told.lock().unwrap() = Some(race(&inside, &again, &document("fast", 2), 5));
        });
        blind.insert(std::slice::from_ref(&slow)).unwrap();
        let Some(insertion) = withdrawn.lock().unwrap().take() else { break };
        let context = format!("after request {nth}: {insertion:?}");
        assert!(contents(&place.store()).contains(&slow), "{context}");
        check_clean(&place, &context);
    }
}

/// As above, and the insertion fails in one of the requests that follow: a repetition finds the
/// record, and files it anew.
fn an_insertion_that_fails_in_its_last_look_is_repeated(on: On) {
    let slow = document("slow", 1);
    let mut n_failed = 0;
    for call in [Call::Scan, Call::Get, Call::Apply, Call::Swap] {
        for nth in 0.. {
            let place = Arc::new(Place::new(on));
            let withdrawn = Arc::new(Mutex::new(None));
            let (told, again) = (Arc::clone(&withdrawn), slow.clone());
            let inside = Arc::clone(&place);
            let blind = store_with(&place, nth, move |_| {
                *told.lock().unwrap() = Some(race(&inside, &again, &document("fast", 2), 5));
                inside.hbase.fail(call, 1, Mishap::Refused);
            });
            let inserted = blind.insert(std::slice::from_ref(&slow));
            n_failed += u32::from(inserted.is_err());
            let Some(insertion) = withdrawn.lock().unwrap().take() else { break };
            place.hbase.clear_faults();
            let context = format!("after request {nth}, {call:?}: {insertion:?}, {inserted:?}");
            place.store().insert(std::slice::from_ref(&slow)).unwrap();
            assert!(contents(&place.store()).contains(&slow), "{context}");
            check_clean(&place, &context);
        }
    }
    assert!(n_failed > 2, "{n_failed} insertions failed");
}

/// Several writers at once, each with a member of every group of near-duplicates.
fn a_race_of_many_leaves_nothing(on: On) {
    const N_WRITERS: u64 = 4;
    const N_GROUPS: u64 = 60;
    let place = Place::new(on);
    let start = Barrier::new(N_WRITERS as usize);
    let n_inserted: usize = thread::scope(|scope| {
        let (place, start) = (&place, &start);
        let writers: Vec<_> = (0..N_WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    let store = place.store();
                    let groups: Vec<u64> = (0..N_GROUPS).collect();
                    let of_batch = |groups: &[u64]| {
                        let member = |&group: &u64| {
                            document(&format!("{group}/{writer}"), spread(group) ^ (1 << (writer % 3)))
                        };
                        let batch: Vec<_> = groups.iter().map(member).collect();
                        start.wait();
                        let insertions = store.insert_if_new(&batch, &within(3)).unwrap();
                        insertions.iter().filter(|insertion| **insertion == Insertion::Inserted).count()
                    };
                    groups.chunks(6).map(of_batch).sum::<usize>()
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert_eq!(n_inserted as u64, N_GROUPS);
    check_clean(&place, "a race");
}

hazards! {
    a_claim_that_is_withdrawn_takes_its_cells_along,
    what_was_there_before_keeps_its_cells,
    an_id_that_is_inserted_again_meanwhile,
    an_insertion_that_asks_nobody_and_takes_its_time,
    an_insertion_that_fails_in_its_last_look_is_repeated,
    a_race_of_many_leaves_nothing,
}
