//! A requested column of a table of Arrow: its place and its values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};
use uuid::Uuid;

use super::super::field_path::{FieldPath, Step};
use super::super::parquet::{Decimal, Unit, Value, joined};
use super::super::records::Cell;

/// Key and value in the metadata of a field that holds UUIDs.
const EXTENSION: &str = "ARROW:extension:name";
const UUID: &str = "arrow.uuid";
const UUID_BYTES: i32 = 16;

/// Meaning of the bytes in a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meaning {
    Text,
    Uuid,
    Untold,
}

/// A requested column in this table.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Column {
    Missing,
    /// A column without any value.
    Null,
    /// A column of no use; holds the name of its kind.
    Other(&'static str),
    At {
        place: usize,
        /// Steps below the column.
        steps: Vec<Step>,
        meaning: Meaning,
    },
}

impl Column {
    pub(super) fn find(path: &FieldPath, fields: &Fields) -> Self {
        let mut found = path.ways().map(|way| Self::at(way, fields));
        found.find(|column| *column != Self::Missing).unwrap_or(Self::Missing)
    }

    fn at(steps: &[Step], fields: &Fields) -> Self {
        let Some((Step::Name(name), rest)) = steps.split_first() else { return Self::Missing };
        match only(fields, name).and_then(|(place, field)| Ok((place, leaf(field, rest)?))) {
            Ok((place, meaning)) => Self::At { place, steps: rest.to_vec(), meaning },
            Err(column) => column,
        }
    }

    /// Returns the place of the column in the table.
    pub(super) fn place(&self) -> Option<usize> {
        match self {
            Self::Missing | Self::Null | Self::Other(_) => None,
            Self::At { place, .. } => Some(*place),
        }
    }

    /// Returns the value in a row of a batch, which has the columns at these `places`.
    pub(super) fn value(&self, batch: &RecordBatch, places: &[usize], row: usize) -> Value {
        match self {
            Self::Missing => Value::Cell(Cell::Missing),
            Self::Null => Value::Cell(Cell::Null),
            Self::Other(what) => Value::Cell(Cell::Other(what)),
            Self::At { place, steps, meaning } => match places.binary_search(place) {
                Ok(i) => value(batch.column(i).as_ref(), row, steps, *meaning),
                Err(_) => Value::Cell(Cell::Missing),
            },
        }
    }
}

/// Returns the only field of this name, with its place.
fn only<'f>(fields: &'f Fields, name: &str) -> Result<(usize, &'f Field), Column> {
    let mut called = fields.iter().enumerate().filter(|(_, field)| field.name() == name);
    match (called.next(), called.next()) {
        (None, _) => Err(Column::Missing),
        (Some(_), Some(_)) => Err(Column::Other("one of several columns of that name")),
        (Some((place, field)), None) => Ok((place, field)),
    }
}

/// Returns the field with bytes in the place of texts, which lie in a batch alike. The library
/// refuses a whole batch for one text that is not UTF-8, which here costs its row alone.
pub(super) fn bytes_for_text(field: &FieldRef) -> FieldRef {
    let data_type = without_text(field.data_type());
    Arc::new(Field::clone(field).with_data_type(data_type))
}

fn without_text(data_type: &DataType) -> DataType {
    let below = bytes_for_text;
    match data_type {
        DataType::Utf8 => DataType::Binary,
        DataType::LargeUtf8 => DataType::LargeBinary,
        DataType::Utf8View => DataType::BinaryView,
        DataType::Dictionary(keys, values) => {
            DataType::Dictionary(keys.clone(), Box::new(without_text(values)))
        }
        DataType::RunEndEncoded(ends, values) => DataType::RunEndEncoded(Arc::clone(ends), below(values)),
        DataType::List(element) => DataType::List(below(element)),
        DataType::LargeList(element) => DataType::LargeList(below(element)),
        DataType::ListView(element) => DataType::ListView(below(element)),
        DataType::LargeListView(element) => DataType::LargeListView(below(element)),
        DataType::FixedSizeList(element, len) => DataType::FixedSizeList(below(element), *len),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(below).collect()),
        DataType::Map(entries, are_sorted) => DataType::Map(below(entries), *are_sorted),
        // No value in a union is read.
        other => other.clone(),
    }
}

