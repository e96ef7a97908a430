//! Texts: in a database of their own, and always consistent with their documents.

use std::ops::Range;

use index::testsuite::{FakeClock, id, signed, word_counter, words};
use index::{Profile, Retention, Text, TextKeeping};
use minhash::Similarity;

use super::damage::meddle;
use super::examine::examine;
use super::processes::{Other, tell};
use super::*;

fn metadata() -> Metadata {
    let kind = SketchKind::default().of_profile(Profile::Full).unwrap();
    let (min_similarity, texts) = (Similarity::new(0.8), TextKeeping::Zstd);
    Metadata { kind, min_similarity, texts, ..super::metadata() }
}

fn rule() -> Rule {
    Rule { counter: Some(word_counter()), ..metadata().rule() }
}

pub(super) fn open(path: &Path) -> EmbeddedStore {
    let store = EmbeddedStore::open_with(path, Mode::CreateIfMissing, SMALL, Clock::system()).unwrap();
    store.create(&metadata()).unwrap();
    store
}

fn told(name: &str, signature: Range<u64>, text: Range<u64>) -> Document {
    let sketch = signed(7, signature).with_text(Some(words(text)));
    Document { id: id(name), sketch, source: None }
}

pub(super) fn honest(name: &str, numbers: Range<u64>) -> Document {
    told(name, numbers.clone(), numbers)
}

/// Inserts fifty texts, each beginning ten words after the one before, and five texts with the
/// signature of the first. Every fourth call removes the
/// documents of the one before instead.
pub(super) fn call(store: &dyn Store, n: u64) -> Vec<Insertion> {
    let from = 1_000_000 * (n / 4);
    let removes = n % 4 == 3;
    let name = if removes { n - 1 } else { n };
    let mut documents: Vec<Document> =
        (0..50).map(|k| honest(&format!("{name} {k}"), from + 10 * k..from + 10 * k + 200)).collect();
    documents
        .extend((0..5).map(|k| told(&format!("{name} forged {k}"), from..from + 200, 9 * k..9 * k + 90)));
    if removes {
        let ids: Vec<_> = documents.into_iter().step_by(2).map(|document| document.id).collect();
        store.remove(&ids).unwrap();
        return Vec::new();
    }
    store.insert_if_new(&documents, &rule()).unwrap()
}

/// The numbers of records, and those of texts.
fn numbers(store: &EmbeddedStore) -> [Vec<u64>; 2] {
    snapshot(store, |opened, txn| {
        let log = opened.log.iter(txn)?.map(|entry| entry.map(|(number, _)| number));
        let texts = opened.texts.unwrap().iter(txn)?.map(|entry| entry.map(|(number, _)| number));
        Ok([log.collect::<heed::Result<_>>()?, texts.collect::<heed::Result<_>>()?])
    })
}

/// All documents and their texts, in the order of ids.
fn contents(store: &dyn Store) -> Vec<(DocumentId, Sketch, Option<Text>)> {
    let mut contents = Vec::new();
    let mut next = Some(Cursor::start());
    while let Some(after) = next {
        let page = store.scan(after, 1_000).unwrap();
        let ids: Vec<_> = page.documents.iter().map(|stored| stored.document.id.clone()).collect();
        let texts = store.texts(&ids).unwrap();
        let documents = page.documents.into_iter().map(|stored| stored.document);
        contents.extend(documents.zip(texts).map(|(document, text)| (document.id, document.sketch, text)));
        next = page.next;
    }
    contents.sort_by(|a, b| a.0.cmp(&b.0));
    contents
}

fn corrupt<T: std::fmt::Debug>(answer: Result<T>) {
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Corrupt);
}

/// Makes the call of each line and prints its answer, in a process of its own.
pub(in crate::tests) fn calls(path: &Path, lines: impl Iterator<Item = String>) {
    let store = open(path);
    for line in lines {
        tell(&format!("{:?}", call(&store, line.parse().unwrap())));
    }
}

/// Makes one call after another until the process is killed.
pub(in crate::tests) fn calls_on(path: &Path, mut lines: impl Iterator<Item = String>) {
    let store = open(path);
    for n in lines.next().unwrap().parse::<u64>().unwrap().. {
        call(&store, n);
        tell(&n.to_string());
    }
}

/// Two processes in turns decide as one store in memory does.
#[test]
fn processes_decide_alike() {
    let directory = directory();
    let store = open(directory.path());
    let mut other = Other::start("teller", directory.path());
    let expected = MemoryStore::new();
    expected.create(&metadata()).unwrap();
    for n in 0..12 {
        let expected = format!("{:?}", call(&expected, n));
        if n % 2 == 0 {
            assert_eq!(format!("{:?}", call(&store, n)), expected);
        } else {
            other.say(&n.to_string());
            assert_eq!(other.hear(), Some(expected));
        }
    }
    other.finish();
    assert_eq!(contents(&store), contents(&expected));
    let [log, texts] = numbers(&store);
    assert!(log.len() > 40, "{}", log.len());
    assert_eq!(log, texts);
    assert_eq!(examine(&store, false), []);
}

