//! Insertions that look into a quarter of the buckets before they claim: duplicates that the glance
//! misses are found all the same.

use super::super::buckets::Reach;
use super::*;

/// A bit of each block of `5c2`. Fingerprints that differ in two of these bits share three buckets,
/// in three one.
const BLOCKS: [u32; 5] = [0, 12, 25, 38, 51];

/// Documents unlike all others, in each batch. Among them, the duplicates of these tests are too
/// few to end the glances.
const N_STRANGERS: u64 = 40;

/// Returns all choices of `n` blocks, as the bits in which a fingerprint is changed.
fn changes(n: u32) -> Vec<u64> {
    let bits = |chosen: u32| (0..5).filter(|i| chosen & 1 << i != 0).map(|i| 1 << BLOCKS[i]).sum();
    (0..1_u32 << 5).filter(|chosen| chosen.count_ones() == n).map(bits).collect()
}

/// Numbers for fingerprints that are far from each other.
struct Strangers(u64);

impl Strangers {
    fn next(&mut self) -> u64 {
        self.0 += 1;
        spread(self.0)
    }

    fn batch(&mut self) -> Vec<Document> {
        (0..N_STRANGERS)
            .map(|_| self.next())
            .map(|bits| document(&format!("stranger/{bits:x}"), bits))
            .collect()
    }
}

/// Returns a store that has met only new documents, and therefore glances.
fn store_at_a_glance(place: &Place, strangers: &mut Strangers) -> HbaseStore {
    let store = place.store();
    for _ in 0..2 {
        let insertions = store.insert_if_new(&strangers.batch(), &within(3)).unwrap();
        assert!(insertions.iter().all(|done| *done == Insertion::Inserted));
    }
    store
}

/// Inserts documents among strangers; returns the ids of the documents that kept them out.
fn originals(store: &HbaseStore, documents: &[Document], strangers: &mut Strangers) -> Vec<Option<String>> {
    assert_eq!(store.outlook.reach(documents.len()), Reach::All, "too few alone");
    let batch = [documents, &strangers.batch()].concat();
    assert_eq!(store.outlook.reach(batch.len()), Reach::Glance);
    let mut insertions = store.insert_if_new(&batch, &within(3)).unwrap();
    insertions.truncate(documents.len());
    insertions.into_iter().map(|done| done.original().map(|found| found.id.to_string())).collect()
}

/// Every bucket that a document may share with its duplicate, also as the only one.
fn what_a_glance_misses_is_a_duplicate(on: On) {
    let (place, mut strangers) = (Place::new(on), Strangers(0));
    let store = store_at_a_glance(&place, &mut strangers);
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for (n, change) in changes(3).into_iter().enumerate() {
        let bits = strangers.next();
        old.push(document(&format!("old/{n}"), bits));
        new.push(document(&format!("new/{n}"), bits ^ change));
    }
    store.insert(&old).unwrap();
    let expected: Vec<_> = old.iter().map(|document| Some(document.id.to_string())).collect();
    assert_eq!(originals(&store, &new, &mut strangers), expected);
}

/// The nearest is named, even if a glance meets only another one.
fn what_a_glance_meets_need_not_be_the_nearest(on: On) {
    let (place, mut strangers) = (Place::new(on), Strangers(0));
    let store = store_at_a_glance(&place, &mut strangers);
    for near in changes(2) {
        let (mut old, mut new, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        for far in changes(3) {
            let bits = strangers.next();
            let id = |what: &str| format!("{what}/{near:x}/{far:x}");
            old.extend([document(&id("far"), bits ^ far), document(&id("near"), bits ^ near)]);
            new.push(document(&id("new"), bits));
            expected.push(Some(id("near")));
        }
        store.insert(&old).unwrap();
        assert_eq!(originals(&store, &new, &mut strangers), expected, "{near:x}");
    }
}

hazards! {
    what_a_glance_misses_is_a_duplicate,
    what_a_glance_meets_need_not_be_the_nearest,
}
