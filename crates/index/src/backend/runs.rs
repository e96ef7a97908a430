//! The expired documents of a numbered store, also where the clock has gone back.
//!
//! The numbers are divided into runs. Along a run times never go back, so expired documents come
//! first, and one number marks their end. A clock that goes back a little, as set by NTP, begins no
//! run: the document gets the time of the last one. A clock that goes back further was ahead
//! before, or is behind now: a new run begins, and its documents expire by their own times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::{Range, RangeInclusive};

use crate::retention::Horizon;
use crate::{Error, ErrorKind, Result, Timestamp};

/// The most runs after the first one. Runs without documents do not count.
pub const RUNS_MAX: usize = 64;

/// The time behind the last document up to which no run begins, while there are few runs.
const BACK_MS: i64 = 60 * 1000;

/// The number of further runs that doubles this time. So clocks that differ by minutes and take
/// turns come to share a run, and a clock behind by weeks finds a place until there are
/// [`RUNS_MAX`].
const RUNS_TO_DOUBLE: usize = 4;

/// The first numbers of all runs, ascending, except the first run, which begins before all
/// documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs(Vec<u64>);

/// The time of an insertion, and true if a run begins with it.
pub(super) type Turn = (Timestamp, bool);

impl Runs {
    /// Runs with these first numbers, if they ascend and are not too many.
    pub fn new(begins: Vec<u64>) -> Option<Self> {
        (begins.len() <= RUNS_MAX && begins.is_sorted_by(|a, b| a < b)).then_some(Self(begins))
    }

    /// The first numbers of the runs.
    pub fn begins(&self) -> &[u64] {
        &self.0
    }

    /// Returns the time of an insertion at `now`, after a last document of the time `last`.
    ///
    /// # Errors
    /// `Unavailable` where a run would have to begin and there are [`RUNS_MAX`].
    pub fn turn(&self, last: Option<Timestamp>, now: Timestamp) -> Result<Turn> {
        let Some(last) = last.filter(|&last| last > now) else { return Ok((now, false)) };
        let back_ms = last.as_ms() - now.as_ms();
        if back_ms <= BACK_MS << (self.0.len() / RUNS_TO_DOUBLE) {
            return Ok((last, false));
        }
        if self.0.len() == RUNS_MAX {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "the clock has gone back {RUNS_MAX} times while documents from before were still there; set this \
                     machine's clock right, and remove what was inserted while it was ahead, which `pigeonhole verify` \
                     names"
                ),
            ));
        }
        Ok((now, true))
    }

    /// Begins a run with this number, which is above all others.
    pub fn begin(&mut self, number: u64) {
        self.0.push(number);
    }

    /// Joins runs between which times no longer go back, because the documents on one side are
    /// gone. `before` returns the last document below a number, and `from` the first one from it
    /// on, each with its time. Returns true if runs were joined.
    pub fn join<E>(
        &mut self,
        mut before: impl FnMut(u64) -> Result<Option<(u64, Timestamp)>, E>,
        mut from: impl FnMut(u64) -> Result<Option<(u64, Timestamp)>, E>,
    ) -> Result<bool, E> {
        let mut kept = Vec::with_capacity(self.0.len());
        for (place, &begin) in self.0.iter().enumerate() {
            let (Some((_, last)), Some((number, first))) = (before(begin)?, from(begin)?) else { continue };
            // An empty run adds nothing to the next one.
            let is_empty = self.0.get(place + 1).is_some_and(|&next| number >= next);
            if !is_empty && first < last {
                kept.push(begin);
            }
        }
        let has_joined = kept.len() < self.0.len();
        self.0 = kept;
        Ok(has_joined)
    }

    /// Live documents by `horizon`, in a store whose greatest number is `last`; reuses the expired
    /// documents in `known`, of an earlier moment. `next` returns the first document from a number
    /// on, with its time of insertion.
    pub fn live<E>(
        &self,
        horizon: Horizon,
        known: Option<&Live>,
        last: u64,
        mut next: impl FnMut(u64) -> Result<Option<(u64, Timestamp)>, E>,
    ) -> Result<Live, E> {
        if horizon.expired_until_ms().is_none() {
            return Ok(Live::default());
        }
        let begins = [0].iter().chain(&self.0);
        let ends = self.0.iter().map(|next| next - 1).chain([last]);
        let run = |(&begin, last)| {
            let known = known.and_then(|known| known.run(begin)).map_or(begin, |run| run.first_live);
            Ok(Run { begin, first_live: first_live(horizon, known, last, &mut next)? })
        };
        begins.zip(ends).map(run).collect::<Result<_, E>>().map(Live)
    }
}

