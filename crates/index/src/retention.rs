//! The retention of documents, and the horizon between live and expired ones.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use crate::Timestamp;

/// The units of a written retention, the largest first, with their seconds.
const UNITS: [(&str, u32); 5] = [("w", 7 * 24 * 3600), ("d", 24 * 3600), ("h", 3600), ("m", 60), ("s", 1)];

/// The time that a document stays in an index after its insertion: whole seconds, at least one, at
/// most 136 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Retention(NonZeroU32);

impl Retention {
    /// The retention of `seconds`; `None` for 0.
    #[must_use]
    pub fn from_seconds(seconds: u32) -> Option<Self> {
        NonZeroU32::new(seconds).map(Self)
    }

    /// The retention in seconds.
    #[must_use]
    pub fn as_seconds(self) -> u32 {
        self.0.get()
    }

    /// The retention in milliseconds.
    #[must_use]
    pub fn as_ms(self) -> i64 {
        1_000 * i64::from(self.as_seconds())
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut seconds = self.as_seconds();
        for (unit, unit_seconds) in UNITS {
            if seconds >= unit_seconds {
                write!(f, "{}{unit}", seconds / unit_seconds)?;
                seconds %= unit_seconds;
            }
        }
        Ok(())
    }
}

/// A text that is no retention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidRetention(String);

impl fmt::Display for InvalidRetention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no duration of 1 s to 136 years; write a number with s, m, h, d or w, for example 2d, 36h or 1d12h",
            self.0
        )
    }
}

impl std::error::Error for InvalidRetention {}

impl FromStr for Retention {
    type Err = InvalidRetention;

    /// Reads numbers with a unit each: `2d`, `1d12h`.
    ///
    /// chrono, which reads times, reads no durations. Crates for durations (humantime, jiff) also
    /// take months, years, fractions or words. None of these is a number of whole seconds that an
    /// index can state and write back unchanged.
    fn from_str(text: &str) -> Result<Self, InvalidRetention> {
        parse(text).and_then(Self::from_seconds).ok_or_else(|| InvalidRetention(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<u32> {
    let mut seconds = 0_u32;
    let mut rest = text;
    while !rest.is_empty() {
        let (digits, after) = rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count());
        let (unit, after) = after.split_at_checked(1)?;
        let (_, unit_seconds) = UNITS.into_iter().find(|&(name, _)| name == unit)?;
        seconds = seconds.checked_add(digits.parse::<u32>().ok()?.checked_mul(unit_seconds)?)?;
        rest = after;
    }
    Some(seconds)
}

/// The least bound on expired documents swept by one write, so a backlog goes even if documents
/// come one by one.
pub const SWEPT_MIN: usize = 64;

/// The greatest number of expired documents swept by a write of `n_items`: `swept_min` and twice
/// the number of items, so documents never come faster than they go. Bounded, so no write pays for
/// a long rest before it.
pub fn n_swept_max(n_items: usize, swept_min: usize) -> usize {
    n_items.saturating_mul(2).saturating_add(swept_min)
}

/// The moment that divides live from expired documents, by the index's retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// In milliseconds since 1970; `None` where documents stay for good.
    expired_until: Option<i64>,
}

impl Horizon {
    /// The horizon `now`: a document is live while `now < inserted_at + retain`.
    pub fn new(retain: Option<Retention>, now: Timestamp) -> Self {
        Self { expired_until: retain.map(|retain| now.as_ms() - retain.as_ms()) }
    }

    /// Returns true if a document inserted at this time is live.
    pub fn is_live(self, inserted_at: Timestamp) -> bool {
        self.expired_until.is_none_or(|expired| inserted_at.as_ms() > expired)
    }

    /// The last time of insertion of expired documents, in milliseconds, possibly before 1970;
    /// `None` where documents stay for good.
    pub fn expired_until_ms(self) -> Option<i64> {
        self.expired_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, seconds, shown) in [
            ("1s", 1, "1s"),
            ("2d", 172_800, "2d"),
            ("1d12h", 129_600, "1d12h"),
            ("36h", 129_600, "1d12h"),
            ("90m", 5_400, "1h30m"),
            ("1w", 604_800, "1w"),
            ("4294967295s", u32::MAX, "7101w3d6h28m15s"),
        ] {
            let retention: Retention = text.parse().unwrap();
            assert_eq!(retention.as_seconds(), seconds, "{text}");
            assert_eq!(retention.to_string(), shown);
            assert_eq!(shown.parse(), Ok(retention));
        }
        for text in
            ["", "0s", "0d0h", "2", "d", "2 d", "-2d", "1.5d", "2D", "4294967296s", "7102w", "2日", "+2d"]
        {
            assert!(text.parse::<Retention>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn to_the_millisecond() {
        let at = |ms| Timestamp::new(ms).unwrap();
        let retain = Retention::from_seconds(2);
        for (inserted_ms, now_ms, is_live) in [
            (10_000, 10_000, true),
            (10_000, 11_999, true),
            (10_000, 12_000, false),
            (10_000, 12_001, false),
            (10_000, 9_000, true),
            (0, 1_999, true),
            (0, 2_000, false),
        ] {
            let horizon = Horizon::new(retain, at(now_ms));
            assert_eq!(horizon.is_live(at(inserted_ms)), is_live, "{inserted_ms} at {now_ms}");
        }
        assert!(Horizon::new(None, Timestamp::MAX).is_live(Timestamp::MIN));
    }
}
