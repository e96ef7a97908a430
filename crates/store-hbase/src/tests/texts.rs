//! An index that keeps texts: verdicts are counted with others in between at every place, at a
//! known cost, and no text is left behind.

use std::thread;

use index::testsuite::{signed, word_counter, words};
use index::{Finding, FindingKind, Index, Rule, Text, TextKeeping};

use super::super::claiming::LEASE;
use super::super::layout::{digest, document_row, text_column};
use super::super::meet::SWEPT_AFTER;
use super::between::{store_of_the_patient, store_with};
use super::examine::examine;
use super::*;

const SWEPT_AFTER_MS: i64 = SWEPT_AFTER.as_millis() as i64;

fn metadata() -> Metadata {
    metadata_of(&OpenOptions { texts: Some(TextKeeping::Zstd), ..OpenOptions::default() })
}

fn place(on: On) -> Arc<Place> {
    let place = Place::bare(on);
    place.hbase.create_table("t_docs", &["d", "m", "t"]);
    place.store().create(&metadata()).unwrap();
    Arc::new(place)
}

fn rule() -> Rule {
    Rule { counter: Some(word_counter()), ..metadata().rule() }
}

/// Returns a document whose signature makes it near to the others of this kind, and whose text has
/// nothing in common with theirs.
fn forged(name: &str, n: u64) -> Document {
    let sketch = signed(0, 0..300).with_text(Some(words(10_000 * n..10_000 * n + 300)));
    Document { id: id(name), sketch, source: None }
}

/// Returns a document near to those that begin a few words before it or after it.
fn honest(name: &str, from: u64) -> Document {
    let sketch = signed(0, from..from + 300).with_text(Some(words(from..from + 300)));
    Document { id: id(name), sketch, source: None }
}

fn insert_if_new(store: &HbaseStore, document: &Document) -> Insertion {
    store.insert_if_new(std::slice::from_ref(document), &rule()).unwrap().remove(0)
}

fn text(store: &HbaseStore, name: &str) -> Option<Text> {
    store.texts(&[id(name)]).unwrap().remove(0)
}

/// Returns the ids with texts, one for each text.
fn texts_left(place: &Place) -> Vec<String> {
    let mut left = Vec::new();
    for (key, cells) in place.document_rows() {
        let n = cells.iter().filter(|(column, ..)| column.starts_with(b"t:")).count();
        left.extend((0..n).map(|_| String::from_utf8(key[5..].to_vec()).unwrap()));
    }
    left.sort();
    left
}

/// A claimant looks, claims, writes its text, files, searches and commits. Another one comes at
/// each place.
fn rivals_are_counted_whatever_is_in_between(on: On) {
    let mut n_of = [0; 3];
    for nth in 0..20 {
        for (number, other) in [honest("b", 10), forged("b", 1)].into_iter().enumerate() {
            let place = place(on);
            let between = {
                let other = other.clone();
                move |place: &Place| {
                    insert_if_new(&store_of_the_patient(place), &other);
                }
            };
            let answer = insert_if_new(&store_with(&place, nth, between), &honest("a", 0));
            let kept: Vec<_> = contents(&place.store()).into_iter().map(|document| document.id).collect();
            let context = format!("{nth} {number} {answer:?} {kept:?}");
            let was_there = place.hbase.n_calls(Call::Swap) > 3;
            if number == 0 {
                // One of the two; where the other did not come, the first.
                assert_eq!(kept.len(), 1, "{context}");
                n_of[usize::from(kept[0] == id("b"))] += 1;
            } else if was_there {
                assert_eq!(kept, [id("a"), id("b")], "{context}");
                n_of[2] += 1;
            }
            let kept: Vec<_> = kept.iter().map(|id| id.as_str().to_owned()).collect();
            assert_eq!(texts_left(&place), kept, "{context}");
            assert_eq!(examine(&place.store(), false).1, [], "{context}");
        }
    }
    assert!(n_of.iter().all(|n| *n > 2), "{n_of:?}");
}

/// The requests of an insertion of a document without near ones: three for the metadata, its row, a
/// look, its claim, its text, and its cells.
const FILED: i64 = 7;

