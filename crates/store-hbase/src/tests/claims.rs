//! Insertions of new documents, with others in between at every place.

use std::sync::atomic::AtomicBool;
use std::thread;

use super::super::remove::REMEMBER;
use super::between::{store_of_the_patient, store_with};
use super::*;

pub(super) fn insert_if_new(store: &HbaseStore, document: &Document) -> Insertion {
    store.insert_if_new(std::slice::from_ref(document), &within(3)).unwrap().remove(0)
}

/// Checks that a search and an insertion find all documents; a day later as well, and after a
/// compaction.
pub(super) fn check_found(place: &Place, context: &str) -> Vec<Document> {
    let all = contents(&place.store());
    for later in [0, 2 * REMEMBER.as_millis() as i64] {
        place.advance(later);
        if later > 0 {
            place.hbase.major_compact();
        }
        assert_eq!(contents(&place.store()), all, "{context}, {later} ms later");
        for document in &all {
            let bits = document.sketch.fingerprint().0;
            let names = found(&place.store(), bits);
            assert!(
                names.contains(&document.id.as_str().to_owned()),
                "{context}, {later} ms later: {names:?}"
            );
            let again = Document { id: id("again"), ..document.clone() };
            let answer = insert_if_new(&place.store(), &again);
            assert!(matches!(answer, Insertion::Duplicate(_)), "{context}, {later} ms later: {answer:?}");
        }
    }
    all
}

/// The state of a document before a test begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    Absent,
    Inserted,
    Claimed,
    ClaimedTwice,
    Removed,
    RemovedAndInserted,
}

/// The fingerprints of the old version: near to the inserted ones, and far from them.
const OLD: [u64; 2] = [1 << 40, 0xffff_0000];

const ALL_BEFORE: [Before; 6] = [
    Before::Absent,
    Before::Inserted,
    Before::Claimed,
    Before::ClaimedTwice,
    Before::Removed,
    Before::RemovedAndInserted,
];

impl Before {
    /// Makes the state with the fingerprint `old`, near to the one that the test inserts or far
    /// from it.
    pub(super) fn make(self, on: On, old: u64) -> Arc<Place> {
        let place = Place::new(on);
        let store = place.store();
        let old = document("a", old);
        match self {
            Self::Absent => {}
            Self::Inserted => drop(store.insert(&[old]).unwrap()),
            Self::Claimed => assert_eq!(insert_if_new(&store, &old), Insertion::Inserted),
            Self::ClaimedTwice => {
                assert_eq!(insert_if_new(&store, &document("a", spread(1))), Insertion::Inserted);
                assert_eq!(insert_if_new(&store, &old), Insertion::Replaced);
            }
            Self::Removed => {
                assert_eq!(insert_if_new(&store, &old), Insertion::Inserted);
                assert_eq!(store.remove(&[id("a")]).unwrap(), [true]);
            }
            Self::RemovedAndInserted => {
                store.insert(&[document("a", spread(1))]).unwrap();
                assert_eq!(store.remove(&[id("a")]).unwrap(), [true]);
                store.insert(&[old]).unwrap();
            }
        }
        Arc::new(place)
    }

    /// Returns true if there is an old version.
    fn is_there(self) -> bool {
        !matches!(self, Self::Absent | Self::Removed)
    }
}

/// Deletion during a claim on the same document: before the insertion, or after it.
fn a_removal_after_any_request(on: On) {
    let new = document("a", 2 << 40);
    for before in ALL_BEFORE {
        for nth in 0.. {
            let context = format!("{before:?}, after request {nth}");
            let place = before.make(on, OLD[0]);
            let removed = Arc::new(std::sync::Mutex::new(None));
            let answer = Arc::clone(&removed);
            let store = store_with(&place, nth, move |place| {
                *answer.lock().unwrap() = Some(place.store().remove(&[id("a")]).unwrap()[0]);
            });
            let inserted = insert_if_new(&store, &new);
            assert!(matches!(inserted, Insertion::Inserted | Insertion::Replaced), "{context}: {inserted:?}");
            let Some(removed) = *removed.lock().unwrap() else {
                assert!(nth > 3, "{context}");
                break;
            };
            let all = check_found(&place, &context);
            if all.is_empty() {
                assert!(removed, "{context}: nobody removed it");
            } else {
                assert_eq!(all, std::slice::from_ref(&new), "{context}");
                assert_eq!(removed, before.is_there(), "{context}");
            }
        }
    }
}

