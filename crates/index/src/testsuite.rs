//! The conformance suite of all stores, and a store that fails on purpose. For tests: all of this
//! panics on a surprise.

mod cells;
mod counting;
mod deleting;
mod fail_at;
mod failures;
mod fake_clock;
mod finding;
mod jumping;
mod keys;
mod limits;
mod made_anew;
mod model;
mod races;
mod retaining;
mod verifying;
mod writing;

use std::time::Duration;

use std::ops::Range;

use minhash::{LONG_BINS, Signature, Similarity, Sketcher, hash_words};
use simhash::{Distance, Fingerprint};

use crate::{
    Clock, Cursor, Document, DocumentId, Features, Identity, MAX_BATCH, Metadata, Profile, Rule, Sketch,
    SketchKind, Store, StoredDocument, TextKeeping,
};

pub use counting::{word_counter, words};
pub use fail_at::FailAt;
pub use fake_clock::FakeClock;
pub use made_anew::{Place, Remake};

/// Runs every case, each on a store of its own from `open`. Each store must be empty and without
/// metadata, and take the time from the given clock.
///
/// # Panics
/// On a violation of the contract of [`Store`].
pub fn check(open: &dyn Fn(Clock) -> Box<dyn Store>) {
    check_what_stays(open);
    check_retention(open);
}

/// Runs the cases of an index with texts, for a store that can keep texts.
///
/// # Panics
/// As [`check`].
pub fn check_texts(open: &dyn Fn(Clock) -> Box<dyn Store>) {
    for case in counting::CASES {
        let store = open(Clock::system());
        counting::create(&*store);
        case(&*store);
    }
}

/// The retention of the indexes of [`check_retention`]. Long, so that no server expires a document
/// by a clock of its own while a case runs.
pub const RETAIN: Duration = Duration::from_secs(2 * 60 * 60);

/// The number of stores opened by [`check_retention`].
pub const N_RETENTION_CASES: usize = retaining::N_CASES;

/// Runs the cases of an index with a retention of [`RETAIN`], for which some places must be made in
/// their own way.
///
/// # Panics
/// As [`check`].
pub fn check_retention(open: &dyn Fn(Clock) -> Box<dyn Store>) {
    retaining::check(open);
}

/// Runs all other cases.
///
/// # Panics
/// As [`check`].
pub fn check_what_stays(open: &dyn Fn(Clock) -> Box<dyn Store>) {
    deleting::check(open);
    let open = &|| open(Clock::system());
    writing::metadata_is_written_once(&*open());
    writing::nothing_works_before_create(&*open());
    let cases: [fn(&dyn Store); _] = [
        writing::inserting,
        writing::inserting_if_new,
        writing::inserting_if_new_within_a_batch,
        writing::an_own_old_version_is_no_duplicate,
        writing::a_chain_in_every_order,
        writing::removing,
        finding::at_every_distance,
        finding::at_the_ends_of_the_key_space,
        finding::in_order_and_cut,
        finding::equal_fingerprints,
        finding::only_what_is_there,
        finding::pages,
        finding::pages_while_it_changes,
        cells::in_their_order,
        cells::all_of_one_row,
        keys::keys_that_do_not_follow_from_the_fingerprint,
        keys::keys_alone_make_another_sketch,
        keys::no_keys,
        limits::batches,
        limits::ids,
        limits::sketches,
        races::near_duplicates_at_once,
        races::searches_beside_writers,
    ];
    for case in cases {
        let store = open();
        create(&*store);
        case(&*store);
    }
    for case in verifying::CASES {
        let store = open();
        create_with(&*store, &verifying_metadata());
        case(&*store);
    }
    let store = open();
    create_with(&*store, &verifying_metadata());
    cells::of_every_family(&*store);
    races::creators_at_once(&*open());
    failures::every_call_can_fail(open);
    for seed in 1..=model::SEEDS {
        let store = open();
        create(&*store);
        model::random_operations(&*store, seed, false);
        // Signatures are slow without optimisation.
        if seed % 2 == 0 {
            let store = open();
            create_with(&*store, &verifying_metadata());
            model::random_operations(&*store, seed, true);
        }
    }
}

