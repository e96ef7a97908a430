//! The cases of creation, insertion and removal.

use super::{apart, check_near, contents, create, document, example_metadata, get, id, near, sketch, within};
use crate::{Cursor, Document, ErrorKind, Insertion, Match, Metadata, Nearness, Result, Store};
use simhash::Distance;

pub(super) fn metadata_is_written_once(store: &dyn Store) {
    assert_eq!(store.metadata().expect("metadata"), None);
    create(store);
    let kind = "t11".parse().expect("a named kind");
    let other = Metadata { kind, max_distance: apart(2), ..example_metadata() };
    assert_eq!(store.create(&other).expect("a second create"), example_metadata());
    assert_eq!(store.metadata().expect("metadata"), Some(example_metadata()));
}

pub(super) fn nothing_works_before_create(store: &dyn Store) {
    fn refused<T>(answer: Result<T>) {
        assert_eq!(answer.err().map(|error| error.kind()), Some(ErrorKind::NotFound));
    }
    refused(store.prepare());
    refused(store.ready());
    refused(store.insert(&[document("a", 0)]));
    refused(store.insert_if_new(&[document("a", 0)], &within(3)));
    refused(store.remove(&[id("a")]));
    refused(store.get(&[id("a")]));
    refused(store.near(&[sketch(0)], &within(3), 1));
    refused(store.scan(Cursor::start(), 1));
    assert!(store.status().expect("a status").n_documents.is_none_or(|n_documents| n_documents == 0));
}

fn insert(store: &dyn Store, documents: &[Document]) -> Vec<Insertion> {
    store.insert(documents).expect("an insertion")
}

fn insert_if_new(store: &dyn Store, documents: &[Document], max_distance: Distance) -> Vec<Insertion> {
    store.insert_if_new(documents, &max_distance.into()).expect("an insertion")
}

fn duplicate(of: &Document, distance: Distance) -> Insertion {
    let nearness = Nearness::by_distance(distance);
    Insertion::Duplicate(Match::new(of.id.clone(), of.sketch.fingerprint(), nearness))
}

pub(super) fn inserting(store: &dyn Store) {
    use Insertion::{Inserted, Replaced, Unchanged};
    assert_eq!(insert(store, &[]), []);
    let (a, b) = (document("a", 0), document("b", 1));
    // Plain insertion ignores distances: b is near a.
    assert_eq!(insert(store, &[a.clone(), b.clone()]), [Inserted, Inserted]);
    assert_eq!(insert(store, &[b.clone(), a.clone()]), [Unchanged, Unchanged]);
    let a2 = document("a", u64::MAX);
    let c = document("c", 2);
    let answers = insert(store, &[a2.clone(), c.clone(), c.clone(), a2.clone()]);
    assert_eq!(answers, [Replaced, Inserted, Unchanged, Unchanged]);
    assert_eq!(contents(store), [a2.clone(), b.clone(), c.clone()]);
    // The last version in a batch stays, also if it equals the first.
    assert_eq!(insert(store, &[a.clone(), a2, a.clone()]), [Replaced, Replaced, Replaced]);
    assert_eq!(contents(store), [a.clone(), b, c]);
    check_near(store, &sketch(u64::MAX), apart(3), &[]);
    check_near(store, &sketch(0), apart(0), &[("a", 0)]);
    assert_eq!(get(store, &[id("x"), id("a"), id("a")]), [None, Some(a.clone()), Some(a)]);
}

pub(super) fn inserting_if_new(store: &dyn Store) {
    use Insertion::{Inserted, Replaced, Unchanged};
    assert_eq!(insert_if_new(store, &[], apart(3)), []);
    let a = document("a", 0);
    // Into an empty store, then into one of a single document.
    assert_eq!(insert_if_new(store, std::slice::from_ref(&a), apart(3)), [Inserted]);
    assert_eq!(insert_if_new(store, std::slice::from_ref(&a), apart(3)), [Unchanged]);
    assert_eq!(insert_if_new(store, &[document("b", 0)], apart(3)), [duplicate(&a, apart(0))]);
    // Exactly at the distance, and one beyond.
    assert_eq!(insert_if_new(store, &[document("b", 0b111)], apart(3)), [duplicate(&a, apart(3))]);
    assert_eq!(insert_if_new(store, &[document("b", 0b111)], apart(2)), [Inserted]);
    // Of two at one distance the smaller id, of two distances the nearer.
    let (b, d) = (document("b", 0b111), document("d", 0b1_1111));
    assert_eq!(insert(store, std::slice::from_ref(&d)), [Inserted]);
    assert_eq!(insert_if_new(store, &[document("c", 0b1111)], apart(3)), [duplicate(&b, apart(1))]);
    assert_eq!(insert_if_new(store, &[document("c", 0b1_1110)], apart(3)), [duplicate(&d, apart(1))]);
    // The id is there with another sketch: a near one under another id keeps the old version in
    // place ...
    let near_b = document("a", 0b11);
    assert_eq!(insert_if_new(store, &[near_b], apart(3)), [duplicate(&b, apart(1))]);
    assert_eq!(contents(store), [a.clone(), b.clone(), d.clone()]);
    // ... the id is there with the same sketch: the document stays, with or without near ones ...
    assert_eq!(insert_if_new(store, &[a, b.clone()], apart(3)), [Unchanged, Unchanged]);
    // ... otherwise the document is replaced.
    let a2 = document("a", u64::MAX);
    assert_eq!(insert_if_new(store, std::slice::from_ref(&a2), apart(3)), [Replaced]);
    assert_eq!(contents(store), [a2, b, d]);
    check_near(store, &sketch(0), apart(2), &[]);
}

