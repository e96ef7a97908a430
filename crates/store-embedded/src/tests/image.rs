//! An image of the tables, and the store without one beside it.

mod damage;
mod histories;
pub(super) mod killed;
mod layers;
mod merged;

use std::sync::atomic::{AtomicBool, Ordering};

use index::{Finding, FindingKind};

use crate::image::{Header, Headers};

use super::damage::meddle;
use super::examine::examine;
use super::follower::{answers, follow};
use super::*;

/// Images of one layer.
const FLAT: Limits = Limits { layers_max: 1, ..SMALL };

/// Forgets the tables, as a process that opens the store knows none.
fn forget(store: &EmbeddedStore) {
    *store.shared.ram.write().unwrap() = None;
}

/// The number of postings in memory, once the tables are there.
fn n_postings(store: &EmbeddedStore) -> usize {
    store.prepare().unwrap();
    store.shared.ram.read().unwrap().as_ref().unwrap().tables.n_postings()
}

/// The layers of the image, from the lowest one on.
fn layers(store: &EmbeddedStore) -> Vec<Header> {
    snapshot(store, |opened, txn| Ok(Headers::find(opened, txn).ok().unwrap().sound))
}

/// Asserts that there are blocks of the layers only.
fn assert_no_leftovers(store: &EmbeddedStore) {
    let of_blocks: Vec<u32> = generations(store).into_iter().map(|(generation, _)| generation).collect();
    let of_layers: Vec<u32> = layers(store).into_iter().map(|header| header.generation).collect();
    assert!(of_blocks.iter().all(|of_block| of_layers.contains(of_block)), "{of_blocks:?} {of_layers:?}");
}

/// The generations of all blocks, with the number of blocks of each.
fn generations(store: &EmbeddedStore) -> Vec<(u32, usize)> {
    snapshot(store, |opened, txn| Ok(generations_in(opened, txn)))
}

/// The generations of all blocks that a transaction sees.
fn generations_in(opened: &Opened, txn: &RoTxn<'_>) -> Vec<(u32, usize)> {
    let mut found: Vec<(u32, usize)> = Vec::new();
    for entry in opened.image().into_iter().flat_map(|blocks| blocks.iter(txn).unwrap()) {
        let generation = u32::from_be_bytes(*entry.unwrap().0.first_chunk().unwrap());
        match found.last_mut().filter(|(last, _)| *last == generation) {
            Some((_, n)) => *n += 1,
            None => found.push((generation, 1)),
        }
    }
    found
}

#[test]
fn tables_hold_only_what_came_later() {
    let directory = directory();
    let store = open(directory.path());
    assert!(!store.write_image(&mut |_| {}).unwrap(), "nothing is worth an image");
    store.insert(&documents(0..100)).unwrap();
    assert_eq!(store.status().unwrap().image, None);
    assert!(store.write_image(&mut |_| {}).unwrap());
    assert!(!store.write_image(&mut |_| {}).unwrap(), "nothing has come");
    let image = |up_to, last_change| Some(ImageStatus { up_to, last_change });
    assert_eq!(store.status().unwrap().image, image(100, 100));
    forget(&store);
    assert_eq!(n_postings(&store), 0);
    assert_found(&store, &documents(0..100));
    store.insert_if_new(&documents(90..105), &within(3)).unwrap();
    store.remove(&[document(7).id, document(102).id]).unwrap();
    assert_eq!(n_postings(&store), 4);
    assert_eq!(store.status().unwrap().image, image(100, 107));
    let expected: Vec<u64> = (0..105).filter(|n| ![7, 102].contains(n)).collect();
    for _ in 0..2 {
        assert_found(&store, &documents(expected.iter().copied()));
        assert_not_found(&store, &documents([7, 102]));
        forget(&store);
    }
    assert_eq!(examine(&store, false), []);
}

#[test]
fn progress_ascends_through_reading_and_writing() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&documents(0..100)).unwrap();
    let mut shares = Vec::new();
    assert!(store.write_image(&mut |share| shares.push(share)).unwrap());
    assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
    assert!(shares.len() > 10 && *shares.last().unwrap() > 0.9, "{shares:?}");
}

/// An open store goes on with each new image.
#[test]
fn the_next_image_takes_the_place_of_the_last() {
    let directory = directory();
    let store = open_with(directory.path(), FLAT);
    for round in 0..5 {
        store.insert(&documents(100 * round..100 * round + 100)).unwrap();
        store.remove(&[document(100 * round).id]).unwrap();
        assert!(n_postings(&store) > 0);
        assert!(store.write_image(&mut |_| {}).unwrap());
        assert_eq!(generations(&store).len(), 1);
        assert_found(&store, &documents((0..100 * round + 100).filter(|n| n % 100 != 0)));
        assert_eq!(n_postings(&store), 0, "round {round}");
    }
}

