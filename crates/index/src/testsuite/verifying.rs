//! The cases of an index that verifies: the signatures decide, whichever facet proposes.

use simhash::Fingerprint;

use super::{N_DECOYS, contents, decoy, id, signature, signed, verifying_metadata};
use crate::{Document, Features, Insertion, Match, Rule, Sketch, Store};

pub(super) const CASES: [fn(&dyn Store); 8] = [
    what_simhashes_propose_is_confirmed,
    what_bands_propose_is_confirmed,
    each_document_once_and_the_most_similar_first,
    without_a_simhash,
    inserting_if_new,
    the_most_promising_are_judged,
    an_equal_one_is_found_behind_many_others,
    it_comes_back_as_it_was_given,
];

fn document(name: &str, sketch: Sketch) -> Document {
    Document { id: id(name), sketch, source: None }
}

fn rule() -> Rule {
    verifying_metadata().rule()
}

fn insert(store: &dyn Store, documents: &[Document]) {
    store.insert(documents).expect("an insertion");
}

/// Ids and distances of all near documents, the nearest first, after a comparison of every way to
/// ask for them.
fn near(store: &dyn Store, query: &Sketch) -> Vec<(String, u32)> {
    let queries = std::slice::from_ref(query);
    let whole = store.near(queries, &rule(), 1_000).expect("a search").remove(0);
    assert_eq!(whole.n_matches, whole.matches.len() as u64);
    for limit in 0..whole.matches.len() {
        let cut = store.near(queries, &rule(), limit).expect("a search").remove(0);
        assert_eq!((&cut.matches[..], cut.n_matches), (&whole.matches[..limit], whole.n_matches));
    }
    let documents = store.near_documents(queries, &rule(), 1_000).expect("a search").remove(0);
    assert_eq!(documents.n_matches, whole.n_matches);
    for (found, (nearness, stored)) in whole.matches.iter().zip(&documents.documents) {
        assert_eq!((found.nearness, &found.id), (*nearness, &stored.document.id));
        assert_eq!(rule().nearness(query, &stored.document.sketch), Some(*nearness));
        assert_eq!(found.fingerprint, stored.document.sketch.fingerprint());
        assert!(found.similarity().is_some());
    }
    whole
        .matches
        .into_iter()
        .map(|found| (found.id.as_str().to_owned(), found.distance().as_bits()))
        .collect()
}

fn check(store: &dyn Store, query: &Sketch, expected: &[(&str, u32)]) {
    let found = near(store, query);
    let found: Vec<_> = found.iter().map(|(id, distance)| (id.as_str(), *distance)).collect();
    assert_eq!(found, expected);
}

/// Equal simhashes of different texts make no duplicates, at any length.
fn what_simhashes_propose_is_confirmed(store: &dyn Store) {
    insert(store, &[document("long", signed(1, 0..300)), document("short", signed(1, 0..20))]);
    check(store, &signed(1, 0..300), &[("long", 0)]);
    check(store, &signed(0b11, 10..310), &[("long", 1)]);
    check(store, &signed(1, 0..20), &[("short", 0)]);
    check(store, &signed(1, 1..21), &[("short", 0)]);
    check(store, &signed(1, 10..30), &[]);
    check(store, &signed(1, 1_000..1_300), &[]);
}

/// Similar texts are duplicates at any distance of their simhashes.
fn what_bands_propose_is_confirmed(store: &dyn Store) {
    insert(store, &[document("long", signed(0, 0..300)), document("short", signed(0, 0..20))]);
    check(store, &signed(u64::MAX, 5..305), &[("long", 64)]);
    check(store, &signed(0xff, 1..21), &[("short", 8)]);
    check(store, &signed(u64::MAX, 2_000..2_300), &[]);
}

/// Among texts with much in common a near one is found, however few may be judged; a store that
/// leaves some out counts such searches.
fn the_most_promising_are_judged(store: &dyn Store) {
    let framed = |n: u64| signed(n * 0x1111, 80 * n..80 * n + 300);
    let names = ["a", "b", "c", "d", "e"];
    let documents: Vec<_> = (1..).zip(names).map(|(n, name)| document(name, framed(n))).collect();
    let rule = Rule { candidates_max: Some(1), ..rule() };
    let inserted = store.insert_if_new(&documents, &rule).expect("an insertion");
    assert_eq!(inserted, [const { Insertion::Inserted }; 5]);
    for (n, name) in (1..).zip(names) {
        let similar = signed(u64::MAX, 80 * n + 2..80 * n + 302);
        let answer = store.insert_if_new(&[document("similar", similar)], &rule).expect("an insertion");
        assert!(matches!(&answer[..], [Insertion::Duplicate(of)] if of.id == id(name)), "{name}: {answer:?}");
    }
    let n_bounded = store.status().expect("a status").n_bounded;
    assert!(n_bounded.is_none_or(|n| n > 0), "{n_bounded:?}");
}

