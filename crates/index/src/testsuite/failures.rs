//! Calls that fail, and are made again.

use super::{FailAt, document, example_metadata, id, within};
use crate::{Cursor, Document, Error, ErrorKind, Result, Store};

/// Repeating any failed call, whether it did its work or not, ends in the same contents as no
/// failure.
pub(super) fn every_call_can_fail(open: &dyn Fn() -> Box<dyn Store>) {
    let undisturbed = FailAt::before(open(), u64::MAX);
    let expected = script(&undisturbed);
    let n_calls = undisturbed.n_calls();
    assert!(n_calls > 8, "the script has calls that can fail");
    for fails_at in 1..=n_calls {
        for failing in [FailAt::before(open(), fails_at), FailAt::after(open(), fails_at)] {
            assert_eq!(script(&failing), expected, "call {fails_at}");
            assert_eq!(failing.n_calls(), n_calls + 1, "call {fails_at} must fail, and be repeated once");
        }
    }
}

fn script(store: &FailAt) -> Vec<Document> {
    repeat(|| store.create(&example_metadata()));
    repeat(|| store.metadata());
    repeat(|| store.prepare());
    repeat(|| store.ready());
    repeat(|| store.insert(&[document("a", 0), document("b", u64::MAX)]));
    repeat(|| store.insert_if_new(&[document("c", 1), document("d", 0xffff << 20)], &within(3)));
    repeat(|| store.insert(&[document("a", 0xff << 50)]));
    repeat(|| store.insert_if_new(&[document("c", 1), document("b", 0xffff << 30)], &within(3)));
    repeat(|| store.remove(&[id("d"), id("e")]));
    repeat(|| store.get(&[id("a")]));
    let found = repeat(|| store.near(&[document("a", 0).sketch], &within(3), 10));
    assert_eq!(found[0].matches[0].id, id("c"));
    repeat(|| store.status());
    let page = repeat(|| store.scan(Cursor::start(), 10));
    let mut documents: Vec<_> = page.documents.into_iter().map(|stored| stored.document).collect();
    documents.sort_by(|a, b| a.id.cmp(&b.id));
    documents
}

fn repeat<T>(call: impl Fn() -> Result<T>) -> T {
    let on_purpose = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("on purpose"), "{error}");
        call()
    };
    call().or_else(on_purpose).expect("a repeated call succeeds")
}

#[cfg(test)]
mod tests {
    use super::super::{contents, create};
    use super::*;
    use crate::MemoryStore;

    #[test]
    fn it_fails_once_and_where_it_was_told() {
        for (store, n_documents) in [
            (FailAt::before(Box::new(MemoryStore::new()), 2), 0),
            (FailAt::after(Box::new(MemoryStore::new()), 2), 1),
        ] {
            create(&store);
            assert_eq!(store.insert(&[document("a", 0)]).unwrap_err().kind(), ErrorKind::Unavailable);
            assert_eq!(contents(&store).len(), n_documents);
        }
    }
}
