//! The cases of an index with a retention.

use super::{
    FakeClock, RETAIN, apart, check_near, contents, document, example_metadata, get, id, jumping, near,
    sketch, spread, within,
};
use crate::{Clock, Cursor, Document, Insertion, Match, Metadata, Nearness, Retention, Selection, Store};

pub(super) const HOUR_MS: i64 = 60 * 60 * 1000;

/// The number of cases, each on a store of its own.
pub(super) const N_CASES: usize = 13;

pub(super) const RETAIN_MS: i64 = RETAIN.as_millis() as i64;

pub(super) fn check(open: &dyn Fn(Clock) -> Box<dyn Store>) {
    let cases: [fn(&dyn Store, &FakeClock); N_CASES] = [
        to_the_millisecond,
        what_has_expired_keeps_nothing_out,
        an_id_comes_again,
        a_backlog,
        unchanged_is_not_renewed,
        some_of_equal_sketches,
        pages,
        removing,
        turn_over,
        random_times,
        jumping::a_clock_that_was_ahead,
        jumping::nothing_is_lost_to_a_jump,
        jumping::a_clock_that_goes_back_and_forth,
    ];
    for case in cases {
        let clock = FakeClock::at_present();
        let store = open(clock.clock());
        let retain = Retention::from_seconds((RETAIN_MS / 1000) as u32);
        let metadata = Metadata { retain, ..example_metadata() };
        assert_eq!(store.create(&metadata).expect("a fresh store can be created"), metadata);
        assert_eq!(store.metadata().expect("metadata"), Some(metadata));
        case(&*store, &clock);
    }
}

pub(super) fn insert(store: &dyn Store, documents: &[Document]) -> Vec<Insertion> {
    store.insert(documents).expect("an insertion")
}

pub(super) fn insert_if_new(store: &dyn Store, documents: &[Document]) -> Vec<Insertion> {
    store.insert_if_new(documents, &within(3)).expect("an insertion")
}

/// Every call that reads sees the last millisecond, and none the next one.
fn to_the_millisecond(store: &dyn Store, clock: &FakeClock) {
    let (a, b) = (document("a", 0), document("b", 1));
    insert(store, std::slice::from_ref(&a));
    clock.advance_ms(1);
    insert(store, std::slice::from_ref(&b));
    let check = |expected: &[(&Document, u32)]| {
        let shown: Vec<_> =
            expected.iter().map(|(document, distance)| (document.id.as_str(), *distance)).collect();
        check_near(store, &sketch(0), apart(3), &shown);
        let documents: Vec<_> = expected.iter().map(|(document, _)| (*document).clone()).collect();
        assert_eq!(contents(store), documents);
        let got = get(store, &[id("a"), id("b")]);
        assert!(got.into_iter().flatten().eq(documents));
    };
    check(&[(&a, 0), (&b, 1)]);
    clock.advance_ms(RETAIN_MS - 2);
    check(&[(&a, 0), (&b, 1)]);
    clock.advance_ms(1);
    check(&[(&b, 1)]);
    clock.advance_ms(1);
    check(&[]);
    // A clock turned back sees the documents again, because no write has swept them.
    clock.advance_ms(-2);
    check(&[(&a, 0), (&b, 1)]);
}

fn what_has_expired_keeps_nothing_out(store: &dyn Store, clock: &FakeClock) {
    let a = document("a", 0);
    assert_eq!(insert_if_new(store, std::slice::from_ref(&a)), [Insertion::Inserted]);
    clock.advance_ms(RETAIN_MS - 1);
    let found = Match::new(id("a"), a.sketch.fingerprint(), Nearness::by_distance(apart(1)));
    assert_eq!(insert_if_new(store, &[document("b", 1)]), [Insertion::Duplicate(found)]);
    clock.advance_ms(1);
    let answers = insert_if_new(store, &[document("b", 1), document("c", 0)]);
    let found = Match::new(id("b"), sketch(1).fingerprint(), Nearness::by_distance(apart(1)));
    assert_eq!(answers, [Insertion::Inserted, Insertion::Duplicate(found)]);
    assert_eq!(contents(store), [document("b", 1)]);
}

/// An expired id is a new document, with any sketch.
fn an_id_comes_again(store: &dyn Store, clock: &FakeClock) {
    insert(
        store,
        &[document("a", 0), document("b", 0xff), document("c", 0xff << 20), document("d", 0xff << 40)],
    );
    clock.advance_ms(RETAIN_MS);
    let again = [document("a", 0), document("b", 1 << 60)];
    assert_eq!(insert(store, &again), [Insertion::Inserted, Insertion::Inserted]);
    let more = [document("c", 0xff << 20), document("d", u64::MAX)];
    assert_eq!(insert_if_new(store, &more), [Insertion::Inserted, Insertion::Inserted]);
    let all = [&again[..], &more].concat();
    assert_eq!(contents(store), all);
    for document in &all {
        check_near(store, &document.sketch, apart(0), &[(document.id.as_str(), 0)]);
    }
    clock.advance_ms(RETAIN_MS - 1);
    assert_eq!(contents(store), all);
    clock.advance_ms(1);
    assert_eq!(contents(store), []);
}

