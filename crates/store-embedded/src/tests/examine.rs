//! The findings of an examination after changes behind the store's back, and the store after
//! mending.

use index::{Examined, Finding, FindingKind};

use super::damage::meddle;
use super::follower::{answers, follow, last_change};
use super::*;

pub(super) fn examine(store: &EmbeddedStore, mends: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |examined| {
        if let Examined::Found(finding) = examined {
            findings.push(finding);
        }
    };
    store.examine(mends, &mut report).unwrap();
    findings.sort_by(|a, b| (a.kind, &a.place).cmp(&(b.kind, &b.place)));
    findings
}

fn told(findings: &[Finding]) -> Vec<(FindingKind, String)> {
    findings.iter().map(|finding| (finding.kind, finding.place.clone())).collect()
}

fn key(n: u64) -> Vec<u8> {
    document(n).id.as_str().as_bytes().to_vec()
}

type Records = Vec<(u64, Vec<u8>)>;
type Ids = Vec<(Vec<u8>, u64)>;

/// All bytes on which searches depend.
fn bytes(store: &EmbeddedStore) -> (Records, Ids) {
    snapshot(store, |opened, txn| {
        let log = opened.log.iter(txn)?.map(|entry| entry.map(|(number, bytes)| (number, bytes.to_vec())));
        let ids = opened.ids.iter(txn)?.map(|entry| entry.map(|(key, number)| (key.to_vec(), number)));
        Ok((log.collect::<heed::Result<_>>()?, ids.collect::<heed::Result<_>>()?))
    })
}

#[test]
fn a_healthy_store() {
    let directory = directory();
    let store = open(directory.path());
    assert_eq!(examine(&store, true), []);
    for n in 0..60 {
        call(&store, n).unwrap();
        let before = bytes(&store);
        assert_eq!(examine(&store, n % 2 == 0), []);
        assert!(bytes(&store) == before);
    }
}

/// Beside a writer: each step is one snapshot, so no half-done write is ever seen.
#[test]
fn beside_writers() {
    let directory = directory();
    let store = open(directory.path());
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (0..200).for_each(|n| call(&store, n).unwrap()));
        let other = open(directory.path());
        while !writer.is_finished() {
            assert_eq!(examine(&other, false), []);
            assert_eq!(examine(&other, true), []);
        }
        writer.join().unwrap();
    });
}

/// Missing ids, ids that lead nowhere, elsewhere, or to one of two records, and ids of no document.
/// A follower of the store ends with the same tables as a new build.
#[test]
fn ids_that_lead_astray() {
    use FindingKind::{Ghost, Unfiled};
    let directory = directory();
    let store = open(directory.path());
    let other = open(directory.path());
    store.insert(&documents(1..=9)).unwrap();
    assert_found(&other, &documents(1..=9));
    let number =
        |store: &EmbeddedStore, n| snapshot(store, |opened, txn| opened.ids.get(txn, &key(n))).unwrap();
    let (second, fourth) = (number(&store, 2), number(&store, 4));
    meddle(&store, |opened, txn| {
        opened.ids.delete(txn, &key(1))?;
        opened.ids.put(txn, &key(2), &fourth)?;
        opened.ids.put(txn, &key(3), &777)?;
        opened.ids.put(txn, b"never", &778)
    });
    let expected = [1, 2, 3].map(|n| (Unfiled, document(n).id.as_str().to_owned()));
    let mut seen = told(&examine(&store, false));
    assert_eq!(seen[..3], expected);
    let ghosts = seen.split_off(3);
    let astray = [2, 3].map(|n| (Ghost, document(n).id.as_str().to_owned()));
    assert_eq!(ghosts, [&astray[..], &[(Ghost, "never".to_owned())]].concat());
    let mended = examine(&store, true);
    assert!(mended.iter().all(|finding| finding.is_mended), "{mended:?}");
    // The ids that lead astray were put right as unfiled.
    assert_eq!(told(&mended), [&expected[..], &[(Ghost, "never".to_owned())]].concat());
    assert_eq!(examine(&store, true), []);
    assert_eq!(number(&store, 2), second);
    let all: Vec<_> = documents(1..=9).into_iter().map(|document| document.id).collect();
    for store in [&store, &other] {
        assert_found(store, &documents(1..=9));
        assert!(store.get(&all).unwrap().iter().all(Option::is_some));
    }
    assert_eq!(store.status().unwrap().n_documents, Some(9));
    assert_eq!(store.remove(&all).unwrap(), [true; 9]);
    assert_not_found(&other, &documents(1..=9));
}

/// The record to which its id does not lead is deleted, and followers see the removal.
#[test]
fn two_records_of_one_document() {
    let directory = directory();
    let store = open(directory.path());
    let other = open(directory.path());
    store.insert(&documents(1..=4)).unwrap();
    let first = snapshot(&store, |opened, txn| opened.ids.get(txn, &key(2))).unwrap();
    let old = snapshot(&store, |opened, txn| Ok(opened.log.get(txn, &first)?.unwrap().to_vec()));
    let moved = Document { sketch: document(50).sketch, ..document(2) };
    assert_eq!(store.insert(std::slice::from_ref(&moved)).unwrap(), [Insertion::Replaced]);
    // As if the old record had never been deleted.
    meddle(&store, |opened, txn| opened.log.put(txn, &first, &old));
    *store.shared.ram.write().unwrap() = None;
    let mut follower = None;
    follow(&store, &mut follower, 1_000);
    assert_eq!(other.near(&[document(2).sketch], &within(0), 1).unwrap()[0].n_matches, 1);
    let expected = [(FindingKind::Unfiled, document(2).id.as_str().to_owned())];
    assert_eq!(told(&examine(&store, false)), expected);
    assert_eq!(told(&examine(&store, true)), expected);
    assert_eq!(examine(&store, true), []);
    for store in [&store, &other] {
        assert_not_found(store, &documents([2]));
        assert_eq!(
            store.near(std::slice::from_ref(&moved.sketch), &within(0), 9).unwrap()[0].matches[0].id,
            moved.id
        );
    }
    while follow(&store, &mut follower, 1_000) < last_change(&store) {}
    let mut built = None;
    follow(&store, &mut built, 1_000);
    assert_eq!(answers(&follower.unwrap()), answers(&built.unwrap()));
    // The next write gets a new number.
    store.insert(&documents(60..70)).unwrap();
    assert_found(&other, &documents(60..70));
    assert_eq!(examine(&store, false), []);
}

#[test]
fn what_is_damaged_stays() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&documents(1..=3)).unwrap();
    store.remove(&[document(3).id]).unwrap();
    meddle(&store, |opened, txn| {
        let number = opened.ids.get(txn, &key(1))?.unwrap();
        opened.log.put(txn, &number, b"nonsense")?;
        let change = opened.removals.last(txn)?.unwrap().0;
        opened.removals.put(txn, &change, b"nonsense")
    });
    for mends in [false, true, true] {
        let findings = examine(&store, mends);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings.iter().all(|f| f.kind == FindingKind::Damaged && !f.is_mended), "{findings:?}");
        assert!(findings[0].place.starts_with("record ") && findings[1].place.starts_with("removal "));
    }
    assert!(store.get(&[document(2).id]).unwrap()[0].is_some());
}
