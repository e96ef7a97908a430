//! Damage to each block of an image, and to its header: answers stay right.

use crate::image::HEADER_KEYS;

use super::super::*;
use super::{forget, meddle, n_postings};

/// All blocks, with their keys.
pub(super) fn blocks(store: &EmbeddedStore) -> Vec<(Vec<u8>, Vec<u8>)> {
    snapshot(store, |opened, txn| {
        let entries = opened.image().unwrap().iter(txn)?;
        entries.map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect()
    })
}

/// A store with an image, and some changes after it.
fn imaged(path: &Path) -> EmbeddedStore {
    let store = open(path);
    store.insert(&documents(0..40)).unwrap();
    assert!(store.write_image(&mut |_| {}).unwrap());
    store.insert(&documents(40..45)).unwrap();
    store.remove(&[document(3).id, document(41).id]).unwrap();
    store
}

fn assert_right(store: &EmbeddedStore) {
    let there: Vec<u64> = (0..45).filter(|n| ![3, 41].contains(n)).collect();
    assert_found(store, &documents(there.iter().copied()));
    assert_not_found(store, &documents([3, 41]));
    let copies = there.iter().map(|&n| Document { id: document(900 + n).id, ..document(n) });
    let outcomes = store.insert_if_new(&copies.collect::<Vec<_>>(), &within(3)).unwrap();
    for (outcome, &n) in outcomes.into_iter().zip(&there) {
        assert_eq!(outcome.original().unwrap().id, document(n).id);
    }
}

/// Forgets what the process knows of a damaged image, as the next process knows nothing of it.
pub(super) fn begin_anew(store: &EmbeddedStore) {
    forget(store);
    store.shared.terms.refuse(0, "for a test");
}

#[test]
fn each_block_damaged_in_turn() {
    let directory = directory();
    let store = imaged(directory.path());
    let blocks = blocks(&store);
    assert!(blocks.len() > 60, "{}", blocks.len());
    let mut n_refused = 0;
    for (n, (key, value)) in blocks.iter().enumerate() {
        for how in 0..3 {
            meddle(&store, |opened, txn| {
                let blocks = opened.image().unwrap();
                let mut changed = value.clone();
                match how {
                    0 => changed[n * 7 % value.len()] ^= 1 << (n % 8),
                    1 => changed.truncate(n % value.len()),
                    _ => return blocks.delete(txn, key).map(drop),
                }
                blocks.put(txn, key, &changed)
            });
            begin_anew(&store);
            assert_right(&store);
            n_refused += usize::from(store.shared.terms.refused() != 0);
            meddle(&store, |opened, txn| opened.image().unwrap().put(txn, key, value));
        }
    }
    assert!(n_refused > blocks.len(), "{n_refused} times a block was read");
    begin_anew(&store);
    assert_right(&store);
    assert_eq!(store.shared.terms.refused(), 0);
}

/// A search that meets the damage is in the middle of a write.
#[test]
fn a_block_damaged_under_a_writer() {
    let directory = directory();
    let store = imaged(directory.path());
    begin_anew(&store);
    assert!(n_postings(&store) < 40);
    for (key, value) in blocks(&store) {
        let mut changed = value.clone();
        changed[0] ^= 1;
        meddle(&store, |opened, txn| opened.image().unwrap().put(txn, &key, &changed));
    }
    let copy = Document { id: document(901).id, ..document(1) };
    let outcome = store.insert_if_new(&[copy, document(70)], &within(3)).unwrap();
    assert!(matches!(&outcome[..], [Insertion::Duplicate(_), Insertion::Inserted]), "{outcome:?}");
    assert!(n_postings(&store) >= 40);
    assert_right(&store);
    // The next image is made anew.
    assert!(store.write_image(&mut |_| {}).unwrap());
    forget(&store);
    assert_right(&store);
    assert_eq!(n_postings(&store), 0);
}

#[test]
fn each_bit_of_the_header() {
    let directory = directory();
    let store = imaged(directory.path());
    let header = snapshot(&store, |opened, txn| Ok(opened.meta.get(txn, HEADER_KEYS[0])?.unwrap().to_vec()));
    for bit in 0..8 * header.len() {
        let mut changed = header.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        meddle(&store, |opened, txn| opened.meta.put(txn, HEADER_KEYS[0], &changed));
        begin_anew(&store);
        assert!(n_postings(&store) > 40, "bit {bit}");
        if bit % 16 == 0 {
            assert_right(&store);
        }
    }
}

/// A sound header that does not fit: of a later version, or ahead of the index.
#[test]
fn headers_that_do_not_fit() {
    let directory = directory();
    let store = imaged(directory.path());
    let header = snapshot(&store, |opened, txn| Ok(opened.meta.get(txn, HEADER_KEYS[0])?.unwrap().to_vec()));
    for (at, to) in [(0, 2), (8, 1)] {
        let mut changed = record::unsealed(0, &header).unwrap().to_vec();
        changed[at] = to;
        let changed = record::seal(changed, 0);
        meddle(&store, |opened, txn| opened.meta.put(txn, HEADER_KEYS[0], &changed));
        begin_anew(&store);
        assert!(n_postings(&store) > 40);
        assert_right(&store);
        assert_eq!(store.status().unwrap().image, None);
    }
}

/// Its blocks would take the room that documents need.
#[test]
fn an_image_that_fails_leaves_no_blocks() {
    const DAMAGED: u64 = 20_005;
    let directory = directory();
    let store = open(directory.path());
    // Three snapshots' worth: blocks of the first are there when the last is read.
    documents(0..20_010).chunks(1_000).for_each(|some| drop(store.insert(some).unwrap()));
    let sound = snapshot(&store, |opened, txn| Ok(opened.log.get(txn, &DAMAGED)?.unwrap().to_vec()));
    meddle(&store, |opened, txn| opened.log.put(txn, &DAMAGED, &sound[1..]));
    let mut n_blocks = 0;
    store.write_image(&mut |_| n_blocks = n_blocks.max(blocks(&store).len())).unwrap_err();
    assert!(n_blocks > 0);
    assert_eq!(blocks(&store), []);
    meddle(&store, |opened, txn| opened.log.put(txn, &DAMAGED, &sound));
    assert!(store.write_image(&mut |_| {}).unwrap());
}
