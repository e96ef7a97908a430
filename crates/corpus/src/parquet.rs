//! Parquet cut into rows: one row group after another, some rows at a time, and only the requested
//! columns.
//!
//! The library that decodes a damaged file is not written for damage, so a panic in it is an error
//! like any other.

mod copy;
mod decimal;
mod file;
mod unit;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, SchemaDescriptor};

use super::columns::Columns;
use super::field_path::FieldPath;
use super::internal_error::caught;
use super::location::Location;
use super::reader::RecordReader;
use super::records::{Cell, Form, RecordError, Records};
use super::whole_rows::WholeRows;
use decimal::Decimal;
use unit::Unit;

pub use copy::copy;
pub use file::{ParquetFile, open_parquet};

/// Number of rows read at a time: few, since their texts may be long.
pub const ROWS_AT_A_TIME: usize = 64;

const BINARY_DATA: &str = "binary data";

const OTHER_TYPE: &str = "a column has another type than the schema says";

pub(super) struct Parquet {
    file: SerializedFileReader<ParquetFile>,
    columns: Vec<Column>,
    /// Columns not requested that must be readable all the same.
    others: Vec<usize>,
    group: Option<Group>,
    next_group: usize,
    /// Number of the first row of the next group.
    next_number: u64,
    n_bytes_read: Arc<AtomicU64>,
    record_bytes_max: usize,
}

/// Kind of a requested column in this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Missing,
    /// A column of no use; holds the name of its kind.
    Other(&'static str),
    Text(usize),
    /// Binary data, where bytes are requested.
    Bytes(usize),
    Integer {
        place: usize,
        signed: bool,
    },
    Float(usize),
    Decimal {
        place: usize,
        decimal: Decimal,
    },
    Time {
        place: usize,
        unit: Unit,
    },
}

/// The row group being read.
struct Group {
    readers: Vec<Option<ColumnReader>>,
    others: Vec<ColumnReader>,
    /// Numbers of the rows that are left.
    rows: Range<u64>,
    n_bytes: u64,
}

/// Values of a column in some rows, one for each row.
type Values = Vec<Value>;

enum Value {
    Cell(Cell),
    Text(ByteArray),
    Bytes(ByteArray),
}

impl Parquet {
    pub(super) fn open(
        location: &Location,
        columns: &Columns,
        n_bytes_read: &Arc<AtomicU64>,
        record_bytes_max: usize,
    ) -> Result<Self> {
        let file = open_parquet(location)?;
        guarded(|| {
            let schema = file.metadata().file_metadata().schema_descr();
            let found = columns.paths.iter().enumerate().map(|(i, path)| match Column::find(path, schema) {
                Column::Bytes(_) if columns.of_bytes != Some(i) => Column::Other(BINARY_DATA),
                column => column,
            });
            let columns = found.collect();
            let n_bytes_read = Arc::clone(n_bytes_read);
            Ok(Self {
                file,
                columns,
                others: Vec::new(),
                group: None,
                next_group: 0,
                next_number: 1,
                n_bytes_read,
                record_bytes_max,
            })
        })
    }

    /// Also reads all other columns of each row, if whole rows are to be read again.
    pub(super) fn with_whole_rows(mut self, whole_rows: &WholeRows) -> Self {
        if *whole_rows == WholeRows::ReadAgain {
            let n_columns = self.file.metadata().file_metadata().schema_descr().num_columns();
            let is_read = |place: usize| self.columns.iter().any(|column| column.place() == Some(place));
            self.others = (0..n_columns).filter(|place| !is_read(*place)).collect();
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
        Ok(Group { readers, others, rows, n_bytes })
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
        for i in 0..n_rows {
            let number = group.rows.start;
            group.rows.start += 1;
            let texts = columns.iter().map(|values| match &values[i] {
                Value::Text(bytes) | Value::Bytes(bytes) => bytes.len(),
                Value::Cell(_) => 0,
            });
            if texts.sum::<usize>() > self.record_bytes_max {
                records.push_error(number, RecordError::TooLong(self.record_bytes_max));
                continue;
            }
            for values in &columns {
                match &values[i] {
                    Value::Text(text) => records.push_text_cell(text.data()),
                    Value::Bytes(bytes) => records.push_bytes_cell(bytes.data()),
                    Value::Cell(cell) => records.push_cell(*cell),
                }
            }
            records.push(number);
        }
        Ok(())
    }
}

impl RecordReader for Parquet {
    fn form(&self) -> Form {
        Form::Row
    }

