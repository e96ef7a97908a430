//! The time of an index's last write, and the trust in a writer's clock by this time.
//!
//! By a clock that jumps ahead every document looks expired, and swept documents are gone for good.
//! So an index with a retention notes the time of its last write. A clock much ahead of the last
//! write is doubted: writes by this clock sweep only by the last trusted time. A jump looks like a
//! rest of the index. The doubt ends when writes by the same clock have gone on for as long as the
//! clock may be ahead, or when a clock agrees with the last write again.

use std::time::Duration;

use crate::{Clock, Error, ErrorKind, Result, Timestamp};

/// The step after which a later time is noted, so most writes do not write the time.
const STEP_MS_MAX: i64 = 60 * 1000;

/// The notes of an index about its writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastWrite {
    /// The time of the last write by a trusted clock. Sweeps go by this time.
    pub at: Timestamp,
    /// The first and the last time of later writes whose clocks were too far ahead of `at`.
    pub doubted: Option<(Timestamp, Timestamp)>,
}

impl LastWrite {
    /// Returns the notes of a write at `now`, after `known`, and true if they are worth writing
    /// down.
    ///
    /// # Errors
    /// `Unavailable` for a clock that is ahead and refuses.
    pub fn next(known: Option<Self>, clock: &Clock, now: Timestamp) -> Result<(Self, bool)> {
        let Some(known) = known else { return Ok((Self { at: now, doubted: None }, true)) };
        let ahead_ms_max = clock.ahead_ms_max();
        let step_ms = (ahead_ms_max / 2).min(STEP_MS_MAX);
        let is_ahead_of = |at: Timestamp| now.as_ms() - at.as_ms() > ahead_ms_max;
        let is_news = |at: Timestamp| (now.as_ms() - at.as_ms()).abs() >= step_ms;
        if !is_ahead_of(known.at) {
            return Ok((Self { at: now, doubted: None }, known.doubted.is_some() || is_news(known.at)));
        }
        check_ahead(clock, now, known.at)?;
        Ok(match known.doubted {
            None => (Self { doubted: Some((now, now)), ..known }, true),
            // Ahead of the doubted times too: after another rest, by which the doubted times have
            // come to be trusted.
            Some((_, last)) if is_ahead_of(last) => (Self { at: last, doubted: Some((now, now)) }, true),
            // Writes have gone on by this clock for so long that it was no jump.
            Some((first, _)) if is_ahead_of(first) => (Self { at: now, doubted: None }, true),
            Some((first, last)) => {
                (Self { doubted: Some((first.min(now), now)), ..known }, now < first || is_news(last))
            }
        })
    }
}

/// Refuses a clock too far ahead of the last write, or warns of it, as the clock demands.
///
/// # Errors
/// `Unavailable` for a clock that refuses.
pub fn check_ahead(clock: &Clock, now: Timestamp, last: Timestamp) -> Result<()> {
    let ahead = show(now.as_ms() - last.as_ms());
    if clock.refuses_ahead() {
        return Err(Error::new(
            ErrorKind::Unavailable,
            format!(
                "nothing was written: this machine's clock says {now}, which is {ahead} after the last write to the index \
                 ({last}); set the clock right, or, where the index has rested that long, give --clock-ahead-max more"
            ),
        ));
    }
    if clock.may_warn() {
        tracing::warn!(
            clock = %now,
            last_write = %last,
            "this machine's clock is {ahead} ahead of the last write to the index; unless the index has rested that long, \
             set the clock right: what it calls expired is kept for now, but not found, and what is inserted stays until \
             that time and the retention have passed"
        );
    }
    Ok(())
}

/// A span of time in its largest unit.
fn show(ms: i64) -> String {
    let seconds = Duration::from_millis(ms.unsigned_abs()).as_secs();
    match seconds {
        172_800.. => format!("{} days", seconds / 86_400),
        7_200.. => format!("{} hours", seconds / 3_600),
        120.. => format!("{} minutes", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    /// Each step: the hour by the writer's clock, then the hour by which the write sweeps.
    #[test]
    fn clocks_that_jump() {
        let at = |hour: i64| Timestamp::new(HOUR * (100_000 + hour)).unwrap();
        let cases: [&[(i64, i64)]; _] = [
            // A day is no jump.
            &[(0, 0), (24, 24), (20, 20), (44, 44)],
            // Ten years ahead, for some writes, and back.
            &[(0, 0), (87_600, 0), (87_601, 0), (1, 1), (2, 2)],
            // The same by another clock in turns.
            &[(0, 0), (87_600, 0), (1, 1), (87_625, 1), (2, 2)],
            // A rest of a week, and then a write now and then: a day later the clock is trusted.
            &[(0, 0), (168, 0), (180, 0), (192, 0), (193, 193), (194, 194), (230, 193 + 1)],
            &[(0, 0), (168, 0), (180, 0), (160, 0), (183, 0), (185, 185)],
            // Some writes a week: sweeps are a week behind.
            &[(0, 0), (168, 0), (169, 0), (336, 169), (337, 169), (504, 337)],
            // A lesser jump comes after a greater one.
            &[(0, 0), (87_600, 0), (168, 0), (180, 0), (193, 193)],
            // A clock behind is trusted: it expires no document that the others do not.
            &[(0, 0), (-90_000, -90_000), (0, -90_000), (24, -90_000), (25, 25)],
        ];
        let clock = Clock::new(|| 0);
        for case in cases {
            let mut known = None;
            for &(now, swept_by) in case {
                let (next, is_news) = LastWrite::next(known, &clock, at(now)).unwrap();
                assert_eq!(next.at, at(swept_by), "{now} of {case:?}");
                assert_eq!(is_news, known != Some(next), "{now} of {case:?}");
                known = Some(next);
            }
        }
    }

    #[test]
    fn a_clock_that_refuses() {
        let at = |ms: i64| Timestamp::new(1_763_735_000_000 + ms).unwrap();
        let known = Some(LastWrite { at: at(0), doubted: None });
        let clock = Clock::new(|| 0).refusing_ahead(Duration::from_secs(3_600));
        assert_eq!(LastWrite::next(known, &clock, at(HOUR)).unwrap().0.at, at(HOUR));
        let refused = LastWrite::next(known, &clock, at(HOUR + 1)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unavailable);
        let says = "says 2025-11-21T15:23:20.001Z, which is 60 minutes after the last write to the index \
                    (2025-11-21T14:23:20.000Z)";
        assert!(refused.to_string().contains(says), "{refused}");
        // Not every write is noted.
        for (ms, is_news) in [(0, false), (59_999, false), (60_000, true), (-60_000, true), (-1, false)] {
            assert_eq!(LastWrite::next(known, &clock, at(ms)).unwrap().1, is_news, "{ms}");
        }
    }
}
