//! Folders of the results: `source=NAME/date=2026-01-31/half=am`, in the layout of Hive.

use std::path::PathBuf;

use chrono::{DateTime, Datelike};
use index::Source;

/// Hive's folder for rows without a value.
const NO_SOURCE: &str = "__HIVE_DEFAULT_PARTITION__";

/// Characters escaped by Hive as `%` and two hexadecimal digits, beside control characters.
const ESCAPED: &str = "\"#%'*/:=?\\{}[]^";

/// Bound on the bytes of a folder name, below the 255 of most file systems. Longer names are cut
/// and get a hash.
const NAME_BYTES: usize = 240;

const HALF_DAY_MS: i64 = 12 * 60 * 60 * 1000;

/// The folder for the items of one source and half day.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shelf {
    source: Option<Source>,
    /// Half days since 1970, in UTC.
    half_day: i64,
}

impl Shelf {
    /// The shelf of `source` at `time_ms`, in milliseconds since 1970.
    pub(super) fn new(source: Option<Source>, time_ms: i64) -> Self {
        Self { source, half_day: time_ms.div_euclid(HALF_DAY_MS) }
    }

    /// The path relative to the folder of all results.
    pub(super) fn path(&self) -> PathBuf {
        let source =
            self.source.as_ref().map_or_else(|| NO_SOURCE.to_owned(), |source| escaped(source.as_str()));
        PathBuf::from(format!("source={source}")).join(half_day_path(self.half_day))
    }
}

/// The folder of a time: `date=2026-01-31/half=am`.
pub(super) fn half_day_folder(time_ms: i64) -> PathBuf {
    half_day_path(time_ms.div_euclid(HALF_DAY_MS))
}

/// Returns true if a time, in milliseconds since 1970, lies in the years 0 to 9999.
pub(super) fn is_datable(time_ms: f64) -> bool {
    let time = DateTime::from_timestamp_millis(time_ms as i64);
    time_ms.is_finite() && time.is_some_and(|time| (0..=9999).contains(&time.year()))
}

fn half_day_path(half_day: i64) -> PathBuf {
    let begin = DateTime::from_timestamp_millis(half_day * HALF_DAY_MS).unwrap_or_default();
    let half = if half_day.rem_euclid(2) == 0 { "am" } else { "pm" };
    PathBuf::from(format!("date={}", begin.format("%Y-%m-%d"))).join(format!("half={half}"))
}

fn escaped(source: &str) -> String {
    if source == NO_SOURCE {
        // Escapes one character: Hive reads the same name, but the folder differs from the one
        // without a source.
        return source.replacen('_', "%5F", 1);
    }
    let mut name = String::with_capacity(source.len());
    for character in source.chars() {
        if ESCAPED.contains(character) {
            name.push_str(&format!("%{:02X}", u32::from(character)));
        } else {
            name.push(character);
        }
    }
    if name.len() > NAME_BYTES {
        let end = (0..=NAME_BYTES - 10).rev().find(|end| name.is_char_boundary(*end));
        name.truncate(end.unwrap_or(0));
        name.push_str(&format!("~{:08x}", crc32fast::hash(source.as_bytes())));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(source: Option<&str>, time: &str) -> String {
        let time_ms = DateTime::parse_from_rfc3339(time).unwrap().timestamp_millis();
        let source = source.map(|source| Source::new(source).unwrap());
        Shelf::new(source, time_ms).path().to_str().unwrap().to_owned()
    }

    #[test]
    fn folders_are_those_of_hive() {
        for (source, time, expected) in [
            (Some("weibo"), "2026-01-31T00:00:00Z", "source=weibo/date=2026-01-31/half=am"),
            (Some("weibo"), "2026-01-31T11:59:59.999Z", "source=weibo/date=2026-01-31/half=am"),
            (Some("weibo"), "2026-01-31T12:00:00Z", "source=weibo/date=2026-01-31/half=pm"),
            (Some("weibo"), "2026-02-01T07:00:00+08:00", "source=weibo/date=2026-01-31/half=pm"),
            (Some("weibo"), "1969-12-31T23:00:00Z", "source=weibo/date=1969-12-31/half=pm"),
            (None, "2026-01-31T00:00:00Z", "source=__HIVE_DEFAULT_PARTITION__/date=2026-01-31/half=am"),
            (
                Some("__HIVE_DEFAULT_PARTITION__"),
                "2026-01-31T00:00:00Z",
                "source=%5F_HIVE_DEFAULT_PARTITION__/date=2026-01-31/half=am",
            ),
            (Some("新浪 a.b"), "2026-01-31T00:00:00Z", "source=新浪 a.b/date=2026-01-31/half=am"),
            (
                Some("https://a.b/c?d=e%"),
                "2026-01-31T00:00:00Z",
                "source=https%3A%2F%2Fa.b%2Fc%3Fd%3De%25/date=2026-01-31/half=am",
            ),
            (Some("../.."), "2026-01-31T00:00:00Z", "source=..%2F../date=2026-01-31/half=am"),
        ] {
            assert_eq!(path(source, time), expected);
        }
    }

    #[test]
    fn long_sources_have_names_of_their_own() {
        let [a, b] =
            ["a", "b"].map(|end| path(Some(&format!("{}{end}", "新".repeat(84))), "2026-01-31T00:00:00Z"));
        assert_ne!(a, b);
        for path in [a, b, path(Some(&"/".repeat(255)), "2026-01-31T00:00:00Z")] {
            assert!(path.split('/').all(|name| name.len() <= 255), "{path}");
        }
    }

    #[test]
    fn times_out_of_the_calendar_are_none() {
        for (time_ms, expected) in
            [(0.0, true), (-1e12, true), (1e17, false), (f64::NEG_INFINITY, false), (1e300, false)]
        {
            assert_eq!(is_datable(time_ms), expected, "{time_ms}");
        }
    }
}