    fn append_records(&mut self, records: &mut Records) {
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

impl Column {
    fn find(path: &FieldPath, schema: &SchemaDescriptor) -> Self {
        let starts = |column: &ColumnDescriptor| column.path().parts().starts_with(&path.steps);
        let Some(place) = schema.columns().iter().position(|column| starts(column)) else {
            return Self::Missing;
        };
        let is_called_so = |column: &&ColumnDescPtr| column.path().parts() == path.steps;
        if schema.columns().iter().filter(is_called_so).count() > 1 {
            return Self::Other("one of several columns of that name");
        }
        let column = schema.column(place);
        if column.max_rep_level() > 0 {
            return Self::Other("a list");
        }
        if column.path().parts().len() > path.steps.len() {
            return Self::Other("a group of fields");
        }
        let (logical, converted) = (column.logical_type_ref(), column.converted_type());
        match (column.physical_type(), logical, converted) {
            (Type::BYTE_ARRAY, Some(LogicalType::String | LogicalType::Enum), _)
            | (Type::BYTE_ARRAY, None, ConvertedType::UTF8 | ConvertedType::ENUM) => Self::Text(place),
            (_, Some(LogicalType::Decimal(_)), _) | (_, None, ConvertedType::DECIMAL) => {
                Self::Decimal { place, decimal: Decimal { scale: column.type_scale() } }
            }
            (Type::INT32 | Type::INT64, None, ConvertedType::NONE) => Self::Integer { place, signed: true },
            (Type::INT32 | Type::INT64, Some(LogicalType::Integer(integer)), _) => {
                Self::Integer { place, signed: integer.is_signed }
            }
            (Type::INT32, ..) | (Type::INT64, ..) => match Unit::find(logical, converted) {
                Some(unit) => Self::Time { place, unit },
                None => Self::Other("a time of day"),
            },
            // Spark and Hive long stored timestamps in this type.
            (Type::INT96, ..) => Self::Time { place, unit: Unit::Nanoseconds },
            (Type::BOOLEAN, ..) => Self::Other("a boolean"),
            (Type::FLOAT | Type::DOUBLE, ..) => Self::Float(place),
            (Type::BYTE_ARRAY, None, ConvertedType::NONE) => Self::Bytes(place),
            _ => Self::Other(BINARY_DATA),
        }
    }

    fn place(self) -> Option<usize> {
        match self {
            Self::Missing | Self::Other(_) => None,
            Self::Text(place)
            | Self::Bytes(place)
            | Self::Integer { place, .. }
            | Self::Float(place)
            | Self::Decimal { place, .. }
            | Self::Time { place, .. } => Some(place),
        }
    }

    fn read(self, reader: Option<&mut ColumnReader>, n_rows: usize) -> Result<Values> {
        let integer = |value: i64| Value::Cell(Cell::Integer(value));
        let time = |ms: i64| Value::Cell(Cell::Time(ms));
        match (self, reader) {
            (Self::Text(_), Some(ColumnReader::ByteArrayColumnReader(reader))) => {
                read(reader, n_rows, Value::Text)
            }
            (Self::Bytes(_), Some(ColumnReader::ByteArrayColumnReader(reader))) => {
                read(reader, n_rows, Value::Bytes)
            }
            (Self::Integer { signed: true, .. }, Some(ColumnReader::Int32ColumnReader(reader))) => {
                read(reader, n_rows, |value| integer(value.into()))
            }
            (Self::Integer { .. }, Some(ColumnReader::Int32ColumnReader(reader))) => {
                read(reader, n_rows, |value| integer(value.cast_unsigned().into()))
            }
            (Self::Integer { signed: true, .. }, Some(ColumnReader::Int64ColumnReader(reader))) => {
                read(reader, n_rows, integer)
            }
            (Self::Integer { .. }, Some(ColumnReader::Int64ColumnReader(reader))) => {
                read(reader, n_rows, |value| Value::Cell(Cell::Unsigned(value.cast_unsigned())))
            }
            (Self::Float(_), Some(ColumnReader::FloatColumnReader(reader))) => {
                read(reader, n_rows, |value| Value::Cell(Cell::Float(value.into())))
            }
            (Self::Float(_), Some(ColumnReader::DoubleColumnReader(reader))) => {
                read(reader, n_rows, |value| Value::Cell(Cell::Float(value)))
            }
            (Self::Decimal { decimal, .. }, Some(reader)) => decimal_values(decimal, reader, n_rows),
            (Self::Time { unit, .. }, Some(ColumnReader::Int32ColumnReader(reader))) => {
                read(reader, n_rows, |value| time(unit.to_ms(value.into())))
            }
            (Self::Time { unit, .. }, Some(ColumnReader::Int64ColumnReader(reader))) => {
                read(reader, n_rows, |value| time(unit.to_ms(value)))
            }
            (Self::Time { .. }, Some(ColumnReader::Int96ColumnReader(reader))) => {
                read(reader, n_rows, |value| time(value.to_millis()))
            }
            (Self::Other(what), _) => Ok((0..n_rows).map(|_| Value::Cell(Cell::Other(what))).collect()),
            (Self::Missing, _) => Ok((0..n_rows).map(|_| Value::Cell(Cell::Missing)).collect()),
            _ => Err(ParquetError::General(OTHER_TYPE.to_owned())),
        }
    }
}

/// Reads decimals, which may be stored as any of four types.
fn decimal_values(decimal: Decimal, reader: &mut ColumnReader, n_rows: usize) -> Result<Values> {
    let float = |value: f64| Value::Cell(Cell::Float(value));
    match reader {
        ColumnReader::Int32ColumnReader(reader) => {
            read(reader, n_rows, |value| float(decimal.of_integer(value.into())))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            read(reader, n_rows, |value| float(decimal.of_integer(value)))
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            read(reader, n_rows, |value| float(decimal.of_bytes(value.data())))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            read(reader, n_rows, |value| float(decimal.of_bytes(value.data())))
        }
        _ => Err(ParquetError::General(OTHER_TYPE.to_owned())),
    }
}

/// Reads `n_rows` values, with null for each absent one.
fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    n_rows: usize,
    value: impl Fn(T::T) -> Value,
) -> Result<Values> {
    let (mut levels, mut present, mut n_read) = (Vec::new(), Vec::new(), 0);
    while n_read < n_rows {
        let (n, ..) = reader.read_records(n_rows - n_read, Some(&mut levels), None, &mut present)?;
        if n == 0 {
            return Err(ParquetError::EOF(
                "a column has fewer values than the row group has rows".to_owned(),
            ));
        }
        n_read += n;
    }
    let n_present = present.len();
    // A present value has the highest level; lower levels tell how far out the null is.
    let defined = levels.iter().copied().max().unwrap_or(0);
    let mut present = present.into_iter().map(value);
    if n_present == n_rows {
        return Ok(present.collect());
    }
    let values = levels.iter().map(|level| match n_present > 0 && *level == defined {
        true => present.next(),
        false => Some(Value::Cell(Cell::Null)),
    });
    let values: Option<Values> = values.collect();
    values
        .filter(|values| values.len() == n_rows)
        .ok_or_else(|| ParquetError::General("a column's nulls and values do not fit together".to_owned()))
}

/// Runs `work` on a file that may be damaged, and turns a panic into an error.
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    caught(work).unwrap_or_else(|_| Err(ParquetError::General("the reader of Parquet broke off".to_owned())))
}

#[cfg(test)]
pub(super) mod tests;
