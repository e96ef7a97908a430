//! Rank of a record: a number by which one of several near documents is chosen.

mod times;

use std::fmt;

use super::field_path::FieldPath;
use super::value::Value;

/// Default field of the time.
const TIME_FIELD: &str = "time";

/// Default field of the time in WARC.
const WARC_TIME_FIELD: &str = "WARC-Date";

/// Smallest number that counts milliseconds; below it, a number counts seconds. In seconds it lies
/// in the year 5138, in milliseconds in 1973. Microseconds and nanoseconds begin likewise.
const FIRST_MS: f64 = 1e11;
const FIRST_US: f64 = 1e14;
const FIRST_NS: f64 = 1e17;

const MS_PER_SECOND: f64 = 1_000.0;
const US_PER_MS: f64 = 1e3;
const NS_PER_MS: f64 = 1e6;

/// Measure of the ranking, and the fields that hold it.
#[derive(Debug)]
pub(super) struct Ranking {
    by: RankBy,
    /// In a record of JSON, or in a row.
    pub(super) field: Option<FieldPath>,
    /// In the header of a record of a WARC file.
    pub(super) warc_field: Option<FieldPath>,
}

/// Measure of a record's rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankBy {
    /// The number of characters in the text. Bytes would favour Chinese characters, of three bytes
    /// each, over Latin letters, of one.
    Length,
    /// The time in a field; `None` for the format's own.
    Time(Option<FieldPath>),
    /// The number in a field.
    Number(FieldPath),
}

/// Formats the object of `no document has …`.
impl fmt::Display for RankBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("a text"),
            Self::Time(None) => {
                let (json, warc) = (TIME_FIELD, WARC_TIME_FIELD);
                write!(f, "a time in the field {json:?} (in WARC {warc:?}); --time-field names another")
            }
            Self::Time(Some(field)) => write!(f, "a time in the field {field}"),
            Self::Number(field) => write!(f, "a number in the field {field}"),
        }
    }
}

/// Rank of a record: the higher, the better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rank(f64);

impl Rank {
    /// Rank of a record without a value to rank by: below all others.
    pub const NONE: Self = Self(f64::NEG_INFINITY);

    /// Compares two ranks so as to sort the best first.
    pub fn best_first(&self, other: &Self) -> std::cmp::Ordering {
        other.0.total_cmp(&self.0)
    }

    /// Returns the number behind the rank: for a time, milliseconds since 1970. Negative infinity
    /// for `NONE`.
    pub fn number(self) -> f64 {
        self.0
    }

    /// Returns the rank of a number; infinity and NaN count as no value.
    #[must_use]
    pub fn new(number: f64) -> Self {
        // Adding zero turns -0 into 0, its equal.
        if number.is_finite() { Self(number + 0.0) } else { Self::NONE }
    }
}

impl Ranking {
    pub(super) fn new(by: RankBy) -> Self {
        let (field, warc_field) = (by.field_or(TIME_FIELD), by.field_or(WARC_TIME_FIELD));
        Self { by, field, warc_field }
    }

    /// Returns the rank of a record by its text, or by the value of the field.
    pub(super) fn rank(&self, text: &str, value: Option<&Value<'_>>) -> Rank {
        self.by.rank(text, value)
    }
}

impl RankBy {
    fn field_or(&self, default: &str) -> Option<FieldPath> {
        match self {
            Self::Length => None,
            Self::Time(field) => Some(field.clone().unwrap_or_else(|| FieldPath::name(default))),
            Self::Number(field) => Some(field.clone()),
        }
    }

    fn rank(&self, text: &str, value: Option<&Value<'_>>) -> Rank {
        let number = match (self, value) {
            (Self::Length, _) => Some(text.chars().count() as f64),
            (Self::Time(_), Some(Value::Time(ms))) => Some(*ms as f64),
            (Self::Time(_), Some(Value::Text(text))) => text_ms(text.trim()),
            (Self::Time(_), Some(Value::Integer(digits))) => digits_ms(digits),
            (Self::Time(_), Some(value)) => value.number().map(number_ms),
            (Self::Number(_), Some(Value::Time(ms))) => Some(*ms as f64),
            (Self::Number(_), Some(value)) => value.number(),
            (_, None) => None,
        };
        number.map_or(Rank::NONE, Rank::new)
    }
}

impl Value<'_> {
    /// Returns the number in a value; text is parsed, since a cell of CSV is always text.
    fn number(&self) -> Option<f64> {
        match self {
            Self::Text(digits) | Self::Integer(digits) => digits.trim().parse().ok(),
            Self::Float(number) => Some(*number),
            Self::Bytes(_) | Self::Time(_) | Self::Null | Self::Other(_) => None,
        }
    }
}

/// Converts seconds, or what a number of that size counts, to milliseconds since 1970.
fn number_ms(number: f64) -> f64 {
    match number.abs() {
        ..FIRST_MS => number * MS_PER_SECOND,
        FIRST_US..FIRST_NS => number / US_PER_MS,
        FIRST_NS.. => number / NS_PER_MS,
        _ => number,
    }
}

