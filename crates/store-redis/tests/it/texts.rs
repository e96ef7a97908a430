//! An index with texts: the verdicts are those of the store in memory, also under several writers
//! at once, and no text is left behind.

use std::thread;

use index::testsuite::{FakeClock, id, signed, spread, word_counter, words};
use index::{
    Clock, Document, DocumentId, ErrorKind, Finding, FindingKind, Insertion, MemoryStore, Metadata, Profile,
    Retention, Rule, Sketch, Store, Text, TextKeeping,
};

use crate::server::{Server, server};
use crate::signed as of_signed;
use crate::signed::{RETAIN_MS, examine, keys};

fn metadata(retains: bool) -> Metadata {
    Metadata { texts: TextKeeping::Zstd, ..of_signed::metadata(Profile::Full, retains) }
}

fn rule() -> Rule {
    Rule { counter: Some(word_counter()), ..metadata(false).rule() }
}

fn create(server: &Server, name: &str) -> Box<dyn Store> {
    let store = server.open(name, Clock::system());
    store.create(&metadata(false)).expect("a fresh index can be created");
    Box::new(store)
}

fn told(name: &str, sketch: Sketch, text: Text) -> Document {
    Document { id: id(name), sketch: sketch.with_text(Some(text)), source: None }
}

/// A document near those that begin a few words before or after it.
fn honest(name: &str, from: u64) -> Document {
    told(name, signed(0, from..from + 300), words(from..from + 300))
}

/// A document near all others of its kind by the signature, with a text that has nothing in common
/// with theirs.
fn forged(name: &str, n: u64) -> Document {
    told(name, signed(0, 0..300), words(10_000 * n..10_000 * n + 300))
}

fn untold(document: &Document) -> Document {
    Document { sketch: document.sketch.clone().with_text(None), ..document.clone() }
}

fn text(store: &dyn Store, name: &str) -> Option<Text> {
    store.texts(&[id(name)]).expect("a read").remove(0)
}

/// The ids with stored texts.
fn texts_left(server: &Server, name: &str) -> Vec<String> {
    let prefix = format!("pigeonhole:{{{name}}}:x:");
    let keys = keys(&mut server.connection(), name, "x:").into_iter();
    let mut ids: Vec<_> =
        keys.map(|key| String::from_utf8(key).expect("names of the suite").split_off(prefix.len())).collect();
    ids.sort();
    ids
}

/// The ids of all documents.
fn contents(store: &dyn Store) -> Vec<DocumentId> {
    let page = store.scan(index::Cursor::start(), index::MAX_BATCH).expect("a scan");
    assert_eq!(page.next, None);
    let mut ids: Vec<_> = page.documents.into_iter().map(|stored| stored.document.id).collect();
    ids.sort();
    ids
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 += 1;
        spread(self.0) % n
    }

    /// A document of few families: long or short, with a text that fits the signature, another
    /// text, or none.
    fn document(&mut self, n_names: u64) -> Document {
        let n = [12_u64, 40, 60, 200][self.below(4) as usize];
        let from = self.below(5) * n.div_ceil(12) + 1_000 * self.below(3);
        let simhash = (self.below(4) > 0).then(|| spread(self.below(3)) ^ 1 << self.below(3));
        let sketch = signed(simhash, from..from + n);
        let text = match self.below(8) {
            0 => None,
            1 => Some(words(9_000 + from..9_000 + from + n)),
            _ => Some(words(from..from + n)),
        };
        let name = self.below(n_names);
        Document { id: id(&format!("{name}")), sketch: sketch.with_text(text), source: None }
    }
}

