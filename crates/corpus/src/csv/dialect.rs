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
    /// Number of cells in the first row.
    n_columns: usize,
    n_rows: usize,
    /// Number of rows with as many cells as the first.
    n_fitting: usize,
    n_misquoted: usize,
    has_quoted: bool,
}

impl Dialect {
    /// Returns the usual dialect with this delimiter.
    pub(crate) fn with(delimiter: u8) -> Self {
        Self { delimiter, quote: Some(QUOTE), has_escapes: false, is_open: false }
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
        let fit = |dialect: Self| dialect.fit(sample, is_whole);
        dialect.delimiter = delimiter.unwrap_or_else(|| {
            let fits = |delimiter: &u8| {
                let fit = fit(Self { delimiter: *delimiter, ..dialect });
                (fit.n_columns > 1).then(|| (100 * fit.n_fitting / fit.n_rows, fit.n_columns))
            };
            let others = DELIMITERS.into_iter().filter(|other| *other != usual && fits(other).is_some());
            // The usual one is given up where it cuts no row, or most rows otherwise.
            let is_usual = fits(&usual).is_some_and(|(share, _)| share >= 50);
            let best = others.max_by_key(fits).filter(|best| !is_usual && fits(best) >= Some((50, 0)));
            best.unwrap_or(usual)
        });
        let mut found = fit(dialect);
        if found.n_misquoted > 0 && dialect.quote.is_some() {
            let escaped = Self { has_escapes: true, ..dialect };
            let with_escapes = fit(escaped);
            if with_escapes.n_misquoted < found.n_misquoted {
                (dialect, found) = (escaped, with_escapes);
            }
        }
        // Few programs quote between tabs. Those that do close each quote.
        let is_quoted = found.has_quoted && found.n_misquoted == 0 && found.n_fitting == found.n_rows;
        if quote.is_none() && dialect.delimiter == b'\t' && !is_quoted {
            dialect = Self { quote: None, has_escapes: false, is_open: !found.has_quoted, ..dialect };
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
        let quoted = Self { quote: Some(QUOTE), is_open: false, ..self };
        let found = quoted.fit(sample, is_whole);
        let fits = found.n_columns == n_columns && found.n_fitting == found.n_rows;
        if found.n_rows > 0 && found.n_misquoted == 0 && fits {
            quoted
        } else {
            Self { is_open: false, ..self }
        }
    }

    fn fit(self, sample: &[u8], is_whole: bool) -> Fit {
        // The last line of a part may lack its end.
        let end =
            if is_whole { sample.len() } else { sample.iter().rposition(|byte| *byte == b'\n').unwrap_or(0) };
        let mut rows = Rows::new(&sample[..end], self, usize::MAX);
        let mut fit = Fit::default();
        while fit.n_rows + fit.n_misquoted < SAMPLE_ROWS {
            // A slice cannot fail.
            let Ok(row) = rows.skip_blank_lines().and_then(|()| rows.read_row()) else { break };
            match row {
                Row::Whole => {
                    if fit.n_rows == 0 {
                        fit.n_columns = rows.n_cells();
                    }
                    fit.n_rows += 1;
                    fit.n_fitting += usize::from(rows.n_cells() == fit.n_columns);
                }
                Row::Misquoted(_) => fit.n_misquoted += 1,
                Row::Unclosed(_) if is_whole => {
                    fit.n_misquoted += 1;
                    break;
                }
                Row::TooLong | Row::Unclosed(_) | Row::End => break,
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