/// Runs the cases of an index removed or made anew under an open store, each in a place of its own.
/// Not for a store that no other process can reach.
///
/// # Panics
/// As [`check`].
pub fn check_made_anew(open: &dyn Fn() -> Place) {
    made_anew::check(open);
}

fn example_metadata() -> Metadata {
    let kind = SketchKind::default();
    let recipe = [("version".to_owned(), "1".to_owned())].into();
    let (max_distance, identity) = (kind.max_distance(), Identity::new(*b"the suite's own."));
    let metadata = Metadata {
        format_version: 0,
        max_distance,
        min_similarity: None,
        kind,
        texts: TextKeeping::None,
        same_numbers: false,
        key: None,
        retain: None,
        recipe,
        identity,
    };
    metadata.of_least_version()
}

/// The metadata of an index that files by both, and verifies.
fn verifying_metadata() -> Metadata {
    let kind = SketchKind::default().of_profile(Profile::Full).expect("flags of the default do not clash");
    let min_similarity = Some(Similarity::clamped(0.8));
    Metadata { kind, min_similarity, ..example_metadata() }.of_least_version()
}

fn create(store: &dyn Store) {
    create_with(store, &example_metadata());
}

fn create_with(store: &dyn Store, metadata: &Metadata) {
    assert_eq!(&store.create(metadata).expect("a fresh store can be created"), metadata);
}

/// The document id `text`.
///
/// # Panics
/// If `text` is no valid id.
#[must_use]
pub fn id(text: &str) -> DocumentId {
    DocumentId::new(text).expect("ids of the suite are valid")
}

/// A distance of `n_bits`.
///
/// # Panics
/// Above 64.
#[must_use]
pub fn apart(n_bits: u32) -> Distance {
    Distance::new(n_bits).expect("distances of the suite are valid")
}

/// The sketch of a fingerprint by the default scheme.
#[must_use]
pub fn sketch(bits: u64) -> Sketch {
    SketchKind::default().sketch(Fingerprint(bits))
}

/// The rule of an index in which simhashes alone decide.
///
/// # Panics
/// As [`apart`].
#[must_use]
pub fn within(n_bits: u32) -> Rule {
    apart(n_bits).into()
}

/// The signature of the set of these numbers: of a short text up to 50, of a long one beyond.
///
/// # Panics
/// For the empty set.
#[must_use]
pub fn signature(elements: Range<u64>) -> Signature {
    let set: Vec<u64> = elements.map(|element| hash_words(element, 7)).collect();
    if set.len() <= 50 {
        return Signature::short(&set).expect("it has elements");
    }
    let mut sketcher = Sketcher::<LONG_BINS>::new();
    sketcher.extend(&set);
    let sketched = sketcher.finish().expect("it has elements");
    Signature::long(&sketched.bins, sketched.size)
}

/// A signature filed like that of a set of more than 50 numbers, under half of its bands and with
/// the same suffix. Differs from the latter in `n_bytes` bytes of the other bands, in another way
/// for each `n`.
///
/// # Panics
/// For a smaller set, and for more than 40 bytes.
fn decoy(elements: Range<u64>, n: u64, n_bytes: usize) -> Signature {
    let mut bytes = signature(elements).as_bytes().to_vec();
    // The first byte and the size, a byte of each of 80 bins, and two bits of each of the others.
    let others = &mut bytes[4 + 40..4 + 80];
    for (at, byte) in (0..).zip(&mut others[..n_bytes]) {
        *byte ^= 1 + (spread(n * 100 + at) % 255) as u8;
    }
    Signature::decode(&bytes).expect("it is as long as it was")
}

/// The number of decoys: documents filed like another one, which insertions meet by the thousand.
const N_DECOYS: u64 = 1_100;