/// Batches with recurring ids and families, by every rule, with and without a retention.
#[test]
fn redis_counts_as_the_memory_does() {
    let Some(server) = server() else { return };
    for (retains, n_names) in [(false, 60), (true, 60), (false, 100_000)] {
        let name = format!("counted-{retains}-{n_names}");
        let (clock, metadata) = (FakeClock::at_present(), metadata(retains));
        let store = server.open(&name, clock.clock());
        let memory = MemoryStore::with_clock(clock.clock());
        let both: [&dyn Store; 2] = [&store, &memory];
        for store in both {
            assert_eq!(store.create(&metadata).unwrap(), metadata);
        }
        let mut draw = Draw(u64::from(retains) << 40 | n_names << 20);
        let (mut n_found, mut n_exact, mut n_duplicates, mut n_unchanged) = (0, 0, 0, 0);
        let mut batch = Vec::new();
        for round in 0..6 {
            let rules = [
                rule(),
                Rule { counter: None, ..rule() },
                Rule { same_numbers: true, ..rule().of_insertion() },
                Rule { min_similarity: None, ..rule() },
            ];
            for rule in rules {
                // Some documents come again.
                batch.truncate(15);
                batch.extend((0..30).map(|_| draw.document(n_names)));
                let [a, b] = both.map(|store| store.insert_if_new(&batch, &rule).unwrap());
                let differ = |(a, b): &(&Insertion, &Insertion)| a != b;
                assert_eq!(a.iter().zip(&b).find(differ), None, "{name} {round} {rule:?}");
                n_duplicates += a.iter().filter(|of| matches!(of, Insertion::Duplicate(_))).count();
                n_unchanged += a.iter().filter(|of| matches!(of, Insertion::Unchanged)).count();
                let queries: Vec<_> = (0..20).map(|_| draw.document(1).sketch).collect();
                for limit in [0, 3, 1_000] {
                    let [a, b] = both.map(|store| {
                        let found = store.near(&queries, &rule, limit).unwrap().into_iter();
                        found.map(|found| (found.matches, found.n_matches)).collect::<Vec<_>>()
                    });
                    assert_eq!(a, b, "{name} {round} {rule:?} {limit}");
                    let matches = || a.iter().flat_map(|(matches, _)| matches);
                    n_found += matches().count();
                    n_exact += matches().filter(|found| found.nearness.exact).count();
                }
            }
            let batch: Vec<_> = (0..10).map(|_| draw.document(n_names)).collect();
            let [a, b] = both.map(|store| store.insert(&batch).unwrap());
            assert_eq!(a, b, "{name} {round}");
            let ids: Vec<_> = (0..10).map(|_| id(&format!("{}", draw.below(n_names)))).collect();
            let [a, b] = both.map(|store| store.remove(&ids).unwrap());
            assert_eq!(a, b);
            let [a, b] = both.map(contents);
            assert_eq!(a, b);
            let [a, b] = both.map(|store| store.texts(&contents(store)).unwrap());
            assert_eq!(a, b);
            assert_eq!(examine(&store, false), [], "{name} {round}");
            clock.advance_ms(RETAIN_MS / 5);
        }
        assert!(n_found > 500 && n_exact > 200 && n_exact < n_found, "{name}: {n_found} {n_exact}");
        assert!(n_duplicates > 250 && n_unchanged > 10, "{name}: {n_duplicates} {n_unchanged}");
        store.remove(&contents(&store)).unwrap();
        let n_left = texts_left(&server, &name).len();
        assert!(n_left == 0 || retains, "{n_left}");
    }
}

/// Several writers at once, with texts near to each other and texts near by their signatures alone:
/// one of each group of the former stays, and all of the latter.
#[test]
fn redis_takes_one_of_those_that_count_as_near() {
    const N_WRITERS: u64 = 4;
    const N_GROUPS: u64 = 40;
    let Some(server) = server() else { return };
    let store = create(&server, "counted-race");
    let write = |writer: u64, n_each: usize| {
        let store = server.open("counted-race", Clock::system());
        let documents: Vec<_> = (0..N_GROUPS)
            .flat_map(|group| {
                let from = 10_000 * (group + 1) + writer;
                let n = 1_000 + group * N_WRITERS + writer;
                [honest(&format!("h{group}-{writer}"), from), forged(&format!("f{group}-{writer}"), n)]
            })
            .collect();
        for batch in documents.chunks(n_each) {
            store.insert_if_new(batch, &rule()).unwrap();
        }
    };
    thread::scope(|scope| {
        for (writer, n_each) in (0..N_WRITERS).zip([1, 3, 7, 80]) {
            let write = &write;
            scope.spawn(move || write(writer, n_each));
        }
    });
    let kept: Vec<_> = contents(&*store).iter().map(|id| id.as_str().to_owned()).collect();
    for group in 0..N_GROUPS {
        let n_of = |kind: &str| {
            kept.iter().filter(|name| name.starts_with(&format!("{kind}{group}-"))).count() as u64
        };
        assert_eq!((n_of("h"), n_of("f")), (1, N_WRITERS), "{group}: {kept:?}");
    }
    assert_eq!(texts_left(&server, "counted-race"), kept);
    assert_eq!(examine(&*store, false), []);
}

/// Replacements and removals beside searches and insertions: a document that is always near is
/// always found, once, and counted.
#[test]
fn redis_counts_what_moves() {
    let Some(server) = server() else { return };
    let store = create(&server, "moving");
    store.insert(&[honest("stays", 0), honest("moves", 3)]).unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let store = server.open("moving", Clock::system());
            for round in 0..200 {
                store.insert(&[honest("moves", 1 + round % 9)]).unwrap();
                store.insert(&[honest("blinks", 5)]).unwrap();
                store.remove(&[id("blinks")]).unwrap();
            }
        });
        while !writer.is_finished() {
            let found = store.near(&[honest("q", 0).sketch], &rule(), 10).unwrap().remove(0);
            let n_of = |name: &str| found.matches.iter().filter(|found| found.id == id(name)).count();
            assert_eq!((n_of("stays"), n_of("moves")), (1, 1), "{found:?}");
            assert!(n_of("blinks") < 2 && found.matches.iter().all(|found| found.nearness.exact));
            let answer = store.insert_if_new(&[honest("new", 0)], &rule()).unwrap();
            assert!(matches!(&answer[..], [Insertion::Duplicate(of)] if of.id == id("stays")), "{answer:?}");
        }
        writer.join().unwrap();
    });
}

