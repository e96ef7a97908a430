use std::cell::Cell;

use super::*;

const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(200);
const RETRY: Retry = Retry::new(FIRST, LONGEST);
const LIMIT: Duration = Duration::from_secs(60);

thread_local! {
    /// The time that has passed on the clock of a test.
    static PASSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static BEGIN: Instant = Instant::now();
}

fn now() -> Instant {
    BEGIN.with(|begin| *begin) + passed()
}

fn passed() -> Duration {
    PASSED.get()
}

fn pass(time: Duration) {
    PASSED.set(passed() + time);
}

/// The outcome of an operation, and the pauses between its tries.
type Ran<T> = (Result<T, Failed<&'static str, Late<u32>>>, Vec<Pause>);

/// Runs an operation from the beginning of the test's clock; sleeping turns that clock on.
fn run<T>(
    retry: Retry,
    limit: Duration,
    operation: impl FnMut(&mut Tries) -> Result<T, Failed<&'static str, u32>>,
) -> Ran<T> {
    PASSED.set(Duration::ZERO);
    let mut pauses = Vec::new();
    let outcome = retry.start(limit, now).run(operation, |_, pause| pauses.push(pause), pass);
    (outcome, pauses)
}

/// Returns an operation that succeeds after `n` failures.
fn after_failures(n: u32) -> impl FnMut(&mut Tries) -> Result<u32, Failed<&'static str, u32>> {
    let mut n_tries = 0;
    move |_| {
        n_tries += 1;
        if n_tries > n { Ok(n_tries) } else { Err(Failed::Away(n_tries)) }
    }
}

/// Returns true for a pause whose random part is within its bounds.
fn is_within(pause: Duration, whole: Duration) -> bool {
    // The library counts in seconds as `f32`.
    let slack = Duration::from_micros(1);
    (whole / 2 - slack..=whole + slack).contains(&pause)
}

#[test]
fn pauses_grow_up_to_a_bound() {
    let (outcome, pauses) = run(RETRY, LIMIT, after_failures(50));
    assert_eq!(outcome, Ok(51));
    assert_eq!(pauses.len(), 50);
    for (n, pause) in pauses.iter().enumerate() {
        let whole = LONGEST.min(FIRST * 2_u32.pow(n.min(10) as u32));
        assert!(is_within(pause.time, whole), "{n}: {pause:?}");
        assert_eq!(pause.n_failed as usize, n + 1);
    }
}

#[test]
fn a_part_of_each_pause_is_random() {
    let longest = |_| run(RETRY, LIMIT, after_failures(6)).1.last().unwrap().time;
    let mut pauses: Vec<_> = (0..200).map(longest).collect();
    pauses.sort_unstable();
    pauses.dedup();
    assert!(pauses.len() > 100, "{pauses:?}");
    let (first, last) = (pauses[0], pauses[pauses.len() - 1]);
    assert!(first < LONGEST * 6 / 10 && last > LONGEST * 9 / 10, "{first:?} to {last:?}");
}

#[test]
fn the_first_repetition_may_be_at_once() {
    let (outcome, pauses) = run(RETRY.at_once(), LIMIT, after_failures(3));
    assert_eq!(outcome, Ok(4));
    assert_eq!(pauses[0].time, Duration::ZERO);
    assert!(is_within(pauses[1].time, FIRST) && is_within(pauses[2].time, FIRST * 2), "{pauses:?}");
}

#[test]
fn the_last_try_comes_at_the_very_end() {
    let limit = Duration::from_secs(3);
    let mut begins = Vec::new();
    let (outcome, _) = run(RETRY, limit, |_| -> Result<(), _> {
        begins.push(passed());
        Err(Failed::Away(begins.len() as u32))
    });
    assert_eq!(outcome, Err(Failed::Away(Late { last: begins.len() as u32, waited: limit })));
    assert_eq!(begins.last(), Some(&limit));
}

/// The tries themselves take time, which counts: no other one begins after the deadline.
#[test]
fn tries_that_take_long_are_counted_by_the_clock() {
    let (outcome, pauses) = run(RETRY, LIMIT, |_| -> Result<(), _> {
        pass(LIMIT / 2);
        Err(Failed::Away(0))
    });
    let Err(Failed::Away(late)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(pauses.len(), 1);
    assert_eq!(late.waited, LIMIT + pauses[0].time);
}

#[test]
fn without_a_limit_there_is_one_try() {
    let (outcome, pauses) = run(RETRY.at_once(), Duration::ZERO, after_failures(1));
    assert_eq!(outcome, Err(Failed::Away(Late { last: 1, waited: Duration::ZERO })));
    assert!(pauses.is_empty());
}

#[test]
fn a_final_failure_ends_at_once() {
    let mut n_tries = 0;
    let (outcome, pauses) = run(RETRY, LIMIT, |_| -> Result<(), _> {
        n_tries += 1;
        if n_tries == 1 { Err(Failed::Away(n_tries)) } else { Err(Failed::Final("no such table")) }
    });
    assert_eq!(outcome, Err(Failed::Final("no such table")));
    assert_eq!((n_tries, pauses.len()), (2, 1));
}

#[test]
fn progress_begins_the_time_and_the_pauses_anew() {
    let limit = Duration::from_secs(1);
    let mut n_tries = 0;
    let (outcome, pauses) = run(RETRY, limit, |tries| -> Result<(), _> {
        n_tries += 1;
        if n_tries == 8 {
            assert!(!tries.is_first());
            tries.has_gone_on(2 * limit);
            assert!(tries.is_first());
        }
        Err(Failed::Away(n_tries))
    });
    let Err(Failed::Away(late)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(late.waited, 2 * limit);
    assert!(pauses[6].time >= LONGEST / 2 && is_within(pauses[7].time, FIRST), "{pauses:?}");
    assert_eq!((pauses[6].n_failed, pauses[7].n_failed), (7, 1));
}

#[test]
fn a_limit_can_be_extended_but_not_cut_short() {
    for (limit, extended, expected) in [(1, 3, 3), (3, 1, 3)].map(|(a, b, c)| (s(a), s(b), s(c))) {
        let (outcome, _) = run(RETRY, limit, |tries| -> Result<(), _> {
            tries.extend_to(extended);
            Err(Failed::Away(0))
        });
        assert_eq!(outcome, Err(Failed::Away(Late { last: 0, waited: expected })));
    }
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn late_tries_wait_no_longer_than_the_rest() {
    PASSED.set(Duration::ZERO);
    let tries = RETRY.start(s(10), now);
    let usual = s(20);
    for (passed, expected) in [(0, usual), (499, usual), (500, s(10) - LAST_TRY), (9_900, LAST_TRY)] {
        PASSED.set(Duration::from_millis(passed));
        let until = tries.until();
        assert_eq!(until.within(usual), expected, "{passed} ms");
        assert_eq!(until.within(FIRST), FIRST);
        assert_eq!(until.deadline, BEGIN.with(|begin| *begin) + s(10));
    }
}
