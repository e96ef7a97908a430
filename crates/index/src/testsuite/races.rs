//! Many threads at once. No case depends on the order of threads, and none can fail by bad luck.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{apart, contents, document, example_metadata, id, near, sketch, spread, within};
use crate::{Insertion, Metadata, Store};

const N_THREADS: u64 = 4;

pub(super) fn creators_at_once(store: &dyn Store) {
    let stored: Vec<Metadata> = thread::scope(|scope| {
        let creators: Vec<_> = (0..N_THREADS)
            .map(|thread| {
                let recipe = [("creator".to_owned(), thread.to_string())].into();
                let metadata = Metadata { recipe, ..example_metadata() };
                scope.spawn(move || store.create(&metadata).expect("one of several creates"))
            })
            .collect();
        creators.into_iter().map(|creator| creator.join().expect("a creator")).collect()
    });
    assert!(stored.iter().all(|metadata| *metadata == stored[0]), "all see the one that won");
    assert_eq!(store.metadata().expect("metadata"), Some(stored[0].clone()));
}

/// "Two texts posted at the same moment: keep only one."
pub(super) fn near_duplicates_at_once(store: &dyn Store) {
    const N_GROUPS: u64 = 12;
    let kept: Vec<(u64, String)> = thread::scope(|scope| {
        let posters: Vec<_> = (0..N_THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let mut kept = Vec::new();
                    // All texts of a group are within one bit of its centre, so within two of each
                    // other.
                    for group in 0..N_GROUPS {
                        let name = format!("{group} by {thread}");
                        let posted = document(&name, spread(group) ^ 1 << thread);
                        match store.insert_if_new(&[posted], &within(2)).expect("an insertion").remove(0) {
                            Insertion::Inserted => kept.push((group, name)),
                            Insertion::Duplicate(of) => {
                                assert!(of.id.as_str().starts_with(&format!("{group} by")));
                            }
                            other => panic!("{other:?}"),
                        }
                    }
                    kept
                })
            })
            .collect();
        posters.into_iter().flat_map(|poster| poster.join().expect("a poster")).collect()
    });
    assert_eq!(kept.len() as u64, N_GROUPS, "exactly one of each group is kept: {kept:?}");
    for (group, name) in kept {
        assert_eq!(near(store, &sketch(spread(group)), apart(1), 10), (vec![(name, 1)], 1));
    }
}

/// A search sees each document exactly once and in one version, while others are replaced and
/// removed around it.
pub(super) fn searches_beside_writers(store: &dyn Store) {
    store.insert(&[document("stays", 0), document("moves", 1)]).expect("an insertion");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    let (found, _) = near(store, &sketch(0), apart(3), 100);
                    assert!(found.contains(&("stays".to_owned(), 0)), "{found:?}");
                    // The document is always there, under one of two near sketches.
                    assert_eq!(found.iter().filter(|(id, _)| id == "moves").count(), 1, "{found:?}");
                    assert!(found.iter().filter(|(id, _)| id == "blinks").count() <= 1, "{found:?}");
                }
            });
        }
        let writer = scope.spawn(|| {
            for round in 0..40 {
                store.insert(&[document("moves", 1 << (round % 2))]).expect("a replacement");
                store.insert(&[document("blinks", 0)]).expect("an insertion");
                store.remove(&[id("blinks")]).expect("a removal");
            }
        });
        let outcome = writer.join();
        done.store(true, Ordering::SeqCst);
        outcome.expect("the writer");
    });
    assert_eq!(contents(store), [document("moves", 2), document("stays", 0)]);
}
