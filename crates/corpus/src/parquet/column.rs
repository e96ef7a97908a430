//! A requested column of a file: where it is, and what its values are.

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type};
use uuid::Uuid;

use super::super::field_path::{FieldPath, Step};
use super::super::records::{Cell, RecordError, Records};
use super::decimal::Decimal;
use super::nested::{Levels, Repeated, Select};
use super::unit::Unit;

const BINARY_DATA: &str = "binary data";

const OTHER_TYPE: &str = "a column has another type than the schema says";

/// A requested column in this file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Missing,
    /// A column without any value.
    Null,
    /// A column of no use; holds the name of its kind.
    Other(&'static str),
    At(Place),
}

/// Place of a column, and the kind of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    place: usize,
    kind: Kind,
    /// The lists on the way, outermost first.
    lists: Vec<Repeated>,
    /// Definition level of a value that is present.
    defined: i16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    /// Bytes of any kind; some programs write strings so.
    Bytes,
    Uuid,
    Integer {
        signed: bool,
    },
    Float,
    Decimal(Decimal),
    Time(Unit),
}

/// Values of a column in some rows, one for each row.
pub(super) type Values = Vec<Value>;

pub(crate) enum Value {
    Cell(Cell),
    Text(ByteArray),
    Bytes(ByteArray),
}

impl Value {
    pub(super) fn n_bytes(&self) -> usize {
        match self {
            Self::Cell(_) => 0,
            Self::Text(bytes) | Self::Bytes(bytes) => bytes.len(),
        }
    }
}

/// Adds a row of these values, with its line, unless it is longer than the limit.
pub(crate) fn push_row<'v>(
    values: impl Iterator<Item = &'v Value> + Clone,
    line: &[u8],
    number: u64,
    record_bytes_max: usize,
    records: &mut Records,
) {
    if values.clone().map(Value::n_bytes).sum::<usize>().max(line.len()) > record_bytes_max {
        records.push_error(number, RecordError::TooLong(record_bytes_max));
        return;
    }
    for value in values {
        match value {
            Value::Text(text) => records.push_text_cell(text.data()),
            Value::Bytes(bytes) => records.push_bytes_cell(bytes.data()),
            Value::Cell(cell) => records.push_cell(*cell),
        }
    }
    records.bytes_mut().extend_from_slice(line);
    records.push(number);
}

impl Column {
    pub(super) fn find(path: &FieldPath, schema: &SchemaDescriptor) -> Self {
        let mut found = path.ways().map(|way| Self::at(way, schema));
        found.find(|column| *column != Self::Missing).unwrap_or(Self::Missing)
    }

    fn at(steps: &[Step], schema: &SchemaDescriptor) -> Self {
        let mut walk = Walk { node: schema.root_schema(), is_list: false, names: Vec::new(), defined: 0 };
        let mut lists = Vec::new();
        for step in steps {
            match (walk.is_list, step) {
                (true, Step::Each) => lists.push(walk.enter(Select::Each)),
                (true, Step::Name(name)) => match name.parse() {
                    Ok(index) => lists.push(walk.enter(Select::Index(index))),
                    Err(_) => return Self::Missing,
                },
                (false, Step::Each) if is_map(walk.node) => return Self::Other("a map"),
                (false, Step::Each) => return Self::Missing,
                (false, Step::Name(name)) => {
                    if !walk.node.is_group() {
                        return Self::Missing;
                    }
                    let mut called = walk.node.get_fields().iter().filter(|field| field.name() == name);
                    match (called.next(), called.next()) {
                        (None, _) if is_map(walk.node) => return Self::Other("a map"),
                        (None, _) => return Self::Missing,
                        (Some(_), Some(_)) => return Self::Other("one of several columns of that name"),
                        (Some(field), None) => walk.step_into(field),
                    }
                }
            }
        }
        if walk.is_list {
            return Self::Other("a list");
        }
        if walk.node.is_group() {
            return Self::Other(if is_map(walk.node) { "a map" } else { "a group of fields" });
        }
        let place = schema.columns().iter().position(|column| column.path().parts() == walk.names);
        let Some(place) = place else { return Self::Missing };
        let defined = walk.defined;
        match kind(&schema.column(place)) {
            Ok(Some(kind)) => Self::At(Place { place, kind, lists, defined }),
            Ok(None) => Self::Null,
            Err(what) => Self::Other(what),
        }
    }

    pub(super) fn place(&self) -> Option<usize> {
        match self {
            Self::Missing | Self::Null | Self::Other(_) => None,
            Self::At(place) => Some(place.place),
        }
    }

