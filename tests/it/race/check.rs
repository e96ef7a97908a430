//! Invariants after a race has ended.

use std::collections::BTreeMap;

use index::{Cursor, Insertion, SketchKind, Store, StoredDocument};
use simhash::Fingerprint;

use super::groups::{MAX_DISTANCE, Posting};
use super::posting::Race;

/// Checks the answers against the kept documents, and returns the number of kept ones.
pub(super) fn check(postings: &[Posting], race: &Race, store: &dyn Store) -> usize {
    let kept = contents(store);
    let mut n_acknowledged = 0;
    for (posting, (insertion, is_repeated)) in postings.iter().zip(&race.answers) {
        match insertion {
            Insertion::Duplicate(of) => {
                assert!(!kept.contains_key(&posting.id), "{posting:?} is a duplicate, and kept");
                assert_eq!(kept.get(of.id.as_str()), Some(&of.fingerprint), "{posting:?} duplicates {of:?}");
                assert_eq!(posting.fingerprint.distance(of.fingerprint), of.distance());
                assert!(of.distance() <= MAX_DISTANCE);
            }
            // A repeated post may meet the outcome of the first one.
            Insertion::Unchanged if !is_repeated => panic!("{posting:?} was there before"),
            Insertion::Replaced => panic!("{posting:?} replaced something"),
            Insertion::Inserted | Insertion::Unchanged => {
                assert_eq!(kept.get(&posting.id), Some(&posting.fingerprint), "{posting:?} is lost");
                n_acknowledged += 1;
            }
        }
    }
    assert_eq!(kept.len(), n_acknowledged, "nothing is there that was not acknowledged");
    check_apart(&kept, store);
    n_acknowledged
}

/// Checks that no two documents are near: by comparison of all pairs, and because the store finds
/// only each document itself.
pub(super) fn check_apart(kept: &BTreeMap<String, Fingerprint>, store: &dyn Store) {
    let documents: Vec<_> = kept.iter().collect();
    for (number, (id, fingerprint)) in documents.iter().enumerate() {
        for (other_id, other) in &documents[number + 1..] {
            assert!(fingerprint.distance(**other) > MAX_DISTANCE, "{id} and {other_id} are near, and kept");
        }
    }
    let kind = SketchKind::default();
    for documents in documents.chunks(500) {
        let queries: Vec<_> = documents.iter().map(|(_, fingerprint)| kind.sketch(**fingerprint)).collect();
        let found = store.near(&queries, &MAX_DISTANCE.into(), 10).unwrap();
        for ((id, _), found) in documents.iter().zip(found) {
            let ids: Vec<_> = found.matches.iter().map(|found| found.id.as_str()).collect();
            assert_eq!(ids, [id.as_str()]);
        }
    }
}

/// Returns all documents of a store.
pub(super) fn contents(store: &dyn Store) -> BTreeMap<String, Fingerprint> {
    let mut documents = BTreeMap::new();
    let mut next = Some(Cursor::start());
    while let Some(after) = next {
        let page = store.scan(after, 1_000).unwrap();
        let pair = |StoredDocument { document, .. }| {
            (document.id.as_str().to_owned(), document.sketch.fingerprint())
        };
        documents.extend(page.documents.into_iter().map(pair));
        next = page.next;
    }
    documents
}