#[test]
fn redis_lets_texts_go_with_their_documents() {
    let Some(server) = server() else { return };
    let clock = FakeClock::at_present();
    let store = server.open("expiring", clock.clock());
    store.create(&Metadata { retain: Retention::from_seconds(10), ..metadata(true) }).unwrap();
    for n in 0..20 {
        store.insert(&[honest(&n.to_string(), 1_000 * n)]).unwrap();
    }
    assert_eq!(text(&store, "3"), Some(words(3_000..3_300)));
    assert_eq!(texts_left(&server, "expiring").len(), 20);
    clock.advance_ms(10_000);
    assert_eq!(text(&store, "3"), None, "it is there, and has expired");
    assert_eq!(store.insert_if_new(&[honest("late", 0)], &rule()).unwrap(), [Insertion::Inserted]);
    assert_eq!(texts_left(&server, "expiring"), ["late"]);
    // A call that writes no document sweeps too.
    clock.advance_ms(6_000);
    store.insert(&[honest("later", 10_000)]).unwrap();
    clock.advance_ms(6_000);
    let duplicate = store.insert_if_new(&[honest("last", 10_001)], &rule()).unwrap();
    assert!(matches!(&duplicate[..], [Insertion::Duplicate(of)] if of.id == id("later")));
    assert_eq!(texts_left(&server, "expiring"), ["later"]);
}

/// A missing text is reported; only after mending do estimates decide.
#[test]
fn redis_tells_texts_that_are_gone_or_of_no_document() {
    use FindingKind::{Damaged, Ghost, TextLost};
    let Some(server) = server() else { return };
    let store = create(&server, "lost");
    let bare = untold(&honest("bare", 90_000));
    store.insert(&[honest("a", 0), honest("b", 5_000), honest("c", 20_000), bare]).unwrap();
    assert_eq!(examine(&*store, false), [], "a document may come without a text");
    store.remove(&[id("b")]).unwrap();
    let key = |name: &str| format!("pigeonhole:{{lost}}:x:{name}");
    let mut connection = server.connection();
    let of_a: Vec<u8> = redis::cmd("GET").arg(key("a")).query(&mut connection).unwrap();
    redis::cmd("DEL").arg(key("a")).exec(&mut connection).unwrap();
    for name in ["b", "bare", "c"] {
        redis::cmd("SET").arg(key(name)).arg(&of_a).exec(&mut connection).unwrap();
    }
    let corrupt = |kind: Option<ErrorKind>| assert_eq!(kind, Some(ErrorKind::Corrupt));
    for (name, from) in [("a", 3), ("c", 20_003)] {
        let query = honest("new", from);
        corrupt(store.near(std::slice::from_ref(&query.sketch), &rule(), 1).err().map(|error| error.kind()));
        corrupt(store.insert_if_new(&[query], &rule()).err().map(|error| error.kind()));
        corrupt(store.texts(&[id(name)]).err().map(|error| error.kind()));
    }
    let told = |mends| {
        let findings = examine(&*store, mends).into_iter();
        let mut told: Vec<_> =
            findings.map(|Finding { kind, place, is_mended }| (kind, place, is_mended)).collect();
        told.sort();
        told
    };
    let expected = |mends| {
        [(Ghost, "text of b"), (Ghost, "text of bare"), (TextLost, "a"), (Damaged, "text of c")]
            .map(|(kind, place)| (kind, place.to_owned(), mends && kind != Damaged))
    };
    assert_eq!(told(false), expected(false));
    assert_eq!(told(true), expected(true));
    assert_eq!(told(true), [(Damaged, "text of c".to_owned(), false)]);
    assert_eq!(text(&*store, "a"), None);
    let found = store.near(&[honest("new", 3).sketch], &rule(), 1).unwrap().remove(0);
    assert_eq!((found.matches[0].id.as_str(), found.matches[0].nearness.exact), ("a", false));
    // An insertion of the same document stores its text again.
    assert_eq!(store.insert(&[honest("c", 20_000)]).unwrap(), [Insertion::Unchanged]);
    assert_eq!(store.insert(&[honest("a", 0)]).unwrap(), [Insertion::Replaced]);
    assert_eq!(told(false), []);
    assert_eq!((text(&*store, "a"), text(&*store, "c")), (Some(words(0..300)), Some(words(20_000..20_300))));
}

