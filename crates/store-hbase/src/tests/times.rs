//! Timestamps: ours, on a clock that may stand, go back, or be another's; and writers that die
//! between any two steps.

use super::super::claiming::LEASE;
use super::super::remove::REMEMBER;
use super::super::write::LINGER;
use super::*;

fn insert(store: &dyn Store, documents: &[Document]) -> Vec<Insertion> {
    store.insert(documents).unwrap()
}

/// Checks that cells and record of each document are there, and nothing else is.
fn check(place: &Place, documents: &[Document], context: &str) {
    place.advance(LINGER.as_millis() as i64 + HOUR * 3);
    assert_eq!(contents(&place.store()), documents, "{context}");
    place.check_cells(documents);
    for document in documents {
        let expected = [document.id.as_str()];
        assert_eq!(found(&place.store(), document.sketch.fingerprint().0), expected, "{context}");
    }
}

fn again_and_again_within_a_millisecond(on: On) {
    for compact in [false, true] {
        for behind_ms in [0, 1, HOUR] {
            let place = Place::new(on);
            let store = place.store();
            let (a, b) = (document("a", 1), document("a", spread(1)));
            let context = format!("compact {compact}, behind {behind_ms}");
            let pause = || {
                if compact {
                    place.hbase.major_compact();
                }
            };
            insert(&store, std::slice::from_ref(&a));
            place.set_clock(BEGIN - behind_ms);
            for _ in 0..4 {
                pause();
                assert_eq!(store.remove(&[id("a")]).unwrap(), [true], "{context}");
                assert_eq!(found(&store, 1), [""; 0], "{context}");
                assert_eq!(contents(&store), [], "{context}");
                pause();
                assert_eq!(insert(&store, std::slice::from_ref(&a)), [Insertion::Inserted], "{context}");
                assert_eq!(found(&store, 1), ["a"], "{context}");
                pause();
                for next in [&b, &a] {
                    assert_eq!(
                        insert(&store, std::slice::from_ref(next)),
                        [Insertion::Replaced],
                        "{context}"
                    );
                    assert_eq!(found(&store, next.sketch.fingerprint().0), ["a"], "{context}");
                    let other = if next == &a { &b } else { &a };
                    assert_eq!(found(&store, other.sketch.fingerprint().0), [""; 0], "{context}");
                    pause();
                }
            }
            check(&place, std::slice::from_ref(&a), &context);
            place.hbase.major_compact();
            check(&place, &[a], &context);
        }
    }
}

/// Once, a batch with one document that a clock was ahead for gave its time to all documents.
fn a_time_ahead_is_of_one_document(on: On) {
    const YEAR: i64 = 365 * 24 * HOUR;
    let place = Place::new(on);
    let store = place.store();
    place.set_clock(BEGIN + YEAR);
    insert(&store, &[document("a", 1)]);
    place.set_clock(BEGIN + HOUR);
    insert(&store, &[document("a", 2), document("b", spread(2)), document("c", spread(3))]);
    let stored = store.get(&[id("a"), id("b"), id("c")]).unwrap();
    let times: Vec<_> = stored.into_iter().flatten().map(|stored| stored.inserted_at.as_ms()).collect();
    assert_eq!(times, [BEGIN + YEAR + 1, BEGIN + HOUR, BEGIN + HOUR]);
}

/// Old cells stay for a while and then go by themselves, and nothing older comes back in their
/// place.
fn old_cells_linger(on: On) {
    for is_if_new in [false, true] {
        let place = Place::new(on);
        let store = place.store();
        let versions = [document("a", 1), document("a", spread(1)), document("a", spread(2))];
        for version in versions.each_ref().map(std::slice::from_ref) {
            match is_if_new {
                true => drop(store.insert_if_new(version, &within(3)).unwrap()),
                false => drop(insert(&store, version)),
            }
        }
        assert_eq!(place.cells().len(), 30, "of each version");
        place.advance(LINGER.as_millis() as i64 - 1);
        assert_eq!(place.cells().len(), 30);
        place.advance(10);
        place.check_cells(&versions[2..]);
        place.hbase.major_compact();
        place.check_cells(&versions[2..]);
        assert_eq!(place.hbase.n_stored("t"), 10);
    }
}

fn what_was_removed_is_remembered_for_a_day(on: On) {
    for compact in [false, true] {
        let place = Place::new(on);
        let store = place.store();
        let all = [document("a", 1), document("b", 1), document("c", spread(1))];
        insert(&store, &all);
        insert(&store, &[document("c", 2)]);
        assert_eq!(store.remove(&[id("a"), id("c"), id("x")]).unwrap(), [true, true, false]);
        // Also when it is removed once more, much later.
        place.advance(HOUR);
        assert_eq!(store.remove(&[id("a")]).unwrap(), [false]);
        let rows = place.document_rows();
        assert_eq!(rows.len(), 3);
        if compact {
            place.hbase.major_compact();
        }
        place.advance(REMEMBER.as_millis() as i64 - HOUR - 10);
        assert_eq!(place.document_rows(), rows);
        place.advance(20);
        // Beneath the expired claim is the first one, until HBase drops it; both say the same.
        assert_eq!(place.document_rows().len(), if compact { 1 } else { 3 });
        check(&place, &all[1..2], "");
        assert_eq!(store.remove(&[id("a"), id("b")]).unwrap(), [false, true]);
        insert(&store, &all[..1]);
        check(&place, &all[..1], "");
    }
}

