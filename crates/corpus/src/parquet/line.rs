//! Rows of Parquet as lines of JSON, with all columns.

use parquet::basic::{LogicalType, TimeUnit};
use parquet::errors::Result;
use parquet::file::reader::RowGroupReader;
use parquet::record::reader::{ReaderIter, TreeBuilder};
use parquet::record::{Field, Row};
use parquet::schema::types::SchemaDescPtr;
use uuid::Uuid;

use super::super::json_line::JsonLine;
use super::super::records::Cell;
use super::super::whole_rows::distinct;
use super::ROWS_AT_A_TIME;
use super::decimal::Decimal;

/// Form of the lines of a file.
pub(super) struct Lines {
    schema: SchemaDescPtr,
    /// Names of the columns, each once.
    names: Vec<String>,
}

impl Lines {
    pub(super) fn new(schema: SchemaDescPtr) -> Self {
        let fields = schema.root_schema().get_fields();
        let names: Vec<&[u8]> = fields.iter().map(|field| field.name().as_bytes()).collect();
        let names = distinct(&names).collect();
        Self { schema, names }
    }

    /// Returns the rows of a group.
    pub(super) fn rows(&self, group: &dyn RowGroupReader) -> Result<ReaderIter> {
        let schema = SchemaDescPtr::clone(&self.schema);
        TreeBuilder::new().with_batch_size(ROWS_AT_A_TIME).as_iter(schema, group)
    }

    /// Appends the line of a row.
    pub(super) fn write(&self, row: &Row, line: &mut Vec<u8>) {
        let fields = self.schema.root_schema().get_fields();
        let cells = row.get_column_iter().zip(fields).map(|((_, cell), field)| (cell, field));
        JsonLine(line).put_object(self.names.iter().zip(cells), |line, (cell, field)| {
            write(line, cell, field.get_basic_info().logical_type_ref());
        });
    }
}

/// Writes a cell, whose column is of this type as far as that is known.
fn write(line: &mut JsonLine<'_>, cell: &Field, logical: Option<&LogicalType>) {
    let is_utc = !matches!(logical, Some(LogicalType::Timestamp(of)) if !of.is_adjusted_to_u_t_c);
    match cell {
        Field::Null => line.put(&()),
        Field::Bool(value) => line.put(value),
        Field::Byte(value) => line.put(value),
        Field::Short(value) => line.put(value),
        Field::Int(value) => line.put(value),
        Field::Long(value) => match logical {
            Some(LogicalType::Timestamp(of)) if of.unit == TimeUnit::NANOS => {
                line.put_time(*value, 1_000_000_000, is_utc);
            }
            Some(LogicalType::Time(of)) if of.unit == TimeUnit::NANOS => {
                line.put_time_of_day(*value, 1_000_000_000);
            }
            _ => line.put(value),
        },
        Field::UByte(value) => line.put(value),
        Field::UShort(value) => line.put(value),
        Field::UInt(value) => line.put(value),
        Field::ULong(value) => line.put(value),
        Field::Float16(value) => line.put(&value.to_f32()),
        Field::Float(value) => line.put(value),
        Field::Double(value) => line.put(value),
        Field::Decimal(value) => match (Decimal { scale: value.scale() }.of_bytes(value.data())) {
            Cell::Integer(integer) => line.put(&integer),
            Cell::Unsigned(integer) => line.put(&integer),
            Cell::Float(float) => line.put(&float),
            _ => line.put(&()),
        },
        Field::Str(text) => line.put(text),
        Field::Bytes(bytes) => match Uuid::from_slice(bytes.data()) {
            Ok(uuid) if logical == Some(&LogicalType::Uuid) => line.put(&uuid.to_string()),
            _ => line.put_bytes(bytes.data()),
        },
        Field::Date(days) => line.put_date((*days).into()),
        Field::TimeMillis(time) => line.put_time_of_day((*time).into(), 1_000),
        Field::TimeMicros(time) => line.put_time_of_day(*time, 1_000_000),
        Field::TimestampMillis(time) => line.put_time(*time, 1_000, is_utc),
        Field::TimestampMicros(time) => line.put_time(*time, 1_000_000, is_utc),
        Field::Group(row) => {
            line.put_object(row.get_column_iter(), |line, cell| write(line, cell, None));
        }
        Field::ListInternal(list) => {
            line.put_list(list.elements().iter(), |line, cell| write(line, cell, None));
        }
        Field::MapInternal(map) => {
            let entries = map.entries().iter().map(|(key, value)| {
                let mut name = Vec::new();
                write(&mut JsonLine(&mut name), key, None);
                let name = String::from_utf8_lossy(&name).into_owned();
                (serde_json::from_str::<String>(&name).unwrap_or(name), value)
            });
            line.put_object(entries, |line, cell| write(line, cell, None));
        }
    }
}