/// An equal document is found behind any number of documents as promising by bands and suffix.
fn an_equal_one_is_found_behind_many_others(store: &dyn Store) {
    let kind = verifying_metadata().kind;
    let decoys: Vec<_> = (0..N_DECOYS)
        .map(|n| {
            let signature = Some(decoy(0..300, n, 40));
            let features = Features { simhash: Some(Fingerprint(5)), signature, text: None };
            document(&format!("decoy {n}"), kind.sketch(features))
        })
        .collect();
    insert(store, &decoys);
    insert(store, &[document("equal", signed(5, 0..300))]);
    let rule = rule().of_insertion();
    let answer = store.insert_if_new(&[document("new", signed(5, 0..300))], &rule).expect("an insertion");
    assert!(matches!(&answer[..], [Insertion::Duplicate(of)] if of.id == id("equal")), "{answer:?}");
}

fn each_document_once_and_the_most_similar_first(store: &dyn Store) {
    insert(
        store,
        &[
            document("d", signed(0, 0..300)),
            document("c", signed(1, 12..312)),
            document("b", signed(0, 0..300)),
            document("a", signed(0xffff, 0..300)),
        ],
    );
    let found = near(store, &signed(0, 0..300));
    // Of equal documents the nearest by simhash, then by id; the estimate of any other is below 1.
    assert_eq!(
        found,
        [("b", 0), ("d", 0), ("a", 16), ("c", 1)].map(|(id, distance)| (id.to_owned(), distance))
    );
    assert_eq!(store.remove(&[id("b"), id("a")]).expect("a removal"), [true, true]);
    check(store, &signed(0, 0..300), &[("d", 0), ("c", 1)]);
}

fn without_a_simhash(store: &dyn Store) {
    insert(store, &[document("none", signed(None, 0..40)), document("some", signed(7, 0..40))]);
    let found = near(store, &signed(None, 0..40));
    assert_eq!(found, [("none", 0), ("some", 0)].map(|(id, distance)| (id.to_owned(), distance)));
    assert_eq!(contents(store)[0].sketch, signed(None, 0..40));
}

fn inserting_if_new(store: &dyn Store) {
    let found = |name: &str, sketch: &Sketch, of: &Sketch| {
        let nearness = rule().nearness(sketch, of).expect("they are near");
        Insertion::Duplicate(Match::new(id(name), of.fingerprint(), nearness))
    };
    let (a, b) = (signed(3, 0..300), signed(3, 500..800));
    let like_a = signed(u64::MAX, 4..304);
    let batch = [
        document("a", a.clone()),
        document("b", b.clone()),
        document("c", like_a.clone()),
        document("a", a.clone()),
    ];
    let expected = [Insertion::Inserted, Insertion::Inserted, found("a", &like_a, &a), Insertion::Unchanged];
    assert_eq!(store.insert_if_new(&batch, &rule()).expect("an insertion"), expected);
    // The original of a duplicate is there by now; an own old version is no original.
    let like_b = signed(3, 505..805);
    assert_eq!(
        store.insert_if_new(&[document("c", like_b.clone())], &rule()).expect("an insertion"),
        [found("b", &like_b, &b)]
    );
    assert_eq!(
        store.insert_if_new(&[document("b", like_b.clone())], &rule()).expect("an insertion"),
        [Insertion::Replaced]
    );
    check(store, &b, &[("b", 0)]);
    assert_eq!(contents(store), [document("a", a), document("b", like_b)]);
}

/// Sketches of every kind, at the ends of the key space too.
fn it_comes_back_as_it_was_given(store: &dyn Store) {
    let kind = verifying_metadata().kind;
    let whole = |simhash: Option<u64>, hash: u64| {
        let signature = Some(minhash::Signature::equality(hash));
        kind.sketch(Features { simhash: simhash.map(Fingerprint), signature, text: None })
    };
    let both = {
        let set: Vec<u64> = (0..45).map(|element| minhash::hash_words(element, 7)).collect();
        let bins = minhash::Bins::of(&set).expect("it has elements");
        let signature = minhash::Signature::both(&bins, 45, &set);
        kind.sketch(Features { simhash: Some(Fingerprint(9)), signature, text: None })
    };
    assert_eq!(both.n_keys(), 10 + 32);
    let all = [
        document("a", signed(0, 0..300)),
        document("b", signed(u64::MAX, 0..3)),
        document("c", whole(None, 0)),
        document("d", whole(Some(5), u64::MAX)),
        document("e", whole(None, 1 << 32)),
        document("f", both.clone()),
        document(
            "g",
            kind.sketch(Features {
                simhash: Some(Fingerprint(8)),
                signature: Some(signature(9..10)),
                text: None,
            }),
        ),
    ];
    insert(store, &all);
    assert_eq!(contents(store), all);
    check(store, &whole(None, 0), &[("c", 0)]);
    check(store, &whole(None, u64::MAX), &[("d", 0)]);
    check(store, &whole(None, 1), &[]);
    check(store, &both, &[("f", 0)]);
    let ids: Vec<_> = all.iter().map(|document| document.id.clone()).collect();
    assert_eq!(store.remove(&ids).expect("a removal"), [true; 7]);
    assert_eq!(contents(store), []);
    for document in &all {
        check(store, &document.sketch, &[]);
    }
}
