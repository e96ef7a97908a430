//! The index in the order of its cells, in stores that keep this order. Other stores always answer
//! `None`.

use super::{contents, document, get, id, signed, spread, verifying_metadata};
use crate::{Cell, Cursor, Document, ErrorKind, Metadata, Segments, SketchKind, Store};

/// Compares the cells with the rows of all documents, sorted.
fn check(store: &dyn Store, kind: &SketchKind) {
    let documents = contents(store);
    let cells = documents.iter().flat_map(|document| Cell::of_document(&document.id, &document.sketch));
    let mut expected: Vec<Cell> = cells.collect();
    expected.sort();
    for (n_parts, limit) in [(1, 10_000), (1, 7), (5, 1), (16, 1_000)] {
        let parts = Segments::parts(kind, n_parts).expect("so many parts can be");
        let read: Option<Vec<Vec<Cell>>> = parts.iter().map(|part| read(store, *part, limit)).collect();
        let Some(read) = read else { continue };
        for (part, cells) in parts.iter().zip(&read) {
            assert!(cells.iter().all(|cell| part.contains(cell.row.bucket())), "{part:?}");
        }
        let read: Vec<Cell> = read.into_iter().flatten().collect();
        assert!(read.is_sorted() && read.windows(2).all(|two| two[0] != two[1]), "ascending, each once");
        let counts = |cell: &Cell| {
            let found = get(store, std::slice::from_ref(&cell.id)).pop().flatten();
            found.is_some_and(|document| cell.is_of(&document.sketch))
        };
        // A read of the document is slow, and most cells are expected.
        let is_expected = |cell: &Cell| expected.binary_search(cell).is_ok() || counts(cell);
        let read: Vec<Cell> = read.into_iter().filter(is_expected).collect();
        assert_eq!(read, expected, "{n_parts} parts, {limit} cells in a page");
    }
    let refused = store.cells(Segments::ALL, &Cursor::start(), 0);
    assert!(refused.map_or_else(|error| error.kind() == ErrorKind::InvalidArgument, |page| page.is_none()));
}

fn read(store: &dyn Store, segments: Segments, limit: usize) -> Option<Vec<Cell>> {
    let mut cells = Vec::new();
    let mut next = Some(Cursor::start());
    while let Some(after) = next {
        let page = store.cells(segments, &after, limit).expect("a page of cells");
        let Some(page) = page else {
            assert_eq!(after, Cursor::start(), "a store that has an order has it always");
            return None;
        };
        assert!(page.cells.len() <= limit);
        cells.extend(page.cells);
        next = page.next;
    }
    Some(cells)
}

/// The cells of documents that stay, were replaced, and were removed.
pub(super) fn in_their_order(store: &dyn Store) {
    let kind = SketchKind::default();
    check(store, &kind);
    let mut documents: Vec<Document> = (0..40).map(|n| document(&format!("d{n}"), spread(n))).collect();
    documents.extend([document("zeros", 0), document("ones", u64::MAX), document("é", 0)]);
    store.insert(&documents).expect("an insertion");
    check(store, &kind);
    store.insert(&[document("d0", spread(50)), document("d1", spread(1) ^ 1)]).expect("a replacement");
    store.remove(&[id("d2"), id("d3")]).expect("a removal");
    check(store, &kind);
}

/// More documents in a row than a store may return at once.
pub(super) fn all_of_one_row(store: &dyn Store) {
    let alike: Vec<Document> = (0..150).map(|n| document(&format!("it's {n}"), 7)).collect();
    store.insert(&alike).expect("an insertion");
    store.insert(&[document("before", 6), document("after", 8)]).expect("an insertion");
    check(store, &SketchKind::default());
}

/// The cells of simhashes, and of signatures of every kind.
pub(super) fn of_every_family(store: &dyn Store) {
    let Metadata { kind, .. } = verifying_metadata();
    let whole = |hash| {
        let signature = Some(minhash::Signature::equality(hash));
        kind.sketch(crate::Features { simhash: None, signature, text: None })
    };
    let sketches =
        [signed(0, 0..300), signed(u64::MAX, 0..20), signed(None, 5..40), whole(0), whole(u64::MAX)];
    let named = ["long", "short", "no simhash", "whole", "another whole"].map(id).into_iter().zip(sketches);
    let documents: Vec<_> = named.map(|(id, sketch)| Document { id, sketch, source: None }).collect();
    store.insert(&documents).expect("an insertion");
    check(store, &kind);
}