/// Returns the meaning of the values at the end of the steps; the error is the column in the
/// place of one with values of use.
fn leaf(field: &Field, steps: &[Step]) -> Result<Meaning, Column> {
    let other = |what| Err(Column::Other(what));
    match (field.data_type(), steps.split_first()) {
        (DataType::Dictionary(_, values), _) => {
            leaf(&Field::new(field.name(), DataType::clone(values), true), steps)
        }
        (DataType::RunEndEncoded(_, values), _) => leaf(values, steps),
        (
            DataType::List(element)
            | DataType::LargeList(element)
            | DataType::ListView(element)
            | DataType::LargeListView(element)
            | DataType::FixedSizeList(element, _),
            step,
        ) => match step {
            None => other("a list"),
            Some((Step::Name(name), _)) if name.parse::<usize>().is_err() => Err(Column::Missing),
            Some((_, rest)) => leaf(element, rest),
        },
        (DataType::Struct(_), None) => other("a group of fields"),
        (DataType::Struct(fields), Some((Step::Name(name), rest))) => leaf(only(fields, name)?.1, rest),
        (DataType::Map(..), _) => other("a map"),
        (DataType::Union(..), _) => other("one of several types"),
        (_, Some(_)) => Err(Column::Missing),
        (DataType::Null, None) => Err(Column::Null),
        (DataType::Boolean, None) => other("a boolean"),
        (DataType::Time32(_) | DataType::Time64(_), None) => other("a time of day"),
        (DataType::Duration(_) | DataType::Interval(_), None) => other("a length of time"),
        (_, None) => Ok(meaning(field)),
    }
}

/// Returns the meaning of the bytes in a field.
pub(super) fn meaning(field: &Field) -> Meaning {
    let is_called = field.metadata().get(EXTENSION).is_some_and(|name| name == UUID);
    match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Meaning::Text,
        DataType::FixedSizeBinary(UUID_BYTES) if is_called => Meaning::Uuid,
        _ => Meaning::Untold,
    }
}

/// Returns the value at the end of the steps in a row.
fn value(array: &dyn Array, row: usize, steps: &[Step], meaning: Meaning) -> Value {
    let below = |array: &dyn Array, row| value(array, row, steps, meaning);
    match array.data_type() {
        // Before the check for null: of these, a list without an element has no value at all.
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..) => elements(array.is_null(row), || list(array, row), steps, meaning),
        _ if array.is_null(row) => Value::Cell(Cell::Null),
        DataType::Struct(fields) => match steps.split_first() {
            Some((Step::Name(name), rest)) => match only(fields, name) {
                Ok((place, _)) => value(array.as_struct().column(place).as_ref(), row, rest, meaning),
                Err(_) => Value::Cell(Cell::Missing),
            },
            _ => Value::Cell(Cell::Missing),
        },
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            match index(dictionary.keys(), row) {
                Some(key) if key < dictionary.values().len() => below(dictionary.values().as_ref(), key),
                _ => Value::Cell(Cell::Null),
            }
        }
        DataType::RunEndEncoded(ends, _) => {
            let (values, row) = run(array, ends, row);
            below(values.as_ref(), row)
        }
        _ => plain(array, row, meaning),
    }
}

/// Returns the elements of the list in a row.
pub(super) fn list(array: &dyn Array, row: usize) -> ArrayRef {
    match array.data_type() {
        DataType::LargeList(_) => array.as_list::<i64>().value(row),
        DataType::ListView(_) => array.as_list_view::<i32>().value(row),
        DataType::LargeListView(_) => array.as_list_view::<i64>().value(row),
        DataType::FixedSizeList(..) => array.as_fixed_size_list().value(row),
        _ => array.as_list::<i32>().value(row),
    }
}

