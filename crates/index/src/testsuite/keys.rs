//! The cases of sketches of another kind than simhash, such as MinHash bands: a store keeps their
//! keys, and never computes them.

use simhash::{BucketKey, Fingerprint};

use crate::Sketch;

use super::{apart, check_near, contents, get, id, sketch, within};
use crate::{Document, Insertion, Match, Nearness, Store};

fn banded(bits: u64, keys: &[(u8, u32)]) -> Sketch {
    Sketch::new(Fingerprint(bits), keys.iter().map(|&(flag, segment)| BucketKey { flag, segment }).collect())
}

fn document(name: &str, sketch: Sketch) -> Document {
    Document { id: id(name), sketch, source: None }
}

pub(super) fn keys_that_do_not_follow_from_the_fingerprint(store: &dyn Store) {
    let a = document("a", banded(0, &[(1, 0xdead_beef), (14, u32::MAX), (255, 0)]));
    let b = document("b", banded(0, &[(1, 0xdead_beee), (14, 0)]));
    let insertions = store.insert_if_new(&[a.clone(), b.clone()], &within(64)).expect("an insertion");
    // Equal fingerprints without a common bucket are not near.
    assert_eq!(insertions, [Insertion::Inserted, Insertion::Inserted]);
    assert_eq!(contents(store), [a, b.clone()]);
    // Each of the keys finds the document, and no other key does; the distance is still that of the
    // fingerprints.
    check_near(store, &banded(1, &[(1, 0xdead_beef)]), apart(1), &[("a", 1)]);
    check_near(store, &banded(1, &[(1, 0xdead_beef)]), apart(0), &[]);
    check_near(store, &banded(u64::MAX, &[(14, u32::MAX)]), apart(64), &[("a", 64)]);
    check_near(store, &banded(0, &[(255, 0)]), apart(3), &[("a", 0)]);
    check_near(store, &banded(0, &[(2, 0xdead_beef), (14, 1)]), apart(64), &[]);
    check_near(store, &banded(0, &[(1, 0xdead_beee), (14, u32::MAX)]), apart(3), &[("a", 0), ("b", 0)]);
    // The keys that simhash would give the fingerprint are not the document's.
    check_near(store, &sketch(0), apart(3), &[]);
    let near_a = document("c", banded(3, &[(255, 0)]));
    let found = Match::new(id("a"), Fingerprint(0), Nearness::by_distance(apart(2)));
    let insertions = store.insert_if_new(&[near_a], &within(2)).expect("an insertion");
    assert_eq!(insertions, [Insertion::Duplicate(found)]);
    assert_eq!(store.remove(&[id("a")]).expect("a removal"), [true]);
    check_near(store, &banded(0, &[(1, 0xdead_beef), (14, u32::MAX), (255, 0)]), apart(64), &[]);
    assert_eq!(contents(store), [b]);
}

pub(super) fn keys_alone_make_another_sketch(store: &dyn Store) {
    use Insertion::{Inserted, Replaced, Unchanged};
    let old = document("a", sketch(5));
    let new = document("a", banded(5, &[(1, 77)]));
    let documents = [old.clone(), old.clone(), new.clone(), new.clone()];
    assert_eq!(store.insert(&documents).expect("an insertion"), [Inserted, Unchanged, Replaced, Unchanged]);
    check_near(store, &old.sketch, apart(3), &[]);
    check_near(store, &new.sketch, apart(3), &[("a", 0)]);
    assert_eq!(get(store, &[id("a")]), [Some(new)]);
}

pub(super) fn no_keys(store: &dyn Store) {
    let a = document("a", banded(5, &[]));
    assert_eq!(
        store.insert_if_new(std::slice::from_ref(&a), &within(3)).expect("an insertion"),
        [Insertion::Inserted]
    );
    check_near(store, &sketch(5), apart(3), &[]);
    check_near(store, &a.sketch, apart(3), &[]);
    assert_eq!(contents(store), [a]);
    assert_eq!(store.remove(&[id("a")]).expect("a removal"), [true]);
}
