//! The cases of a retention with a clock that jumps ahead and comes back.

use super::retaining::{HOUR_MS, RETAIN_MS, insert, insert_if_new};
use super::{FakeClock, apart, contents, document, get, id, near, spread};
use crate::{Insertion, Store};

/// Checks the live documents by every call that reads; the fingerprint of document `n` is
/// `spread(n)`.
fn check_live(store: &dyn Store, n_documents: u64, expected: &[u64], when: &str) {
    let of = |n: u64| document(&format!("{n}"), spread(n));
    let mut all: Vec<_> = expected.iter().copied().map(of).collect();
    all.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(contents(store), all, "{when}");
    for n in 0..n_documents {
        let is_live = expected.contains(&n);
        assert_eq!(near(store, &of(n).sketch, apart(3), 9).1, u64::from(is_live), "{n} {when}");
        assert_eq!(get(store, &[of(n).id]), [is_live.then(|| of(n))], "{n} {when}");
    }
}

/// Regression: where a store's times never went back, a jump of the clock ended the retention of
/// all later documents.
pub(super) fn a_clock_that_was_ahead(store: &dyn Store, clock: &FakeClock) {
    const TEN_YEARS_MS: i64 = 10 * 365 * 24 * HOUR_MS;
    let of = |n: u64| [document(&format!("{n}"), spread(n))];
    insert(store, &of(0));
    clock.advance_ms(TEN_YEARS_MS);
    assert_eq!(insert_if_new(store, &of(1)), [Insertion::Inserted]);
    clock.advance_ms(HOUR_MS - TEN_YEARS_MS);
    let began = clock.now().as_ms() - HOUR_MS;
    assert_eq!(insert_if_new(store, &of(2)), [Insertion::Inserted]);
    let stored = store.get(&[id("2")]).expect("a document");
    assert_eq!(stored[0].as_ref().map(|stored| stored.inserted_at), Some(clock.now()));
    check_live(store, 3, &[0, 1, 2], "after the jump");
    let at = |ms: i64, expected: &[u64], when: &str| {
        clock.advance_ms(began + ms - clock.now().as_ms());
        check_live(store, 3, expected, when);
    };
    at(RETAIN_MS - 1, &[0, 1, 2], "before the first expires");
    at(RETAIN_MS, &[1, 2], "when the first expires");
    at(RETAIN_MS + HOUR_MS - 1, &[1, 2], "before the third expires");
    at(RETAIN_MS + HOUR_MS, &[1], "when the third expires");
    // Expired documents are swept behind live ones.
    assert_eq!(insert(store, &of(0)), [Insertion::Inserted]);
    check_live(store, 3, &[0, 1], "when something has been swept");
    let (found, n_matches) = near(store, &of(2)[0].sketch, apart(3), 9);
    assert_eq!((found, n_matches), (Vec::new(), 0));
    assert_eq!(store.remove(&[id("1"), id("2")]).expect("a removal"), [true, false]);
    check_live(store, 3, &[0], "when what was ahead is removed");
    at(2 * RETAIN_MS + HOUR_MS - 1, &[0], "before the last expires");
    at(2 * RETAIN_MS + HOUR_MS, &[], "in the end");
}

/// By a clock ahead all documents have expired, but none is swept.
pub(super) fn nothing_is_lost_to_a_jump(store: &dyn Store, clock: &FakeClock) {
    const JUMP_MS: i64 = 1_000 * HOUR_MS;
    let old: Vec<_> = (0..50).map(|n| document(&format!("{n}"), spread(n))).collect();
    insert(store, &old);
    clock.advance_ms(JUMP_MS);
    assert_eq!(contents(store), []);
    for n in 50..80 {
        let new = document(&format!("{n}"), spread(n));
        assert_eq!(insert_if_new(store, std::slice::from_ref(&new)), [Insertion::Inserted]);
        // A duplicate of a document expired by this clock.
        let again = document(&format!("{n}"), spread(n - 50) ^ 1);
        assert_eq!(insert_if_new(store, std::slice::from_ref(&again)), [Insertion::Replaced]);
        assert_eq!(store.remove(std::slice::from_ref(&again.id)).expect("a removal"), [true]);
        assert_eq!(store.remove(std::slice::from_ref(&old[0].id)).expect("a removal"), [false]);
        clock.advance_ms(60_000);
    }
    clock.advance_ms(-JUMP_MS - 30 * 60_000);
    check_live(store, 80, &(0..50).collect::<Vec<_>>(), "after the jump");
    insert(store, &[document("80", spread(80))]);
    clock.advance_ms(RETAIN_MS);
    check_live(store, 81, &[], "in the end");
}

/// Times go back and forth by more than a store smooths over, with removals: each document expires
/// by its own time.
pub(super) fn a_clock_that_goes_back_and_forth(store: &dyn Store, clock: &FakeClock) {
    const N: u64 = 24;
    let began = clock.now().as_ms();
    let mut times: Vec<Option<i64>> = Vec::new();
    let live_at = |times: &[Option<i64>], now: i64| -> Vec<u64> {
        let is_live = |at: &Option<i64>| at.is_some_and(|at| now < at + RETAIN_MS);
        (0..N).zip(times).filter(|(_, at)| is_live(at)).map(|(n, _)| n).collect()
    };
    for n in 0..N {
        // Within the retention, so no document expires and is swept before the clock goes back.
        let now = began + (spread(n + 1_000) % RETAIN_MS as u64) as i64;
        clock.advance_ms(now - clock.now().as_ms());
        if n % 5 == 4 {
            let victim = (spread(n) % n) as usize;
            let was_there = times[victim].take().is_some();
            assert_eq!(
                store.remove(&[id(&format!("{victim}"))]).expect("a removal"),
                [was_there],
                "step {n}"
            );
        }
        let name = format!("{n}");
        let new = [document(&name, spread(n))];
        let answer = if n % 2 == 0 { insert(store, &new) } else { insert_if_new(store, &new) };
        assert_eq!(answer, [Insertion::Inserted], "step {n}");
        let stored = store.get(&[id(&name)]).expect("a document").remove(0).expect("it is there");
        // A store may take the time of the document before, if that is a little later.
        let at = stored.inserted_at.as_ms();
        assert!((0..=16 * 60_000).contains(&(at - now)), "step {n}: {} ms later", at - now);
        times.push(Some(at));
        check_live(store, N, &live_at(&times, now), &format!("after step {n}"));
    }
    for step in 0..=20 {
        let now = began + RETAIN_MS + step * RETAIN_MS / 20;
        clock.advance_ms(now - clock.now().as_ms());
        check_live(store, N, &live_at(&times, now), &format!("at step {step}"));
        let swept = store.remove(&[id("0")]).expect("a removal");
        let was_there = times[0].take().is_some_and(|at| now < at + RETAIN_MS);
        assert_eq!(swept, [was_there]);
    }
}
