//! Parquet cut into rows: one row group after another, some rows at a time, and only the requested
//! columns.
//!
//! The library that decodes a damaged file is not written for damage, so a panic in it is an error
//! like any other.

mod column;
mod copy;
mod decimal;
mod file;
mod line;
mod nested;
mod unit;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::column::reader::ColumnReader;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::ReaderIter;

use super::columns::Columns;
use super::internal_error::caught;
use super::location::Parts;
use super::reader::RecordReader;
use super::records::{Form, RecordError, Records};
use super::there::listed;
use super::whole_rows::WholeRows;
use column::{Column, Values};
use line::Lines;

pub use copy::{Target, copy, write_nulls};
use file::open_parts;
pub use file::{ParquetFile, open_parquet};

pub(super) use column::{Value, push_row};
pub(super) use decimal::Decimal;
pub(super) use nested::joined;
pub(super) use unit::Unit;

/// Number of rows read at a time: few, since their texts may be long.
pub const ROWS_AT_A_TIME: usize = 64;

pub(super) struct Parquet {
    file: SerializedFileReader<ParquetFile>,
    columns: Vec<Column>,
    /// Names of all columns, as shown to the user.
    names: Arc<str>,
    /// Columns not requested that must be readable all the same.
    others: Vec<usize>,
    /// Form of the lines of whole rows, if requested.
    lines: Option<Lines>,
    group: Option<Group>,
    next_group: usize,
    /// Number of the first row of the next group.
    next_number: u64,
    n_bytes_read: Arc<AtomicU64>,
    record_bytes_max: usize,
}

/// The row group being read.
struct Group {
    readers: Vec<Option<ColumnReader>>,
    others: Vec<ColumnReader>,
    /// Whole rows, if their lines are requested.
    whole: Option<ReaderIter>,
    /// Numbers of the rows that are left.
    rows: Range<u64>,
    n_bytes: u64,
}

impl Parquet {
    pub(super) fn open(
        parts: Parts,
        columns: &Columns,
        n_bytes_read: &Arc<AtomicU64>,
        record_bytes_max: usize,
    ) -> Result<Self> {
        let file = open_parts(parts)?;
        guarded(|| {
            let schema = file.metadata().file_metadata().schema_descr();
            let columns = columns.paths.iter().map(|path| Column::find(path, schema)).collect();
            let names = listed(schema.root_schema().get_fields().iter().map(|field| field.name()));
            let n_bytes_read = Arc::clone(n_bytes_read);
            Ok(Self {
                file,
                columns,
                names: names.into(),
                others: Vec::new(),
                lines: None,
                group: None,
                next_group: 0,
                next_number: 1,
                n_bytes_read,
                record_bytes_max,
            })
        })
    }

    /// Also reads all other columns of each row, if whole rows are to be read again or their lines
    /// are requested.
    pub(super) fn with_whole_rows(mut self, whole_rows: &WholeRows) -> Self {
        if *whole_rows == WholeRows::ReadAgain {
            let n_columns = self.file.metadata().file_metadata().schema_descr().num_columns();
            let is_read = |place: usize| self.columns.iter().any(|column| column.place() == Some(place));
            self.others = (0..n_columns).filter(|place| !is_read(*place)).collect();
        }
        if *whole_rows == WholeRows::JsonOfAll {
            self.lines = Some(Lines::new(self.file.metadata().file_metadata().schema_descr_ptr()));
        }
        self
    }

    fn open_group(&mut self) -> Result<Group> {
        let metadata = self.file.metadata().row_group(self.next_group);
        let n_rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
        let n_bytes = u64::try_from(metadata.compressed_size()).unwrap_or(0);
        let rows = self.next_number..self.next_number.saturating_add(n_rows);
        self.next_number = rows.end;
        let group = self.file.get_row_group(self.next_group);
        self.next_group += 1;
        let group = group?;
        let reader = |column: &Column| column.place().map(|place| group.get_column_reader(place)).transpose();
        let readers = self.columns.iter().map(reader).collect::<Result<_>>()?;
        let others =
            self.others.iter().map(|place| group.get_column_reader(*place)).collect::<Result<_>>()?;
        let whole = self.lines.as_ref().map(|lines| lines.rows(&*group)).transpose()?;
        Ok(Group { readers, others, whole, rows, n_bytes })
    }

    /// Reads the next rows of the open group into `records`.
    fn read_rows(&mut self, records: &mut Records) -> Result<()> {
        let Some(group) = &mut self.group else { return Ok(()) };
        let n_rows = (group.rows.end - group.rows.start).min(ROWS_AT_A_TIME as u64) as usize;
        let columns = self.columns.iter().zip(&mut group.readers);
        let columns: Vec<Values> =
            columns.map(|(column, reader)| column.read(reader.as_mut(), n_rows)).collect::<Result<_>>()?;
        let schema = self.file.metadata().file_metadata().schema_descr();
        for (place, reader) in self.others.iter().zip(&mut group.others) {
            copy(&schema.column(*place), reader, &[false; ROWS_AT_A_TIME][..n_rows], None)?;
        }
        let mut line = Vec::new();
        for i in 0..n_rows {
            line.clear();
            if let (Some(lines), Some(whole)) = (&self.lines, &mut group.whole) {
                let row = whole.next().ok_or_else(|| ParquetError::EOF("it has fewer rows".to_owned()))?;
                lines.write(&row?, &mut line);
            }
            let number = group.rows.start;
            group.rows.start += 1;
            let values = columns.iter().map(|values| &values[i]);
            push_row(values, &line, number, self.record_bytes_max, records);
        }
        Ok(())
    }
}

impl RecordReader for Parquet {
    fn form(&self) -> Form {
        Form::Row
    }

    fn append_records(&mut self, records: &mut Records) {
        records.name_columns(&self.names);
        while !records.is_full() {
            let number = match &self.group {
                Some(group) => group.rows.start,
                None if self.next_group == self.file.num_row_groups() => break,
                None => self.next_number,
            };
            let read = guarded(|| {
                if self.group.is_none() {
                    self.group = Some(self.open_group()?);
                }
                self.read_rows(records)
            });
            if let Err(error) = read {
                // The rest of this group cannot be located any more; the next one has a place of
                // its own.
                self.group = None;
                let group = self.next_group;
                let why = format!("row group {group} cannot be read from here to its end: {error}");
                records.push_error(number, RecordError::Damaged(why));
            }
            if let Some(done) = self.group.take_if(|group| group.rows.is_empty()) {
                self.n_bytes_read.fetch_add(done.n_bytes, Ordering::Relaxed);
            }
        }
    }
}

/// Runs `work` on a file that may be damaged, and turns a panic into an error.
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    caught(work).unwrap_or_else(|_| Err(ParquetError::General("the reader of Parquet broke off".to_owned())))
}

#[cfg(test)]
pub(super) mod tests;