/// Returns the values of runs, whose ends are of this type, and the place of the one in a row.
pub(super) fn run<'a>(array: &'a dyn Array, ends: &Field, row: usize) -> (&'a ArrayRef, usize) {
    match ends.data_type() {
        DataType::Int16 => {
            let runs = array.as_run::<Int16Type>();
            (runs.values(), runs.get_physical_index(row))
        }
        DataType::Int32 => {
            let runs = array.as_run::<Int32Type>();
            (runs.values(), runs.get_physical_index(row))
        }
        _ => {
            let runs = array.as_run::<Int64Type>();
            (runs.values(), runs.get_physical_index(row))
        }
    }
}

/// Returns the selected elements of a list; several texts are joined.
fn elements(is_null: bool, list: impl Fn() -> ArrayRef, steps: &[Step], meaning: Meaning) -> Value {
    let Some((step, rest)) = steps.split_first().filter(|_| !is_null) else {
        return Value::Cell(Cell::Missing);
    };
    let list = list();
    let selected = match step {
        Step::Each => 0..list.len(),
        Step::Name(name) => match name.parse() {
            Ok(i) if i < list.len() => i..i + 1,
            _ => 0..0,
        },
    };
    let values = selected.map(|i| value(list.as_ref(), i, rest, meaning));
    values.fold(Value::Cell(Cell::Missing), joined)
}

/// Returns the value of a row in an array without others below.
pub(super) fn plain(array: &dyn Array, row: usize, meaning: Meaning) -> Value {
    let bytes = |bytes: &[u8]| match meaning {
        Meaning::Text => Value::Text(bytes.to_vec().into()),
        Meaning::Uuid | Meaning::Untold => Value::Bytes(bytes.to_vec().into()),
    };
    let decimal = |scale: i8, unscaled: &[u8]| Decimal { scale: scale.into() }.of_bytes(unscaled);
    Value::Cell(match array.data_type() {
        DataType::Binary => return bytes(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => return bytes(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => return bytes(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => {
            let stored = array.as_fixed_size_binary().value(row);
            return match Uuid::from_slice(stored) {
                Ok(uuid) if meaning == Meaning::Uuid => Value::Text(uuid.to_string().into_bytes().into()),
                _ => bytes(stored),
            };
        }
        DataType::UInt64 => Cell::Unsigned(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Float16 => Cell::Float(array.as_primitive::<Float16Type>().value(row).to_f64()),
        DataType::Float32 => Cell::Float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => Cell::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal32(_, scale) => {
            decimal(*scale, &array.as_primitive::<Decimal32Type>().value(row).to_be_bytes())
        }
        DataType::Decimal64(_, scale) => {
            decimal(*scale, &array.as_primitive::<Decimal64Type>().value(row).to_be_bytes())
        }
        DataType::Decimal128(_, scale) => {
            decimal(*scale, &array.as_primitive::<Decimal128Type>().value(row).to_be_bytes())
        }
        DataType::Decimal256(_, scale) => {
            decimal(*scale, &array.as_primitive::<Decimal256Type>().value(row).to_be_bytes())
        }
        DataType::Date32 => {
            Cell::Time(Unit::Days.to_ms(array.as_primitive::<Date32Type>().value(row).into()))
        }
        DataType::Date64 => Cell::Time(array.as_primitive::<Date64Type>().value(row)),
        DataType::Timestamp(TimeUnit::Second, _) => {
            Cell::Time(array.as_primitive::<TimestampSecondType>().value(row).saturating_mul(1_000))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Cell::Time(array.as_primitive::<TimestampMillisecondType>().value(row))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Cell::Time(Unit::Microseconds.to_ms(array.as_primitive::<TimestampMicrosecondType>().value(row)))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            Cell::Time(Unit::Nanoseconds.to_ms(array.as_primitive::<TimestampNanosecondType>().value(row)))
        }
        _ => integer(array, row).map_or(Cell::Other("a value of another type"), Cell::Integer),
    })
}

/// Returns the integer in a row; `None` if the array holds others, or one beyond 63 bits.
fn integer(array: &dyn Array, row: usize) -> Option<i64> {
    Some(match array.data_type() {
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).try_into().ok()?,
        _ => return None,
    })
}

/// Returns the key of a dictionary in a row.
pub(super) fn index(keys: &dyn Array, row: usize) -> Option<usize> {
    integer(keys, row)?.try_into().ok()
}
