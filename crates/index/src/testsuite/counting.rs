//! The cases of an index that keeps texts: near documents are counted, whatever the signatures say.

use std::collections::HashSet;
use std::ops::Range;

use minhash::{Basis, Comparison, Similarity};
use simhash::Fingerprint;

use super::{N_DECOYS, create_with, decoy, id, signed, verifying_metadata};
use crate::{
    CountTexts, Counter, Document, Features, Insertion, Metadata, Rule, Selection, Sketch, Store, Text,
    TextKeeping,
};

pub(super) const CASES: [fn(&dyn Store); 7] = [
    what_is_called_was_counted,
    insertions_are_decided_by_counts,
    the_nearest_is_the_one_that_counts_most,
    an_equal_text_is_counted_before_many_others,
    a_text_goes_with_its_document,
    one_sketch_of_two_texts,
    a_document_without_a_text_is_estimated,
];

/// Counts words, of which the texts of the suite are made.
struct Words;

impl CountTexts for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn compare(&self, a: &Text, b: &Text) -> Comparison {
        let [a, b] = [a, b].map(|text| text.split_whitespace().collect::<HashSet<_>>());
        let n_common = a.intersection(&b).count();
        let share = |of: usize| Similarity::clamped(n_common as f64 / of as f64);
        Comparison {
            similarity: Similarity::of_sets(n_common, a.len(), b.len()),
            share_of_a: share(a.len()),
            share_of_b: share(b.len()),
            basis: Basis::Counted,
        }
    }

    fn are_copies(&self, a: &Text, b: &Text) -> bool {
        a.split_whitespace().eq(b.split_whitespace())
    }
}

/// The counter of the suite.
#[must_use]
pub fn word_counter() -> Counter {
    Counter::new(&Words)
}

/// A text of one word for each number.
#[must_use]
pub fn words(numbers: Range<u64>) -> Text {
    let words: Vec<String> = numbers.map(|n| n.to_string()).collect();
    Text::from(words.join(" "))
}

/// The metadata of an index that keeps texts.
pub(super) fn metadata() -> Metadata {
    Metadata { texts: TextKeeping::Zstd, ..verifying_metadata() }.of_least_version()
}

/// Makes an index that keeps texts.
pub(super) fn create(store: &dyn Store) {
    create_with(store, &metadata());
}

fn rule() -> Rule {
    Rule { counter: Some(word_counter()), ..metadata().rule() }
}

/// A sketch whose signature is of its text.
fn honest(numbers: Range<u64>) -> Sketch {
    signed(numbers.start, numbers.clone()).with_text(Some(words(numbers)))
}

/// A sketch with the signature of one text and the words of another.
fn forged(signature: Range<u64>, text: Range<u64>) -> Sketch {
    signed(7, signature).with_text(Some(words(text)))
}

fn document(name: &str, sketch: Sketch) -> Document {
    Document { id: id(name), sketch, source: None }
}

fn near(store: &dyn Store, query: &Sketch) -> Vec<(String, Option<Similarity>, bool)> {
    let queries = std::slice::from_ref(query);
    let found = store.near(queries, &rule(), 1_000).expect("a search").remove(0);
    assert_eq!(found.n_matches, found.matches.len() as u64);
    let first = store.near(queries, &rule(), 1).expect("a search").remove(0);
    assert_eq!((first.matches.first(), first.n_matches), (found.matches.first(), found.n_matches));
    let documents = store.near_documents(queries, &rule(), 1_000).expect("a search").remove(0);
    let nearnesses = documents.documents.iter().map(|(nearness, stored)| (*nearness, &stored.document.id));
    assert!(nearnesses.eq(found.matches.iter().map(|found| (found.nearness, &found.id))));
    let told =
        |found: crate::Match| (found.id.as_str().to_owned(), found.nearness.similarity, found.nearness.exact);
    found.matches.into_iter().map(told).collect()
}

fn counted(name: &str, n_common: usize, sizes: [usize; 2]) -> (String, Option<Similarity>, bool) {
    (name.to_owned(), Some(Similarity::of_sets(n_common, sizes[0], sizes[1])), true)
}