/// The text of a dead owner's claim is counted all the same, and is deleted by the next insertion
/// of its id.
fn the_claims_of_the_dead_are_counted(on: On) {
    for (dead, new, n_swaps) in [
        // A near claim is aborted before the own claim is committed; another one is left alone.
        (honest("dead", 0), honest("new", 10), 3),
        (forged("dead", 7), forged("new", 8), 2),
    ] {
        let place = place(on);
        let dying = store_with(&place, FILED, |_| panic!("dies here"));
        let died = thread::scope(|scope| scope.spawn(|| insert_if_new(&dying, &dead)).join());
        assert!(died.is_err());
        assert_eq!(texts_left(&place), ["dead"]);
        place.advance(LEASE.as_millis() as i64 + 1);
        let n_before = place.hbase.n_calls(Call::Swap);
        assert_eq!(insert_if_new(&place.store(), &new), Insertion::Inserted);
        assert_eq!(place.hbase.n_calls(Call::Swap) - n_before, n_swaps);
        let other = honest("dead", 500_000);
        assert_eq!(insert_if_new(&place.store(), &other), Insertion::Inserted);
        assert_eq!(text(&place.store(), "dead"), other.sketch.text().cloned());
        assert_eq!(texts_left(&place), ["dead", "new"]);
    }
}

/// Several writers at once, with texts that are near to each other and texts whose signatures only
/// say so.
fn many_writers_at_once(on: On) {
    const N_WRITERS: u64 = 4;
    const N_GROUPS: u64 = 12;
    let place = place(on);
    let write = &|writer: u64| {
        let store = place.store();
        let documents: Vec<_> = (0..N_GROUPS)
            .flat_map(|group| {
                let from = 10_000 * (group + 1) + writer;
                [
                    honest(&format!("h{group}-{writer}"), from),
                    forged(&format!("f{group}-{writer}"), 1_000 + group * N_WRITERS + writer),
                ]
            })
            .collect();
        documents.chunks(5).for_each(|batch| drop(store.insert_if_new(batch, &rule()).unwrap()));
    };
    thread::scope(|scope| (0..N_WRITERS).for_each(|writer| drop(scope.spawn(move || write(writer)))));
    let kept: Vec<_> =
        contents(&place.store()).iter().map(|document| document.id.as_str().to_owned()).collect();
    for group in 0..N_GROUPS {
        let n_of = |kind: &str| {
            kept.iter().filter(|name| name.starts_with(&format!("{kind}{group}-"))).count() as u64
        };
        assert_eq!((n_of("h"), n_of("f")), (1, N_WRITERS), "{group}: {kept:?}");
    }
    assert_eq!(texts_left(&place), kept);
    assert_eq!(examine(&place.store(), false).1, []);
}

/// A document is replaced or removed after a search has read its record, and before it reads the
/// text.
fn a_document_that_moves_before_its_text_is_read(on: On) {
    let new = honest("a", 20);
    let far = honest("a", 70_000);
    for nth in 0..60 {
        for change in 0..3 {
            let place = place(on);
            place.store().insert(&[honest("a", 5), honest("b", 8)]).unwrap();
            let between = {
                let (new, far) = (new.clone(), far.clone());
                move |place: &Place| match change {
                    0 => drop(place.store().insert(std::slice::from_ref(&new)).unwrap()),
                    1 => drop(place.store().insert(std::slice::from_ref(&far)).unwrap()),
                    _ => drop(place.store().remove(&[id("a")]).unwrap()),
                }
            };
            let store = store_with(&place, nth, between);
            let query = honest("q", 0).sketch;
            let found = store.near(std::slice::from_ref(&query), &rule(), 10).unwrap().remove(0);
            let told: Vec<_> = found.matches.iter().map(|found| (&found.id, found.nearness.exact)).collect();
            assert_eq!(found.n_matches, told.len() as u64);
            assert!(told.iter().all(|(_, exact)| *exact), "{nth} {change}: {told:?}");
            assert!(told.iter().any(|(of, _)| **of == id("b")), "{nth} {change}: {told:?}");
            if change == 0 {
                // Near before and after.
                assert_eq!(told.len(), 2, "{nth}: {told:?}");
            }
        }
    }
}