/// Parses a year, or a number of seconds or of their like; returns milliseconds since 1970.
fn digits_ms(digits: &str) -> Option<f64> {
    match times::year_ms(digits) {
        Some(ms) => Some(ms as f64),
        None => digits.parse().ok().map(number_ms),
    }
}

/// Parses a date, a date with a time of day, or a number; returns milliseconds since 1970.
fn text_ms(text: &str) -> Option<f64> {
    times::text_ms(text).map(|ms| ms as f64).or_else(|| digits_ms(text))
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    fn text(text: &str) -> Value<'_> {
        Value::Text(text.into())
    }

    #[track_caller]
    fn check(by: &RankBy, value: Value<'_>, expected: Option<f64>) {
        let rank = by.rank("字字 a", Some(&value));
        assert_eq!(rank, expected.map_or(Rank::NONE, Rank), "{value:?} by {by:?}");
    }

    #[test]
    fn lengths_are_in_characters() {
        assert_eq!(RankBy::Length.rank("字字 é", None), Rank(4.0));
        assert_eq!(RankBy::Length.rank("", None), Rank(0.0));
    }

    #[test]
    fn numbers() {
        let by = RankBy::Number("score".parse().unwrap());
        for (value, expected) in [
            (Value::Integer("-3".into()), Some(-3.0)),
            (Value::Float(0.5), Some(0.5)),
            (Value::Float(-0.0), Some(0.0)),
            (Value::Time(7), Some(7.0)),
            (text(" 12.5e1\n"), Some(125.0)),
            (text("-0"), Some(0.0)),
            (text("1,5"), None),
            (text(""), None),
            (text("NaN"), None),
            (text("inf"), None),
            (text("-1e999"), None),
            (Value::Null, None),
            (Value::Other("a boolean"), None),
        ] {
            check(&by, value, expected);
        }
        assert_eq!(by.rank("text", None), Rank::NONE);
    }

    #[test]
    fn times() {
        let by = RankBy::Time(None);
        let day = 86_400_000.0;
        for (value, expected) in [
            (text("1970-01-02T00:00:00Z"), Some(day)),
            (text("1970-01-02t08:00:00.000+08:00"), Some(day)),
            (text("1970-01-01 16:00:00.5-08:00"), Some(day + 500.0)),
            (text("1970-01-02T08:00:00+0800"), Some(day)),
            (text("1970-01-02 00:00Z"), Some(day)),
            (text("1970-01-02T00:00:00"), Some(day)),
            (text(" 1970-01-02 00:00:00.25 "), Some(day + 250.0)),
            (text("1970-01-02 00:00"), Some(day)),
            (text("1970-01-02"), Some(day)),
            (text("1969-12-31"), Some(-day)),
            (text("19700102"), Some(day)),
            (text("19701302"), Some(19_701_302_000.0)),
            (Value::Integer("19700102".into()), Some(19_700_102_000.0)),
            (text("86400"), Some(day)),
            (text("1e3"), Some(1e6)),
            (text("172800000000"), Some(172_800_000_000.0)),
            (text("-86400"), Some(-day)),
            (Value::Integer("1700000000".into()), Some(1_700_000_000_000.0)),
            (Value::Integer("1700000000000".into()), Some(1_700_000_000_000.0)),
            (Value::Integer("99999999999".into()), Some(99_999_999_999_000.0)),
            (Value::Integer("100000000000".into()), Some(100_000_000_000.0)),
            (Value::Float(1.5), Some(1500.0)),
            (Value::Integer("1700000000000000".into()), Some(1_700_000_000_000.0)),
            (Value::Integer("1700000000000000000".into()), Some(1_700_000_000_000.0)),
            (text("1970"), Some(0.0)),
            (Value::Integer("1971".into()), Some(365.0 * day)),
            (text("Fri, 02 Jan 1970 00:00:00 GMT"), Some(day)),
            (text("02/01/1970"), None),
            (Value::Time(5), Some(5.0)),
            (text("yesterday"), None),
            (text("2024-02-30"), None),
            (text("2024-01-01T25:00:00Z"), None),
            (text(""), None),
            (Value::Null, None),
        ] {
            check(&by, value, expected);
        }
    }

    #[test]
    fn the_best_come_first_and_those_without_a_value_last() {
        let mut ranks = [Rank::NONE, Rank::new(-1e300), Rank::new(2.0), Rank::new(f64::NAN), Rank::new(10.0)];
        ranks.sort_by(Rank::best_first);
        assert_eq!(ranks, [Rank(10.0), Rank(2.0), Rank(-1e300), Rank::NONE, Rank::NONE]);
        assert_eq!(Rank::new(-0.0).best_first(&Rank::new(0.0)), Ordering::Equal);
    }

    #[test]
    fn formats_have_times_of_their_own() {
        let [own, named] = [None, Some("/meta/day".parse().unwrap())].map(RankBy::Time);
        let names = |by: RankBy| {
            let Ranking { field, warc_field, .. } = Ranking::new(by);
            [field, warc_field].map(|field| field.unwrap().given().to_owned())
        };
        assert_eq!(names(own), ["time", "WARC-Date"]);
        assert_eq!(names(named), ["/meta/day", "/meta/day"]);
        assert_eq!(Ranking::new(RankBy::Length).field, None);
    }
}
