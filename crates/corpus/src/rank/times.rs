//! Times as people, feeds and programs write them.
//!
//! Every notation is read to one number or not at all: a time whose day and month may be confused,
//! as 03/04/2024, is none.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};

/// Notations of date and time beside RFC 3339, with an offset from UTC and without.
const WITH_OFFSET: [&str; 4] =
    ["%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M%#z", "%Y-%m-%d %H:%M%#z"];
const WITHOUT_OFFSET: [&str; 4] =
    ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Zones of RFC 2822, section 4.3, in hours from UTC. CST is China's, too, and so is none.
const ZONES: [(&str, i64); 11] = [
    ("utc", 0),
    ("gmt", 0),
    ("ut", 0),
    ("z", 0),
    ("edt", -4),
    ("est", -5),
    ("cdt", -5),
    ("mdt", -6),
    ("mst", -7),
    ("pdt", -7),
    ("pst", -8),
];

/// Years that four digits name: as seconds they would lie in the first hour of 1970.
const YEARS: std::ops::Range<i32> = 1000..3000;

const MS_PER_MINUTE: i64 = 60_000;

/// Parses a date, or a date with a time of day; returns milliseconds since 1970. A time without an
/// offset is taken as UTC.
pub(super) fn text_ms(text: &str) -> Option<i64> {
    let text = text.trim();
    let with_offset = || {
        let read = |format| DateTime::parse_from_str(text, format).ok();
        WITH_OFFSET.into_iter().find_map(read).map(|time| time.timestamp_millis())
    };
    let in_utc = || {
        let read = |format| NaiveDateTime::parse_from_str(text, format).ok();
        // Eight digits are a date without hyphens; as a number they would lie in 1970.
        let basic = || NaiveDate::parse_from_str(text, "%Y%m%d").ok().filter(|_| text.len() == 8);
        let date = || Some(text.parse::<NaiveDate>().ok().or_else(basic)?.and_time(NaiveTime::MIN));
        let time = WITHOUT_OFFSET.into_iter().find_map(read).or_else(date)?;
        Some(time.and_utc().timestamp_millis())
    };
    let time = DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_millis());
    time.or_else(with_offset).or_else(in_utc).or_else(|| Words::read(text)?.ms())
}

/// Returns the beginning of a year of four digits, in milliseconds since 1970.
pub(super) fn year_ms(digits: &str) -> Option<i64> {
    let year: i32 = digits.parse().ok().filter(|year| digits.len() == 4 && YEARS.contains(year))?;
    Some(NaiveDate::from_ymd_opt(year, 1, 1)?.and_time(NaiveTime::MIN).and_utc().timestamp_millis())
}

/// Parts of a time, as far as its words name them.
#[derive(Default)]
struct Words {
    year: Option<i32>,
    month: Option<u32>,
    day: Option<u32>,
    time: Option<NaiveTime>,
    /// True for hours of the afternoon, if hours are counted to twelve.
    is_afternoon: Option<bool>,
    offset_minutes: Option<i64>,
}

impl Words {
    /// Reads words in any order. `None` if one is not understood, or says a part once more.
    fn read(text: &str) -> Option<Self> {
        // The names of zones in brackets repeat an offset.
        let text = text.split(['(', '[']).next()?;
        let spelled = text.replace(['年', '月'], "/").replace(['时', '時', '点', '點', '分'], ":");
        let spelled = spelled.replace(['日', '号', '號', '秒', ','], " ").to_lowercase();
        let spelled = spelled.replace("上午", " am ").replace("下午", " pm ");
        let mut words = Self::default();
        for word in spelled.split_whitespace() {
            words.add(word.trim_matches([':', '/', '.']))?;
        }
        Some(words)
    }