fn texts_that_are_of_no_document_go_and_those_that_are_missing_are_told(on: On) {
    let place = place(on);
    let store = place.store();
    store.insert(&[honest("whole", 0), honest("lacks", 10_000), honest("damaged", 20_000)]).unwrap();
    assert_eq!(insert_if_new(&store, &honest("claimed", 30_000)), Insertion::Inserted);
    let put = |name: &str, text: &Text, timestamp: i64| {
        let column = text_column(timestamp, digest(text).unwrap());
        let value = super::super::layout::encode_text(text).unwrap();
        place.hbase.put_raw("t_docs", &document_row(&id(name)), &column, &value, timestamp);
    };
    // Writers died: before they wrote a record, beside a document, and where there is nothing else.
    put("whole", &words(0..9), BEGIN + 5);
    put("nobody", &words(0..9), BEGIN + 5);
    let column = |name: &str, document: &Document| {
        let rows = place.document_rows();
        let (_, cells) = rows.iter().find(|(key, _)| key[5..] == *name.as_bytes()).unwrap();
        let (.., timestamp) = cells[0];
        (text_column(timestamp, digest(document.sketch.text().unwrap()).unwrap()), timestamp)
    };
    let (of_damaged, timestamp) = column("damaged", &honest("damaged", 20_000));
    place.hbase.put_raw("t_docs", &document_row(&id("damaged")), &of_damaged, &[1, 2, 3], timestamp);
    // To delete a cell past all others, the row is erased and its record or claim put once more.
    for name in ["lacks", "claimed"] {
        let key = document_row(&id(name));
        let (_, cells) = place.document_rows().into_iter().find(|(row, _)| *row == key).unwrap();
        assert!(place.hbase.erase("t_docs", &key));
        let (column, value, timestamp) = cells[0].clone();
        place.hbase.put_raw("t_docs", &key, &column, &value, timestamp);
    }

    let told = |findings: Vec<Finding>| {
        let mut told: Vec<_> =
            findings.into_iter().map(|finding| (finding.kind, finding.place, finding.is_mended)).collect();
        told.sort();
        told
    };
    let lost = |told: &[(FindingKind, String, bool)]| {
        let lost = told.iter().filter(|(kind, ..)| *kind == FindingKind::TextLost);
        lost.map(|(_, place, is_mended)| (place.clone(), *is_mended)).collect::<Vec<_>>()
    };
    let both = |is_mended| ["claimed", "lacks"].map(|name| (name.to_owned(), is_mended));
    let young = told(examine(&store, false).1);
    assert_eq!(young.len(), 3, "{young:?}");
    assert_eq!(lost(&young), both(false));
    // Estimates decide, and the same text again changes nothing.
    assert_eq!(text(&store, "lacks"), None);
    assert_eq!(store.insert(&[honest("lacks", 10_000)]).unwrap(), [Insertion::Unchanged]);
    place.advance(SWEPT_AFTER_MS + 10);
    let seen = told(examine(&store, false).1);
    let ghosts: Vec<_> = seen.iter().filter(|(kind, ..)| *kind == FindingKind::Ghost).collect();
    assert_eq!(ghosts.len(), 2, "{seen:?}");
    assert!(
        ghosts[0].1.starts_with("text of nobody from 20") && ghosts[1].1.starts_with("text of whole from 20")
    );
    assert_eq!(texts_left(&place), ["damaged", "nobody", "whole", "whole"]);
    let mended = told(examine(&store, true).1);
    assert_eq!(mended.len(), 5, "{mended:?}");
    assert_eq!(lost(&mended), both(true));
    assert_eq!(texts_left(&place), ["damaged", "whole"]);
    assert_eq!(text(&store, "whole"), Some(words(0..300)));
    let left = told(examine(&store, true).1);
    assert_eq!(left.iter().map(|(kind, ..)| *kind).collect::<Vec<_>>(), [FindingKind::Damaged]);
    // Without its text a document is estimated; a damaged text is an error.
    assert_eq!(text(&store, "lacks"), None);
    assert!(
        matches!(insert_if_new(&store, &honest("new", 10_003)), Insertion::Duplicate(of) if !of.nearness.exact)
    );
    check_fails(store.texts(&[id("damaged")]), ErrorKind::Corrupt, &["damaged", "is not the text"]);
    // Once mended, the same text again is kept.
    assert_eq!(store.insert(&[honest("lacks", 10_000)]).unwrap(), [Insertion::Replaced]);
    assert_eq!(insert_if_new(&store, &honest("claimed", 30_000)), Insertion::Replaced);
    for (name, start) in [("lacks", 10_000), ("claimed", 30_000)] {
        assert_eq!(text(&store, name), Some(words(start..start + 300)));
    }
}

