//! CSV and TSV cut into rows; the first row names the fields. Quotes may hold line breaks, so
//! finding a row takes reading all before it. Of a row only the requested cells are kept, and the
//! whole row where an output needs it.

mod dialect;
mod opened;
mod options;
mod rows;
pub(super) mod transcoded;

use std::io::{self, BufRead};
use std::sync::Arc;

use super::columns::Columns;
use super::field_path::FieldPath;
use super::reader::RecordReader;
use super::records::{Cell, Form, RecordError, Records};
use super::there::listed;
use super::whole_rows::{Lines, WholeRows};
pub(super) use dialect::Dialect;
pub use dialect::Quote;
pub(super) use opened::{Opened, open};
pub use options::{TableOptions, TextEncoding};
use rows::{Row, Rows};

pub(super) struct Csv<R> {
    rows: Rows<R>,
    columns: Columns,
    whole_rows: WholeRows,
    header: Option<Header>,
    record_bytes_max: usize,
    ended: bool,
}

struct Header {
    n_cells: usize,
    /// Place in a row of each requested column.
    places: Vec<Option<usize>>,
    /// Writer of whole rows, if requested.
    lines: Option<Lines>,
    /// Names of all columns, as shown to the user.
    names: Arc<str>,
    /// Line number of the header, until another row follows.
    alone_in: Option<u64>,
}

impl<R: BufRead> Csv<R> {
    pub(super) fn new(reader: R, dialect: Dialect, columns: Columns, record_bytes_max: usize) -> Self {
        Self {
            rows: Rows::new(reader, dialect, record_bytes_max),
            columns,
            whole_rows: WholeRows::Unused,
            header: None,
            record_bytes_max,
            ended: false,
        }
    }

    /// Also uses whole rows, as `whole_rows` says.
    pub(super) fn with_whole_rows(self, whole_rows: &WholeRows) -> Self {
        Self { whole_rows: whole_rows.clone(), ..self }
    }
}

impl<R: BufRead> RecordReader for Csv<R> {
    fn form(&self) -> Form {
        Form::Row
    }

    fn append_records(&mut self, records: &mut Records) {
        if let Some(header) = &self.header {
            records.name_columns(&header.names);
        }
        while !self.ended && !records.is_full() {
            let row = self.rows.skip_blank_lines().map(|()| self.rows.number);
            let row = row.and_then(|number| Ok((number, self.rows.read_row()?)));
            let broken = |why: &str| RecordError::Broken(why.to_owned());
            if let (Some(header), Ok((_, row))) = (&mut self.header, &row)
                && !matches!(row, Row::End)
            {
                header.alone_in = None;
            }
            match row {
                Err(error) => {
                    self.ended = true;
                    records.push_error(self.rows.number, broken(&error.to_string()));
                }
                Ok((_, Row::End)) => {
                    self.ended = true;
                    if let Some((number, why)) = self.header_alone() {
                        records.push_error(number, broken(why));
                    }
                }
                Ok((number, Row::Unclosed(line))) => {
                    self.ended = true;
                    let why = format!("the quote that opens in line {line} is never closed; {QUOTE_HELP}");
                    records.push_error(number, broken(&why));
                }
                Ok((number, Row::TooLong | Row::Misquoted(_))) if self.header.is_none() => {
                    self.ended = true;
                    records.push_error(
                        number,
                        broken("the row that names the fields is too long, or misquoted"),
                    );
                }
                Ok((number, Row::TooLong)) => {
                    records.push_error(number, RecordError::TooLong(self.record_bytes_max));
                }
                Ok((number, Row::Misquoted(line))) => {
                    let why = format!(
                        "a quote opens in line {line}, and text follows the one that closes it; {QUOTE_HELP}"
                    );
                    records.push_error(number, RecordError::Damaged(why));
                }
                Ok((number, Row::Whole)) => self.take_row(number, records),
            }
        }
    }
}

const QUOTE_HELP: &str = "--quote none reads quotes as they stand";

impl<R: BufRead> Csv<R> {
    /// Reads the column names from the first row, if there is a complete one. Nothing may have been
    /// read before.
    pub(super) fn names(mut self) -> io::Result<Option<Vec<Vec<u8>>>> {
        self.rows.skip_blank_lines()?;
        let names = |rows: &Rows<R>| (0..rows.n_cells()).map(|i| rows.cell(i).to_vec()).collect();
        Ok(match self.rows.read_row()? {
            Row::Whole => Some(names(&self.rows)),
            Row::TooLong | Row::Misquoted(_) | Row::Unclosed(_) | Row::End => None,
        })
    }

