//! CSV and TSV cut into rows; the first row names the fields. Quotes may hold line breaks, so
//! finding a row takes reading all before it. Of a row only the requested cells are kept, and the
//! whole row where an output needs it.

use std::io::{self, BufRead};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use memchr::{memchr_iter, memchr2_iter};

use super::columns::Columns;
use super::field_path::FieldPath;
use super::reader::RecordReader;
use super::records::{Cell, Form, RecordError, Records};
use super::whole_rows::{Lines, WholeRows};

/// Initial room for a row, in bytes and cells; it grows up to the limits.
const ROW_BYTES: usize = 64 << 10;
const ROW_CELLS: usize = 64;

/// Maximum number of cells in a row, which bounds rows of empty cells.
const ROW_CELLS_MAX: usize = 1 << 16;

pub(super) struct Csv<R> {
    reader: R,
    parser: Reader,
    columns: Columns,
    whole_rows: WholeRows,
    header: Option<Header>,
    /// The last row read: its cells one after another, and the end of each.
    cells: Vec<u8>,
    ends: Vec<usize>,
    n_cells: usize,
    /// Number of the next line.
    number: u64,
    record_bytes_max: usize,
    ended: bool,
}

struct Header {
    n_cells: usize,
    /// Place in a row of each requested column.
    places: Vec<Option<usize>>,
    /// Writer of whole rows, if requested.
    lines: Option<Lines>,
    /// Line number of the header, until another row follows.
    alone_in: Option<u64>,
}

enum Row {
    Whole,
    TooLong,
    /// The file ends inside quotes.
    Cut,
    End,
}

impl<R> Csv<R> {
    pub(super) fn new(reader: R, delimiter: u8, columns: Columns, record_bytes_max: usize) -> Self {
        Self {
            reader,
            parser: ReaderBuilder::new().delimiter(delimiter).build(),
            columns,
            whole_rows: WholeRows::Unused,
            header: None,
            cells: vec![0; ROW_BYTES],
            ends: vec![0; ROW_CELLS],
            n_cells: 0,
            number: 1,
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
        while !self.ended && !records.is_full() {
            let row = self
                .skip_blank_lines()
                .map(|()| self.number)
                .and_then(|number| Ok((number, self.read_row()?)));
            let broken = |why: &str| RecordError::Broken(why.to_owned());
            if let (Some(header), Ok((_, Row::Whole | Row::TooLong | Row::Cut))) = (&mut self.header, &row) {
                header.alone_in = None;
            }
            match row {
                Err(error) => {
                    self.ended = true;
                    records.push_error(self.number, broken(&error.to_string()));
                }
                Ok((_, Row::End)) => {
                    self.ended = true;
                    if let Some((number, why)) = self.header_alone() {
                        records.push_error(number, broken(why));
                    }
                }
                Ok((number, Row::Cut)) => {
                    self.ended = true;
                    records.push_error(number, broken("the file ends in the middle of quotes"));
                }
                Ok((number, Row::TooLong)) if self.header.is_none() => {
                    self.ended = true;
                    records.push_error(number, broken("the row that names the fields is too long"));
                }
                Ok((number, Row::TooLong)) => {
                    records.push_error(number, RecordError::TooLong(self.record_bytes_max));
                }
                Ok((number, Row::Whole)) => self.take_row(number, records),
            }
        }
    }
}

impl<R: BufRead> Csv<R> {
    /// Reads the column names from the first row, if there is a complete one. Nothing may have been
    /// read before.
    pub(super) fn names(mut self) -> io::Result<Option<Vec<Vec<u8>>>> {
        self.skip_blank_lines()?;
        let names = |csv: &Self| (0..csv.n_cells).map(|i| csv.cell(i).to_vec()).collect();
        Ok(match self.read_row()? {
            Row::Whole => Some(names(&self)),
            Row::TooLong | Row::Cut | Row::End => None,
        })
    }

    /// Returns a cell of the row read last.
    fn cell(&self, i: usize) -> &[u8] {
        &self.cells[if i == 0 { 0 } else { self.ends[i - 1] }..self.ends[i]]
    }

