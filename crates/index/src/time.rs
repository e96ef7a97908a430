//! Moments, and the clock from which a store reads them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat};

/// The default of the greatest lead of a clock over the last write before the clock is doubted.
pub const AHEAD_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// A moment in milliseconds since 1970, up to the end of the year 9999, so every moment can be
/// written as a date. Written as RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00.000Z.
    pub const MIN: Self = Self(0);
    /// 9999-12-31T23:59:59.999Z. Far below 2^53, so exact where numbers are doubles.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// The moment `ms` milliseconds after 1970 began; `None` outside the range.
    #[must_use]
    pub fn new(ms: i64) -> Option<Self> {
        (Self::MIN.0..=Self::MAX.0).contains(&ms).then_some(Self(ms))
    }

    /// The moment in the range nearest to `ms` milliseconds after 1970 began.
    #[must_use]
    pub fn saturating(ms: i64) -> Self {
        Self(ms.clamp(Self::MIN.0, Self::MAX.0))
    }

    /// The milliseconds since 1970.
    #[must_use]
    pub fn as_ms(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = DateTime::from_timestamp_millis(self.0).expect("it is in the range of dates");
        f.write_str(&time.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

/// A text that is no moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidTimestamp(String);

impl fmt::Display for InvalidTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no time from 1970 to 9999 in RFC 3339, as 2026-01-31T18:00:00Z or with +08:00",
            self.0
        )
    }
}

impl std::error::Error for InvalidTimestamp {}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// Reads RFC 3339, also with the minus sign of typographers. Digits below the millisecond are
    /// cut off; a leap second is the second after it.
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let time = DateTime::parse_from_rfc3339(text).ok();
        time.and_then(|time| Self::new(time.timestamp_millis()))
            .ok_or_else(|| InvalidTimestamp(text.to_owned()))
    }
}

/// The clock of a store, with its limit of trust. The system's, unless a test gives another.
#[derive(Clone)]
pub struct Clock {
    read: Arc<dyn Fn() -> i64 + Send + Sync>,
    /// The limit as asked for.
    ahead_max: Option<Duration>,
    /// True after the first warning; shared by all clones of the clock.
    has_warned: Arc<AtomicBool>,
}

impl Clock {
    /// The clock of this machine.
    #[must_use]
    pub fn system() -> Self {
        let since_1970 = || SystemTime::now().duration_since(UNIX_EPOCH);
        Self::new(move || since_1970().map_or(0, |since| since.as_millis() as i64))
    }

    /// A clock that reads `read`: milliseconds since 1970.
    #[must_use]
    pub fn new(read: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self { read: Arc::new(read), ahead_max: None, has_warned: Arc::default() }
    }

    /// The same clock, with which nothing is written while it is ahead of the last write to an
    /// index by more than `ahead_max`; see [`Store`](crate::Store).
    #[must_use]
    pub fn refusing_ahead(self, ahead_max: Duration) -> Self {
        Self { ahead_max: Some(ahead_max), ..self }
    }

    /// The lead over the last write up to which the clock is not doubted, in milliseconds.
    pub fn ahead_ms_max(&self) -> i64 {
        i64::try_from(self.ahead_max.unwrap_or(AHEAD_MAX).as_millis()).unwrap_or(i64::MAX)
    }

    /// Returns true if the clock refuses writes while it is doubted.
    pub fn refuses_ahead(&self) -> bool {
        self.ahead_max.is_some()
    }

    /// Returns true on the first call for this clock or a clone of it.
    pub(crate) fn may_warn(&self) -> bool {
        !self.has_warned.swap(true, Ordering::Relaxed)
    }

    /// The current time of the clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp::saturating((self.read)())
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn moments() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01t08:00:00.000+08:00", 0),
            ("1969-12-31 16:00:00-08:00", 0),
            ("2000-02-29T00:00:00Z", 951_782_400_000),
            ("2009-02-13T23:31:30.1Z", 1_234_567_890_100),
            ("2009-02-13T23:31:30.1239999z", 1_234_567_890_123),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("2038-01-19T03:14:08Z", 2_147_483_648_000),
            ("9999-12-31T23:59:59.999Z", Timestamp::MAX.0),
        ] {
            assert_eq!(text.parse(), Ok(Timestamp(ms)), "{text}");
            assert_eq!(Timestamp(ms).to_string().parse(), Ok(Timestamp(ms)));
        }
        assert_eq!(Timestamp(1_234_567_890_123).to_string(), "2009-02-13T23:31:30.123Z");
        for text in [
            "",
            "2026-01-31",
            "2026-01-31T18:00Z",
            "2026-01-31T18:00:00",
            "2026-01-31T18:00:00.Z",
            "2026-01-31T18:00:00Zz",
            "2026-01-31T18:00:00+8:00",
            "2026-01-31T18:00:00+24:00",
            "2026-1-31T18:00:00Z",
            "+026-01-31T18:00:00Z",
            "2026-02-29T18:00:00Z",
            "2026-13-01T18:00:00Z",
            "2026-00-01T18:00:00Z",
            "2026-01-00T18:00:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T18:60:00Z",
            "2026-01-31T18:00:61Z",
            "1969-12-31T23:59:59Z",
            "１９７０-01-01T00:00:00Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn clocks_stay_in_range() {
        assert_eq!(Clock::new(|| -1).now(), Timestamp::MIN);
        assert_eq!(Clock::new(|| i64::MAX).now(), Timestamp::MAX);
        assert!(Clock::system().now() > "2025-01-01T00:00:00Z".parse().unwrap());
    }

    proptest! {
        #[test]
        fn comes_back(ms in 0..=Timestamp::MAX.0) {
            prop_assert_eq!(Timestamp(ms).to_string().parse(), Ok(Timestamp(ms)));
        }
    }
}
