//! Few ids and few texts, posted and removed by all clients at once: the same id with the same and
//! with different texts, near texts under different ids, and removals of documents about to be
//! inserted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use index::{Document, DocumentId, Error, Insertion, MemoryStore, SketchKind, Store};

use super::check::{check_apart, contents};
use super::groups::{MAX_DISTANCE, N_CLIENTS, Posting, chains};
use super::metadata;
use super::posting::{agent, post};
use crate::support::{Random, Worker};

/// Fewer ids than clients, so that several clients always hold one id.
const N_IDS: usize = 12;

/// The number of chains of texts.
const N_CHAINS: usize = 5;

/// The number of deeds after the churn.
const N_QUIET: usize = 200;

/// Runs `n` random deeds; workers insert, and this process removes. `after` gets the number of
/// deeds done.
pub(super) fn churn(
    n: usize,
    seed: u64,
    workers: &[Worker],
    store: &dyn Store,
    after: &(dyn Fn(usize) + Sync),
) {
    let texts = chains(N_CHAINS, seed);
    let (next, n_done, agent) = (AtomicUsize::new(0), AtomicUsize::new(0), agent());
    let client = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= n {
                break;
            }
            let mut random = Random(seed ^ (number as u64) << 8);
            match Deed::random(&mut random, &texts) {
                Deed::Post(posting) => {
                    let first = random.below(workers.len());
                    let places = (first..).take(workers.len()).map(|place| place % workers.len());
                    let answer = places.filter_map(|place| post(&agent, &workers[place], &posting)).next();
                    if let Insertion::Duplicate(of) = answer.expect("not all workers are dead") {
                        assert_eq!(posting.fingerprint.distance(of.fingerprint), of.distance());
                        assert!(of.distance() <= MAX_DISTANCE && of.id.as_str() != posting.id, "{of:?}");
                    }
                }
                Deed::Remove(id) => while store.remove(std::slice::from_ref(&id)).is_err_and(is_transient) {},
            }
            after(n_done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    thread::scope(|scope| {
        for _ in 0..N_CLIENTS {
            scope.spawn(client);
        }
    });
    check_quiet(seed, &texts, store);
}

fn is_transient(error: Error) -> bool {
    assert!(error.kind().is_transient(), "{error}");
    true
}

enum Deed {
    Post(Posting),
    Remove(DocumentId),
}

impl Deed {
    fn random(random: &mut Random, texts: &[Posting]) -> Self {
        let id = format!("id-{}", random.below(N_IDS));
        if random.below(4) == 0 {
            return Self::Remove(DocumentId::new(id).unwrap());
        }
        Self::Post(Posting { id, ..texts[random.below(texts.len())].clone() })
    }
}

/// Checks that the remaining documents were posted, and that no two are near. From then on, the
/// store must act like one in memory with the same documents.
fn check_quiet(seed: u64, texts: &[Posting], store: &dyn Store) {
    let left = contents(store);
    assert!(left.values().all(|left| texts.iter().any(|posting| posting.fingerprint == *left)), "{left:?}");
    check_apart(&left, store);

    let kind = SketchKind::default();
    let document = |id: &str, fingerprint| Document {
        id: DocumentId::new(id).unwrap(),
        sketch: kind.sketch(fingerprint),
        source: None,
    };
    let oracle = MemoryStore::new();
    oracle.create(&metadata()).unwrap();
    let documents: Vec<_> = left.iter().map(|(id, fingerprint)| document(id, *fingerprint)).collect();
    oracle.insert(&documents).unwrap();
    let mut random = Random(seed);
    for number in 0..N_QUIET {
        match Deed::random(&mut random, texts) {
            Deed::Post(posting) => {
                let documents = [document(&posting.id, posting.fingerprint)];
                let answers = [store, &oracle]
                    .map(|store| store.insert_if_new(&documents, &MAX_DISTANCE.into()).unwrap());
                assert_eq!(answers[0], answers[1], "{number}: {posting:?}");
            }
            Deed::Remove(id) => {
                let answers = [store, &oracle].map(|store| store.remove(std::slice::from_ref(&id)).unwrap());
                assert_eq!(answers[0], answers[1], "{number}: removal of {id:?}");
            }
        }
    }
    assert_eq!(contents(store), contents(&oracle));
    check_apart(&contents(store), store);
}
