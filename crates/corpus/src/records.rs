//! Raw records, numbered, many in one portion.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::origin::Origin;

/// A portion takes no further record once it holds this many bytes.
pub(super) const CHUNK_BYTES: usize = 256 << 10;

/// A portion takes no further record once it holds this many, which bounds portions of empty
/// records.
pub(super) const CHUNK_RECORDS: usize = 4096;

/// Neighbouring records of one source.
pub struct Chunk {
    /// Origin of the records.
    pub origin: Arc<Origin>,
    /// Index of the source among the inputs.
    pub n_file: usize,
    pub(super) records: Records,
    /// Number of records of the file before these.
    pub(super) n_before: u64,
    /// Number of these records that an earlier run took.
    pub(super) n_skipped: usize,
}

/// Records without their origin.
#[derive(Debug)]
pub(super) struct Records {
    form: Form,
    /// Bytes of all records, one after another.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Cells of all records, if the records are rows.
    cells: Vec<Cell>,
    /// True if the source waits for its writer after these records.
    is_at_rest: bool,
    /// Names of all columns as shown to the user, if the records are rows.
    columns: Option<Arc<str>>,
}

/// Meaning of the bytes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A line of JSON, without its line end.
    Json,
    /// Cells: their texts lie one after another, followed by the output line of the whole row, if
    /// one was requested.
    Row,
    /// The whole content of a file.
    Text,
    /// The whole content of an HTML file.
    Html,
    /// A response of a WARC file, or another of its records that holds a document.
    Response,
    /// A file in an archive that is not read: its ending.
    LeftOut,
}

/// Cell of a row for one of the requested fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    /// The row has no such field.
    Missing,
    Null,
    /// Text of this many bytes, declared to be UTF-8.
    Text(usize),
    /// This many bytes of any kind.
    Bytes(usize),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    /// Milliseconds since 1970.
    Time(i64),
    /// A value of no use as a field; holds the name of its kind.
    Other(&'static str),
}

#[derive(Debug)]
struct Entry {
    number: u64,
    /// End of the record in `bytes`; it starts at the end of the previous one.
    end: usize,
    /// End of the record in `cells`, likewise.
    end_cell: usize,
    error: Option<RecordError>,
}

/// One record as read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawRecord<'a> {
    pub(super) form: Form,
    pub(super) bytes: &'a [u8],
    /// Empty if the record is not a row.
    pub(super) cells: &'a [Cell],
    /// Names of all columns as shown to the user; empty if the record is not a row.
    pub(super) columns: &'a str,
}

impl<'a> RawRecord<'a> {
    /// Returns the output line of the record, if there is one.
    pub fn line(&self) -> Option<&'a [u8]> {
        match self.form {
            Form::Json => Some(self.bytes),
            Form::Row => {
                let cell_bytes = |cell: &Cell| match cell {
                    Cell::Text(n_bytes) | Cell::Bytes(n_bytes) => *n_bytes,
                    _ => 0,
                };
                let line = &self.bytes[self.cells.iter().map(cell_bytes).sum()..];
                (!line.is_empty()).then_some(line)
            }
            Form::Text | Form::Html | Form::Response | Form::LeftOut => None,
        }
    }

    /// Returns the ending of a file in an archive that stands here and is not read: the argument of
    /// [`LeftOut::add_kind`](crate::LeftOut::add_kind).
    pub fn left_out(&self) -> Option<&'a str> {
        let is_left_out = self.form == Form::LeftOut;
        is_left_out.then(|| std::str::from_utf8(self.bytes).unwrap_or_default())
    }
}

/// A record, or the error in its place, with its number, counted from 1: the line number in formats
/// of lines.
pub type Numbered<'a> = (u64, Result<RawRecord<'a>, &'a RecordError>);

/// Progress through the inputs. Line numbers would not do: lines that end in a carriage return
/// alone are all line 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// Number of files read to their ends.
    pub(super) n_file: usize,
    /// Number of records read of the next file.
    pub(super) n_records: u64,
}

/// Place of a record.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The input that holds the record.
    pub origin: &'a Origin,
    /// Number in the input, as in [`Numbered`].
    pub number: u64,
    /// Progress through the inputs, this record included.
    pub position: Position,
}

/// Error in the place of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// The record is longer than the limit, in bytes.
    TooLong(usize),
    /// The source cannot be read on from here.
    Broken(String),
    /// The record cannot be read, but those after it can.
    Damaged(String),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(limit) => {
                write!(f, "the record is longer than {limit} bytes (raise --record-bytes-max)")
            }
            Self::Broken(why) => write!(f, "reading stopped here: {why}"),
            Self::Damaged(why) => f.write_str(why),
        }
    }
}

impl Chunk {
    /// Returns true if there are records to be taken.
    pub(crate) fn has_any(&self) -> bool {
        self.n_skipped < self.records.len()
    }

    /// Returns true if the source waits for its writer after these records, so that a result which
    /// waits for more records may wait long.
    pub fn is_at_rest(&self) -> bool {
        self.records.is_at_rest
    }

    /// Returns the bytes of all records.
    #[must_use]
    pub fn n_bytes(&self) -> usize {
        self.records.bytes.len()
    }