/// The first live document of each run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live(Vec<Run>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    begin: u64,
    first_live: u64,
}

impl Default for Live {
    /// No document has expired.
    fn default() -> Self {
        Self(vec![Run { begin: 0, first_live: 0 }])
    }
}

impl Live {
    fn run(&self, begin: u64) -> Option<&Run> {
        self.0.binary_search_by_key(&begin, |run| run.begin).ok().map(|place| &self.0[place])
    }

    /// Returns true if the document of this number, if any, is live.
    pub fn contains(&self, number: u64) -> bool {
        match &self.0[..] {
            [run] => number >= run.first_live,
            runs => {
                let n_before = runs.partition_point(|run| run.begin <= number);
                n_before.checked_sub(1).is_none_or(|place| number >= runs[place].first_live)
            }
        }
    }

    /// Counts the live documents among these ascending numbers.
    pub(crate) fn n_in(&self, numbers: &[u64]) -> usize {
        let n_below = |bound: u64| numbers.partition_point(|&number| number < bound);
        let n_expired = self.expired().map(|expired| n_below(expired.end) - n_below(expired.start));
        numbers.len() - n_expired.sum::<usize>()
    }

    /// The numbers of expired documents, in ascending stretches, none of them empty.
    pub fn expired(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().map(|run| run.begin..run.first_live).filter(|expired| !expired.is_empty())
    }

    /// The numbers of live documents from `from` on, in ascending stretches, none of them empty.
    pub fn stretches(&self, from: u64) -> impl Iterator<Item = RangeInclusive<u64>> {
        let ends = self.0.iter().skip(1).map(|next| next.begin - 1).chain([u64::MAX]);
        let stretches = self.0.iter().zip(ends).map(move |(run, end)| run.first_live.max(from)..=end);
        stretches.filter(|stretch| !stretch.is_empty())
    }
}

/// The next document to sweep of each run: its time, its number, and the end of the run's expired
/// numbers.
#[derive(Default)]
pub struct Oldest(BinaryHeap<Reverse<(Timestamp, u64, u64)>>);

impl Oldest {
    /// Removes the oldest document, and returns its number and the end of its run's expired
    /// numbers.
    pub fn pop(&mut self) -> Option<(u64, u64)> {
        self.0.pop().map(|Reverse((_, number, end))| (number, end))
    }

    /// Adds the first remaining document of a run, if it is below `end`.
    pub fn push(&mut self, found: Option<(u64, Timestamp)>, end: u64) {
        if let Some((number, at)) = found.filter(|&(number, _)| number < end) {
            self.0.push(Reverse((at, number, end)));
        }
    }
}

