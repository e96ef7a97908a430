//! The cases of an index removed, or made anew, under a process that has it open: an emptied
//! server, tables dropped and made again, a replica without data.

use super::{apart, contents, document, example_metadata, id, sketch, within};
use crate::{Cursor, ErrorKind, Identity, Metadata, Result, Store};

/// Removes an index, and with metadata makes another one in its place.
pub type Remake = Box<dyn Fn(Option<&Metadata>)>;

/// A store, and the access of other processes to its place.
pub struct Place {
    /// A store without an index yet.
    pub store: Box<dyn Store>,
    /// Removes or remakes the index and all its contents, as another process would.
    pub remake: Remake,
    /// Opens another handle, as in another process, once `store` is dropped.
    pub reopen: Box<dyn Fn() -> Box<dyn Store>>,
}

pub(super) fn check(open: &dyn Fn() -> Place) {
    let kind = "t11".parse().expect("a named kind");
    let identity = Identity::new(*b"the one made new");
    let like_it = Metadata { identity, ..example_metadata() };
    let of_another_scheme = Metadata { kind, max_distance: apart(2), ..like_it.clone() };
    for other in [like_it, of_another_scheme] {
        used_before(open(), &other);
        only_read_before(open(), &other);
    }
    the_same_again(open());
}

fn used_before(place: Place, other: &Metadata) {
    let Place { store, remake, reopen } = place;
    store.create(&example_metadata()).expect("a fresh store can be created");
    store.prepare().expect("an index");
    store.insert(&[document("a", 0), document("b", u64::MAX)]).expect("an insertion");
    store.near(&[sketch(0)], &within(3), 10).expect("a search");
    remake(None);
    check_fails(&*store, ErrorKind::NotFound);
    remake(Some(other));
    check_fails(&*store, ErrorKind::Replaced);
    drop(store);
    let again = reopen();
    assert_eq!(again.metadata().expect("metadata"), Some(other.clone()));
    assert_eq!(contents(&*again), [], "nothing was written into the other index");
    again.insert(&[document("c", 5)]).expect("who opens it now is at home");
    assert_eq!(contents(&*again), [document("c", 5)]);
}

/// The index is replaced between the read of its metadata and the first other call.
fn only_read_before(place: Place, other: &Metadata) {
    (place.remake)(Some(&example_metadata()));
    assert_eq!(place.store.metadata().expect("metadata"), Some(example_metadata()));
    (place.remake)(Some(other));
    check_fails(&*place.store, ErrorKind::Replaced);
}

/// A restored index is the same index.
fn the_same_again(place: Place) {
    let Place { store, remake, .. } = place;
    store.create(&example_metadata()).expect("a fresh store can be created");
    remake(None);
    check_fails(&*store, ErrorKind::NotFound);
    remake(Some(&example_metadata()));
    store.insert(&[document("a", 0)]).expect("an insertion");
    assert_eq!(contents(&*store), [document("a", 0)]);
}

/// No call answers or writes anything, with or without work to do.
fn check_fails(store: &dyn Store, kind: ErrorKind) {
    fn fails<T>(call: &str, answer: Result<T>, kind: ErrorKind) {
        match answer {
            Ok(_) => panic!("{call} must fail with {kind:?}"),
            Err(error) => {
                assert_eq!(error.kind(), kind, "{call}: {error}");
                assert!(!error.kind().is_transient(), "nobody should try again");
            }
        }
    }
    let both = [document("a", 0), document("new", 0xffff << 20), document("near", 1)];
    for _ in 0..2 {
        fails("prepare", store.prepare(), kind);
        for documents in [&both[..1], &both[1..2], &both] {
            fails("insert", store.insert(documents), kind);
            fails("insert_if_new", store.insert_if_new(documents, &within(3)), kind);
        }
        fails("remove", store.remove(&[id("a")]), kind);
        fails("remove of what is not there", store.remove(&[id("x")]), kind);
        fails("get", store.get(&[id("a")]), kind);
        fails("get of what is not there", store.get(&[id("x"), id("y")]), kind);
        for bits in [0, 0xffff << 20] {
            fails("near", store.near(&[sketch(bits)], &within(3), 1), kind);
            fails("near_documents", store.near_documents(&[sketch(bits)], &within(3), 1), kind);
            fails("counting", store.near(&[sketch(bits)], &within(3), 0), kind);
        }
        fails("scan", store.scan(Cursor::start(), 1), kind);
        for mends in [false, true] {
            fails("examine", store.examine(mends, &mut |_| {}), kind);
        }
        fails("metadata", store.metadata(), kind);
        fails("create", store.create(&example_metadata()), kind);
        // A status fails, or has asked no store.
        if let Ok(status) = store.status() {
            assert_eq!(status.n_documents, None);
        }
    }
}