/// After each kill of a writer, each record has its text and each text its record.
#[test]
fn kill_9_leaves_texts_and_records_alike() {
    let directory = directory();
    let store = open(directory.path());
    let undisturbed = MemoryStore::new();
    undisturbed.create(&metadata()).unwrap();
    let mut n_done = 0;
    let mut n_undisturbed = 0;
    for round in 0..8 {
        let mut writer = Other::start("teller on", directory.path());
        writer.say(&n_done.to_string());
        for _ in 0..=round % 3 {
            n_done = writer.hear().unwrap().parse::<u64>().unwrap() + 1;
        }
        for _ in 0..spread(round) % 200_000 {
            std::hint::spin_loop();
        }
        if let Some(last) = writer.kill().last() {
            n_done = last.parse::<u64>().unwrap() + 1;
        }
        let [log, texts] = numbers(&store);
        assert_eq!(log, texts, "round {round}");
        assert_eq!(examine(&store, false), []);
        // The interrupted call, written or not.
        call(&store, n_done);
        n_done += 1;
        for n in n_undisturbed..n_done {
            call(&undisturbed, n);
        }
        n_undisturbed = n_done;
        assert_eq!(contents(&store), contents(&undisturbed), "round {round}");
    }
}

/// A failed batch leaves no text behind, neither on disk nor in caches: its numbers go to others.
#[test]
fn a_failed_batch_leaves_no_text() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&[honest("a", 0..300)]).unwrap();
    let failed = store.shared.write(&store.clock, 1, true, |batch| {
        rule::insert(batch, &honest("b", 5_000..5_300), Some(&rule()))?;
        let found = rule::insert(batch, &honest("c", 5_001..5_301), Some(&rule()))?;
        assert!(matches!(found, Insertion::Duplicate(of) if of.id == id("b") && of.nearness.exact));
        Err::<(), _>(Error::invalid("it was to fail").into())
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(numbers(&store), [[1], [1]]);
    // By signatures the two are near, by texts they are not.
    store.insert(&[told("d", 5_000..5_300, 0..9)]).unwrap();
    let written = store.insert_if_new(&[honest("e", 5_001..5_301)], &rule()).unwrap();
    assert_eq!(written, [Insertion::Inserted]);
}

#[test]
fn texts_expire_with_their_documents() {
    let directory = directory();
    let clock = FakeClock::at(1_000_000);
    let store =
        EmbeddedStore::open_with(directory.path(), Mode::CreateIfMissing, SMALL, clock.clock()).unwrap();
    store.create(&Metadata { retain: Retention::from_seconds(10), ..metadata() }).unwrap();
    for n in 0..20 {
        store.insert(&[honest(&n.to_string(), 1_000 * n..1_000 * n + 100)]).unwrap();
    }
    assert_eq!(store.texts(&[id("3")]).unwrap(), [Some(words(3_000..3_100))]);
    clock.advance_ms(10_000);
    assert_eq!(store.texts(&[id("3")]).unwrap(), [None], "it is there, and has expired");
    while numbers(&store)[0].len() > 1 {
        store.insert(&[honest("late", 0..100)]).unwrap();
    }
    let [log, texts] = numbers(&store);
    assert_eq!(log, texts);
}

/// Every byte of a text, changed: no call takes it for the text, and none decides without it.
#[test]
fn a_changed_byte_of_a_text_is_never_an_answer() {
    let directory = directory();
    let store = open(directory.path());
    let (a, near) = (honest("a", 0..300), honest("b", 5..305));
    store.insert(std::slice::from_ref(&a)).unwrap();
    let text = |opened: &Opened, txn: &RoTxn<'_>| Ok(opened.texts.unwrap().get(txn, &1)?.unwrap().to_vec());
    let len = snapshot(&store, text).len();
    for position in (0..len).step_by(7).chain(len - 4..len) {
        let flip = |opened: &Opened, txn: &mut heed::RwTxn<'_>| {
            let mut bytes = text(opened, txn)?;
            bytes[position] ^= 0x10;
            opened.texts.unwrap().put(txn, &1, &bytes)
        };
        meddle(&store, flip);
        store.shared.texts.clear();
        corrupt(store.texts(&[id("a")]));
        corrupt(store.near(std::slice::from_ref(&near.sketch), &rule(), 1));
        corrupt(store.insert_if_new(std::slice::from_ref(&near), &rule()));
        let findings = examine(&store, true);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!((findings[0].kind, &*findings[0].place), (index::FindingKind::Damaged, "text 1 of a"));
        assert!(!findings[0].is_mended);
        meddle(&store, flip);
    }
    meddle(&store, |opened, txn| opened.texts.unwrap().put(txn, &1, b"nonsense"));
    store.shared.texts.clear();
    // An insertion of the same document stores its text again.
    assert_eq!(store.insert(std::slice::from_ref(&a)).unwrap(), [Insertion::Replaced]);
    assert_eq!(store.texts(&[id("a")]).unwrap(), [Some(words(0..300))]);
    assert_eq!(examine(&store, false), []);
}