    pub(super) fn read(&self, reader: Option<&mut ColumnReader>, n_rows: usize) -> Result<Values> {
        let all = |cell| Ok((0..n_rows).map(|_| Value::Cell(cell)).collect());
        match (self, reader) {
            (Self::Missing, _) => all(Cell::Missing),
            (Self::Null, _) => all(Cell::Null),
            (Self::Other(what), _) => all(Cell::Other(what)),
            (Self::At(place), Some(reader)) => place.read(reader, n_rows),
            (Self::At(_), None) => Err(ParquetError::General(OTHER_TYPE.to_owned())),
        }
    }
}

/// Place in a schema on the way to a column.
struct Walk<'s> {
    node: &'s Type,
    /// True if the node is a list that is not entered.
    is_list: bool,
    names: Vec<String>,
    /// Definition level where the node is present.
    defined: i16,
}

impl<'s> Walk<'s> {
    fn step_into(&mut self, node: &'s Type) {
        self.names.push(node.name().to_owned());
        let info = node.get_basic_info();
        let is_repeated = info.repetition() == Repetition::REPEATED;
        self.defined += i16::from(info.repetition() != Repetition::REQUIRED);
        self.is_list = is_repeated || list_in(node).is_some();
        self.node = node;
    }

    /// Goes to the element of a list; returns how it is selected.
    fn enter(&mut self, select: Select) -> Repeated {
        self.is_list = false;
        if self.node.get_basic_info().repetition() != Repetition::REPEATED
            && let Some(repeated) = list_in(self.node)
        {
            self.step_into(repeated);
            self.is_list = false;
            let defined = self.defined;
            // Older programs repeat the element itself.
            let is_element = repeated.is_primitive()
                || repeated.get_fields().len() != 1
                || repeated.name() == "array"
                || repeated.name().ends_with("_tuple");
            if !is_element {
                self.step_into(&repeated.get_fields()[0]);
            }
            return Repeated { select, defined };
        }
        Repeated { select, defined: self.defined }
    }
}

/// Returns the repeated field of a list.
fn list_in(node: &Type) -> Option<&Type> {
    let info = node.get_basic_info();
    let is_list = info.logical_type_ref().is_some_and(|logical| *logical == LogicalType::List)
        || info.converted_type() == ConvertedType::LIST;
    let fields = if node.is_group() { node.get_fields() } else { &[] };
    let [only] = fields else { return None };
    let is_repeated = only.get_basic_info().repetition() == Repetition::REPEATED;
    (is_list && is_repeated).then_some(&**only)
}

fn is_map(node: &Type) -> bool {
    let info = node.get_basic_info();
    info.logical_type_ref() == Some(&LogicalType::Map)
        || matches!(info.converted_type(), ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE)
}

/// Returns the kind of a column; `None` if it holds nothing but null. The error is the name of a
/// kind of no use.
fn kind(column: &ColumnDescriptor) -> std::result::Result<Option<Kind>, &'static str> {
    let (logical, converted) = (column.logical_type_ref(), column.converted_type());
    Ok(Some(match (column.physical_type(), logical, converted) {
        (_, Some(LogicalType::Unknown), _) => return Ok(None),
        (Physical::BYTE_ARRAY, Some(LogicalType::String | LogicalType::Enum | LogicalType::Json), _)
        | (Physical::BYTE_ARRAY, None, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON) => {
            Kind::Text
        }
        (_, Some(LogicalType::Decimal(_)), _) | (_, None, ConvertedType::DECIMAL) => {
            Kind::Decimal(Decimal { scale: column.type_scale() })
        }
        (Physical::INT32 | Physical::INT64, None, ConvertedType::NONE) => Kind::Integer { signed: true },
        (Physical::INT32 | Physical::INT64, Some(LogicalType::Integer(integer)), _) => {
            Kind::Integer { signed: integer.is_signed }
        }
        (Physical::INT32 | Physical::INT64, ..) => {
            Kind::Time(Unit::find(logical, converted).ok_or("a time of day")?)
        }
        // Spark and Hive long stored timestamps in this type.
        (Physical::INT96, ..) => Kind::Time(Unit::Nanoseconds),
        (Physical::BOOLEAN, ..) => return Err("a boolean"),
        (Physical::FLOAT | Physical::DOUBLE, ..) => Kind::Float,
        (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid), _) => Kind::Uuid,
        (Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY, None, ConvertedType::NONE) => Kind::Bytes,
        _ => return Err(BINARY_DATA),
    }))
}

