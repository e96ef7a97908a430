//! An image of several layers.

use crate::image::HEADER_KEYS;
use crate::imaging;

use super::super::*;
use super::damage::{begin_anew, blocks};
use super::{FLAT, assert_no_leftovers, examine, forget, layers, meddle, n_postings};

/// Documents that are gone after the lowest layer was written, and after the last.
const GONE: [u64; 4] = [5, 250, 265, 285];

/// A store with an image of three layers, and some changes after it.
fn layered(path: &Path) -> EmbeddedStore {
    let store = open(path);
    for (numbers, gone) in [(0..200, 5), (200..260, 250), (260..272, 265), (280..286, 285)] {
        store.insert(&documents(numbers.clone())).unwrap();
        if numbers.start < 280 {
            assert!(store.write_image(&mut |_| {}).unwrap());
        }
        store.remove(&[document(gone).id]).unwrap();
    }
    assert_eq!(sizes(&store), [200, 60, 12]);
    store
}

fn there() -> impl Iterator<Item = u64> {
    (0..272).chain(280..286).filter(|n| !GONE.contains(n))
}

fn sizes(store: &EmbeddedStore) -> Vec<u64> {
    layers(store).iter().map(|header| header.n_documents).collect()
}

fn assert_right(store: &EmbeddedStore) {
    assert_found(store, &documents(there()));
    assert_not_found(store, &documents(GONE));
    let copies = there().map(|n| Document { id: document(900 + n).id, ..document(n) });
    let outcomes = store.insert_if_new(&copies.collect::<Vec<_>>(), &within(3)).unwrap();
    for (outcome, n) in outcomes.into_iter().zip(there()) {
        assert_eq!(outcome.original().unwrap().id, document(n).id);
    }
}

#[test]
fn a_layer_leaves_large_ones_and_takes_over_small_ones() {
    let directory = directory();
    let store = layered(directory.path());
    let before = blocks(&store);
    assert_right(&store);
    assert_eq!(examine(&store, false), []);
    // 12 are too few beside 5, and 60 are not.
    assert!(store.write_image(&mut |_| {}).unwrap());
    assert_eq!(sizes(&store), [200, 60, 16]);
    assert_eq!(n_postings(&store), 0);
    assert_right(&store);
    assert_no_leftovers(&store);
    assert_eq!(examine(&store, false), []);
    let of_lowest = |blocks: &[(Vec<u8>, Vec<u8>)]| {
        let first = blocks[0].0.first_chunk::<4>().copied();
        let is_of = |block: &&(Vec<u8>, Vec<u8>)| block.0.first_chunk().copied() == first;
        blocks.iter().filter(is_of).cloned().collect::<Vec<_>>()
    };
    assert_eq!(of_lowest(&blocks(&store)), of_lowest(&before));
    assert!(blocks(&store).len() > of_lowest(&before).len());
}

/// Where many documents are gone, one layer is made of what is left.
#[test]
fn what_is_gone_leaves_all_layers() {
    let directory = directory();
    let store = layered(directory.path());
    store.remove(&documents(20..90).into_iter().map(|document| document.id).collect::<Vec<_>>()).unwrap();
    assert!(store.write_image(&mut |_| {}).unwrap());
    assert_eq!(sizes(&store), [there().filter(|n| !(20..90).contains(n)).count() as u64]);
    assert_not_found(&store, &documents(20..90));
    assert_found(&store, &documents(there().filter(|n| !(20..90).contains(n))));
    assert_eq!(examine(&store, false), []);
}

/// The bytes of the filters in memory.
fn n_filter_bytes(store: &EmbeddedStore) -> u64 {
    let ram = store.shared.ram.read().unwrap();
    let ram = ram.as_ref().unwrap();
    ram.heap_bytes() - ram.tables.heap_bytes() as u64
}

/// Searches so often that all filters are taken up for which there is room.
fn take_filters_up(store: &EmbeddedStore) -> u64 {
    (0..4).for_each(|_| assert_right(store));
    n_filter_bytes(store)
}

/// Filters and blocks answer alike. The filters of all layers together take no more than they may.
#[test]
fn filters_of_all_layers_share_their_memory() {
    let directory = directory();
    let store = layered(directory.path());
    store.give_memory(1 << 20);
    begin_anew(&store);
    let n_bytes_of_all = take_filters_up(&store);
    let mut taken = Vec::new();
    for n_bytes_max in (0..n_bytes_of_all + 1_000).step_by(n_bytes_of_all as usize / 10) {
        store.give_memory(n_bytes_max);
        begin_anew(&store);
        let n_bytes = take_filters_up(&store);
        assert!(n_bytes <= n_bytes_max, "{n_bytes} of {n_bytes_max}");
        taken.push(n_bytes);
    }
    assert!(taken[0] == 0 && taken.iter().any(|&n_bytes| n_bytes > n_bytes_of_all / 2), "{taken:?}");
}

/// The filters of a layer that stays are not read again.
#[test]
fn filters_stay_with_their_layer() {
    let directory = directory();
    let store = layered(directory.path());
    store.give_memory(1 << 20);
    begin_anew(&store);
    let before = take_filters_up(&store);
    assert!(store.write_image(&mut |_| {}).unwrap());
    assert_eq!(sizes(&store), [200, 60, 16]);
    assert_eq!(n_postings(&store), 0);
    let kept = n_filter_bytes(&store);
    assert!(kept > before / 2 && kept < before, "{kept} of {before}");
    assert_right(&store);
}