fn right_after_a_removal_only_its_memory_is_left(on: On) {
    let place = Place::new(on);
    let store = place.store();
    insert(&store, &[document("a", 1), document("b", 1)]);
    assert_eq!(store.remove(&[id("a"), id("b")]).unwrap(), [true, true]);
    place.hbase.major_compact();
    assert_eq!(place.hbase.n_stored("t"), 0);
    assert_eq!(place.hbase.n_stored("t_docs"), 3);
    // In the end not even the claim is left.
    place.advance(REMEMBER.as_millis() as i64 + 10);
    place.hbase.major_compact();
    assert_eq!(place.hbase.n_stored("t_docs"), 1, "the metadata");
}

/// The work of a writer that died.
#[derive(Clone, Copy, Debug)]
enum Work {
    Insert,
    Replace,
    Remove,
    InsertIfNew,
}

impl Work {
    fn make(self, store: &dyn Store) -> index::Result<()> {
        let documents = [document("a", 5), document("b", spread(9)), document("c", 6 << 30)];
        match self {
            Self::Insert => store.insert(&documents).map(drop),
            Self::InsertIfNew => store.insert_if_new(&documents[2..], &within(1)).map(drop),
            Self::Replace => store.insert(&[document("x", 5), document("y", spread(4))]).map(drop),
            Self::Remove => store.remove(&[id("x"), id("y"), id("none")]).map(drop),
        }
    }
}

fn place_with_x_y_z(on: On) -> Place {
    let place = Place::new(on);
    insert(&place.store(), &[document("x", 4), document("y", 1 << 40), document("z", 7)]);
    place
}

/// Checks searches against the records, read by a full scan.
fn check_searches(store: &dyn Store, context: &str) {
    let all = contents(store);
    for bits in [0, 4, 5, 7, 6 << 30, 1 << 40, spread(9), spread(4)] {
        let mut expected: Vec<_> = all
            .iter()
            .filter(|document| document.sketch.fingerprint().distance(Fingerprint(bits)) <= apart(3))
            .map(|document| document.id.as_str().to_owned())
            .collect();
        expected.sort();
        assert_eq!(found(store, bits), expected, "{context}");
    }
}

fn a_writer_that_dies_at_any_step(on: On) {
    for work in [Work::Insert, Work::Replace, Work::Remove, Work::InsertIfNew] {
        for clock in [-HOUR, 0, 10] {
            let whole = place_with_x_y_z(on);
            whole.advance(clock.max(0));
            whole.set_clock(BEGIN + clock);
            let before = whole.hbase.n_calls(Call::Apply);
            let one_at_a_time = Options { n_connections: 1, ..OPTIONS };
            work.make(&whole.store_with(one_at_a_time)).unwrap();
            let n_steps = whole.hbase.n_calls(Call::Apply) - before;
            let expected = contents(&whole.store());
            for step in 1..=n_steps {
                for n_rows in [0, 1, 2, 11, usize::MAX] {
                    let context = format!("{work:?} at {clock}, step {step} of {n_steps}, {n_rows} rows");
                    let place = place_with_x_y_z(on);
                    place.advance(clock.max(0));
                    place.set_clock(BEGIN + clock);
                    // Some rows are written and then nothing more.
                    let kind = match n_rows {
                        0 => Mishap::Refused,
                        _ => Mishap::FailedAfterSome(n_rows),
                    };
                    let dying =
                        Options { patience: Duration::ZERO, first_patience: Duration::ZERO, ..one_at_a_time };
                    place.hbase.fail(Call::Apply, step, kind);
                    let answer = work.make(&place.store_with(Options { patience: Duration::ZERO, ..dying }));
                    assert_eq!(answer.expect_err(&context).kind(), ErrorKind::Unavailable, "{context}");
                    assert_eq!(place.hbase.n_faults(), 0, "{context}");
                    let store = place.store();
                    check_searches(&store, &context);
                    // Its claims are free for others when the lease has run out.
                    place.advance(2 * LEASE.as_millis() as i64);
                    work.make(&store).unwrap();
                    check_searches(&store, &context);
                    assert_eq!(contents(&store), expected, "{context}");
                    place.advance(LINGER.as_millis() as i64 + 2 * HOUR);
                    place.hbase.major_compact();
                    check_searches(&store, &context);
                    let mut left = place.cells();
                    let needed: Vec<_> = expected.iter().flat_map(cells_of).collect();
                    left.retain(|cell| !needed.contains(cell));
                    assert_eq!(place.cells().len() - left.len(), needed.len(), "{context}");
                    // Only cells of replaced versions can outlive the record that knew them.
                    if matches!(work, Work::Replace) {
                        let old = [document("x", 4), document("y", 1 << 40)];
                        let old: Vec<_> = old.iter().flat_map(cells_of).collect();
                        left.retain(|cell| !old.contains(cell));
                    }
                    assert_eq!(left, [], "{context}");
                }
            }
        }
    }
}

hazards! {
    again_and_again_within_a_millisecond,
    a_time_ahead_is_of_one_document,
    old_cells_linger,
    what_was_removed_is_remembered_for_a_day,
    right_after_a_removal_only_its_memory_is_left,
    a_writer_that_dies_at_any_step,
}
