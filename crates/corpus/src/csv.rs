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
use super::encoding::BYTE_ORDER_MARK;
use super::field_path::FieldPath;
use super::notes::Notes;
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
    notes: Notes,
    /// True once it was noted that the header comes again.
    has_told: bool,
    /// Name of the input in the notes.
    name: String,
}

struct Header {
    cells: Vec<Vec<u8>>,
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
            notes: Notes::default(),
            has_told: false,
            name: String::new(),
        }
    }

    /// Also uses whole rows, as `whole_rows` says.
    pub(super) fn with_whole_rows(self, whole_rows: &WholeRows) -> Self {
        Self { whole_rows: whole_rows.clone(), ..self }
    }

    /// Notes in `notes` what is to be said of the input `name`.
    pub(super) fn with_notes(self, notes: &Notes, name: &str) -> Self {
        Self { notes: notes.clone(), name: name.to_owned(), ..self }
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
            let is_repeated = matches!(row, Ok((_, Row::Whole))) && self.repeats_header();
            if let (Some(header), Ok((_, row))) = (&mut self.header, &row)
                && !matches!(row, Row::End)
                && !is_repeated
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
                Ok((number, row)) if self.header.is_none() && !matches!(row, Row::Whole) => {
                    self.ended = true;
                    records.push_error(
                        number,
                        broken("the row that names the fields is too long, or misquoted"),
                    );
                }
                Ok((number, Row::TooLong)) => {
                    records.push_error(number, RecordError::TooLong(self.record_bytes_max));
                }
                Ok((number, Row::Unclosed(line))) => {
                    let why = format!("the quote that opens in line {line} is never closed; {QUOTE_HELP}");
                    records.push_error(number, RecordError::Damaged(why));
                }
                Ok((number, Row::TooFar(line))) => {
                    let why = format!(
                        "the quote that opens in line {line} is not closed within a record of {} bytes; {QUOTE_HELP}, \
                         and --record-bytes-max longer records",
                        self.record_bytes_max
                    );
                    records.push_error(number, RecordError::Damaged(why));
                }
                Ok((number, Row::Misquoted(line))) => {
                    let why = format!(
                        "a quote opens in line {line}, and text follows the one that closes it; {QUOTE_HELP}"
                    );
                    records.push_error(number, RecordError::Damaged(why));
                }
                Ok((number, Row::WithRows(line))) => {
                    let why = format!(
                        "the quoted cell that opens in line {line} takes in whole rows; {QUOTE_HELP}, and --quote '\"' \
                         such cells as they are"
                    );
                    records.push_error(number, RecordError::Damaged(why));
                }
                Ok((_, Row::Whole)) if is_repeated => {
                    if !std::mem::replace(&mut self.has_told, true) {
                        self.notes.add(&self.name, "rows that repeat the header are passed over".to_owned());
                    }
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
            _ => None,
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

    /// Returns true if the row read last is the header once more, as tables joined end to end have
    /// it, with or without a byte order mark. Where rows have one cell it may be a record.
    fn repeats_header(&self) -> bool {
        let Some(Header { cells, .. }) = &self.header else { return false };
        let is_same = |(i, name): (usize, &Vec<u8>)| match self.rows.cell(i) {
            cell if i == 0 => cell.strip_prefix(BYTE_ORDER_MARK).unwrap_or(cell) == name,
            cell => cell == name,
        };
        cells.len() > 1 && self.rows.n_cells() == cells.len() && cells.iter().enumerate().all(is_same)
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
            let cells = names.iter().map(|name| name.to_vec()).collect();
            let shown: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name)).collect();
            let names: Arc<str> = listed(shown.iter().map(|name| &**name)).into();
            match lines {
                Ok(lines) => {
                    let alone_in = Some(number);
                    records.name_columns(&names);
                    self.header = Some(Header { cells, places, lines, names, alone_in });
                }
                Err(why) => {
                    records.push_error(number, RecordError::Broken(why));
                    self.ended = true;
                }
            }
            return;
        };
        if n_cells != header.cells.len() {
            let reason = format!(
                "{n_cells} cells, where the header has {}; --delimiter names what is between cells",
                header.cells.len()
            );
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
mod tests;