fn what_is_called_was_counted(store: &dyn Store) {
    store
        .insert(&[
            document("near", honest(10..310)),
            document("below", honest(60..360)),
            document("forged", forged(0..300, 9_000..9_300)),
            document("short", honest(20_000..20_020)),
            document("short, below", honest(20_003..20_023)),
        ])
        .expect("an insertion");
    assert_eq!(near(store, &honest(0..300)), [counted("near", 290, [300, 300])]);
    assert_eq!(
        near(store, &honest(20_001..20_021)),
        [counted("short", 19, [20, 20]), counted("short, below", 18, [20, 20])]
    );
    assert_eq!(near(store, &honest(19_999..20_018)), [counted("short", 18, [19, 20])]);
    assert_eq!(near(store, &forged(0..300, 9_000..9_300)), [counted("forged", 300, [300, 300])]);
}

fn insertions_are_decided_by_counts(store: &dyn Store) {
    let insert = |name: &str, sketch: Sketch| {
        store.insert_if_new(&[document(name, sketch)], &rule()).expect("an insertion").remove(0)
    };
    assert_eq!(insert("a", honest(0..300)), Insertion::Inserted);
    assert_eq!(insert("forged", forged(0..300, 9_000..9_300)), Insertion::Inserted);
    let Insertion::Duplicate(of) = insert("b", honest(30..330)) else { panic!("b is near a") };
    assert_eq!((of.id, of.nearness.similarity), (id("a"), Some(Similarity::of_sets(270, 300, 300))));
    assert!(of.nearness.exact);
    assert_eq!(insert("below", honest(45..345)), Insertion::Inserted);
    // Later documents of a call meet the earlier ones with their texts.
    let [c, d, e] = [honest(50_000..50_300), forged(50_000..50_300, 0..7), honest(50_001..50_301)];
    let batch = [document("c", c), document("d", d), document("e", e)];
    let answers = store.insert_if_new(&batch, &rule()).expect("an insertion");
    assert_eq!(answers[..2], [Insertion::Inserted, Insertion::Inserted]);
    assert!(matches!(&answers[2], Insertion::Duplicate(of) if of.id == id("c") && of.nearness.exact));
}

/// Forged signatures promise most, and their texts count nothing.
fn the_nearest_is_the_one_that_counts_most(store: &dyn Store) {
    let mut documents: Vec<_> = (0..20)
        .map(|n| document(&format!("forged {n}"), forged(0..300, 9_000 * (n + 1)..9_000 * (n + 1) + 300)))
        .collect();
    documents.push(document("farther", honest(25..325)));
    documents.push(document("nearer", honest(20..320)));
    store.insert(&documents).expect("an insertion");
    let answer = store.insert_if_new(&[document("new", honest(0..300))], &rule()).expect("an insertion");
    assert!(matches!(&answer[..], [Insertion::Duplicate(of)] if of.id == id("nearer")), "{answer:?}");
}

/// Texts of lesser promise are counted later, and some of them never.
fn an_equal_text_is_counted_before_many_others(store: &dyn Store) {
    let kind = metadata().kind;
    let decoys: Vec<_> = (0..N_DECOYS)
        .map(|n| {
            let (signature, text) = (Some(decoy(0..300, n, 2)), Some(words(9_000 + n..9_003 + n)));
            let features = Features { simhash: Some(Fingerprint(7)), signature, text };
            document(&format!("decoy {n}"), kind.sketch(features))
        })
        .collect();
    store.insert(&decoys).expect("an insertion");
    let equal = || signed(7, 0..300).with_text(Some(words(0..300)));
    store.insert(&[document("equal", equal())]).expect("an insertion");
    let rule = rule().of_insertion();
    let insert =
        |sketch| store.insert_if_new(&[document("new", sketch)], &rule).expect("an insertion").remove(0);
    let answer = insert(equal());
    assert!(matches!(&answer, Insertion::Duplicate(of) if of.id == id("equal")), "{answer:?}");
    // A text equal to none of them is inserted. A store that does not count all of them says so in
    // its status.
    assert_eq!(insert(signed(7, 0..300).with_text(Some(words(50_000..50_300)))), Insertion::Inserted);
    let n_bounded = store.status().expect("a status").n_bounded;
    assert!(n_bounded.is_none_or(|n| n > 0), "{n_bounded:?}");
}