/// A plain insertion of the same document, in the same or another version, or of a near one.
fn an_insertion_without_asking_after_any_request(on: On) {
    let new = document("a", 2 << 40);
    for before in ALL_BEFORE {
        for other in [document("a", 2 << 40), document("a", spread(2)), document("b", 3 << 40)] {
            for behind_ms in [0, 5_000, -5_000] {
                for nth in 0.. {
                    let context = format!("{before:?}, {other:?} {behind_ms} ms behind, after request {nth}");
                    let place = before.make(on, OLD[0]);
                    let is_written = Arc::new(AtomicBool::new(false));
                    let (written, is_now) = (other.clone(), Arc::clone(&is_written));
                    let store = store_with(&place, nth, move |place| {
                        is_now.store(true, Ordering::Relaxed);
                        place.clock.fetch_sub(behind_ms, Ordering::Relaxed);
                        place.store().insert(std::slice::from_ref(&written)).unwrap();
                        place.clock.fetch_add(behind_ms, Ordering::Relaxed);
                    });
                    let answer = insert_if_new(&store, &new);
                    // The insertion made no more requests.
                    if !is_written.load(Ordering::Relaxed) {
                        assert!(nth > 3, "{context}");
                        break;
                    }
                    let all = check_found(&place, &context);
                    let is_there = |document: &Document| all.contains(document);
                    match answer {
                        Insertion::Duplicate(of) => {
                            assert!(all.iter().any(|other| other.id == of.id), "{context}");
                        }
                        _ if other.id == new.id => assert!(is_there(&new) || is_there(&other), "{context}"),
                        _ => assert!(is_there(&new), "{context}"),
                    }
                }
            }
        }
    }
}

/// Two near documents; all of the second insertion happens after one request of the first, whose
/// lease runs out.
fn another_claim_after_any_request(on: On) {
    let cases = ALL_BEFORE.into_iter().flat_map(|before| OLD.map(|old| (before, old)));
    for (before, old) in cases {
        for name in ["a", "b"] {
            for nth in 0.. {
                let context = format!("{before:?} {old:x}, then {name}, after request {nth}");
                let place = before.make(on, old);
                let (first, second) = (document("a", 2 << 40), document(name, 6 << 40));
                let inner = Arc::new(std::sync::Mutex::new(None));
                let (answer, other) = (Arc::clone(&inner), second.clone());
                let store = store_with(&place, nth, move |place| {
                    *answer.lock().unwrap() = Some(insert_if_new(&store_of_the_patient(place), &other));
                });
                let outer = insert_if_new(&store, &first);
                let Some(inner) = inner.lock().unwrap().take() else {
                    assert!(nth > 3, "{context}");
                    break;
                };
                let all = check_found(&place, &context);
                // Exactly one near document is there; the old version stays where the new one was a
                // duplicate.
                let is_near = |document: &&Document| document.sketch.fingerprint().0 != OLD[1];
                assert_eq!(all.iter().filter(is_near).count(), 1, "{context}: {outer:?}, {inner:?}: {all:?}");
                let is_kept = all.iter().any(|document| document.id == id("a"));
                assert!(is_kept || !before.is_there(), "{context}: {outer:?}, {inner:?}: {all:?}");
                for answer in [outer, inner] {
                    if let Insertion::Duplicate(of) = answer {
                        // A duplicate of the old version, where that one is near; it may have been
                        // replaced since.
                        assert!(all.iter().any(|document| document.id == of.id), "{context}");
                    }
                }
            }
        }
    }
}

