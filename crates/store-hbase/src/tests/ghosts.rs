//! Cells that no record confirms, and several writers of one document.

use std::sync::atomic::AtomicBool;
use std::thread;

use super::super::write::LINGER;
use super::between::Between;
use super::*;

fn put_cells(place: &Place, document: &Document, timestamp: i64) {
    for (row, column) in cells_of(document) {
        place.hbase.put_raw("t", &row, &column, b"", timestamp);
    }
}

fn ghosts_are_no_matches(on: On) {
    for timestamp in [BEGIN - 1, BEGIN, BEGIN + 1] {
        let place = Place::new(on);
        let store = place.store();
        // Within a bit of each other, far from each other, gone, never there.
        store.insert(&[document("near", 1), document("far", spread(1)), document("gone", 1)]).unwrap();
        store.remove(&[id("gone")]).unwrap();
        for name in ["near", "far", "gone", "never"] {
            put_cells(&place, &document(name, 0), timestamp);
        }
        // A cell of a sketch of the same fingerprint and other keys.
        let row = simhash::RowKey::new(sketch(1 << 63).keys().next().unwrap(), Fingerprint(1)).encode();
        place.hbase.put_raw("t", &row, b"f:near", b"", timestamp);
        assert_eq!(found(&store, 0), ["near"]);
        assert_eq!(found(&store, 1 << 63), ["near"]);
        assert_eq!(found(&store, spread(1)), ["far"]);
        let answer = store.near(&[sketch(0)], &within(3), 10).unwrap().remove(0);
        assert_eq!(answer.matches[0].fingerprint, Fingerprint(1));
        assert_eq!(answer.matches[0].distance(), apart(1));
        assert_eq!(store.near(&[sketch(0)], &within(0), 10).unwrap()[0].n_matches, 0);
        let is_new = store.insert_if_new(&[document("new", spread(1) ^ 1)], &within(3)).unwrap().remove(0);
        assert!(matches!(is_new, Insertion::Duplicate(of) if of.id == id("far")));
        assert_eq!(store.insert_if_new(&[document("new", 0)], &within(0)).unwrap(), [Insertion::Inserted]);
    }
}

/// A document moves within the neighbourhood, or out of it and back, after the n-th request of a
/// search. The search finds it once, if the cells that it read are the document's own or not.
fn a_document_that_moves_while_it_is_searched_for(on: On) {
    let banded = |bits, segments: &[u32]| {
        let keys = segments.iter().map(|&segment| simhash::BucketKey { flag: 1, segment });
        Document { id: id("moves"), sketch: Sketch::new(Fingerprint(bits), keys.collect()), source: None }
    };
    let query = Sketch::new(
        Fingerprint(0),
        [1, 2, 3].map(|segment| simhash::BucketKey { flag: 1, segment }).to_vec(),
    );
    // The first version, and the later ones in their order; all within the distance of the query,
    // and each with another bit, to tell old cells from new ones.
    let paths = [
        vec![banded(1, &[1]), banded(2, &[3])],
        vec![banded(2, &[3]), banded(1, &[1])],
        vec![banded(1, &[1]), banded(1, &[3])],
        vec![banded(1, &[3]), banded(1, &[1])],
        vec![banded(1, &[3]), banded(1, &[1, 3])],
        vec![banded(1, &[1, 3]), banded(1, &[3])],
        vec![banded(1, &[1]), banded(2, &[1])],
        // From the first page of a large bucket to its second one.
        vec![banded(1, &[1]), banded(1 << 63, &[1])],
        vec![banded(1 << 63, &[1]), banded(1, &[3]), banded(1 << 63, &[1])],
        vec![banded(1, &[1]), banded(1 << 63, &[3]), banded(1, &[1]), banded(1 << 63, &[3])],
    ];
    for path in &paths {
        // Large buckets: the second page is of another moment than the first.
        for n_others in [0, 600] {
            for first in 1..=6_i64 {
                let place = Arc::new(Place::new(on));
                let writer = place.store();
                let others: Vec<_> = (0..n_others)
                    .map(|n| {
                        let keys = (1..=3).map(|segment| simhash::BucketKey { flag: 1, segment });
                        let bits = 0x7fff << 40 | n << 20 | 0xfff;
                        Document {
                            id: id(&format!("{n}")),
                            sketch: Sketch::new(Fingerprint(bits), keys.collect()),
                            source: None,
                        }
                    })
                    .collect();
                writer.insert(&others).unwrap();
                writer.insert(&path[..1]).unwrap();
                let step = AtomicI64::new(0);
                let versions = path.clone();
                let inside = Arc::clone(&place);
                let between = move || {
                    // The first request reads the metadata.
                    let at = step.fetch_add(1, Ordering::Relaxed) - 1 - first;
                    if let Some(version) = usize::try_from(at).ok().and_then(|at| versions.get(at + 1)) {
                        inside.advance(1);
                        inside.store().insert(std::slice::from_ref(version)).unwrap();
                    }
                };
                let rows = place.hbase.rows("t", OPTIONS);
                let store = HbaseStore::over(Box::new(Between { rows, between }), Clock::new(|| BEGIN));
                let answer = store.near(std::slice::from_ref(&query), &within(3), 10).unwrap().remove(0);
                let context = format!("{path:?} after request {first} beside {n_others}");
                assert_eq!(answer.n_matches, 1, "{context}");
                assert_eq!(answer.matches.len(), 1, "{context}");
                let fingerprint = answer.matches[0].fingerprint;
                assert!(path.iter().any(|version| version.sketch.fingerprint() == fingerprint), "{context}");
                assert_eq!(place.hbase.n_open_scanners(), 0);
            }
        }
    }
}

/// Two stores, as in two processes, write one id with different sketches at once. One of them wins,
/// and no search finds the other's, or both.
fn two_writers_of_one_document(on: On) {
    let place = Place::new(on);
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (place, is_done) = (&place, &is_done);
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                scope.spawn(move || {
                    let store = place.store();
                    for round in 0..25 {
                        store.insert(&[document("a", 1 << ((round * 2 + writer) % 5))]).unwrap();
                        if round % 5 == 4 {
                            store.remove(&[id("a")]).unwrap();
                        }
                    }
                })
            })
            .collect();
        let reader = scope.spawn(move || {
            let store = place.store();
            while !is_done.load(Ordering::Relaxed) {
                match store.near(&[sketch(0)], &within(3), 10) {
                    Ok(answer) => assert!(answer[0].n_matches <= 1, "{answer:?}"),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Busy),
                }
            }
        });
        let outcomes: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    // The rows are sound, and one more write by one of them is as if both had never been.
    let store = place.store();
    let n = contents(&store).len();
    assert_eq!(found(&store, 0).len(), n);
    place.advance(1);
    store.insert(&[document("a", spread(5))]).unwrap();
    place.advance(LINGER.as_millis() as i64 + 1);
    assert_eq!(found(&store, spread(5)), ["a"]);
    assert_eq!(found(&store, 0), [""; 0]);
}

hazards! {
    ghosts_are_no_matches,
    a_document_that_moves_while_it_is_searched_for,
    two_writers_of_one_document,
}