    fn add(&mut self, word: &str) -> Option<()> {
        if word.is_empty() || matches!(word, "at" | "of" | "den" | "um" | "uhr") || is_name(word, &WEEKDAYS) {
            return Some(());
        }
        // As in 2024-03-14T09:00.
        let is_digit = |place: usize| word.as_bytes().get(place).is_some_and(u8::is_ascii_digit);
        if let Some(at) = word.find('t').filter(|at| *at > 0 && is_digit(at - 1) && is_digit(at + 1)) {
            self.add(&word[..at])?;
            return self.add(&word[at + 1..]);
        }
        if let Some(month) = month(word) {
            return put(&mut self.month, month);
        }
        if let Some(is_afternoon) = afternoon(word) {
            return put(&mut self.is_afternoon, is_afternoon);
        }
        if let Some(minutes) = zone(word).filter(|_| self.time.is_some() || !word.starts_with(['+', '-'])) {
            return put(&mut self.offset_minutes, minutes);
        }
        if word.contains(':') {
            return self.add_time(word);
        }
        let parts: Vec<&str> = word.split(['-', '/', '.']).collect();
        match parts[..] {
            [number] => self.add_number(number),
            [year, month] if year.len() == 4 => self.add_date(year, month, "1"),
            [year, month, day] if year.len() == 4 => self.add_date(year, month, day),
            // A month by its name leaves the day no other place; dots stand in one order only.
            [day, month, year]
                if month_number(month).is_none() || (word.contains('.') && year.len() == 4) =>
            {
                self.add_date(year, month, day)
            }
            _ => None,
        }
    }

    /// Adds a time of day, with what may follow it: half of the day, or offset; in the logs of web
    /// servers the date stands before it.
    fn add_time(&mut self, word: &str) -> Option<()> {
        if let Some((date, time)) = word.split_once(':').filter(|(date, _)| date.contains('/')) {
            self.add(date)?;
            return self.add(time);
        }
        let end = word.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(word.len());
        let (time, rest) = word.split_at(end);
        let time = time.trim_end_matches(['.', ':']);
        let read = |format| NaiveTime::parse_from_str(time, format).ok();
        put(&mut self.time, ["%H:%M:%S%.f", "%H:%M"].into_iter().find_map(read)?)?;
        if rest.is_empty() { Some(()) } else { self.add(rest) }
    }

    fn add_date(&mut self, year: &str, month_name: &str, day: &str) -> Option<()> {
        put(&mut self.month, month(month_name).or_else(|| month_number(month_name))?)?;
        self.add_number(day)?;
        self.add_number(year)
    }

    /// Adds the number of a day, of one or two digits, or of a year, of four; the second of two
    /// short ones is a year.
    fn add_number(&mut self, word: &str) -> Option<()> {
        let ordinal = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending));
        let digits = ordinal.unwrap_or(word);
        let number: u32 = digits.parse().ok()?;
        match digits.len() {
            1 | 2 if self.day.is_none() => put(&mut self.day, number),
            2 => put(&mut self.year, i32::try_from(number).ok()? + if number < 70 { 2000 } else { 1900 }),
            4 => put(&mut self.year, i32::try_from(number).ok()?),
            _ => None,
        }
    }

    fn ms(self) -> Option<i64> {
        let date = NaiveDate::from_ymd_opt(self.year?, self.month?, self.day?)?;
        let time = date.and_time(self.time.unwrap_or(NaiveTime::MIN)).and_utc().timestamp_millis();
        let hours = match self.is_afternoon {
            None => 0,
            Some(is_afternoon) => {
                let hour = chrono::Timelike::hour(&self.time?);
                match (is_afternoon, hour) {
                    (false, 12) => -12,
                    (true, 1..12) => 12,
                    (_, 1..=12) => 0,
                    _ => return None,
                }
            }
        };
        Some(time + (hours * 60 - self.offset_minutes.unwrap_or(0)) * MS_PER_MINUTE)
    }
}

/// Puts a part into its place, which must be empty.
fn put<T>(place: &mut Option<T>, part: T) -> Option<()> {
    place.replace(part).is_none().then_some(())
}

/// Returns true if `word` is one of the names, or three letters or more of its beginning.
fn is_name(word: &str, names: &[&str]) -> bool {
    word.len() >= 3 && names.iter().any(|name| name.starts_with(word))
}

fn month(word: &str) -> Option<u32> {
    let n = MONTHS.iter().position(|month| is_name(word, &[month]))?;
    u32::try_from(n + 1).ok()
}

fn month_number(word: &str) -> Option<u32> {
    word.parse().ok().filter(|_| word.len() <= 2)
}

fn afternoon(word: &str) -> Option<bool> {
    match word {
        "am" | "a.m" => Some(false),
        "pm" | "p.m" => Some(true),
        _ => None,
    }
}