/// The same document over and over, with clocks that stand, lag and jump, as claims and as
/// removals.
fn claims_and_removals_within_a_millisecond(on: On) {
    for compact in [false, true] {
        for behind_ms in [0, 1, HOUR] {
            let place = Place::new(on);
            let store = place.store();
            let context = format!("compact {compact}, behind {behind_ms}");
            let pause = || {
                if compact {
                    place.hbase.major_compact();
                }
            };
            let (a, b) = (document("a", 1), document("a", spread(1)));
            assert_eq!(insert_if_new(&store, &a), Insertion::Inserted, "{context}");
            place.set_clock(BEGIN - behind_ms);
            for _ in 0..4 {
                pause();
                assert_eq!(store.remove(&[id("a")]).unwrap(), [true], "{context}");
                assert_eq!(contents(&store), [], "{context}");
                assert_eq!(found(&store, 1), [""; 0], "{context}");
                pause();
                assert_eq!(insert_if_new(&store, &a), Insertion::Inserted, "{context}");
                assert_eq!(found(&store, 1), ["a"], "{context}");
                pause();
                for next in [&b, &a] {
                    assert_eq!(insert_if_new(&store, next), Insertion::Replaced, "{context}");
                    assert_eq!(contents(&store), std::slice::from_ref(next), "{context}");
                    pause();
                }
                // A plain insertion replaces a claimed version, and the other way round.
                assert_eq!(
                    store.insert(std::slice::from_ref(&b)).unwrap(),
                    [Insertion::Replaced],
                    "{context}"
                );
                assert_eq!(insert_if_new(&store, &a), Insertion::Replaced, "{context}");
                assert_eq!(contents(&store), std::slice::from_ref(&a), "{context}");
            }
            assert_eq!(check_found(&place, &context), [a]);
        }
    }
}

/// Separate stores, as in separate processes, insert one id at the same time.
fn one_id_at_several_claimants(on: On) {
    for same_text in [true, false] {
        let place = Place::new(on);
        for round in 0..10_u64 {
            let name = format!("a{round}");
            let answers: Vec<_> = thread::scope(|scope| {
                let claimants: Vec<_> = (0..3)
                    .map(|n| {
                        let bits = spread(round) ^ if same_text { 0 } else { 1 << n };
                        let document = document(&name, bits);
                        let place = &place;
                        scope.spawn(move || insert_if_new(&place.store(), &document))
                    })
                    .collect();
                claimants.into_iter().map(|claimant| claimant.join().unwrap()).collect()
            });
            let n_inserted = answers.iter().filter(|answer| **answer == Insertion::Inserted).count();
            assert_eq!(n_inserted, 1, "{answers:?}");
            assert!(!answers.iter().any(|answer| matches!(answer, Insertion::Duplicate(_))), "{answers:?}");
            if same_text {
                assert_eq!(answers.iter().filter(|answer| **answer == Insertion::Unchanged).count(), 2);
            }
            assert_eq!(found(&place.store(), spread(round)), [name]);
        }
    }
}

/// A batch has the result of inserting its documents one by one: duplicates of each other, of old
/// versions replaced by earlier ones or by later ones, and one id again and again.
fn a_batch_is_a_sequence(on: On) {
    for seed in 1..=60 {
        let place = Place::new(on);
        let memory = index::MemoryStore::new();
        memory.create(&metadata()).unwrap();
        let mut number = seed * 1_000;
        let mut next = |below: u64| {
            number += 1;
            spread(number) % below
        };
        for round in 0..4 {
            // A few texts in a row, each near to the next ones, and a few ids.
            let documents: Vec<_> =
                (0..24).map(|_| document(&format!("{}", next(10)), (1 << next(12)) - 1)).collect();
            let (ours, expected) = match round {
                0 => (place.store().insert(&documents[..6]), memory.insert(&documents[..6])),
                _ => (
                    place.store().insert_if_new(&documents, &within(2)),
                    memory.insert_if_new(&documents, &within(2)),
                ),
            };
            assert_eq!(ours.unwrap(), expected.unwrap(), "seed {seed}, round {round}: {documents:?}");
            assert_eq!(contents(&place.store()), contents(&memory), "seed {seed}, round {round}");
        }
    }
}

/// A text that comes many times in one batch is claimed once, and leaves nothing behind.
fn duplicates_within_a_batch_are_not_claimed(on: On) {
    let place = Place::new(on);
    let documents: Vec<_> = (0..40).map(|n| document(&format!("{n}"), 1 << (n % 2))).collect();
    let insertions = place.store().insert_if_new(&documents, &within(3)).unwrap();
    assert_eq!(insertions.iter().filter(|insertion| **insertion == Insertion::Inserted).count(), 1);
    // Another store has created the index.
    assert_eq!(place.hbase.n_calls(Call::Swap), 1 + 2);
    assert_eq!(place.document_rows().len(), 1);
    place.check_cells(&documents[..1]);
}

hazards! {
    a_removal_after_any_request,
    an_insertion_without_asking_after_any_request,
    another_claim_after_any_request,
    claims_and_removals_within_a_millisecond,
    one_id_at_several_claimants,
    a_batch_is_a_sequence,
    duplicates_within_a_batch_are_not_claimed,
}
