//! A map that is full, again and again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;

use super::*;

#[test]
fn the_map_grows_by_itself() {
    let directory = directory();
    let store = open(directory.path());
    // The first batch alone needs several doublings; the later ones grow the map under searches.
    let all = documents(0..6_000);
    for batch in all.chunks(2_000) {
        let insertions = store.insert_if_new(batch, &within(3)).unwrap();
        assert!(insertions.iter().all(|insertion| *insertion == Insertion::Inserted));
    }
    assert!(store.status().unwrap().n_disk_bytes.unwrap() > 4 * SMALL.map_bytes as u64);
    assert_found(&store, &all);
    drop(store);
    // A later opening takes the size of the file.
    let store = open(directory.path());
    assert_found(&store, &all);
    store.insert(&documents(6_000..8_000)).unwrap();
    assert_found(&store, &documents(6_000..8_000));
}

#[test]
fn the_map_grows_under_readers_and_writers() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&documents([0])).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    assert_found(&store, &documents([0]));
                    assert!(store.get(&[document(0).id]).unwrap()[0].is_some());
                }
            });
        }
        let writers: Vec<_> = (1..=2_u64)
            .map(|writer| {
                let store = &store;
                scope.spawn(move || {
                    for batch in 0..8 {
                        let first = 100_000 * writer + 500 * batch;
                        store.insert_if_new(&documents(first..first + 500), &within(3)).unwrap();
                    }
                })
            })
            .collect();
        let outcomes: Vec<_> = writers.into_iter().map(ScopedJoinHandle::join).collect();
        done.store(true, Ordering::SeqCst);
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    assert_found(&store, &documents((100_000..104_000).chain(200_000..204_000)));
}