fn a_text_goes_with_its_document(store: &dyn Store) {
    let text = |name: &str| store.texts(&[id(name)]).expect("a read").remove(0);
    let insert =
        |name: &str, sketch: Sketch| store.insert(&[document(name, sketch)]).expect("an insertion").remove(0);
    assert_eq!(text("a"), None);
    assert_eq!(insert("a", honest(0..300)), Insertion::Inserted);
    assert_eq!(text("a"), Some(words(0..300)));
    assert_eq!(insert("a", honest(500..900)), Insertion::Replaced);
    assert_eq!(text("a"), Some(words(500..900)));
    assert_eq!(near(store, &honest(0..300)), []);
    let long = Text::from("a long text of many pages ".repeat(20_000));
    assert_eq!(insert("long", signed(1, 0..300).with_text(Some(long.clone()))), Insertion::Inserted);
    let both = store.texts(&[id("long"), id("none"), id("a")]).expect("a read");
    assert_eq!(both, [Some(long), None, Some(words(500..900))]);
    assert_eq!(store.remove_if(&[id("a")], &Selection::default()).expect("a removal"), [true]);
    assert_eq!(text("a"), None);
    assert_eq!(near(store, &honest(500..900)), []);
    // Neither searches nor reads return the text.
    let stored = store.get(&[id("long")]).expect("a read").remove(0).expect("it is there");
    assert_eq!(stored.document.sketch.text(), None);
}

/// A document is unchanged only with the same text: the sketch alone does not tell.
fn one_sketch_of_two_texts(store: &dyn Store) {
    let text = |name: &str| store.texts(&[id(name)]).expect("a read").remove(0);
    let insert =
        |sketch: &Sketch| store.insert(&[document("a", sketch.clone())]).expect("an insertion").remove(0);
    let if_new = |sketch: &Sketch| {
        let documents = [document("a", sketch.clone())];
        store.insert_if_new(&documents, &rule()).expect("an insertion").remove(0)
    };
    let (untold, told) = (signed(7, 0..300), forged(0..300, 0..300));
    assert_eq!(insert(&untold), Insertion::Inserted);
    assert_eq!(insert(&told), Insertion::Replaced, "its text was not known");
    assert_eq!([insert(&told), if_new(&told)], [Insertion::Unchanged, Insertion::Unchanged]);
    // A document without a text does not differ from the stored text.
    assert_eq!([insert(&untold), if_new(&untold)], [Insertion::Unchanged, Insertion::Unchanged]);
    assert_eq!(text("a"), Some(words(0..300)));
    // The same words with other spaces count as the same text.
    let spaced = Text::from(words(0..300).replace(' ', "  "));
    assert_eq!(if_new(&told.clone().with_text(Some(spaced))), Insertion::Unchanged);
    assert_eq!(text("a"), Some(words(0..300)));
    for (n, write) in [&insert as &dyn Fn(&Sketch) -> Insertion, &if_new].into_iter().enumerate() {
        let others = 700 * (n as u64 + 1)..700 * (n as u64 + 1) + 300;
        let other = forged(0..300, others.clone());
        assert_eq!([write(&other), write(&other)], [Insertion::Replaced, Insertion::Unchanged]);
        assert_eq!(text("a"), Some(words(others)));
    }
    assert_eq!(near(store, &honest(0..300)), []);
    assert_eq!(near(store, &forged(0..300, 1_400..1_700)), [counted("a", 300, [300, 300])]);
    // A document near another one is a duplicate, whatever is stored under its own id.
    assert_eq!(store.insert(&[document("b", told.clone())]).expect("an insertion"), [Insertion::Inserted]);
    assert!(matches!(if_new(&told), Insertion::Duplicate(of) if of.id == id("b")));
    assert_eq!(text("a"), Some(words(1_400..1_700)));
}

fn a_document_without_a_text_is_estimated(store: &dyn Store) {
    let untold = signed(1, 0..300);
    store.insert(&[document("untold", untold.clone())]).expect("an insertion");
    let [(name, _, exact)] = &near(store, &honest(3..303))[..] else { panic!("one is near") };
    assert_eq!((&**name, *exact), ("untold", false));
    store.insert(&[document("told", honest(0..300))]).expect("an insertion");
    assert!(near(store, &untold).iter().all(|(_, _, exact)| !exact));
}