    /// Skips blank lines. The reader then stands on the first line of the next row, whose number is
    /// that of the line.
    fn skip_blank_lines(&mut self) -> io::Result<()> {
        loop {
            let available = fill(&mut self.reader)?;
            let n_blank = available.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            if n_blank == 0 {
                return Ok(());
            }
            self.number += memchr_iter(b'\n', &available[..n_blank]).count() as u64;
            self.reader.consume(n_blank);
        }
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

    fn read_row(&mut self) -> io::Result<Row> {
        let (mut n_bytes, mut n_ends, mut n_quotes, mut too_long) = (0, 0, 0, false);
        loop {
            let available = fill(&mut self.reader)?;
            let at_end = available.is_empty();
            let (result, n_read, n_written, n_ended) =
                self.parser.read_record(available, &mut self.cells[n_bytes..], &mut self.ends[n_ends..]);
            for i in memchr2_iter(b'\n', b'"', &available[..n_read]) {
                match available[i] {
                    b'"' => n_quotes += 1,
                    _ => self.number += 1,
                }
            }
            self.reader.consume(n_read);
            n_bytes += n_written;
            n_ends += n_ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                // The parser has read a byte order mark, and the buffer is used up.
                ReadRecordResult::End if !at_end => {}
                ReadRecordResult::OutputFull if n_bytes <= self.record_bytes_max => {
                    self.cells.resize(2 * self.cells.len(), 0);
                }
                ReadRecordResult::OutputEndsFull if n_ends < ROW_CELLS_MAX => {
                    self.ends.resize(2 * self.ends.len(), 0);
                }
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    too_long = true;
                    (n_bytes, n_ends) = (0, 0);
                }
                ReadRecordResult::End => return Ok(Row::End),
                ReadRecordResult::Record => {
                    self.n_cells = n_ends;
                    let too_long = too_long || n_bytes > self.record_bytes_max;
                    return Ok(match (too_long, at_end && n_quotes % 2 == 1) {
                        (true, _) => Row::TooLong,
                        (false, true) => Row::Cut,
                        (false, false) => Row::Whole,
                    });
                }
            }
        }
    }

    /// Takes the row read last as the header, or adds it to the records.
    fn take_row(&mut self, number: u64, records: &mut Records) {
        let cell = |i: usize| self.cell(i);
        let Some(header) = &self.header else {
            let place = |name: &str| (0..self.n_cells).find(|i| cell(*i) == name.as_bytes());
            let places = self.columns.paths.iter().map(|path| path.as_name().and_then(place));
            let places: Vec<_> = places.collect();
            let names: Vec<&[u8]> = (0..self.n_cells).map(cell).collect();
            let n_called = |path: &FieldPath| {
                names.iter().filter(|name| path.as_name().map(str::as_bytes) == Some(**name)).count()
            };
            let twice = self.columns.paths.iter().find(|path| n_called(path) > 1);
            let lines = if places.iter().all(Option::is_none) { check_delimiter(&names) } else { Ok(()) }
                .and_then(|()| twice.map_or(Ok(()), |path| Err(format!("several columns are called {path}"))))
                .and_then(|()| Lines::new(&self.whole_rows, &names));
            match lines {
                Ok(lines) => {
                    let alone_in = Some(number);
                    self.header = Some(Header { n_cells: self.n_cells, places, lines, alone_in });
                }
                Err(why) => {
                    records.push_error(number, RecordError::Broken(why));
                    self.ended = true;
                }
            }
            return;
        };
        if self.n_cells != header.n_cells {
            let reason = format!("{} cells, where the header has {}", self.n_cells, header.n_cells);
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

/// Refuses a header that a wrong delimiter makes one column: otherwise every row would get a reason
/// that does not help.
fn check_delimiter(names: &[&[u8]]) -> Result<(), String> {
    let [name] = names else { return Ok(()) };
    let Some(other) = b";\t|,".iter().find(|delimiter| name.contains(delimiter)) else { return Ok(()) };
    Err(format!(
        "its columns seem to be separated by {:?}, but CSV is read with commas, and TSV with tabs: convert it, or name the \
         file for what it is",
        char::from(*other)
    ))
}

/// Returns the bytes available now; empty at the end only.
fn fill(reader: &mut impl BufRead) -> io::Result<&[u8]> {
    // Called twice, since a borrow inside the loop cannot be returned.
    while let Err(error) = reader.fill_buf() {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    reader.fill_buf()
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::super::fields::testing::{names, rows};
    use super::*;

    /// Reads `content` a few bytes at a time and checks the id and the text, or the reason, of
    /// every row.
    #[track_caller]
    fn check(content: impl AsRef<[u8]>, record_bytes_max: usize, expected: &[(u64, Result<&str, &str>)]) {
        for step in [3, 4096] {
            let content = BufReader::with_capacity(step, content.as_ref());
            let mut csv = Csv::new(content, b',', names(&["text"], false).columns(), record_bytes_max);
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
        check("text,id\rb,a\r", 99, &[(1, Ok("a b"))]);
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
    fn other_delimiters_are_named_once() {
        check("id;text\na;b\nc;d\n", 99, &[(1, Err("separated by ';'"))]);
        check("id\ttext\na\tb\n", 99, &[(1, Err(r"separated by '\t'"))]);
        check("a;b,id,text\nx,c,d\n", 99, &[(2, Ok("c d"))]);
        check("name\na\n", 99, &[(2, Err("no field \"id\""))]);
    }

    #[test]
    fn quotes_that_are_never_closed_are_named() {
        check("id,text\na,b\nc,\"d\ne,f\n", 99, &[(2, Ok("a b")), (3, Err("ends in the middle of quotes"))]);
        let long = format!("id,text\na,\"{}", "line\n".repeat(100_000));
        check(long, 99, &[(2, Err("longer than 99 bytes"))]);
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
        let rows =
            rows(&mut Csv::new(reader, b',', names(&["text"], false).columns(), 99), names(&["text"], false));
        assert!(
            matches!(&rows[..], [(2, Ok(_)), (3, Err(reason))] if reason.contains("disk is gone")),
            "{rows:?}"
        );
    }
}