/// Leftovers of a killed writer are not used, and dropped by the next one.
#[test]
fn leftovers_are_dropped() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&documents(0..50)).unwrap();
    assert!(store.write_image(&mut |_| {}).unwrap());
    let of_first = generations(&store);
    // As a writer of the next generation would leave it.
    meddle(&store, |opened, txn| {
        let blocks = opened.image().unwrap();
        let entries: Vec<(Vec<u8>, Vec<u8>)> = blocks
            .iter(txn)?
            .map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())))
            .collect::<heed::Result<_>>()?;
        for (mut key, value) in entries.into_iter().take(20) {
            key[3] += 1;
            blocks.put(txn, &key, &value)?;
        }
        Ok(())
    });
    assert_eq!(generations(&store), [of_first[0], (2, 20)]);
    forget(&store);
    assert_found(&store, &documents(0..50));
    assert_eq!(examine(&store, false), []);
    store.insert(&documents(50..100)).unwrap();
    assert!(store.write_image(&mut |_| {}).unwrap());
    assert!(matches!(generations(&store)[..], [(3, _)]), "{:?}", generations(&store));
    forget(&store);
    assert_found(&store, &documents(0..100));
}

/// Many writers of images at once, beside writers of documents and searches. One of them takes no
/// lock.
#[test]
fn writers_of_images_at_once() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&documents(0..200)).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for write in [imaging::write, imaging::write_unlocked] {
            let (store, is_done) = (&store, &is_done);
            scope.spawn(move || {
                while !is_done.load(Ordering::SeqCst) {
                    write(&store.shared, &mut |_| {}).unwrap();
                    forget(store);
                }
            });
        }
        scope.spawn(|| {
            while !is_done.load(Ordering::SeqCst) {
                assert_found(&store, &documents(100..200));
            }
        });
        let writer = scope.spawn(|| {
            for n in 0..40 {
                store.insert_if_new(&documents(1_000 + 10 * n..1_010 + 10 * n), &within(3)).unwrap();
                store.remove(&[document(n).id]).unwrap();
            }
        });
        let outcome = writer.join();
        is_done.store(true, Ordering::SeqCst);
        outcome.unwrap();
    });
    forget(&store);
    assert_found(&store, &documents((40..200).chain(1_000..1_400)));
    assert_not_found(&store, &documents(0..40));
    store.write_image(&mut |_| {}).unwrap();
    assert_eq!(examine(&store, false), []);
    assert_no_leftovers(&store);
}

/// An image of another index is not believed.
#[test]
fn an_index_made_anew_has_no_image() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&documents(0..50)).unwrap();
    assert!(store.write_image(&mut |_| {}).unwrap());
    meddle(&store, |opened, txn| {
        opened.log.clear(txn)?;
        opened.ids.clear(txn)?;
        let other = Metadata { identity: Identity::new([2; 16]), ..metadata() };
        opened.meta.put(txn, METADATA_KEY, &other.encode().unwrap())
    });
    drop(store);
    let store = EmbeddedStore::open_with(directory.path(), Mode::MustExist, SMALL, Clock::system()).unwrap();
    store.insert(&documents(200..260)).unwrap();
    assert_found(&store, &documents(200..260));
    assert_not_found(&store, &documents(0..50));
    assert!(store.write_image(&mut |_| {}).unwrap());
    assert_eq!(examine(&store, false), []);
}

/// Followers whose removals are forgotten take the image up again.
#[test]
fn following_with_an_image_ends_where_building_does() {
    let directory = directory();
    let store = open(directory.path());
    (0..20).for_each(|n| call(&store, n).unwrap());
    assert!(store.write_image(&mut |_| {}).unwrap());
    let mut follower = None;
    follow(&store, &mut follower, 1_000);
    for n in 20..60 {
        call(&store, n).unwrap();
        if n % 13 == 0 {
            follow(&store, &mut follower, 7);
        }
        let found = |store: &EmbeddedStore| {
            let queries: Vec<_> = documents(0..600).into_iter().map(|document| document.sketch).collect();
            store
                .near(&queries, &within(3), 9)
                .unwrap()
                .into_iter()
                .map(|found| found.matches)
                .collect::<Vec<_>>()
        };
        let imaged = found(&store);
        // Without the image.
        store.shared.terms.refuse(1, "for a test");
        assert_eq!(found(&store), imaged, "{n}");
        store.shared.terms.refuse(0, "for a test");
        forget(&store);
    }
    follow(&store, &mut follower, 1_000);
    let mut built = None;
    follow(&store, &mut built, 1_000);
    assert_eq!(answers(&follower.unwrap()), answers(&built.unwrap()));
}

#[test]
fn a_damaged_image_is_a_finding_and_mended() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&documents(0..50)).unwrap();
    assert!(store.write_image(&mut |_| {}).unwrap());
    let (key, _) = damage::blocks(&store).remove(3);
    meddle(&store, |opened, txn| opened.image().unwrap().delete(txn, &key).map(drop));
    let found = examine(&store, false);
    assert!(matches!(&found[..], [Finding { kind: FindingKind::Image, is_mended: false, .. }]), "{found:?}");
    let mended = examine(&store, true);
    assert!(matches!(&mended[..], [Finding { kind: FindingKind::Image, is_mended: true, .. }]), "{mended:?}");
    assert_eq!((examine(&store, false), generations(&store)), (vec![], vec![]));
    assert_found(&store, &documents(0..50));
    assert!(store.write_image(&mut |_| {}).unwrap());
    assert_eq!(examine(&store, false), []);
}
