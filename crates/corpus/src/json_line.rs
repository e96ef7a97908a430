//! A row of a typed table as a line of JSON, written cell by cell.

use chrono::{DateTime, NaiveTime};
use serde::Serialize;

use super::value::Value;

/// A line under way.
pub(super) struct JsonLine<'l>(pub(super) &'l mut Vec<u8>);

impl JsonLine<'_> {
    /// Writes a value as serde has it: a float that is no number becomes null.
    pub(super) fn put(&mut self, value: &(impl Serialize + ?Sized)) {
        self.0.extend(serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec()));
    }

    /// Writes bytes as a string: what they say, or their hexadecimal digits.
    pub(super) fn put_bytes(&mut self, bytes: &[u8]) {
        match Value::of_untold(bytes).named() {
            Value::Text(text) => self.put(&*text),
            _ => self.put(&()),
        }
    }

    /// Writes a number of days since 1970 as a date.
    pub(super) fn put_date(&mut self, days: i64) {
        match DateTime::from_timestamp(days.saturating_mul(24 * 60 * 60), 0) {
            Some(time) => self.put(&format!("{:?}", time.date_naive())),
            None => self.put(&days),
        }
    }

    /// Writes a time of day, given as the part of a second that one unit is.
    pub(super) fn put_time_of_day(&mut self, n: i64, per_second: i64) {
        let (seconds, rest) = (n.div_euclid(per_second), n.rem_euclid(per_second));
        let parts = u32::try_from(seconds).ok().zip(u32::try_from(rest * (1_000_000_000 / per_second)).ok());
        match parts.and_then(|(seconds, ns)| NaiveTime::from_num_seconds_from_midnight_opt(seconds, ns)) {
            Some(time) => self.put(&format!("{time:?}")),
            None => self.put(&n),
        }
    }

    /// Writes a time since 1970 as of RFC 3339, without an offset unless it is in UTC.
    pub(super) fn put_time(&mut self, n: i64, per_second: i64, is_utc: bool) {
        let (seconds, rest) = (n.div_euclid(per_second), n.rem_euclid(per_second));
        let ns = u32::try_from(rest * (1_000_000_000 / per_second)).ok();
        match ns.and_then(|ns| DateTime::from_timestamp(seconds, ns)) {
            Some(time) if is_utc => self.put(&format!("{time:?}")),
            Some(time) => self.put(&format!("{:?}", time.naive_utc())),
            None => self.put(&n),
        }
    }

    /// Writes a list, whose elements `write` writes.
    pub(super) fn put_list<T>(
        &mut self,
        elements: impl Iterator<Item = T>,
        mut write: impl FnMut(&mut JsonLine<'_>, T),
    ) {
        self.0.push(b'[');
        for (i, element) in elements.enumerate() {
            if i > 0 {
                self.0.push(b',');
            }
            write(self, element);
        }
        self.0.push(b']');
    }

    /// Writes an object, whose values `write` writes.
    pub(super) fn put_object<N: AsRef<str>, T>(
        &mut self,
        members: impl Iterator<Item = (N, T)>,
        mut write: impl FnMut(&mut JsonLine<'_>, T),
    ) {
        self.0.push(b'{');
        for (i, (name, value)) in members.enumerate() {
            if i > 0 {
                self.0.push(b',');
            }
            self.put(name.as_ref());
            self.0.push(b':');
            write(self, value);
        }
        self.0.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_bytes_are_strings() {
        let mut bytes = Vec::new();
        let mut line = JsonLine(&mut bytes);
        line.put_time(1_500, 1_000, true);
        line.put_time(-1, 1_000_000, false);
        line.put_time(i64::MAX, 1, true);
        line.put_date(-1);
        line.put_time_of_day(3_661_000_001, 1_000_000);
        line.put_bytes(b"a\"b");
        line.put_bytes(b"\xff\0");
        line.put(&f64::NAN);
        let expected =
            r#""1970-01-01T00:00:01.500Z""1969-12-31T23:59:59.999999"9223372036854775807"1969-12-31""#
                .to_owned()
                + r#""01:01:01.000001""a\"b""ff00"null"#;
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}
