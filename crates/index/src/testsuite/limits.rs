//! The largest value of everything, and one more.

use simhash::{BucketKey, Fingerprint};

use crate::Sketch;

use super::{apart, contents, document, get, id, near, sketch, spread, within};
use crate::{
    Cursor, Document, ErrorKind, Insertion, MAX_BATCH, MAX_ID_BYTES, MAX_SKETCH_KEYS, Result, Store,
};

fn refused<T>(answer: Result<T>) {
    assert_eq!(answer.err().map(|error| error.kind()), Some(ErrorKind::InvalidArgument));
}

pub(super) fn batches(store: &dyn Store) {
    let mut all: Vec<_> = (0..=MAX_BATCH as u64).map(|n| document(&n.to_string(), spread(n))).collect();
    let mut ids: Vec<_> = all.iter().map(|document| document.id.clone()).collect();
    let sketches: Vec<_> = all.iter().map(|document| document.sketch.clone()).collect();
    refused(store.insert(&all));
    refused(store.insert_if_new(&all, &within(3)));
    refused(store.remove(&ids));
    refused(store.get(&ids));
    refused(store.near(&sketches, &within(3), 1));
    refused(store.near_documents(&sketches, &within(3), 1));
    all.pop();
    ids.pop();
    let insertions = store.insert(&all).expect("a full batch");
    assert!(insertions.iter().all(|insertion| *insertion == Insertion::Inserted));
    let got = get(store, &ids);
    assert!(got.iter().zip(&all).all(|(got, document)| got.as_ref() == Some(document)));
    let page = store.scan(Cursor::start(), usize::MAX).expect("a page");
    assert!(page.documents.len() <= MAX_BATCH);
    assert!(store.remove(&ids).expect("a full batch").iter().all(|removed| *removed));
    assert_eq!(contents(store), []);
}

/// Ids of every length, some equal but for the last byte, beyond any length that a store may use as
/// a key.
pub(super) fn ids(store: &dyn Store) {
    let mut names: Vec<String> = Vec::new();
    for len in [1, 2, 63, 64, 255, 256, 509, 510, 511, 512, 513, 1023, 1024, MAX_ID_BYTES] {
        let common = "x".repeat(len - 1);
        names.extend(["a", "b", " "].map(|last| common.clone() + last));
    }
    names.extend(["é".repeat(MAX_ID_BYTES / 2), "a/b?c=d&e#f%20".into(), "\u{feff}".into(), "💡".into()]);
    let mut all: Vec<_> = names.iter().map(|name| document(name, 1)).collect();
    let insertions = store.insert(&all).expect("an insertion");
    assert!(insertions.iter().all(|insertion| *insertion == Insertion::Inserted));
    let ids: Vec<_> = all.iter().map(|document| document.id.clone()).collect();
    let got = get(store, &ids);
    assert!(got.iter().zip(&all).all(|(got, document)| got.as_ref() == Some(document)));
    all.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(contents(store), all);
    let (found, n_matches) = near(store, &sketch(1), apart(0), usize::MAX);
    assert_eq!(n_matches, all.len() as u64);
    assert!(found.iter().map(|(id, _)| id.as_str()).eq(all.iter().map(|document| document.id.as_str())));
    // Each document is separate: a removal leaves its neighbours.
    for (n, name) in names.iter().enumerate() {
        assert_eq!(store.remove(&[id(name), id(name)]).expect("a removal"), [true, false]);
        assert_eq!(near(store, &sketch(1), apart(0), 0).1, (names.len() - n - 1) as u64);
    }
}

pub(super) fn sketches(store: &dyn Store) {
    let keyed = |name, n_keys| {
        let keys = (0..n_keys as u32).map(|segment| BucketKey { flag: 1, segment });
        Document { id: id(name), sketch: Sketch::new(Fingerprint(9), keys.collect()), source: None }
    };
    let most = keyed("most", MAX_SKETCH_KEYS);
    let too_many = keyed("too many", MAX_SKETCH_KEYS + 1);
    refused(store.insert(&[most.clone(), too_many.clone()]));
    refused(store.insert_if_new(&[most.clone(), too_many], &within(3)));
    assert_eq!(contents(store), []);
    store.insert(std::slice::from_ref(&most)).expect("an insertion");
    assert_eq!(contents(store), [most]);
}