fn tables_without_a_family_for_texts(on: On) {
    let open = |place: &Place, texts: Option<TextKeeping>| {
        let options = OpenOptions { texts, texts_default: TextKeeping::Zstd, ..OpenOptions::default() };
        Index::over(Box::new(place.store()), &options)
    };
    let bare = Place::bare(on);
    let error = open(&bare, Some(TextKeeping::Zstd)).err().expect("there is no family");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let says = "--texts none, or run in the HBase shell: alter 't_docs', {NAME => 't', DATA_BLOCK_ENCODING";
    assert!(error.to_string().contains(says), "{error}");
    assert_eq!(bare.hbase.n_calls(Call::Swap), 0);
    // Without a wish, the families of the tables decide.
    assert_eq!(open(&bare, None).unwrap().metadata().texts, TextKeeping::None);
    let place = Place::bare(on);
    place.hbase.create_table("t_docs", &["d", "m", "t"]);
    assert_eq!(open(&place, None).unwrap().metadata().texts, TextKeeping::Zstd);
    // Texts stay for as long as their documents.
    let place = Place::bare(on);
    place.hbase.create_table("t_docs", &["d", "m", "t"]);
    place.hbase.set_time_to_live("t_docs", "t", 60);
    let error = open(&place, None).err().expect("texts would go before their documents");
    assert!(error.to_string().ends_with("alter 't_docs', {NAME => 't', TTL => 'FOREVER'}"), "{error}");
    assert_eq!(open(&place, Some(TextKeeping::None)).unwrap().metadata().texts, TextKeeping::None);
}

/// Texts with documents of an index that keeps none.
fn an_index_without_texts_has_none(on: On) {
    let place = Place::of(on, &metadata_of(&OpenOptions::default()));
    let store = place.store();
    assert_eq!(store.insert(&[honest("a", 0)]).unwrap(), [Insertion::Inserted]);
    assert_eq!(insert_if_new(&store, &honest("b", 50_000)), Insertion::Inserted);
    assert!(matches!(insert_if_new(&store, &forged("c", 1)), Insertion::Duplicate(of) if !of.nearness.exact));
    assert_eq!(store.insert(&[honest("a", 9)]).unwrap(), [Insertion::Replaced]);
    assert_eq!(store.remove(&[id("a")]).unwrap(), [true]);
    assert_eq!(store.texts(&[id("b")]).unwrap(), [None]);
    assert_eq!(examine(&store, true).1, []);
}

#[test]
fn texts_are_read_for_pairs_that_are_worth_a_count_and_for_no_others() {
    let place = gateway::bare();
    place.hbase.create_table("t_docs", &["d", "m", "t"]);
    place.store().create(&metadata()).unwrap();
    let store = place.store();
    store.insert(&[honest("near", 5), forged("forged", 1), honest("far", 150)]).unwrap();
    let n_gets = || place.hbase.n_calls("getRowsWithColumns");
    let near = |query: &Sketch, rule: &Rule| {
        let before = n_gets();
        let found = store.near(std::slice::from_ref(query), rule, 10).unwrap().remove(0);
        let names: Vec<_> = found.matches.iter().map(|found| found.id.as_str().to_owned()).collect();
        (names, n_gets() - before)
    };
    let query = honest("q", 0).sketch;
    assert_eq!(near(&query, &rule()), (vec!["near".to_owned()], 2));
    // No pair is worth a count without a text of the query, or without a counter.
    let untold = query.clone().with_text(None);
    assert_eq!(near(&untold, &rule()), (vec!["forged".to_owned(), "near".to_owned()], 1));
    assert_eq!(near(&query, &metadata().rule()).1, 1);
    assert_eq!(near(&honest("q", 100_000).sketch, &rule()), (Vec::new(), 1));
}

hazards! {
    rivals_are_counted_whatever_is_in_between,
    the_claims_of_the_dead_are_counted,
    many_writers_at_once,
    a_document_that_moves_before_its_text_is_read,
    texts_that_are_of_no_document_go_and_those_that_are_missing_are_told,
    tables_without_a_family_for_texts,
    an_index_without_texts_has_none,
}