impl Place {
    fn read(&self, reader: &mut ColumnReader, n_rows: usize) -> Result<Values> {
        let cell = |cell: Cell| Value::Cell(cell);
        match (self.kind, reader) {
            (Kind::Text, ColumnReader::ByteArrayColumnReader(reader)) => {
                self.values(reader, n_rows, Value::Text)
            }
            (Kind::Bytes, ColumnReader::ByteArrayColumnReader(reader)) => {
                self.values(reader, n_rows, Value::Bytes)
            }
            (Kind::Bytes, ColumnReader::FixedLenByteArrayColumnReader(reader)) => {
                self.values(reader, n_rows, |value| Value::Bytes(value.into()))
            }
            (Kind::Uuid, ColumnReader::FixedLenByteArrayColumnReader(reader)) => {
                self.values(reader, n_rows, |value| match Uuid::from_slice(value.data()) {
                    Ok(uuid) => Value::Text(ByteArray::from(&*uuid.to_string())),
                    Err(_) => Value::Bytes(value.into()),
                })
            }
            (Kind::Integer { signed }, ColumnReader::Int32ColumnReader(reader)) => {
                let wide = |value: i32| if signed { value.into() } else { value.cast_unsigned().into() };
                self.values(reader, n_rows, |value| cell(Cell::Integer(wide(value))))
            }
            (Kind::Integer { signed: true }, ColumnReader::Int64ColumnReader(reader)) => {
                self.values(reader, n_rows, |value| cell(Cell::Integer(value)))
            }
            (Kind::Integer { signed: false }, ColumnReader::Int64ColumnReader(reader)) => {
                self.values(reader, n_rows, |value| cell(Cell::Unsigned(value.cast_unsigned())))
            }
            (Kind::Float, ColumnReader::FloatColumnReader(reader)) => {
                self.values(reader, n_rows, |value| cell(Cell::Float(value.into())))
            }
            (Kind::Float, ColumnReader::DoubleColumnReader(reader)) => {
                self.values(reader, n_rows, |value| cell(Cell::Float(value)))
            }
            (Kind::Decimal(decimal), ColumnReader::Int32ColumnReader(reader)) => {
                self.values(reader, n_rows, |value| cell(decimal.of_integer(value.into())))
            }
            (Kind::Decimal(decimal), ColumnReader::Int64ColumnReader(reader)) => {
                self.values(reader, n_rows, |value| cell(decimal.of_integer(value)))
            }
            (Kind::Decimal(decimal), ColumnReader::FixedLenByteArrayColumnReader(reader)) => {
                self.values(reader, n_rows, |value| cell(decimal.of_bytes(value.data())))
            }
            (Kind::Decimal(decimal), ColumnReader::ByteArrayColumnReader(reader)) => {
                self.values(reader, n_rows, |value| cell(decimal.of_bytes(value.data())))
            }
            (Kind::Time(unit), ColumnReader::Int32ColumnReader(reader)) => {
                self.values(reader, n_rows, |value| cell(Cell::Time(unit.to_ms(value.into()))))
            }
            (Kind::Time(unit), ColumnReader::Int64ColumnReader(reader)) => {
                self.values(reader, n_rows, |value| cell(Cell::Time(unit.to_ms(value))))
            }
            (Kind::Time(_), ColumnReader::Int96ColumnReader(reader)) => {
                self.values(reader, n_rows, |value| cell(Cell::Time(value.to_millis())))
            }
            _ => Err(ParquetError::General(OTHER_TYPE.to_owned())),
        }
    }

    /// Reads the values of `n_rows` rows, with null for each absent one.
    fn values<T: DataType>(
        &self,
        reader: &mut ColumnReaderImpl<T>,
        n_rows: usize,
        value: impl Fn(T::T) -> Value,
    ) -> Result<Values> {
        let (mut definitions, mut repetitions, mut present, mut n_read) =
            (Vec::new(), Vec::new(), Vec::new(), 0);
        while n_read < n_rows {
            let (definitions, repetitions) = (Some(&mut definitions), Some(&mut repetitions));
            let (n, ..) = reader.read_records(n_rows - n_read, definitions, repetitions, &mut present)?;
            if n == 0 {
                return Err(ParquetError::EOF(
                    "a column has fewer values than the row group has rows".to_owned(),
                ));
            }
            n_read += n;
        }
        let n_present = present.len();
        let mut present = present.into_iter().map(value);
        let values: Option<Values> = if !self.lists.is_empty() {
            Levels { lists: &self.lists, defined: self.defined }.rows(&definitions, &repetitions, present)
        } else if n_present == n_rows {
            Some(present.collect())
        } else {
            let values = definitions.iter().map(|level| match *level == self.defined {
                true => present.next(),
                false => Some(Value::Cell(Cell::Null)),
            });
            values.collect()
        };
        values.filter(|values| values.len() == n_rows).ok_or_else(|| {
            ParquetError::General("a column's nulls and values do not fit together".to_owned())
        })
    }
}
