//! Notes and loads that end tiers.

use super::super::super::rows::{Mutation, Mutations, Table};
use super::super::between::Between;
use super::*;

fn put_note(place: &Place, note: &str) {
    place.hbase.put_raw("t_docs", METADATA_ROW, b"m:older", note.as_bytes(), place.hbase.now_ms());
}

/// The note of the loader, and of the script for a restored snapshot, ends a tier, and the next one
/// has what came.
fn loaded_documents_are_found(on: On) {
    let place = Place::new(on);
    place.advance(HOUR);
    let store = tiered(&place);
    fill(&store, 1);
    place.set_clock(BEGIN);
    place.store().insert(&[document("a", spread(1)), document("b", spread(2))]).unwrap();
    place.set_clock(BEGIN + HOUR);
    put_note(&place, &format!("load.{BEGIN}"));
    for n_fillings in [1, 2] {
        fill(&store, n_fillings);
        for n in [1, 2] {
            assert!(is_duplicate(&store, spread(n) ^ 1), "{n}, filled {n_fillings} times");
        }
    }
}

/// Leaves the mark of a load of the time `BEGIN`, as the loader does when it begins.
fn mark_load(place: &Place) {
    let mark = format!("m:load.{BEGIN}");
    place.hbase.put_raw("t_docs", METADATA_ROW, mark.as_bytes(), b"from a folder", BEGIN);
    put_note(place, &format!("load.{BEGIN} begun"));
}

/// Brings a document of a load of the time `BEGIN`.
fn load(place: &Place, loaded: Document) {
    let now = place.clock.load(Ordering::Relaxed);
    place.set_clock(BEGIN);
    place.store().insert(&[loaded]).unwrap();
    place.set_clock(now);
}

/// Its cells come before its second note. A tier that is asked for meanwhile is not filled.
fn a_load_under_way_is_read(on: On) {
    let place = Place::new(on);
    place.advance(HOUR);
    let store = tiered(&place);
    fill(&store, 1);
    mark_load(&place);
    for (n_fillings, n) in [(1, 1), (2, 2)] {
        load(&place, document(&format!("d{n}"), spread(n)));
        assert!(is_duplicate(&store, spread(n) ^ 1), "{n}");
        fill(&store, n_fillings);
        assert!(is_duplicate(&store, spread(n) ^ 1), "{n}");
    }
}

/// A load was cut off among the documents, and its mark is deleted: those that came stay, and no
/// tier of before is used again. The note of the beginning is the only one.
fn a_load_that_was_given_up_is_read(on: On) {
    let place = Place::new(on);
    place.advance(HOUR);
    let store = tiered(&place);
    fill(&store, 1);
    mark_load(&place);
    load(&place, document("a", spread(1)));
    let delete =
        Mutation { row: METADATA_ROW.to_vec(), column: format!("m:load.{BEGIN}").into_bytes(), value: None };
    let (table, timestamp) = (Table::Documents, BEGIN + HOUR);
    let deletes = Mutations { table, timestamp, time_to_live: None, mutations: vec![delete] };
    place.hbase.rows("t", OPTIONS).apply(&deletes).unwrap();
    for n_fillings in [1, 2] {
        fill(&store, n_fillings);
        assert!(is_duplicate(&store, spread(1) ^ 1), "filled {n_fillings} times");
    }
}

/// A call may wait minutes for the claims of others. A document of before comes with its note while
/// it has looked and not yet searched, or waits for the next round.
fn a_note_within_a_call_counts(on: On) {
    let batches = [
        vec![document("own", spread(1) ^ 2)],
        // The second one is near to the first, and is decided after it.
        vec![document("first", spread(1) ^ 0b11_1100), document("own", spread(1) ^ 0b1000)],
    ];
    for documents in batches {
        let place = Arc::new(Place::new(on));
        place.advance(HOUR);
        let (inside, has_come) = (Arc::clone(&place), AtomicI64::new(0));
        let between = move || {
            if !inside.index_rows().is_empty() && has_come.fetch_add(1, Ordering::Relaxed) == 0 {
                load(&inside, document("early", spread(1)));
                put_note(&inside, "a slow insertion");
            }
        };
        let rows = Box::new(Between { rows: place.hbase.rows("t", OPTIONS), between });
        let clock = Arc::clone(&place.clock);
        let store = HbaseStore::over(rows, Clock::new(move || clock.load(Ordering::Relaxed)));
        let store = store.with_tier(Some(options()));
        fill(&store, 1);
        let own = store.insert_if_new(&documents, &within(3)).unwrap().pop().unwrap();
        let Insertion::Duplicate(of) = own else { panic!("{own:?}") };
        assert_eq!(of.id, id("early"));
    }
}

hazards! {
    a_note_within_a_call_counts,
    loaded_documents_are_found,
    a_load_under_way_is_read,
    a_load_that_was_given_up_is_read,
}
