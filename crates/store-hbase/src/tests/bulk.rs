//! Documents that come in files: their content, and their cells, which are never taken for ghosts.

use std::sync::atomic::AtomicBool;

use index::{Index, MAX_BATCH, NewDocument, OpenOptions};

use super::super::bulk::{BulkLoad, Standing};
use super::super::rows::{Mutation, Mutations, Table};
use super::between::store_with;
use super::examine::examine;
use super::*;

fn begin(place: &Place, options: &OpenOptions) -> index::Result<BulkLoad> {
    BulkLoad::over(place.store(), || Ok(Box::new(place.store())), options)
}

fn new_documents() -> Vec<NewDocument> {
    let new = |n| {
        let source = (n % 2 == 0).then(|| index::Source::new(format!("feed {n}")).unwrap());
        NewDocument { id: id(&format!("d{n}")), features: Fingerprint(spread(n)).into(), source }
    };
    (0..20).map(new).collect()
}

/// The steps of the loader, with others between them.
#[derive(Clone)]
struct Loader {
    documents: Vec<Document>,
    records: Vec<(Vec<u8>, Vec<u8>)>,
    timestamp: i64,
}

impl Loader {
    fn of(load: &BulkLoad, documents: Vec<NewDocument>) -> Self {
        let documents: Vec<_> = documents.into_iter().map(|document| load.document(document)).collect();
        let record = |document: &Document| (BulkLoad::document_row(&document.id), load.record(document).1);
        let records = documents.iter().map(record).collect();
        Self { documents, records, timestamp: load.timestamp() }
    }

    fn mark(&self) -> Vec<u8> {
        format!("m:load.{}", self.timestamp).into_bytes()
    }

    fn begin(&self, place: &Place) {
        place.hbase.put_raw("t_docs", b"pigeonhole", &self.mark(), b"from a folder", self.timestamp);
    }

    fn index(&self, place: &Place) {
        for document in &self.documents {
            for row in BulkLoad::index_rows(document) {
                let column = super::super::layout::index_column(&document.id);
                place.hbase.put_raw("t", &row, &column, b"", self.timestamp);
            }
        }
    }

    fn documents(&self, place: &Place) {
        for (row, record) in &self.records {
            place.hbase.put_raw("t_docs", row, b"d:record", record, self.timestamp);
        }
    }

    fn end(&self, place: &Place) {
        let delete = Mutation { row: b"pigeonhole".to_vec(), column: self.mark(), value: None };
        let (table, timestamp) = (Table::Documents, self.timestamp);
        let rows = place.hbase.rows("t", OPTIONS);
        rows.apply(&Mutations { table, timestamp, time_to_live: None, mutations: vec![delete] }).unwrap();
    }
}

fn a_load_has_what_an_insert_writes(on: On) {
    let (put, loaded) = (Place::new(on), Place::new(on));
    let index = Index::over(Box::new(put.store()), &OpenOptions::default()).unwrap();
    index.insert(&new_documents()).unwrap();
    let loader = Loader::of(&begin(&loaded, &OpenOptions::default()).unwrap(), new_documents());
    loader.index(&loaded);
    loader.documents(&loaded);
    assert_eq!(put.index_rows(), loaded.index_rows());
    assert_eq!(put.document_rows(), loaded.document_rows());
    assert_eq!(put.document_rows().len(), 20);
}

fn what_is_known_is_no_file_s(on: On) {
    let place = Place::new(on);
    let store = place.store();
    store.insert(&[document("there", 1), document("gone", 2)]).unwrap();
    store.remove(&[id("gone")]).unwrap();
    let load = begin(&place, &OpenOptions::default()).unwrap();
    let ids = ["never", "there", "gone"].map(id);
    let expected = [Standing::Unknown, Standing::Live(sketch(1)), Standing::Gone];
    assert_eq!(load.standings(&ids).unwrap(), expected);
    assert!(load.index().is_some());
    assert_eq!(load.standings(&[]).unwrap(), []);
    let many: Vec<_> = (0..MAX_BATCH).map(|n| id(&n.to_string())).collect();
    assert_eq!(load.standings(&many).unwrap().len(), MAX_BATCH);
}

