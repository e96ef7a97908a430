//! The dialect of a table of text: what is between its cells, and how cells are quoted.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::super::format::Format;
use super::rows::{Row, Rows};

/// Number of bytes by which a dialect is told.
pub(super) const SAMPLE_BYTES: usize = 64 << 10;

/// Number of rows by which a dialect is told.
const SAMPLE_ROWS: usize = 64;

const DELIMITERS: [u8; 4] = *b",;\t|";

const QUOTE: u8 = b'"';

/// Quoting of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    /// A quote is a character like any other.
    None,
    /// A cell may stand between two of this byte.
    With(u8),
}

/// Delimiter and quoting of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(super) delimiter: u8,
    pub(super) quote: Option<u8>,
    /// True if a backslash escapes a quote in a quoted cell.
    pub(super) has_escapes: bool,
    /// True if no cell has begun with a quote yet: the first one that does decides whether quotes
    /// count, by [`settled`](Self::settled).
    pub(super) is_open: bool,
    /// True if a quoted cell may not take in whole rows: between tabs, where the user has not said
    /// what quotes are.
    pub(super) keeps_rows: bool,
}

impl FromStr for Quote {
    type Err = &'static str;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        match given.as_bytes() {
            b"none" => Ok(Self::None),
            [byte] if byte.is_ascii() && !byte.is_ascii_whitespace() => Ok(Self::With(*byte)),
            _ => Err("a quote is one ASCII character, or none"),
        }
    }
}

impl fmt::Display for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::With(byte) => write!(f, "{}", char::from(*byte)),
        }
    }
}

impl Serialize for Quote {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Fit of a dialect to a sample.
#[derive(Clone, Copy, Default)]
struct Fit {
    /// Number of cells that a row should have.
    n_columns: usize,
    n_rows: usize,
    /// Number of rows that have them.
    n_fitting: usize,
    n_misquoted: usize,
    /// True if the sample ends inside quotes, in a row that may fit.
    is_cut: bool,
    has_quoted: bool,
}

impl Fit {
    /// Returns true if all rows fit, or no fewer than without quotes, each row that does not taken
    /// off.
    fn is_no_worse_than(self, plain: Self) -> bool {
        let fits_all = !self.is_cut && self.n_misquoted == 0 && self.n_fitting == self.n_rows;
        fits_all || self.score() >= plain.score()
    }

    /// Returns what fits less what does not, and what fits: between equals, the one in which more
    /// rows fit has lost none in a cell.
    fn score(self) -> (usize, usize) {
        let n_fitting = self.n_fitting + usize::from(self.is_cut);
        let n_misfits = self.n_rows - self.n_fitting + self.n_misquoted;
        (SAMPLE_ROWS + n_fitting - n_misfits, n_fitting)
    }
}

impl Dialect {
    /// Returns the usual dialect with this delimiter.
    pub(crate) fn with(delimiter: u8) -> Self {
        Self { delimiter, quote: Some(QUOTE), has_escapes: false, is_open: false, keeps_rows: false }
    }

    /// Tells the dialect of a table by its first bytes, of which `is_whole` says that they are all;
    /// what is given is not asked.
    pub(super) fn of(
        sample: &[u8],
        is_whole: bool,
        usual: u8,
        delimiter: Option<u8>,
        quote: Option<Quote>,
    ) -> Self {
        let quote_or = |usual| match quote {
            None => usual,
            Some(Quote::None) => None,
            Some(Quote::With(byte)) => Some(byte),
        };
        let mut dialect = Self { quote: quote_or(Some(QUOTE)), ..Self::with(usual) };
        let fit = |dialect: Self| dialect.fit(sample, is_whole, None);
        dialect.delimiter = delimiter.unwrap_or_else(|| {
            let with = |delimiter: &u8| fit(Self { delimiter: *delimiter, ..dialect });
            let fits = |delimiter: &u8| {
                let fit = with(delimiter);
                (fit.n_columns > 1).then(|| (100 * fit.n_fitting / fit.n_rows, fit.n_columns))
            };
            let cuts_all = |delimiter: &u8| {
                let fit = with(delimiter);
                fit.n_rows > 1 && fit.n_misquoted == 0 && fit.n_fitting == fit.n_rows
            };
            let others = DELIMITERS.into_iter().filter(|other| *other != usual && fits(other).is_some());
            // The usual one is given up where it cuts no row, or most rows otherwise. So is the
            // comma, which numbers have, where another one cuts all rows into more cells.
            let is_better = |best: &u8| match fits(&usual) {
                Some((share, n_columns)) if share >= 50 => {
                    usual == b',' && fits(best) > Some((100, n_columns)) && cuts_all(best)
                }
                _ => fits(best) >= Some((50, 0)),
            };
            others.max_by_key(fits).filter(is_better).unwrap_or(usual)
        });
        dialect.keeps_rows = quote.is_none() && dialect.delimiter == b'\t';
        let mut found = fit(dialect);
        if found.n_misquoted > 0 && dialect.quote.is_some() {
            let escaped = Self { has_escapes: true, ..dialect };
            let with_escapes = fit(escaped);
            if with_escapes.n_misquoted < found.n_misquoted {
                (dialect, found) = (escaped, with_escapes);
            }
        }
        // Few programs quote between tabs. Of those that do, the rows fit with their quotes.
        if quote.is_none() && dialect.delimiter == b'\t' {
            let plain = Self { quote: None, has_escapes: false, ..dialect };
            if !found.has_quoted || !found.is_no_worse_than(fit(plain)) {
                dialect = Self { is_open: !found.has_quoted, ..plain };
            }
        }
        dialect
    }