/// The layers below one that is damaged stay in use, and the next one is made of the rest.
#[test]
fn each_block_of_each_layer_damaged_in_turn() {
    let directory = directory();
    let store = layered(directory.path());
    let n_all = {
        imaging::drop_all(&open(directory.path()).shared).unwrap();
        n_postings(&store)
    };
    drop(store);
    let intact = blocks(&layered(&directory.path().join("intact")));
    let generations: Vec<u32> =
        intact.iter().map(|(key, _)| u32::from_be_bytes(*key.first_chunk().unwrap())).collect();
    let first_of_each = |n: usize| n == 0 || generations[n - 1] != generations[n];
    let mut least = [usize::MAX; 3];
    for (n, (key, value)) in intact.iter().enumerate().filter(|(n, _)| n % 3 == 0 || first_of_each(*n)) {
        let path = directory.path().join(n.to_string());
        let store = layered(&path);
        let place = layers(&store).iter().position(|header| header.generation == generations[n]).unwrap();
        meddle(&store, |opened, txn| {
            let mut changed = value.clone();
            changed[n * 5 % value.len()] ^= 1 << (n % 8);
            opened.image().unwrap().put(txn, key, &changed)
        });
        begin_anew(&store);
        assert_right(&store);
        if store.shared.terms.refused() != 0 {
            least[place] = least[place].min(n_postings(&store));
        }
        assert!(matches!(&examine(&store, false)[..], [_]));
        begin_anew(&store);
        store.insert(&documents(300..340)).unwrap();
        assert!(store.write_image(&mut |_| {}).unwrap());
        begin_anew(&store);
        assert_right(&store);
        assert_found(&store, &documents(300..340));
        drop(store);
        std::fs::remove_dir_all(path).unwrap();
    }
    assert!(
        least[0] >= n_all && least[1] < least[0] && 0 < least[2] && least[2] < least[1],
        "{least:?} of {n_all}"
    );
}

/// A search goes on without each of them, and so does one that writes.
#[test]
fn all_layers_damaged_at_once() {
    let directory = directory();
    let store = layered(directory.path());
    for (key, mut value) in blocks(&store) {
        value[0] ^= 1;
        meddle(&store, |opened, txn| opened.image().unwrap().put(txn, &key, &value));
    }
    begin_anew(&store);
    assert_found(&store, &documents(there()));
    begin_anew(&store);
    let copy = Document { id: document(900).id, ..document(1) };
    let outcome = store.insert_if_new(&[copy], &within(3)).unwrap().remove(0);
    assert_eq!(outcome.original().unwrap().id, document(1).id);
}

/// A header above is not believed where it is damaged, or where another image is below it: a
/// program that knows one layer only replaces the lowest and leaves those above.
#[test]
fn headers_above_that_do_not_fit() {
    let directory = directory();
    let path = directory.path().join("of one");
    let store = layered(&path);
    let stored = |store: &EmbeddedStore, place: usize| {
        snapshot(store, |opened, txn| Ok(opened.meta.get(txn, HEADER_KEYS[place])?.map(<[u8]>::to_vec)))
    };
    let above = stored(&store, 1).unwrap();
    imaging::drop_all(&store.shared).unwrap();
    drop(store);
    let flat = open_with(&path, FLAT);
    assert!(flat.write_image(&mut |_| {}).unwrap());
    meddle(&flat, |opened, txn| opened.meta.put(txn, HEADER_KEYS[1], &above));
    drop(flat);
    let store = open(&path);
    assert_eq!(sizes(&store), [there().count() as u64]);
    assert_right(&store);
    assert_eq!(examine(&store, false), []);
    store.insert(&documents(300..310)).unwrap();
    assert!(store.write_image(&mut |_| {}).unwrap());
    assert_eq!(sizes(&store), [there().count() as u64, 10]);
    assert!(stored(&store, 1).unwrap() != above && stored(&store, 2).is_none());
    let header = stored(&store, 1).unwrap();
    for bit in (0..8 * header.len()).step_by(5) {
        let mut changed = header.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        meddle(&store, |opened, txn| opened.meta.put(txn, HEADER_KEYS[1], &changed));
        begin_anew(&store);
        assert!(n_postings(&store) > 0, "bit {bit}");
        assert_found(&store, &documents(there().chain(300..310)));
        assert!(matches!(&examine(&store, false)[..], [_]), "bit {bit}");
    }
    // The next layer stands in its place.
    assert!(store.write_image(&mut |_| {}).unwrap());
    assert_eq!(examine(&store, false), []);
    forget(&store);
    assert_eq!(n_postings(&store), 0);
}

/// A layer that another handle writes is used by those who are in the middle of their work.
#[test]
fn layers_come_and_go_under_searches() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&documents(0..100)).unwrap();
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(std::sync::atomic::Ordering::SeqCst) {
                assert_found(&store, &documents(0..100));
            }
        });
        let mut n_layers = Vec::new();
        for n in 0..60 {
            store.insert_if_new(&documents(1_000 + 6 * n..1_006 + 6 * n), &within(3)).unwrap();
            assert!(store.write_image(&mut |_| {}).unwrap());
            n_layers.push(layers(&store).len());
            assert_eq!(n_postings(&store), 0);
        }
        is_done.store(true, std::sync::atomic::Ordering::SeqCst);
        assert!(n_layers.iter().max() >= Some(&3) && n_layers.contains(&1), "{n_layers:?}");
    });
    assert_found(&store, &documents((0..100).chain(1_000..1_360)));
    assert_no_leftovers(&store);
    assert_eq!(examine(&store, false), []);
}