fn a_new_index_is_left_to_the_loader(on: On) {
    let place = Place::bare(on);
    let options = OpenOptions { scheme: Some("t11".to_owned()), ..OpenOptions::default() };
    let load = begin(&place, &options).unwrap();
    assert!(load.index().is_none());
    assert_eq!(load.metadata().kind.name(), "t11");
    assert_eq!(place.store().metadata().unwrap(), None, "nobody can open it before it is whole");
    // A load that has come in part is not begun as another one.
    let loader = Loader::of(&load, new_documents());
    loader.begin(&place);
    check_fails(
        begin(&place, &options).map(drop),
        ErrorKind::Mismatch,
        &["from a folder", "end that one first"],
    );
    loader.end(&place);
    begin(&place, &options).unwrap();
    loader.documents(&place);
    check_fails(begin(&place, &options).map(drop), ErrorKind::Mismatch, &["t_docs has documents", "drop"]);
}

fn an_index_of_another_kind_is_refused(on: On) {
    let place = Place::new(on);
    let options = OpenOptions { scheme: Some("t11".to_owned()), ..OpenOptions::default() };
    check_fails(begin(&place, &options).map(drop), ErrorKind::Mismatch, &["scheme is \"5c2\""]);
    let error = BulkLoad::begin("memory:", &OpenOptions::default()).map(drop).unwrap_err();
    assert!(error.to_string().contains("another store"), "{error}");
}

/// A load was cut off for an hour between the index and the documents, and ends after the n-th
/// request of a process that meets its cells. In no order does a cell vanish.
fn what_a_load_has_brought_is_nobody_s_ghost(on: On) {
    type Meet = fn(&HbaseStore);
    let meets: [Meet; 2] = [
        |store| drop(examine(store, true)),
        |store| drop(store.insert_if_new(&[document("near", spread(0) ^ 1)], &within(3)).unwrap()),
    ];
    for (meet, n_steps_min) in meets.into_iter().zip([5, 5]) {
        for nth in 0.. {
            let place = Arc::new(Place::new(on));
            let loader = Loader::of(&begin(&place, &OpenOptions::default()).unwrap(), new_documents());
            loader.begin(&place);
            loader.index(&place);
            place.advance(HOUR);
            let is_reached = Arc::new(AtomicBool::new(false));
            let (ending, reached) = (loader.clone(), Arc::clone(&is_reached));
            let store = store_with(&place, nth, move |place| {
                ending.documents(place);
                ending.end(place);
                reached.store(true, Ordering::Relaxed);
            });
            meet(&store);
            if !is_reached.load(Ordering::Relaxed) {
                assert!(nth >= n_steps_min, "only {nth} requests");
                break;
            }
            for document in &loader.documents {
                let near = found(&place.store(), document.sketch.fingerprint().0);
                assert!(
                    near.contains(&document.id.as_str().to_owned()),
                    "{} after request {nth}",
                    document.id
                );
            }
            let cells = place.cells();
            for cell in loader.documents.iter().flat_map(cells_of) {
                assert!(cells.contains(&cell), "a cell has vanished after request {nth}");
            }
        }
    }
}

/// To give a load up, its mark is deleted; its cells are then swept like all that lead nowhere.
fn a_load_that_was_given_up(on: On) {
    let place = Place::new(on);
    let loader = Loader::of(&begin(&place, &OpenOptions::default()).unwrap(), new_documents());
    loader.begin(&place);
    loader.index(&place);
    place.advance(HOUR);
    assert_eq!(examine(&place.store(), true).1, []);
    assert_eq!(place.cells().len(), 200);
    loader.end(&place);
    assert_eq!(examine(&place.store(), true).1.len(), 200);
    assert_eq!(place.cells(), []);
}

hazards! {
    a_load_has_what_an_insert_writes,
    what_is_known_is_no_file_s,
    a_new_index_is_left_to_the_loader,
    an_index_of_another_kind_is_refused,
    what_a_load_has_brought_is_nobody_s_ghost,
    a_load_that_was_given_up,
}