    /// Returns true if `byte` begins a cell by which an open dialect is settled.
    pub(super) fn is_settled_by(self, byte: u8) -> bool {
        self.is_open && byte == QUOTE
    }

    /// Decides whether quotes count, by the rows from the first one with a quote at the beginning
    /// of a cell. `n_columns` is the number of cells of the rows before.
    pub(super) fn settled(self, sample: &[u8], is_whole: bool, n_columns: usize) -> Self {
        let plain = Self { is_open: false, ..self };
        let quoted = Self { quote: Some(QUOTE), ..plain };
        let fit = |dialect: Self| dialect.fit(sample, is_whole, Some(n_columns));
        if fit(quoted).is_no_worse_than(fit(plain)) { quoted } else { plain }
    }

    /// Returns the fit to a sample, whose rows should have `n_columns` cells; as many as the first
    /// row if `None`.
    fn fit(self, sample: &[u8], is_whole: bool, n_columns: Option<usize>) -> Fit {
        // The last line of a part may lack its end.
        let end =
            if is_whole { sample.len() } else { sample.iter().rposition(|byte| *byte == b'\n').unwrap_or(0) };
        let mut rows = Rows::new(&sample[..end], self, usize::MAX).with_columns(n_columns);
        let mut fit = Fit { n_columns: n_columns.unwrap_or_default(), ..Fit::default() };
        while fit.n_rows + fit.n_misquoted < SAMPLE_ROWS {
            // A slice cannot fail.
            let Ok(row) = rows.skip_blank_lines().and_then(|()| rows.read_row()) else { break };
            match row {
                Row::Whole => {
                    if fit.n_columns == 0 {
                        fit.n_columns = rows.n_cells();
                    }
                    fit.n_rows += 1;
                    fit.n_fitting += usize::from(rows.n_cells() == fit.n_columns);
                }
                Row::Misquoted(_) | Row::WithRows(_) => fit.n_misquoted += 1,
                Row::Unclosed(_) => {
                    (fit.n_misquoted, fit.is_cut) = (fit.n_misquoted + usize::from(is_whole), !is_whole);
                    break;
                }
                Row::TooLong | Row::TooFar(_) | Row::End => break,
            }
        }
        fit.has_quoted = rows.n_quoted > 0;
        fit
    }