/// Finds the first live number between `from` and `last`, along which times do not go back: all
/// documents below the returned number have expired, and all others are live. `next` returns the
/// first document from a number on, with its time of insertion.
///
/// The search looks further and further ahead before it bisects, so it calls `next` rarely where
/// few documents have expired since `from`.
fn first_live<E>(
    horizon: Horizon,
    from: u64,
    last: u64,
    mut next: impl FnMut(u64) -> Result<Option<(u64, Timestamp)>, E>,
) -> Result<u64, E> {
    // `None` where all documents from there on are live.
    let mut expired_from = |number| {
        let found = next(number)?.filter(|&(number, at)| number <= last && !horizon.is_live(at));
        Ok(found.map(|(number, _)| number))
    };
    let (mut low, mut high) = (from, last.saturating_add(1));
    let (mut probe, mut step) = (from, 1);
    while low < high {
        match expired_from(probe)? {
            Some(number) => low = number.saturating_add(1),
            None => high = probe,
        }
        // Once an end is in sight, the middle.
        probe = (low.saturating_add(step)).min(low + high.saturating_sub(low) / 2);
        step = step.saturating_mul(2);
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::Retention;
    use crate::testsuite::spread;

    /// Compared with a look at every document, for numbers with gaps and times that stand still.
    #[test]
    fn where_the_live_ones_begin() {
        let documents: BTreeMap<u64, Timestamp> =
            (1..300).map(|n| (n * n / 7 + n, Timestamp::saturating(1_000 * (n as i64 / 3)))).collect();
        let last = *documents.last_key_value().unwrap().0;
        for now_ms in (0..110_000).step_by(500) {
            let horizon = Horizon::new(Retention::from_seconds(7), Timestamp::saturating(now_ms));
            let is_live = |(_, at): &(&u64, &Timestamp)| horizon.is_live(**at);
            let n_live = documents.iter().filter(is_live).count();
            let (mut n_asked, mut first) = (0, 0);
            for from in [0, 1, 17, first] {
                if documents.range(..from).any(|document| is_live(&document)) {
                    continue;
                }
                n_asked = 0;
                first = first_live(horizon, from, last, |number| {
                    n_asked += 1;
                    Ok::<_, ()>(documents.range(number..).next().map(|(&number, &at)| (number, at)))
                })
                .unwrap();
                assert_eq!(documents.range(first..).count(), n_live, "at {now_ms} from {from}");
            }
            assert!(n_asked <= 40, "{n_asked} at {now_ms}");
        }
    }

    /// A store of runs, compared with a look at every document: the live documents, their number,
    /// and the order of sweeps.
    #[test]
    fn clocks_that_go_back() {
        const MINUTE: i64 = 60_000;
        let retain = Retention::from_seconds(3_600);
        let (mut runs, mut documents, mut now) = (Runs::default(), BTreeMap::new(), 1_000 * MINUTE);
        for number in 1..400_u64 {
            now += match spread(number) % 23 {
                0 => -200 * MINUTE,
                1 => 180 * MINUTE,
                2 => -MINUTE / 2,
                _ => 2 * MINUTE,
            };
            let next = |documents: &BTreeMap<u64, Timestamp>, from| {
                Ok::<_, ()>(documents.range(from..).next().map(|(&number, &at)| (number, at)))
            };
            let last = documents.last_key_value().map(|(_, &at)| at);
            let (at, begins) = runs.turn(last, Timestamp::saturating(now)).unwrap();
            assert!((0..=MINUTE << 8).contains(&(at.as_ms() - now)), "{number}");
            if begins {
                runs.begin(number);
            }
            documents.insert(number, at);
            let horizon = Horizon::new(retain, Timestamp::saturating(now));
            let expected: BTreeSet<u64> =
                documents.iter().filter(|(_, at)| horizon.is_live(**at)).map(|(number, _)| *number).collect();
            let all: Vec<u64> = documents.keys().copied().collect();
            let live = runs.live(horizon, None, number, |from| next(&documents, from)).unwrap();
            assert!(all.iter().all(|number| live.contains(*number) == expected.contains(number)));
            assert_eq!(live.n_in(&all), expected.len());
            let stretched =
                live.stretches(7).flat_map(|stretch| documents.range(stretch)).map(|(number, _)| *number);
            assert!(stretched.eq(expected.range(7..).copied()));
            // Documents expired by then have expired for a later clock.
            let later = Horizon::new(retain, Timestamp::saturating(now + 20 * MINUTE));
            let at_later = |known| runs.live(later, known, number, |from| next(&documents, from)).unwrap();
            assert_eq!(at_later(Some(&live)), at_later(None));
            let mut oldest = Oldest::default();
            for expired in live.expired() {
                oldest.push(next(&documents, expired.start).unwrap(), expired.end);
            }
            let mut before = Timestamp::MIN;
            for _ in 0..spread(number) % 4 {
                let Some((number, end)) = oldest.pop() else { break };
                let at = documents.remove(&number).unwrap();
                assert!(at >= before && !horizon.is_live(at));
                before = at;
                oldest.push(next(&documents, number + 1).unwrap(), end);
            }
            let below =
                |to| Ok::<_, ()>(documents.range(..to).next_back().map(|(&number, &at)| (number, at)));
            runs.join(below, |from| next(&documents, from)).unwrap();
            let times: Vec<_> = documents.values().collect();
            let n_back = times.windows(2).filter(|pair| pair[0] > pair[1]).count();
            assert_eq!(runs.begins().len(), n_back, "a run for each time that they go back, and no more");
        }
        assert!(runs.begins().len() > 3);
    }

    /// Clocks that take turns come to share a run; one far behind begins its own until there are
    /// too many.
    #[test]
    fn runs_are_bounded() {
        let at = |minute: i64| Timestamp::new(60_000 * minute).unwrap();
        for (behind, n_runs) in [(1, 0), (2, 4), (5, 12), (60, 24), (30 * 24 * 60, RUNS_MAX)] {
            let mut runs = Runs::default();
            for number in 1..1_000 {
                let Ok((time, begins)) = runs.turn(Some(at(100_000)), at(100_000 - behind)) else { break };
                assert_eq!(time == at(100_000 - behind), begins);
                if begins {
                    runs.begin(number);
                }
            }
            assert_eq!(runs.begins().len(), n_runs, "{behind} minutes");
            assert_eq!(runs.turn(Some(at(7)), at(7)).unwrap(), (at(7), false));
        }
        assert!(Runs::new((1..=64).collect()).is_some());
        assert!(Runs::new((1..=65).collect()).is_none());
        assert!(Runs::new(vec![5, 5]).is_none());
    }
}