/// A missing text is reported; only after mending do estimates decide.
#[test]
fn texts_that_are_gone_or_of_no_document() {
    use index::FindingKind::{Ghost, TextLost};
    let directory = directory();
    let store = open(directory.path());
    let untold = Document { sketch: signed(7, 90_000..90_300), ..honest("untold", 0..1) };
    store.insert(&[honest("a", 0..300), honest("b", 5_000..5_300), untold]).unwrap();
    assert_eq!(examine(&store, false), [], "a document may come without a text");
    store.remove(&[id("b")]).unwrap();
    meddle(&store, |opened, txn| {
        let texts = opened.texts.unwrap();
        let text = texts.get(txn, &1)?.unwrap().to_vec();
        texts.delete(txn, &1)?;
        texts.put(txn, &2, &text)?;
        texts.put(txn, &3, &text)
    });
    let query = honest("c", 3..303);
    corrupt(store.near(std::slice::from_ref(&query.sketch), &rule(), 1));
    corrupt(store.insert_if_new(std::slice::from_ref(&query), &rule()));
    let told = |mends| {
        let findings = examine(&store, mends);
        assert!(findings.iter().all(|finding| finding.is_mended == mends));
        findings.into_iter().map(|finding| (finding.kind, finding.place)).collect::<Vec<_>>()
    };
    let expected = [(Ghost, "text 2"), (Ghost, "text 3"), (TextLost, "a")];
    let expected = expected.map(|(kind, place)| (kind, place.to_owned()));
    assert_eq!(told(false), expected);
    assert_eq!(told(true), expected);
    assert_eq!(told(false), []);
    assert_eq!(store.texts(&[id("a")]).unwrap(), [None]);
    let found = store.near(std::slice::from_ref(&query.sketch), &rule(), 1).unwrap().remove(0);
    assert_eq!((found.matches[0].id.as_str(), found.matches[0].nearness.exact), ("a", false));
}

/// An environment from before texts existed: an index in it goes on, and a new one in it keeps
/// texts.
#[test]
fn environments_of_before() {
    let before = |is_index: bool| {
        let directory = directory();
        let env = environment::open_env(directory.path(), None).unwrap();
        let txn = env.write_txn().unwrap();
        let made = env.create_databases_and_commit(txn, |opener, txn| {
            for name in ["pigeonhole.meta", "pigeonhole.log", "pigeonhole.ids", "pigeonhole.removals"] {
                let made = opener.create_database::<heed::types::Str, heed::types::Bytes>(txn, Some(name))?;
                if is_index && name == "pigeonhole.meta" {
                    made.put(txn, METADATA_KEY, &super::metadata().encode().unwrap())?;
                }
            }
            Ok::<_, heed::Error>(heed::CommitOrAbort::<_, ()>::Commit(()))
        });
        made.unwrap();
        drop(env);
        directory
    };
    let directory = before(true);
    let store = super::open(directory.path());
    store.insert(&documents(1..5)).unwrap();
    assert_found(&store, &documents(1..5));
    assert!(snapshot(&store, |opened, _| Ok(opened.texts.is_none())));
    assert_eq!(store.texts(&[document(1).id]).unwrap(), [None]);
    assert_eq!(examine(&store, true), []);
    let directory = before(false);
    let store = open(directory.path());
    store.insert(&[honest("a", 0..300)]).unwrap();
    assert_eq!(store.texts(&[id("a")]).unwrap(), [Some(words(0..300))]);
}

/// An index without texts stores none that come with documents.
#[test]
fn an_index_without_texts_keeps_none() {
    let directory = directory();
    let store = super::open(directory.path());
    let sketch = document(1).sketch.with_text(Some(words(0..300)));
    let document = Document { sketch, ..document(1) };
    let insert = || store.insert(std::slice::from_ref(&document)).unwrap();
    assert_eq!([insert(), insert()].concat(), [Insertion::Inserted, Insertion::Unchanged]);
    assert_eq!(numbers(&store), [vec![1], vec![]]);
    assert_eq!(store.texts(&[document.id]).unwrap(), [None]);
}
