//! The cases of sources, times, and removals by them.

use super::{FakeClock, apart, contents, create, document, id, near, sketch, within};
use crate::{Clock, Cursor, Document, Insertion, Selection, Source, Store, StoredDocument, Timestamp};

pub(super) fn check(open: &dyn Fn(Clock) -> Box<dyn Store>) {
    let cases: [fn(&dyn Store, &FakeClock); _] =
        [sources_and_times, by_source, by_time, only_what_matches, sources_of_every_length];
    for case in cases {
        let clock = FakeClock::at_present();
        let store = open(clock.clock());
        create(&*store);
        case(&*store, &clock);
    }
}

fn source(name: &str) -> Source {
    Source::new(name).expect("sources of the suite are valid")
}

fn from(name: &str, bits: u64, origin: &str) -> Document {
    Document { source: Some(source(origin)), ..document(name, bits) }
}

fn of_source(name: &str) -> Selection {
    Selection { source: Some(source(name)), ..Selection::default() }
}

fn stored(document: &Document, inserted_at: Timestamp) -> Option<StoredDocument> {
    Some(StoredDocument { document: document.clone(), inserted_at })
}

/// A written document has the time of the write and its own source; an unchanged one keeps both.
fn sources_and_times(store: &dyn Store, clock: &FakeClock) {
    use Insertion::{Inserted, Replaced, Unchanged};
    let (a, b) = (from("a", 0, "one"), document("b", u64::MAX));
    let begin = clock.now();
    assert_eq!(store.insert(&[a.clone(), b.clone()]).expect("an insertion"), [Inserted, Inserted]);
    let got = store.get(&[id("b"), id("x"), id("a")]).expect("documents");
    assert_eq!(got, [stored(&b, begin), None, stored(&a, begin)]);

    clock.advance_ms(1_234);
    let again = [from("a", 0, "two"), from("b", u64::MAX, "two")];
    assert_eq!(store.insert(&again).expect("an insertion"), [Unchanged, Unchanged]);
    assert_eq!(store.insert_if_new(&again, &within(3)).expect("an insertion"), [Unchanged, Unchanged]);
    assert_eq!(store.get(&[id("a"), id("b")]).expect("documents"), [stored(&a, begin), stored(&b, begin)]);

    let moved = from("a", 0xff << 30, "two");
    assert_eq!(store.insert(std::slice::from_ref(&moved)).expect("an insertion"), [Replaced]);
    clock.advance_ms(1);
    let new = from("c", 0xff << 10, "three");
    assert_eq!(
        store.insert_if_new(std::slice::from_ref(&new), &within(3)).expect("an insertion"),
        [Inserted]
    );
    let mut page = store.scan(Cursor::start(), 10).expect("a page").documents;
    page.sort_by(|a, b| a.document.id.cmp(&b.document.id));
    let at = |ms| Timestamp::saturating(begin.as_ms() + ms);
    let expected = [stored(&moved, at(1_234)), stored(&b, begin), stored(&new, at(1_235))];
    assert!(page.into_iter().map(Some).eq(expected));
}

fn by_source(store: &dyn Store, _: &FakeClock) {
    let all = [from("a", 0, "one"), from("b", 0, "two"), document("c", 0), from("d", 1, "one")];
    store.insert(&all).expect("an insertion");
    let ids = ["a", "b", "c", "x", "d", "a"].map(id);
    let remove = |selection: &Selection| store.remove_if(&ids, selection).expect("a removal");
    assert_eq!(remove(&of_source("on")), [false; 6]);
    assert_eq!(remove(&of_source("one")), [true, false, false, false, true, false]);
    assert_eq!(contents(store), all[1..3]);
    assert_eq!(near(store, &sketch(0), apart(3), 10).1, 2);
    assert_eq!(remove(&of_source("one")), [false; 6]);
    assert_eq!(remove(&Selection::default()), [false, true, true, false, false, false]);
    assert_eq!(contents(store), []);
    assert!(store.remove_if(&[], &of_source("one")).expect("no removal").is_empty());
}

/// A range of times includes its first moment and excludes its last.
fn by_time(store: &dyn Store, clock: &FakeClock) {
    let names = ["a", "b", "c"];
    let begin = clock.now().as_ms();
    for name in names {
        store.insert(&[from(name, 0, "one")]).expect("an insertion");
        clock.advance_ms(1_000);
    }
    let at = |ms: i64| Some(Timestamp::saturating(begin + ms));
    let ids = names.map(id);
    for (inserted_from, inserted_until, expected) in [
        (at(-9), at(0), [false; 3]),
        (at(2_001), None, [false; 3]),
        (at(1_000), at(1_000), [false; 3]),
        (at(1), at(1_000), [false; 3]),
        (at(1_000), at(1_001), [false, true, false]),
        (at(2_000), None, [false, false, true]),
        (None, at(1), [true, false, false]),
    ] {
        let selection = Selection { inserted_from, inserted_until, source: Some(source("one")) };
        let removed = store.remove_if(&ids, &selection).expect("a removal");
        assert_eq!(removed, expected, "{selection:?}");
    }
    assert_eq!(contents(store), []);
}

/// A document replaced since it was listed is another one.
fn only_what_matches(store: &dyn Store, clock: &FakeClock) {
    store.insert(&[from("a", 0, "one"), from("b", 0, "one")]).expect("an insertion");
    clock.advance_ms(1_000);
    let before = Selection { inserted_until: Some(clock.now()), ..of_source("one") };
    store.insert(&[from("a", 1, "one")]).expect("a replacement");
    clock.advance_ms(1_000);
    store.insert(&[from("b", 1, "two")]).expect("a replacement");
    assert_eq!(store.remove_if(&[id("a"), id("b")], &before).expect("a removal"), [false, false]);
    assert_eq!(near(store, &sketch(1), apart(0), 10).1, 2);
    assert_eq!(store.remove_if(&[id("a"), id("b")], &of_source("two")).expect("a removal"), [false, true]);
    assert_eq!(contents(store), [from("a", 1, "one")]);
}

fn sources_of_every_length(store: &dyn Store, _: &FakeClock) {
    let names = [1, 2, 127, 128, 254, 255].map(|len| "s".repeat(len));
    let more = ["%20", "a b", "=,:%", "é", "微博", "\u{feff}", " ", "keys="].map(str::to_owned);
    let all: Vec<_> =
        (10..).zip(names.iter().chain(&more)).map(|(n, name)| from(&format!("{n}"), 5, name)).collect();
    store.insert(&all).expect("an insertion");
    assert_eq!(contents(store), all);
    let ids: Vec<_> = all.iter().map(|document| document.id.clone()).collect();
    for (n, document) in all.iter().enumerate() {
        let selection = Selection { source: document.source.clone(), ..Selection::default() };
        let removed = store.remove_if(&ids, &selection).expect("a removal");
        assert!(removed.iter().enumerate().all(|(at, &removed)| removed == (at == n)), "{selection:?}");
    }
}
