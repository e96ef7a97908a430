//! Records as they are read: raw, numbered, many in one portion.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::origin::Origin;

/// A portion takes no further record once it holds this much.
pub(super) const CHUNK_BYTES: usize = 256 << 10;

/// Nor once it holds this many, which bounds portions of records without content.
pub(super) const CHUNK_RECORDS: usize = 4096;

/// Neighbouring records of one source.
pub struct Chunk {
    /// Where they come from.
    pub origin: Arc<Origin>,
    /// Which of the inputs that is.
    pub n_file: usize,
    pub(super) records: Records,
    /// How many records of the file came before these.
    pub(super) n_before: u64,
    /// How many of these were taken by an earlier run.
    pub(super) n_skipped: usize,
}

/// The records, without saying where they come from.
#[derive(Debug)]
pub(super) struct Records {
    form: Form,
    /// Of all records, one after another.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Of all records, where they are rows.
    cells: Vec<Cell>,
}

/// How the bytes of a record are to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A line of JSON, without its line end.
    Json,
    /// Cells, the texts of which lie one after another, and after them the line that stands for the whole row in an
    /// output, where one was asked for.
    Row,
    /// The whole content of a file.
    Text,
    /// The same, which is HTML.
    Html,
    /// A response of a WARC file, or another record of it that holds a document.
    Response,
}

/// What stands in a row for one of the fields that are looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    /// There is no such field.
    Missing,
    Null,
    /// Text of so many bytes, which are said to be UTF-8.
    Text(usize),
    /// So many bytes of any kind.
    Bytes(usize),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    /// In milliseconds since 1970.
    Time(i64),
    /// Of no use as any field; holds what it is.
    Other(&'static str),
}

#[derive(Debug)]
struct Entry {
    number: u64,
    /// Where it ends in `bytes`; it starts where the one before it ends.
    end: usize,
    /// The same for `cells`.
    end_cell: usize,
    error: Option<RecordError>,
}

/// One record as it was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawRecord<'a> {
    pub(super) form: Form,
    pub(super) bytes: &'a [u8],
    /// None where it is no row.
    pub(super) cells: &'a [Cell],
}

impl<'a> RawRecord<'a> {
    /// The line that stands for it in an output, if it has one.
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
            Form::Text | Form::Html | Form::Response => None,
        }
    }
}

/// A record, or why there is none, with its number, counted from 1: of the line where lines are what is read.
pub type Numbered<'a> = (u64, Result<RawRecord<'a>, &'a RecordError>);

/// How far the inputs have been read. Not by the numbers of records: lines that end in a carriage return alone are all
/// the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// How many files have been read to their ends.
    pub(super) n_file: usize,
    /// How many records of the next one.
    pub(super) n_records: u64,
}

/// Where a record was found.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The input.
    pub origin: &'a Origin,
    /// Its number there, as in [`Numbered`].
    pub number: u64,
    /// How far the inputs have been read with it.
    pub position: Position,
}

/// Why there is no content where a record should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// Longer than the limit, in bytes.
    TooLong(usize),
    /// The source could not be read on from here.
    Broken(String),
    /// It cannot be read, and those after it can.
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
    /// Whether there are records to be taken.
    pub(crate) fn has_any(&self) -> bool {
        self.n_skipped < self.records.len()
    }

    /// The records that are to be taken, each with the position after it.
    pub fn records(&self) -> impl Iterator<Item = (Position, Numbered<'_>)> {
        let positions = (self.n_before + 1..).map(|n_records| Position { n_file: self.n_file, n_records });
        positions.zip(self.records.iter()).skip(self.n_skipped)
    }
}

impl Records {
    pub(super) fn new(form: Form) -> Self {
        Self { form, bytes: Vec::new(), entries: Vec::new(), cells: Vec::new() }
    }

    /// One record that could not be read.
    pub(super) fn broken(number: u64, error: RecordError) -> Self {
        let mut records = Self::new(Form::Json);
        records.push_error(number, error);
        records
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Makes sure that what the entries say is there.
    ///
    /// # Panics
    /// Where the reader has taken away bytes of a record that it had handed over.
    pub(super) fn check(&self) {
        assert!(self.has_last(), "a reader took bytes of a record away");
    }

    /// Takes entries away whose bytes or cells are not there: a reader that panicked may leave such.
    pub(super) fn drop_unsound(&mut self) {
        while !self.has_last() {
            self.entries.pop();
        }
    }

    fn has_last(&self) -> bool {
        let is_there = |last: &Entry| last.end <= self.bytes.len() && last.end_cell <= self.cells.len();
        self.entries.last().is_none_or(is_there)
    }

    /// Whether it is time for the next portion.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= CHUNK_BYTES || self.entries.len() >= CHUNK_RECORDS
    }

    /// The number of the last one.
    pub(super) fn last_number(&self) -> Option<u64> {
        self.entries.last().map(|entry| entry.number)
    }

    /// Itself, unless it is empty.
    #[cfg(test)]
    pub(super) fn if_any(self) -> Option<Self> {
        (!self.entries.is_empty()).then_some(self)
    }

    /// Where to put the bytes of the next record, after those that are there.
    pub(super) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The bytes put there since the last record.
    pub(super) fn pending(&self) -> &[u8] {
        &self.bytes[self.start()..]
    }

    /// Takes the first of the pending bytes away.
    pub(super) fn strip_pending(&mut self, n: usize) {
        let start = self.start();
        self.bytes.drain(start..start + n);
    }

    /// Takes the pending bytes away.
    pub(super) fn discard_pending(&mut self) {
        self.bytes.truncate(self.start());
    }

    /// Adds a cell to the row that is pending.
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

    /// Makes the pending bytes and cells a record.
    pub(super) fn push(&mut self, number: u64) {
        self.check();
        let (end, end_cell) = (self.bytes.len(), self.cells.len());
        self.entries.push(Entry { number, end, end_cell, error: None });
    }

    /// Puts a reason in the place of a record, and of the pending bytes and cells.
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
            let record = RawRecord { form: self.form, bytes, cells };
            (entry.number, entry.error.as_ref().map_or(Ok(record), Err))
        })
    }

    fn start(&self) -> usize {
        self.entries.last().map_or(0, |entry| entry.end)
    }
}