/// Every byte of a text, changed: no call takes it for the text, and none decides without it.
#[test]
fn redis_takes_no_changed_byte_of_a_text_for_an_answer() {
    let Some(server) = server() else { return };
    let store = create(&server, "changed");
    let (a, near) = (honest("a", 0), honest("b", 5));
    store.insert(std::slice::from_ref(&a)).unwrap();
    let mut connection = server.connection();
    let key = "pigeonhole:{changed}:x:a";
    let whole: Vec<u8> = redis::cmd("GET").arg(key).query(&mut connection).unwrap();
    for position in (0..whole.len()).step_by(7).chain(whole.len() - 4..whole.len()) {
        let mut changed = whole.clone();
        changed[position] ^= 0x10;
        redis::cmd("SET").arg(key).arg(changed).exec(&mut connection).unwrap();
        let near = std::slice::from_ref(&near);
        for kind in [
            store.texts(&[id("a")]).err(),
            store.near(&[near[0].sketch.clone()], &rule(), 1).err(),
            store.insert_if_new(near, &rule()).err(),
        ] {
            assert_eq!(kind.map(|error| error.kind()), Some(ErrorKind::Corrupt));
        }
        let found = examine(&*store, true);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].kind, &*found[0].place), (FindingKind::Damaged, "text of a"));
        // Another text under the same id takes its place.
        let other = told("a", a.sketch.clone(), words(7..307));
        assert_eq!(store.insert_if_new(&[other], &rule()).unwrap(), [Insertion::Replaced]);
        assert_eq!(store.insert(std::slice::from_ref(&a)).unwrap(), [Insertion::Replaced]);
    }
    assert_eq!(text(&*store, "a"), Some(words(0..300)));
}

/// A record that names a text, cut anywhere and with any byte changed: the answer is an error or
/// another one, and no more happens.
#[test]
fn redis_tells_damage_of_records_that_name_texts() {
    let Some(server) = server() else { return };
    let store = create(&server, "told");
    let (a, near) = (honest("a", 0), honest("near", 5));
    store.insert(std::slice::from_ref(&a)).unwrap();
    let mut connection = server.connection();
    let key = "pigeonhole:{told}:d:a";
    let whole: Vec<u8> = redis::cmd("GET").arg(key).query(&mut connection).unwrap();
    let mut check = |bytes: &[u8]| {
        let calls: [&dyn Fn() -> index::Result<()>; 5] = [
            &|| store.near(std::slice::from_ref(&near.sketch), &rule(), 3).map(drop),
            &|| store.insert_if_new(std::slice::from_ref(&near), &rule()).map(drop),
            &|| store.get(std::slice::from_ref(&a.id)).map(drop),
            &|| store.texts(std::slice::from_ref(&a.id)).map(drop),
            &|| store.insert(std::slice::from_ref(&a)).map(drop),
        ];
        for call in calls {
            redis::cmd("SET").arg(key).arg(bytes).exec(&mut connection).unwrap();
            let kind = call().map_err(|error| error.kind());
            assert!(matches!(kind, Ok(()) | Err(ErrorKind::Corrupt)), "{bytes:?}: {kind:?}");
        }
        store.remove(&[id("near")]).unwrap();
    };
    for cut in (1..whole.len()).step_by(3).chain(whole.len() - 24..whole.len()) {
        check(&whole[..cut]);
    }
    for position in (0..40).chain((40..whole.len() - 24).step_by(9)).chain(whole.len() - 24..whole.len()) {
        let mut changed = whole.clone();
        changed[position] ^= 1 << (position % 5);
        check(&changed);
    }
}

/// Texts that come with documents, in an index that keeps none.
#[test]
fn redis_keeps_no_texts_unless_it_is_told() {
    let Some(server) = server() else { return };
    let store = server.open("none", Clock::system());
    store.create(&of_signed::metadata(Profile::Full, false)).unwrap();
    assert_eq!(store.insert(&[honest("a", 0)]).unwrap(), [Insertion::Inserted]);
    assert_eq!(store.insert(&[honest("a", 0)]).unwrap(), [Insertion::Unchanged]);
    assert_eq!(store.insert_if_new(&[honest("b", 50_000)], &rule()).unwrap(), [Insertion::Inserted]);
    let answer = store.insert_if_new(&[forged("c", 1)], &rule()).unwrap();
    assert!(matches!(&answer[..], [Insertion::Duplicate(of)] if !of.nearness.exact), "{answer:?}");
    let found = store.near(&[forged("c", 1).sketch], &rule(), 1).unwrap().remove(0);
    assert!(!found.matches[0].nearness.exact);
    assert_eq!(text(&store, "b"), None);
    assert_eq!(texts_left(&server, "none"), [""; 0]);
    assert_eq!(store.status().unwrap().n_bounded, None);
    assert_eq!(examine(&store, true), []);
}