pub(super) fn inserting_if_new_within_a_batch(store: &dyn Store) {
    use Insertion::{Inserted, Replaced, Unchanged};
    let (a, b) = (document("a", 0), document("b", 1));
    let answers = insert_if_new(store, &[a.clone(), b.clone(), a.clone(), document("c", u64::MAX)], apart(3));
    assert_eq!(answers, [Inserted, duplicate(&a, apart(1)), Unchanged, Inserted]);
    // A version replaced earlier in the batch makes no duplicates later in the batch, committed
    // before or not.
    let moved = document("a", 0xff << 40);
    let answers = insert_if_new(store, &[moved.clone(), b.clone(), document("d", 0xff << 40)], apart(3));
    assert_eq!(answers, [Replaced, Inserted, duplicate(&moved, apart(0))]);
    let (e, e2, f) = (document("e", 0xffff << 20), document("e", 0xffff << 4), document("f", 0xffff << 20));
    assert_eq!(insert_if_new(store, &[e, e2.clone(), f.clone()], apart(3)), [Inserted, Replaced, Inserted]);
    assert_eq!(contents(store), [moved, b, document("c", u64::MAX), e2, f]);
}

/// A text that changes a little is near its own old version, which must not keep it out.
pub(super) fn an_own_old_version_is_no_duplicate(store: &dyn Store) {
    use Insertion::{Inserted, Replaced};
    assert_eq!(
        insert_if_new(store, &[document("a", 0), document("b", u64::MAX)], apart(3)),
        [Inserted, Inserted]
    );
    assert_eq!(insert_if_new(store, &[document("a", 1)], apart(3)), [Replaced]);
    assert_eq!(insert_if_new(store, &[document("a", 3), document("a", 2)], apart(3)), [Replaced, Replaced]);
    assert_eq!(near(store, &sketch(0), apart(3), 10), (vec![("a".to_owned(), 1)], 1));
    // Another document with the old version's fingerprint does, whichever id comes first.
    let others = [document("c", 0xff << 30), document("d", 0xff << 30)];
    insert(store, &others);
    assert_eq!(
        insert_if_new(store, &[document("c", 0xff << 31)], apart(3)),
        [duplicate(&others[1], apart(2))]
    );
    assert_eq!(
        insert_if_new(store, &[document("d", 0xff << 31)], apart(3)),
        [duplicate(&others[0], apart(2))]
    );
}

/// a is near b and b is near c, but a is not near c: if the middle comes first it stays alone,
/// otherwise both ends stay.
pub(super) fn a_chain_in_every_order(store: &dyn Store) {
    let chain = [document("a", 0), document("b", 0b111), document("c", 0b11_1111)];
    for (order, kept) in [
        ([0, 1, 2], &[0, 2][..]),
        ([0, 2, 1], &[0, 2]),
        ([1, 0, 2], &[1]),
        ([1, 2, 0], &[1]),
        ([2, 0, 1], &[0, 2]),
        ([2, 1, 0], &[0, 2]),
    ] {
        let arriving = order.map(|number| chain[number].clone());
        let kept: Vec<Document> = kept.iter().map(|&number| chain[number].clone()).collect();
        // One by one and in one batch the contents are the same.
        for batch in [1, 3] {
            for documents in arriving.chunks(batch) {
                insert_if_new(store, documents, apart(3));
            }
            assert_eq!(contents(store), kept, "{order:?} in batches of {batch}");
            store.remove(&["a", "b", "c"].map(id)).expect("a removal");
        }
    }
}

pub(super) fn removing(store: &dyn Store) {
    let all = [document("a", 0), document("b", 0), document("c", 1)];
    insert(store, &all);
    assert!(store.remove(&[]).expect("no removal").is_empty());
    assert_eq!(store.remove(&[id("x"), id("a"), id("a")]).expect("a removal"), [false, true, false]);
    assert_eq!(contents(store), all[1..]);
    check_near(store, &sketch(0), apart(3), &[("b", 0), ("c", 1)]);
    assert_eq!(get(store, &[id("a"), id("b")]), [None, Some(all[1].clone())]);
    assert_eq!(insert(store, &all[..1]), [Insertion::Inserted]);
    check_near(store, &sketch(0), apart(3), &[("a", 0), ("b", 0), ("c", 1)]);
    assert_eq!(store.remove(&[id("c"), id("b"), id("a")]).expect("a removal"), [true, true, true]);
    assert_eq!(contents(store), []);
    check_near(store, &sketch(0), apart(3), &[]);
    // A removed document keeps no other one out.
    assert_eq!(insert_if_new(store, &all[1..2], apart(3)), [Insertion::Inserted]);
}