    /// Returns the records to be taken, each with the position after it.
    pub fn records(&self) -> impl Iterator<Item = (Position, Numbered<'_>)> {
        let positions = (self.n_before + 1..).map(|n_records| Position { n_file: self.n_file, n_records });
        positions.zip(self.records.iter()).skip(self.n_skipped)
    }
}

impl Records {
    pub(super) fn new(form: Form) -> Self {
        let (bytes, entries, cells) = (Vec::new(), Vec::new(), Vec::new());
        Self { form, bytes, entries, cells, is_at_rest: false, columns: None }
    }

    /// Returns one record that could not be read.
    pub(super) fn broken(number: u64, error: RecordError) -> Self {
        let mut records = Self::new(Form::Json);
        records.push_error(number, error);
        records
    }

    /// Returns the record of one file in an archive that is not read.
    pub(super) fn left_out(ending: &str) -> Self {
        let mut records = Self::new(Form::LeftOut);
        records.bytes_mut().extend_from_slice(ending.as_bytes());
        records.push(1);
        records
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Checks the presence of the bytes and cells of the last entry.
    ///
    /// # Panics
    /// If the reader took away bytes or cells of a record already handed over.
    pub(super) fn check(&self) {
        assert!(self.has_last(), "a reader took bytes of a record away");
    }

    /// Removes entries whose bytes or cells are missing: a reader may leave such entries when it
    /// panics.
    pub(super) fn drop_unsound(&mut self) {
        while !self.has_last() {
            self.entries.pop();
        }
    }

    fn has_last(&self) -> bool {
        let is_there = |last: &Entry| last.end <= self.bytes.len() && last.end_cell <= self.cells.len();
        self.entries.last().is_none_or(is_there)
    }

    /// Marks the portion as the last one before the source waits for its writer.
    pub(super) fn rest(&mut self) {
        self.is_at_rest = true;
    }

    /// Returns true if the portion is complete.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= CHUNK_BYTES || self.entries.len() >= CHUNK_RECORDS
    }

    /// Returns the number of the last record.
    pub(super) fn last_number(&self) -> Option<u64> {
        self.entries.last().map(|entry| entry.number)
    }

    /// Returns `self`, unless it is empty.
    #[cfg(test)]
    pub(super) fn if_any(self) -> Option<Self> {
        (!self.entries.is_empty()).then_some(self)
    }

    /// Returns the buffer to which the bytes of the next record are to be appended.
    pub(super) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Returns the bytes appended since the last record.
    pub(super) fn pending(&self) -> &[u8] {
        &self.bytes[self.start()..]
    }

    /// Removes the first `n` pending bytes.
    pub(super) fn strip_pending(&mut self, n: usize) {
        let start = self.start();
        self.bytes.drain(start..start + n);
    }

    /// Removes the pending bytes.
    pub(super) fn discard_pending(&mut self) {
        self.bytes.truncate(self.start());
    }

    /// Names all columns of the rows, as shown to the user.
    pub(super) fn name_columns(&mut self, columns: &Arc<str>) {
        self.columns = Some(Arc::clone(columns));
    }

    /// Adds a cell to the pending row.
    pub(super) fn push_cell(&mut self, cell: Cell) {
        self.cells.push(cell);
    }

    pub(super) fn push_text_cell(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.cells.push(Cell::Text(text.len()));
    }

    pub(super) fn push_bytes_cell(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.cells.push(Cell::Bytes(bytes.len()));
    }

    /// Turns the pending bytes and cells into a record.
    pub(super) fn push(&mut self, number: u64) {
        self.check();
        let (end, end_cell) = (self.bytes.len(), self.cells.len());
        self.entries.push(Entry { number, end, end_cell, error: None });
    }

    /// Adds a record without a document, and so without bytes, before the pending ones.
    pub(super) fn push_passed_over(&mut self, number: u64) {
        let (end, end_cell) = (self.start(), self.entries.last().map_or(0, |entry| entry.end_cell));
        self.entries.push(Entry { number, end, end_cell, error: None });
    }

    /// Puts an error in the place of a record, and of the pending bytes and cells.
    pub(super) fn push_error(&mut self, number: u64, error: RecordError) {
        self.discard_pending();
        self.cells.truncate(self.entries.last().map_or(0, |entry| entry.end_cell));
        let (end, end_cell) = (self.bytes.len(), self.cells.len());
        self.entries.push(Entry { number, end, end_cell, error: Some(error) });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Numbered<'_>> {
        let (mut start, mut start_cell) = (0, 0);
        self.entries.iter().map(move |entry| {
            let bytes = &self.bytes[std::mem::replace(&mut start, entry.end)..entry.end];
            let cells = &self.cells[std::mem::replace(&mut start_cell, entry.end_cell)..entry.end_cell];
            let columns = self.columns.as_deref().unwrap_or_default();
            let record = RawRecord { form: self.form, bytes, cells, columns };
            (entry.number, entry.error.as_ref().map_or(Ok(record), Err))
        })
    }

    fn start(&self) -> usize {
        self.entries.last().map_or(0, |entry| entry.end)
    }
}