/// The sketch of a simhash, if given, and of a set, by the profile that files by both.
///
/// # Panics
/// As [`signature`].
#[must_use]
pub fn signed(simhash: impl Into<Option<u64>>, elements: Range<u64>) -> Sketch {
    let features = Features {
        simhash: simhash.into().map(Fingerprint),
        signature: Some(signature(elements)),
        text: None,
    };
    verifying_metadata().kind.sketch(features)
}

/// A document without a source.
///
/// # Panics
/// As [`id`].
#[must_use]
pub fn document(name: &str, bits: u64) -> Document {
    Document { id: id(name), sketch: sketch(bits), source: None }
}

/// Spreads a number over 64 bits, so different ones are far apart (splitmix64, Steele et al.,
/// OOPSLA 2014).
pub fn spread(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// All documents of the store, in the order of ids.
fn contents(store: &dyn Store) -> Vec<Document> {
    let mut documents = Vec::new();
    let mut next = Some(Cursor::start());
    while let Some(after) = next {
        let page = store.scan(after, 7).expect("a scan");
        assert!(page.documents.len() <= 7);
        documents.extend(page.documents.into_iter().map(|stored| stored.document));
        next = page.next;
    }
    documents.sort_by(|a, b| a.id.cmp(&b.id));
    let counted = store.status().expect("a status").n_documents;
    assert!(counted.is_none_or(|n_documents| n_documents == documents.len() as u64));
    documents
}

/// The documents with these ids.
pub fn get(store: &dyn Store, ids: &[DocumentId]) -> Vec<Option<Document>> {
    let stored = store.get(ids).expect("documents").into_iter();
    stored.map(|stored| stored.map(|stored| stored.document)).collect()
}

/// Ids and distances of the matches, and the number of all matches.
fn near(
    store: &dyn Store,
    query: &Sketch,
    max_distance: Distance,
    limit: usize,
) -> (Vec<(String, u32)>, u64) {
    let mut found = store.near(std::slice::from_ref(query), &max_distance.into(), limit).expect("a search");
    assert_eq!(found.len(), 1);
    let found = found.remove(0);
    for found in &found.matches {
        assert_eq!(found.fingerprint.distance(query.fingerprint()), found.distance());
        assert_eq!(found.similarity(), None);
    }
    let matches =
        found.matches.iter().map(|found| (found.id.as_str().to_owned(), found.distance().as_bits()));
    (matches.collect(), found.n_matches)
}

/// The same by [`Store::near_documents`], with no writer beside it.
fn near_documents(
    store: &dyn Store,
    query: &Sketch,
    max_distance: Distance,
    limit: usize,
) -> (Vec<(String, u32)>, u64) {
    let found =
        store.near_documents(std::slice::from_ref(query), &max_distance.into(), limit).expect("a search");
    let [found] = &found[..] else { panic!("{found:?}") };
    for chunk in found.documents.chunks(MAX_BATCH) {
        let ids: Vec<_> = chunk.iter().map(|(_, stored)| stored.document.id.clone()).collect();
        let stored: Vec<_> = chunk.iter().map(|(_, stored)| Some(stored.clone())).collect();
        assert_eq!(store.get(&ids).expect("a read"), stored);
    }
    let name = |stored: &StoredDocument| stored.document.id.as_str().to_owned();
    (
        found.documents.iter().map(|(near, stored)| (name(stored), near.distance.as_bits())).collect(),
        found.n_matches,
    )
}

fn check_near(store: &dyn Store, query: &Sketch, max_distance: Distance, expected: &[(&str, u32)]) {
    let expected: Vec<_> = expected.iter().map(|&(id, distance)| (id.to_owned(), distance)).collect();
    let n_matches = expected.len() as u64;
    let expected = (expected, n_matches);
    assert_eq!(near(store, query, max_distance, 1000), expected, "{query:?} within {max_distance}");
    assert_eq!(near_documents(store, query, max_distance, 1000), expected, "{query:?} within {max_distance}");
}