    /// Returns the fault of a file whose only row names none of the texts: the row is a record, or
    /// another file was meant. A file without records is valid if its columns are.
    fn header_alone(&self) -> Option<(u64, &'static str)> {
        let header = self.header.as_ref()?;
        let has_text = header.places.iter().enumerate().any(|(column, place)| {
            place.is_some() && (self.columns.n_texts == 0 || self.columns.is_text(column))
        });
        let is_looked_at = !header.places.is_empty();
        header.alone_in.filter(|_| is_looked_at && !has_text).map(|number| {
            (
                number,
                "it has one row only, by which its columns are called, and none of them holds a text; \
                      the first row has to name the fields",
            )
        })
    }

    /// Takes the row read last as the header, or adds it to the records.
    fn take_row(&mut self, number: u64, records: &mut Records) {
        let n_cells = self.rows.n_cells();
        let cell = |i: usize| self.rows.cell(i);
        let Some(header) = &self.header else {
            let place = |name: &str| (0..n_cells).find(|i| cell(*i) == name.as_bytes());
            let places = self.columns.paths.iter().map(|path| path.as_name().and_then(place));
            let places: Vec<_> = places.collect();
            let names: Vec<&[u8]> = (0..n_cells).map(cell).collect();
            let n_called = |path: &FieldPath| {
                names.iter().filter(|name| path.as_name().map(str::as_bytes) == Some(**name)).count()
            };
            let twice = self.columns.paths.iter().find(|path| n_called(path) > 1);
            let lines = twice
                .map_or(Ok(()), |path| Err(format!("several columns are called {path}")))
                .and_then(|()| Lines::new(&self.whole_rows, &names));
            let shown: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name)).collect();
            let names: Arc<str> = listed(shown.iter().map(|name| &**name)).into();
            match lines {
                Ok(lines) => {
                    let alone_in = Some(number);
                    records.name_columns(&names);
                    self.header = Some(Header { n_cells, places, lines, names, alone_in });
                }
                Err(why) => {
                    records.push_error(number, RecordError::Broken(why));
                    self.ended = true;
                }
            }
            return;
        };
        if n_cells != header.n_cells {
            let reason = format!("{n_cells} cells, where the header has {}", header.n_cells);
            records.push_error(number, RecordError::Damaged(reason));
            return;
        }
        for (i, place) in header.places.iter().enumerate() {
            match place.map(cell) {
                None => records.push_cell(Cell::Missing),
                // CSV has no null; a text may well be empty.
                Some([]) if !self.columns.is_text(i) => records.push_cell(Cell::Null),
                Some(text) => records.push_text_cell(text),
            }
        }
        if let Some(lines) = &header.lines
            && let Err(why) = lines.write(cell, records.bytes_mut())
        {
            records.push_error(number, RecordError::Damaged(why));
            return;
        }
        records.push(number);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::super::fields::testing::{names, rows};
    use super::super::format::Format;
    use super::rows::{ROW_BYTES, ROW_CELLS_MAX};
    use super::*;

    /// Reads `content` a few bytes at a time and checks the id and the text, or the reason, of
    /// every row.
    #[track_caller]
    fn check(content: impl AsRef<[u8]>, record_bytes_max: usize, expected: &[(u64, Result<&str, &str>)]) {
        for step in [3, 4096] {
            let content = BufReader::with_capacity(step, content.as_ref());
            let mut csv =
                Csv::new(content, Dialect::with(b','), names(&["text"], false).columns(), record_bytes_max);
            let rows = rows(&mut csv, names(&["text"], false));
            assert_eq!(rows.len(), expected.len(), "{rows:?}");
            for ((number, row), (expected_number, expected)) in rows.iter().zip(expected) {
                assert_eq!(number, expected_number, "{rows:?}");
                match (row, expected) {
                    (Ok(row), Ok(expected)) => assert_eq!(row, expected),
                    (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason:?}: {part:?}"),
                    _ => panic!("{rows:?}"),
                }
            }
        }
    }

    /// A table between tabs whose first quoted cell comes after the sample by which dialects are
    /// told.
    #[test]
    fn a_late_quote_between_tabs() {
        let plain: String = (0..5_000).map(|n| format!("{n}\ta text without quotes\n")).collect();
        for (late, expected) in
            [("x\t\"a\"\"b\ty\"\n", "x a\"b\ty"), ("x\t\"a\" he said\n", "x \"a\" he said")]
        {
            let content = format!("id\ttext\n{plain}{late}{plain}");
            let opened = open(content.as_bytes(), Format::Tsv, TableOptions::default());
            let (columns, dialect) = (names(&["text"], false).columns(), opened.dialect);
            let mut csv = Csv::new(opened.content, dialect, columns, 1 << 20);
            let rows = rows(&mut csv, names(&["text"], false));
            assert_eq!(rows.len(), 10_001);
            assert_eq!(rows[5_000].1.as_deref(), Ok(expected));
        }
    }

    #[test]
    fn rows_have_the_number_of_their_first_line() {
        check("", 99, &[]);
        check("id,text\n", 99, &[]);
        check("id,text\na,b", 99, &[(2, Ok("a b"))]);
        check(
            "\u{feff}id,x,text\r\na,,b\r\n\r\nc,,\"d\r\n\"\"e\"\r\nf,,\r\n",
            99,
            &[(2, Ok("a b")), (4, Ok("c d\r\n\"e")), (6, Ok("f "))],
        );
        check("text,id\rb,a\r", 99, &[(2, Ok("a b"))]);
    }

    /// As Excel writes "CSV (Macintosh)". The lengths bring each line end to the end of a buffer.
    #[test]
    fn a_carriage_return_alone_ends_a_line() {
        for id in ["", "1", "12", "123"] {
            let content = format!("id,text\ra{id},\"b\rc\r\nd\ne\r\"\r\r\n\r\rf,g\rh,\"\"\"\r\n\"\r\ni,j");
            let first = format!("a{id} b\rc\r\nd\ne\r");
            let rows = [(2, Ok(&*first)), (10, Ok("f g")), (11, Ok("h \"\r")), (13, Ok("i j"))];
            check(content, 99, &rows);
        }
    }

    #[test]
    fn rows_that_will_not_do_are_named_and_the_rest_goes_on() {
        check(
            "id,text\na\nb,c,d\ne,f\n",
            99,
            &[(2, Err("1 cells, where")), (3, Err("3 cells")), (4, Ok("e f"))],
        );
        check("id,text\n,b\nc,d\n", 99, &[(2, Err("\"id\" holds null")), (3, Ok("c d"))]);
        check("name,text\na,b\n", 99, &[(2, Err("no field \"id\""))]);
        check("id,text,text\na,b,c\n", 99, &[(1, Err("several columns are called"))]);
        check("a,b\n", 99, &[(1, Err("it has one row only"))]);
        check("\n\na text and no header", 99, &[(3, Err("it has one row only"))]);
        check(b"id,text\na,\xff\nc,d\n", 99, &[(2, Err("\"text\" is not valid UTF-8")), (3, Ok("c d"))]);
        check(
            "id,text\na,12345678\nc,\"1\n2345678\"\nd,e\n",
            8,
            &[(2, Err("longer than 8 bytes")), (3, Err("longer than 8 bytes")), (5, Ok("d e"))],
        );
        let wide = format!("id,text\n{}\na,b\n", ",".repeat(2 * ROW_CELLS_MAX));
        check(wide, 99, &[(2, Err("longer than")), (3, Ok("a b"))]);
        check(format!("{}\n", "x".repeat(2 * ROW_BYTES)), 99, &[(1, Err("names the fields is too long"))]);
    }

    #[test]
    fn columns_there_are_named_for_one_that_is_missing() {
        check("name,a;b\na,b\n", 99, &[(2, Err("no field \"id\"; it has \"name\", \"a;b\";"))]);
    }

    /// Rows once lay in the cell of such a quote, or changed without a word.
    #[test]
    fn quotes_that_do_not_pair_are_named_and_no_row_is_lost_in_a_cell() {
        check(
            "id,text\na,b\nc,\"d\ne,f\n",
            99,
            &[(2, Ok("a b")), (3, Err("the quote that opens in line 3 is never closed"))],
        );
        let long = format!("id,text\na,\"{}", "line\n".repeat(100_000));
        check(long, 99, &[(2, Err("opens in line 2 is never closed"))]);
        check(
            "id,text\r\n1,\"a\r\n2,b\r\n3,\"c\r\n4,d\r\n",
            99,
            &[(2, Err("quote opens in line 2")), (3, Ok("2 b")), (4, Err("opens in line 4 is never closed"))],
        );
        check(
            "id,text\n1,\"a \\\"b\\\" c\"\n2,d\n\"3\" ,\"e\"\n",
            99,
            &[(2, Err("text follows")), (3, Ok("2 d")), (4, Ok("3 e"))],
        );
        check("id,text\r1,\"a\" b\r2,c\r", 99, &[(2, Err("text follows")), (3, Ok("2 c"))]);
        check("id,text\n1,say \"a\"\n2,\"\"\n", 99, &[(2, Ok("1 say \"a\"")), (3, Ok("2 "))]);
        let (dialect, content) = (
            Dialect { has_escapes: true, ..Dialect::with(b',') },
            br#"id,text
1,"a \"b\", \\ \n"
"#,
        );
        let rows = rows(
            &mut Csv::new(&content[..], dialect, names(&["text"], false).columns(), 99),
            names(&["text"], false),
        );
        assert_eq!(rows, [(2, Ok(r#"1 a "b", \ \n"#.to_owned()))]);
    }

    #[test]
    fn a_source_that_breaks_off_says_so() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let reader = BufReader::new(b"id,text\na,b\nc,".chain(Broken));
        let rows = rows(
            &mut Csv::new(reader, Dialect::with(b','), names(&["text"], false).columns(), 99),
            names(&["text"], false),
        );
        assert!(
            matches!(&rows[..], [(2, Ok(_)), (3, Err(reason))] if reason.contains("disk is gone")),
            "{rows:?}"
        );
    }
}