    /// Formats what is unusual, as shown to the user.
    pub(super) fn unusual(self, format: Format) -> Option<String> {
        let mut said = Vec::new();
        if format.delimiter() != Some(self.delimiter) {
            said.push(format!("cells between {:?}", char::from(self.delimiter)));
        }
        if self.has_escapes {
            said.push("quotes escaped by backslashes".to_owned());
        }
        (!said.is_empty()).then(|| said.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sample: &str, usual: u8, delimiter: u8, quote: Option<u8>, has_escapes: bool) {
        let found = Dialect::of(sample.as_bytes(), true, usual, None, None);
        let expected = Dialect { delimiter, quote, has_escapes, ..found };
        assert_eq!(found, expected, "{sample}");
    }

    #[test]
    fn delimiters_are_told_by_the_rows() {
        let quote = Some(b'"');
        for (sample, delimiter) in [
            ("id,text\n1,a;b|c\n", b','),
            ("id;text\n1;a, b\n2;c, d, e\n", b';'),
            ("id\ttext\n1\ta, b\n", b'\t'),
            ("id|text\n1|a;b\n", b'|'),
            ("a;b,id,text\nx,c,d\n", b','),
            ("id;\"a, text\"\n1;b\n2;c\n", b';'),
            ("text\na\nb\n", b','),
            ("A sentence, and another; no more.", b','),
            ("", b','),
            // One row with a comma too many is no reason to look elsewhere.
            ("id,text\n1,a\n2,b,c\n", b','),
            // Commas that numbers have.
            ("id;text;\"a, b\"\n1;The ferry sails;3,5\n2;At noon it goes;4,5\n", b';'),
            ("id;text;height, m\n1;a;3,5\n2;b;4,5\n", b';'),
            ("id,tags\n1,a;b;c\n2,a;b;c\n", b','),
            ("id,text;lang\n1,a;b;c\n2,d\n", b','),
        ] {
            let quote = if delimiter == b'\t' { None } else { quote };
            check(sample, b',', delimiter, quote, false);
        }
        check("id,text\n1,a\n", b'\t', b',', quote, false);
        check("id\ttext, long; or | short\n1\ta\n", b'\t', b'\t', None, false);
    }

    #[test]
    fn quotes_between_tabs_count_where_each_is_closed() {
        let quote = Some(b'"');
        check("id\ttext\n1\t\"a\nb\"\n", b'\t', b'\t', quote, false);
        check("id\ttext\n1\t\"a\"\"b\"\n2\tc\n", b'\t', b'\t', quote, false);
        check("id\ttext\n1\t\"a\n2\t\"b\n", b'\t', b'\t', None, false);
        check("id\ttext\n1\t\"a\" he said\n", b'\t', b'\t', None, false);
        check("id\ttext\n1\t\"never closed\n", b'\t', b'\t', None, false);
    }

    /// Once a single such row had quotes stand for themselves, and cut the rows with line breaks.
    #[test]
    fn rows_that_do_not_fit_either_way_are_no_reason_against_quotes() {
        let quote = Some(b'"');
        let row = "1\t\"He said \"\"hi\"\" to me\"\ta\n";
        for other in ["2\tshort row\n", "(2 rows)\n", "2\t\"a\" b\"\tc\n"] {
            let rows = format!("id\ttext\tx\n{row}{other}3\t\"two\nlines here\"\tb\n");
            check(&rows, b'\t', b'\t', quote, false);
            check(&rows, b',', b'\t', quote, false);
            let open = Dialect::of(b"id\ttext\tx\n0\ta\tb\n", false, b'\t', None, None);
            let late = rows.split_once('\n').unwrap().1;
            assert_eq!(open.settled(late.as_bytes(), true, 3).quote, quote);
        }
        // A cell of many lines goes beyond the sample.
        let long = format!("id\ttext\n1\t\"{}", "line\n".repeat(100));
        assert_eq!(Dialect::of(long.as_bytes(), false, b'\t', None, None).quote, quote);
        let long = b"id\ttext\n1\t\"a\nand a long line";
        assert_eq!(Dialect::of(long, false, b'\t', None, None).quote, quote);
        let raw = format!("id\ttext\n1\t\"a\n{}", "2\tb\n".repeat(100));
        assert_eq!(Dialect::of(raw.as_bytes(), false, b'\t', None, None).quote, None);
    }

    #[test]
    fn quotes_that_take_in_rows_do_not_count() {
        check("id\ttext\n1\t\"a\n2\tb.\"\n3\tc\n", b'\t', b'\t', None, false);
        check("id\ttext\tx\n1\t\"a\tz\n2\tb\tz\n3\tc\"\tz\n", b'\t', b'\t', None, false);
        check("id\ttext\n1\t\"a\n\tb.\"\n2\t\"c\nd\ne\nf\"\n", b'\t', b'\t', Some(b'"'), false);
        check("id,text\n1,\"a\n2,b.\"\n3,c\n", b',', b',', Some(b'"'), false);
        let open = Dialect::of(b"id\ttext\n0\ta\n", false, b'\t', None, None);
        assert_eq!(open.settled(b"1\t\"a\n2\tb.\"\n3\tc\n", true, 2).quote, None);
    }

    /// The first rows have no quote, and the first one that comes decides for all after it.
    #[test]
    fn a_late_quote_settles_what_quotes_are() {
        for (late, quote) in [
            ("1\t\"a\nb\"\n2\tc\n", Some(b'"')),
            ("1\t\"a\"\"b\"\n2\t\"c\"\n", Some(b'"')),
            ("1\t\"a\" he said\n2\tc\n", None),
            ("1\t\"never closed\n2\tc\n", None),
            // Its closing quote would be that of another row.
            ("1\t\"a\n2\tb\"\tc\n", None),
        ] {
            let begun = "id\ttext\n0\tno \"quote\" begins this\n";
            let open = Dialect::of(begun.as_bytes(), false, b'\t', None, None);
            assert!(open.is_settled_by(b'"') && open.quote.is_none());
            let settled = open.settled(late.as_bytes(), true, 2);
            assert_eq!((settled.quote, settled.is_settled_by(b'"')), (quote, false), "{late:?}");
        }
    }

    #[test]
    fn backslashes_escape_where_nothing_else_fits() {
        let quote = Some(b'"');
        check("id,text\n1,\"a \\\"b, c\\\" d\"\n", b',', b',', quote, true);
        check("id,text\n1,\"a \\ b\"\n", b',', b',', quote, false);
        check("id,text\n1,\"C:\\\"\n2,\"b\"\n", b',', b',', quote, false);
    }

    #[test]
    fn what_is_given_is_not_asked() {
        let of = |delimiter, quote| Dialect::of(b"id,text\n1,\"a\"\n", true, b',', delimiter, quote);
        assert_eq!(of(Some(b';'), None).delimiter, b';');
        assert_eq!(of(None, Some(Quote::None)).quote, None);
        assert_eq!(of(Some(b'\t'), Some(Quote::With(b'\''))).quote, Some(b'\''));
        for (given, expected) in
            [("none", Some(Quote::None)), ("'", Some(Quote::With(b'\''))), ("", None), ("ab", None)]
        {
            assert_eq!(given.parse().ok(), expected, "{given}");
        }
    }
}
