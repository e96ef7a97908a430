//! Rows of Arrow as lines of JSON, with all columns.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::super::json_line::JsonLine;
use super::super::parquet::Value;
use super::super::records::Cell;
use super::super::whole_rows::distinct;
use super::column::{index, list, meaning, plain, run};

/// Form of the lines of a table.
pub(super) struct Lines {
    /// The columns as declared: texts are read as bytes.
    schema: Schema,
    /// Names of the columns, each once.
    names: Vec<String>,
}

impl Lines {
    pub(super) fn new(schema: &Schema) -> Self {
        let names: Vec<&[u8]> = schema.fields().iter().map(|field| field.name().as_bytes()).collect();
        Self { schema: schema.clone(), names: distinct(&names).collect() }
    }

    /// Appends the line of a row of a batch with all columns.
    pub(super) fn write(&self, batch: &RecordBatch, row: usize, line: &mut Vec<u8>) {
        let cells = self.schema.fields().iter().zip(batch.columns());
        JsonLine(line).put_object(self.names.iter().zip(cells), |line, (field, column)| {
            write(line, column.as_ref(), row, field);
        });
    }
}

/// Writes the value in a row of an array, which is of this field.
fn write(line: &mut JsonLine<'_>, array: &dyn Array, row: usize, field: &Field) {
    if array.is_null(row) {
        return line.put(&());
    }
    match field.data_type() {
        DataType::Null => line.put(&()),
        DataType::Boolean => line.put(&array.as_boolean().value(row)),
        DataType::Date32 => line.put_date(array.to_data().buffer::<i32>(0)[row].into()),
        DataType::Date64 => line.put_time(array.to_data().buffer::<i64>(0)[row], 1_000, false),
        DataType::Time32(unit) => {
            line.put_time_of_day(array.to_data().buffer::<i32>(0)[row].into(), per_second(*unit));
        }
        DataType::Time64(unit) => {
            line.put_time_of_day(array.to_data().buffer::<i64>(0)[row], per_second(*unit));
        }
        DataType::Timestamp(unit, zone) => {
            line.put_time(array.to_data().buffer::<i64>(0)[row], per_second(*unit), zone.is_some());
        }
        DataType::Duration(_) => line.put(&array.to_data().buffer::<i64>(0)[row]),
        DataType::List(of)
        | DataType::LargeList(of)
        | DataType::ListView(of)
        | DataType::LargeListView(of)
        | DataType::FixedSizeList(of, _) => {
            let elements = list(array, row);
            line.put_list(0..elements.len(), |line, i| write(line, elements.as_ref(), i, of));
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let members = columns.map(|(field, column)| (field.name(), (field, column)));
            line.put_object(members, |line, (field, column)| write(line, column.as_ref(), row, field));
        }
        DataType::Map(entry, _) => {
            let entries = array.as_map().value(row);
            let DataType::Struct(fields) = entry.data_type() else { return line.put(&()) };
            let ([key, of], [keys, values]) = (&fields[..], entries.columns()) else { return line.put(&()) };
            let members = (0..entries.len()).map(|i| {
                let mut name = Vec::new();
                write(&mut JsonLine(&mut name), keys.as_ref(), i, key);
                let name = String::from_utf8_lossy(&name).into_owned();
                (serde_json::from_str::<String>(&name).unwrap_or(name), i)
            });
            line.put_object(members, |line, i| write(line, values.as_ref(), i, of));
        }
        DataType::Dictionary(_, of) => {
            let dictionary = array.as_any_dictionary();
            let of = Field::new("", DataType::clone(of), true);
            match index(dictionary.keys(), row).filter(|key| *key < dictionary.values().len()) {
                Some(key) => write(line, dictionary.values().as_ref(), key, &of),
                None => line.put(&()),
            }
        }
        DataType::RunEndEncoded(ends, of) => {
            let (values, row) = run(array, ends, row);
            write(line, values.as_ref(), row, of);
        }
        _ => match plain(array, row, meaning(field)) {
            Value::Text(text) => line.put(&*String::from_utf8_lossy(text.data())),
            Value::Bytes(bytes) => line.put_bytes(bytes.data()),
            Value::Cell(Cell::Integer(integer)) => line.put(&integer),
            Value::Cell(Cell::Unsigned(integer)) => line.put(&integer),
            Value::Cell(Cell::Float(float)) => line.put(&float),
            Value::Cell(_) => line.put(&()),
        },
    }
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}