/// Parses a name of a zone, an offset, or both, as `gmt+0100`; returns minutes from UTC.
fn zone(word: &str) -> Option<i64> {
    let (name, offset) = word.split_at(word.find(['+', '-', '−']).unwrap_or(word.len()));
    let hours = match name {
        "" => 0,
        name => ZONES.iter().find(|(zone, _)| *zone == name)?.1,
    };
    let Some(sign) = offset.chars().next() else { return (!name.is_empty()).then_some(hours * 60) };
    let digits = offset[sign.len_utf8()..].replace(':', "");
    let number: i64 = digits.parse().ok().filter(|_| digits.bytes().all(|digit| digit.is_ascii_digit()))?;
    let minutes = match digits.len() {
        1 | 2 => number * 60,
        4 => number / 100 * 60 + number % 100,
        _ => return None,
    };
    (minutes <= 18 * 60).then_some(hours * 60 + if sign == '+' { minutes } else { -minutes })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 14 March 2024, 09:00 UTC.
    const NINE: &str = "2024-03-14T09:00:00Z";

    #[track_caller]
    fn check(texts: &[&str], expected: &str) {
        let expected = DateTime::parse_from_rfc3339(expected).unwrap().timestamp_millis();
        for text in texts {
            assert_eq!(text_ms(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn feeds_mails_and_logs() {
        check(
            &[
                "Thu, 14 Mar 2024 09:00:00 GMT",
                "Thu, 14 Mar 2024 09:00:00 +0000",
                "14 Mar 2024 10:00 +0100",
                "Thu, 14 Mar 24 04:00:00 EST",
                "Thursday, 14-Mar-24 09:00:00 GMT",
                "Thu Mar 14 09:00:00 2024",
                "Thu Mar 14 09:00:00 +0000 2024",
                "Thu Mar 14 09:00:00 UTC 2024",
                "Thu Mar 14 2024 10:00:00 GMT+0100 (Central European Standard Time)",
                "14/Mar/2024:10:00:00 +0100",
                "Thu, 14 Mar 2024 09:00:00 GMT (on the server)",
                "2024-03-14T10:00+01:00[Europe/Berlin]",
            ],
            NINE,
        );
    }

    #[test]
    fn posts_and_tables() {
        check(
            &[
                "2024-03-14 09:00:00 UTC",
                "2024-03-14 09:00 GMT",
                "2024-03-14T09:00:00.000 UTC",
                "2024-03-14 10:00:00 +0100",
                "2024-03-14 17:00:00 UTC+8",
                "2024/03/14 09:00:00",
                "2024/3/14 9:00",
                "2024.03.14 09:00",
                "14.03.2024 09:00",
                "14.3.2024, 09:00 Uhr",
                "March 14, 2024 9:00 AM",
                "Mar 14, 2024, 9:00:00 a.m.",
                "14th of March 2024 at 09:00",
                "2024-03-14 9:00am",
                "2024年3月14日 09:00",
                "2024年03月14日09时00分",
                "2024年3月14日上午9:00",
            ],
            NINE,
        );
        check(
            &["2024-03-14 09:00:00 PM", "14 Mar 2024 9:00 p.m.", "2024年3月14日 下午9:00"],
            "2024-03-14T21:00:00Z",
        );
        check(
            &["12:00 am 14 Mar 2024", "2024/03/14", "14 March 2024", "Mar 14, 2024", "20240314"],
            "2024-03-14T00:00:00Z",
        );
        check(&["2024-03", "2024/3", "2024年3月", "1 March 2024"], "2024-03-01T00:00:00Z");
        check(&["14 Mar 2024 12:30 pm"], "2024-03-14T12:30:00Z");
        assert_eq!(year_ms("2024"), text_ms("2024-01-01"));
    }

    #[test]
    fn what_is_not_certain_is_no_time() {
        for text in [
            "",
            "yesterday",
            "2 hours ago",
            "03/04/2024",
            "14/03/2024",
            "03-04-2024",
            "14.13.2024",
            "24.03.14",
            "14 Mar 2024 09:00 CST",
            "30 Feb 2024",
            "Mar 2024",
            "14 Mar 2024 25:00",
            "14 Mar 2024 13:00 PM",
            "14 Mar 2024 09:00 XYZ",
            "14 Mar 2024 09:00 GMT GMT",
            "14 15 Mar 2024 09:00",
            "Mar Mar 14 2024",
            "2024-03-14 09:00 +9999",
            "1e9",
            "T",
            "t9",
            "é:",
        ] {
            assert_eq!(text_ms(text), None, "{text}");
        }
        assert_eq!((year_ms("0999"), year_ms("20240"), year_ms("1e3 ")), (None, None, None));
    }
}
