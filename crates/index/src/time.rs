//! When: a moment, and the clock that a store reads it from.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MS_PER_SECOND: i64 = 1_000;
const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

/// How far a clock may be ahead of the last write before it is doubted, unless a caller says otherwise.
pub const AHEAD_MAX: Duration = Duration::from_secs(SECONDS_PER_DAY as u64);

/// A moment in milliseconds since 1970, from then to the end of the year 9999, so that every one of them can be written
/// as a date. Written as RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00.000Z.
    pub const MIN: Self = Self(0);
    /// 9999-12-31T23:59:59.999Z. Far below 2^53, so it is exact where numbers are doubles.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// The moment of so many milliseconds since 1970, if it is one that can be written.
    #[must_use]
    pub fn new(ms: i64) -> Option<Self> {
        (Self::MIN.0..=Self::MAX.0).contains(&ms).then_some(Self(ms))
    }

    /// The moment nearest to so many milliseconds since 1970.
    #[must_use]
    pub fn saturating(ms: i64) -> Self {
        Self(ms.clamp(Self::MIN.0, Self::MAX.0))
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn as_ms(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / MS_PER_SECOND;
        let (year, month, day) = civil(seconds / SECONDS_PER_DAY);
        let second = seconds % SECONDS_PER_DAY;
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
            second / 3600,
            second / 60 % 60,
            second % 60,
            self.0 % MS_PER_SECOND
        )
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

    /// Reads RFC 3339. What is finer than a millisecond is cut off; a leap second is the second after it.
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        parse(text).and_then(Self::new).ok_or_else(|| InvalidTimestamp(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<i64> {
    let (year, rest) = number(text, 4)?;
    let (month, rest) = number(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = number(rest.strip_prefix('-')?, 2)?;
    let (hour, rest) = number(rest.strip_prefix(['T', 't', ' '])?, 2)?;
    let (minute, rest) = number(rest.strip_prefix(':')?, 2)?;
    let (second, rest) = number(rest.strip_prefix(':')?, 2)?;
    let (ms, rest) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(rest) => {
            let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, rest) = rest.split_at(n_digits);
            let ms = format!("{digits:0<3}").get(..3)?.parse().ok()?;
            (ms, (n_digits > 0).then_some(rest)?)
        }
    };
    let offset_minutes = match rest.strip_prefix(['Z', 'z']) {
        Some("") => 0,
        Some(_) => return None,
        None => {
            let sign = if rest.starts_with('-') { -1 } else { 1 };
            let (hours, rest) = number(rest.strip_prefix(['+', '-'])?, 2)?;
            let (minutes, rest) = number(rest.strip_prefix(':')?, 2)?;
            (rest.is_empty() && hours < 24 && minutes < 60).then_some(sign * (60 * hours + minutes))?
        }
    };
    let days = days(year, month, day);
    let is_date = (1..=12).contains(&month) && civil(days) == (year, month, day);
    let is_time = hour < 24 && minute < 60 && second <= 60;
    let seconds = 3600 * hour + 60 * (minute - offset_minutes) + second;
    (is_date && is_time).then_some((SECONDS_PER_DAY * days + seconds) * MS_PER_SECOND + ms)
}

/// The number in the first `len` characters, all of them digits, and the rest.
fn number(text: &str, len: usize) -> Option<(i64, &str)> {
    let (digits, rest) = text.split_at_checked(len)?;
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    Some((number, rest))
}

/// Days since 1970 of a date in the Gregorian calendar. Years are counted from March, so that the leap day is their last,
/// and in groups of 400, which are all of one length (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The date of a day, by the same reckoning.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Where a store reads the time, and how far it is believed. The system's, unless a test gives it another.
#[derive(Clone)]
pub struct Clock {
    read: Arc<dyn Fn() -> i64 + Send + Sync>,
    /// As it was asked for.
    ahead_max: Option<Duration>,
    /// A warning comes once, whichever copy of the clock a store has.
    has_warned: Arc<AtomicBool>,
}

impl Clock {
    /// The clock of this machine.
    #[must_use]
    pub fn system() -> Self {
        let since_1970 = || SystemTime::now().duration_since(UNIX_EPOCH);
        Self::new(move || since_1970().map_or(0, |since| since.as_millis() as i64))
    }

    /// A clock that says what `read` returns: milliseconds since 1970.
    #[must_use]
    pub fn new(read: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self { read: Arc::new(read), ahead_max: None, has_warned: Arc::default() }
    }

    /// The same clock, by which nothing is written while it is ahead of the last write to an index by more than this; see
    /// [`Store`](crate::Store).
    #[must_use]
    pub fn refusing_ahead(self, ahead_max: Duration) -> Self {
        Self { ahead_max: Some(ahead_max), ..self }
    }

    /// By how many milliseconds it may be ahead of the last write before it is doubted.
    pub fn ahead_ms_max(&self) -> i64 {
        i64::try_from(self.ahead_max.unwrap_or(AHEAD_MAX).as_millis()).unwrap_or(i64::MAX)
    }

    /// Whether nothing is written by it while it is doubted.
    pub fn refuses_ahead(&self) -> bool {
        self.ahead_max.is_some()
    }

    /// Whether this is the first warning of this clock.
    pub fn may_warn(&self) -> bool {
        !self.has_warned.swap(true, Ordering::Relaxed)
    }

    /// What it says now.
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
    fn every_day_comes_after_the_one_before() {
        let mut last = (1969, 12, 31);
        for day in 0..=Timestamp::MAX.0 / MS_PER_SECOND / SECONDS_PER_DAY {
            let date = civil(day);
            assert!(date > last && days(date.0, date.1, date.2) == day, "{date:?}");
            last = date;
        }
        assert_eq!(last, (9999, 12, 31));
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