/// More documents have expired than a few calls sweep: expired documents are invisible, swept or
/// not.
fn a_backlog(store: &dyn Store, clock: &FakeClock) {
    let old: Vec<_> = (0..1_000).map(|n| document(&format!("{n:04}"), spread(n))).collect();
    insert(store, &old);
    clock.advance_ms(RETAIN_MS);
    let mut expected = Vec::new();
    // The youngest documents, which are swept last.
    for (n, old) in (0..).zip(&old[990..]) {
        assert_eq!(store.remove(std::slice::from_ref(&old.id)).expect("a removal"), [false]);
        check_near(store, &old.sketch, apart(3), &[]);
        let moved = document(old.id.as_str(), spread(n + 5_000));
        let renamed = Document { id: id(&format!("new {n}")), ..old.clone() };
        let new = [old, &moved, &renamed][n as usize % 3].clone();
        let answer = match n % 2 {
            0 => insert(store, std::slice::from_ref(&new)),
            _ => insert_if_new(store, std::slice::from_ref(&new)),
        };
        assert_eq!(answer, [Insertion::Inserted], "{new:?}");
        check_near(store, &new.sketch, apart(3), &[(new.id.as_str(), 0)]);
        expected.push(new);
        expected.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(contents(store), expected);
    }
}

fn unchanged_is_not_renewed(store: &dyn Store, clock: &FakeClock) {
    insert(store, &[document("a", 0), document("b", u64::MAX)]);
    clock.advance_ms(RETAIN_MS - 1);
    assert_eq!(insert(store, &[document("a", 0)]), [Insertion::Unchanged]);
    assert_eq!(insert_if_new(store, &[document("a", 0)]), [Insertion::Unchanged]);
    // A replacement renews the time.
    assert_eq!(insert(store, &[document("b", 1)]), [Insertion::Replaced]);
    clock.advance_ms(1);
    assert_eq!(contents(store), [document("b", 1)]);
    clock.advance_ms(RETAIN_MS - 2);
    assert_eq!(contents(store), [document("b", 1)]);
    clock.advance_ms(1);
    assert_eq!(contents(store), []);
}

/// A steady stream of equal documents: some have expired, and the others are counted and found.
fn some_of_equal_sketches(store: &dyn Store, clock: &FakeClock) {
    const N: usize = 400;
    // Small ids last, so expired documents are neither first nor last by id.
    let name = |n: usize| format!("{:03}", n * 7 % N);
    for n in 0..N {
        insert(store, &[document(&name(n), 9)]);
        clock.advance_ms(1_000);
    }
    let elapsed = 1_000 * N as i64;
    for n_expired in [0, 1, 200, 269, 270, 271, N - 1, N] {
        // The last moment with one fewer expired document, and the first with `n_expired`.
        let to_go = RETAIN_MS + 1_000 * (n_expired as i64 - 1) - elapsed;
        for (shift, n_expired) in [(-1, n_expired.saturating_sub(1)), (0, n_expired)] {
            clock.advance_ms(to_go + shift);
            let mut live: Vec<_> = (n_expired..N).map(name).collect();
            live.sort_unstable();
            for limit in [0, 1, 3, N] {
                let (found, n_matches) = near(store, &sketch(8), apart(1), limit);
                assert_eq!(n_matches, live.len() as u64, "{n_expired} expired");
                let expected = live.iter().take(limit).map(|name| (name.clone(), 1));
                assert!(found.into_iter().eq(expected), "{n_expired} expired, limit {limit}");
            }
            clock.advance_ms(-to_go - shift);
        }
    }
    clock.advance_ms(RETAIN_MS + 1_000 * (N as i64 - 2) - elapsed);
    let last = Match::new(id(&name(N - 1)), sketch(9).fingerprint(), Nearness::by_distance(apart(0)));
    assert_eq!(insert_if_new(store, &[document("new", 9)]), [Insertion::Duplicate(last)]);
    clock.advance_ms(1_000);
    assert_eq!(insert_if_new(store, &[document("new", 9)]), [Insertion::Inserted]);
    assert_eq!(near(store, &sketch(9), apart(3), 10), (vec![("new".to_owned(), 0)], 1));
}

/// The first half has expired and does not come, wherever pages end.
fn pages(store: &dyn Store, clock: &FakeClock) {
    let all: Vec<_> = (10..50).map(|n| document(&format!("{n}"), spread(n))).collect();
    insert(store, &all[..20]);
    clock.advance_ms(HOUR_MS);
    insert(store, &all[20..]);
    let first = store.scan(Cursor::start(), 7).expect("a page");
    clock.advance_ms(HOUR_MS);
    assert_eq!(contents(store), all[20..]);
    // A scan that began before goes on.
    let (mut n_live, mut next) = (0, first.next);
    while let Some(after) = next {
        let page = store.scan(after, 7).expect("a page");
        n_live += page.documents.iter().filter(|stored| all[20..].contains(&stored.document)).count();
        assert!(page.documents.iter().all(|stored| !all[..20].contains(&stored.document)));
        next = page.next;
    }
    let n_before = first.documents.iter().filter(|stored| all[20..].contains(&stored.document)).count();
    assert_eq!(n_before + n_live, 20);
    clock.advance_ms(HOUR_MS);
    assert_eq!(contents(store), []);
}

fn removing(store: &dyn Store, clock: &FakeClock) {
    insert(store, &[document("a", 0), document("b", 0), document("c", 0)]);
    assert_eq!(store.remove(&[id("b")]).expect("a removal"), [true]);
    clock.advance_ms(RETAIN_MS - 1);
    assert_eq!(store.remove(&[id("a"), id("b")]).expect("a removal"), [true, false]);
    clock.advance_ms(1);
    assert_eq!(
        store.remove_if(&[id("a"), id("c")], &Selection::default()).expect("a removal"),
        [false, false]
    );
    assert_eq!(contents(store), []);
}

/// Contents turn over several times: a few documents at each moment, with recurring ids and
/// sketches.
fn turn_over(store: &dyn Store, clock: &FakeClock) {
    const STEPS_PER_TURN: i64 = 8;
    let step = |n: i64| -> Vec<Document> {
        (0..5)
            .map(|k| document(&format!("{:03}", (5 * n + k) % 70), spread((11 * n + k) as u64 % 60)))
            .collect()
    };
    let mut expected: std::collections::BTreeMap<String, (Document, i64)> = Default::default();
    for n in 0..5 * STEPS_PER_TURN {
        let documents = step(n);
        let answers = insert(store, &documents);
        for (document, answer) in documents.into_iter().zip(answers) {
            let name = document.id.as_str().to_owned();
            let old = expected.get(&name).filter(|(_, at)| n - at < STEPS_PER_TURN);
            match old {
                None => assert_eq!(answer, Insertion::Inserted, "step {n}"),
                Some((old, _)) if *old == document => assert_eq!(answer, Insertion::Unchanged, "step {n}"),
                Some(_) => assert_eq!(answer, Insertion::Replaced, "step {n}"),
            }
            if answer != Insertion::Unchanged {
                expected.insert(name, (document, n));
            }
        }
        let live = expected.values().filter(|(_, at)| n - at < STEPS_PER_TURN).map(|(document, _)| document);
        assert!(contents(store).iter().eq(live), "step {n}");
        clock.advance_ms(RETAIN_MS / STEPS_PER_TURN);
    }
}

/// Compares with a naive model: each document, its time, and the comparison with the retention.
fn random_times(store: &dyn Store, clock: &FakeClock) {
    let mut stored: Vec<(Document, i64)> = Vec::new();
    let mut draw = 77;
    let mut below = |n: u64| {
        draw += 1;
        spread(draw) % n
    };
    for step in 0..120 {
        clock.advance_ms(below(RETAIN_MS as u64 / 6) as i64);
        let now = clock.now().as_ms();
        let is_live = |at: i64| now < at + RETAIN_MS;
        let new = document(&format!("id {}", below(25)), spread(below(4)) ^ 1 << below(5));
        let live: Vec<_> =
            stored.iter().filter(|(_, at)| is_live(*at)).map(|(document, _)| document).collect();
        let near_others = live.iter().any(|old| {
            old.id != new.id && old.sketch.fingerprint().distance(new.sketch.fingerprint()) <= apart(3)
        });
        let old = live.iter().find(|old| old.id == new.id);
        let answer = insert_if_new(store, std::slice::from_ref(&new)).remove(0);
        match old {
            Some(old) if old.sketch == new.sketch => assert_eq!(answer, Insertion::Unchanged, "step {step}"),
            _ if near_others => assert!(matches!(answer, Insertion::Duplicate(_)), "step {step}: {answer:?}"),
            Some(_) => assert_eq!(answer, Insertion::Replaced, "step {step}"),
            None => assert_eq!(answer, Insertion::Inserted, "step {step}"),
        }
        if matches!(answer, Insertion::Inserted | Insertion::Replaced) {
            stored.retain(|(document, _)| document.id != new.id);
            stored.push((new.clone(), now));
        }
        let expected = stored
            .iter()
            .filter(|(old, at)| {
                is_live(*at) && old.sketch.fingerprint().distance(new.sketch.fingerprint()) <= apart(3)
            })
            .count();
        assert_eq!(near(store, &new.sketch, apart(3), 100).1, expected as u64, "step {step}");
    }
}
