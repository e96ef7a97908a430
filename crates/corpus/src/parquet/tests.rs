use std::fs;

use parquet::data_type::{
    ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use super::super::fields::FieldNames;
use super::super::fields::testing::{names, rows};
use super::super::records::Cell;
use super::*;

const SCHEMA: &str = "message m {
    required int64 number;
    optional group meta { optional binary text (STRING); }
    optional double weight;
    optional binary raw;
    optional group tags (LIST) { repeated group list { optional binary element (STRING); } }
    required int64 day (TIMESTAMP(MILLIS,true));
}";

/// Returns a file of two row groups with `n_rows` rows each; every third text is null.
pub(in super::super) fn sample(n_rows: i64) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::builder().build())).unwrap();
    for group in 0..2 {
        let mut columns = writer.next_row_group().unwrap();
        let numbers: Vec<i64> = (group * n_rows + 1..=(group + 1) * n_rows).collect();
        let is_null = |number: &i64| number % 3 == 0;
        let mut i = 0;
        while let Some(mut column) = columns.next_column().unwrap() {
            match i {
                0 | 5 => column.typed::<Int64Type>().write_batch(&numbers, None, None).unwrap(),
                1 => {
                    let present = numbers.iter().filter(|number| !is_null(number));
                    let texts: Vec<ByteArray> =
                        present.map(|number| ByteArray::from(&*format!("text {number}"))).collect();
                    let level = |number| if is_null(number) { (number % 2) as i16 } else { 2 };
                    let levels: Vec<i16> = numbers.iter().map(level).collect();
                    column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None).unwrap()
                }
                2 => {
                    let levels = vec![0; numbers.len()];
                    column.typed::<DoubleType>().write_batch(&[], Some(&levels), None).unwrap()
                }
                _ => {
                    let levels = vec![0; numbers.len()];
                    let repeated = (i == 4).then_some(&levels[..]);
                    column.typed::<ByteArrayType>().write_batch(&[], Some(&levels), repeated).unwrap()
                }
            };
            column.close().unwrap();
            i += 1;
        }
        columns.close().unwrap();
    }
    writer.into_inner().unwrap()
}

fn read_sample(
    content: &[u8],
    names: &FieldNames,
    record_bytes_max: usize,
) -> Result<Vec<(u64, std::result::Result<String, String>)>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), content).unwrap();
    let n_bytes = Arc::default();
    let columns = names.clone().columns();
    let parts = Parts::Local(file.into_file());
    let mut parquet = Parquet::open(parts, &columns, &n_bytes, record_bytes_max)?;
    Ok(rows(&mut parquet, names.clone()))
}

fn fields(id: &str, text: &str) -> FieldNames {
    FieldNames { id: Some(id.parse().unwrap()), ..names(&[text], false) }
}

#[test]
fn rows_of_all_groups_have_their_numbers_and_nulls() {
    let rows = read_sample(&sample(1000), &fields("number", "/meta/text"), 99).unwrap();
    assert_eq!(rows.len(), 2000);
    for (i, (number, row)) in rows.iter().enumerate() {
        assert_eq!(*number, i as u64 + 1);
        match row {
            Ok(row) => assert_eq!(*row, format!("{number} text {number}")),
            Err(reason) => {
                assert!(
                    number % 3 == 0 && reason.contains("\"/meta/text\" holds null"),
                    "{number}: {reason}"
                );
            }
        }
    }
}

#[test]
fn columns_that_will_not_do_are_named() {
    for (id, text, part) in [
        ("nothing", "/meta/text", "no field \"nothing\""),
        ("number", "text", "no field \"text\""),
        ("number", "meta", "holds a group of fields"),
        ("number", "tags", "holds a list"),
        ("number", "raw", "holds null"),
        ("number", "number", "holds an integer, expected a string"),
        ("weight", "/meta/text", "holds null"),
        ("day", "/meta/text", "holds a date or a time"),
    ] {
        let rows = read_sample(&sample(1), &fields(id, text), 99).unwrap();
        let reason = rows[0].1.as_ref().unwrap_err();
        assert!(reason.contains(part), "{reason:?} should say {part:?}");
    }
    let rows = read_sample(&sample(10), &fields("number", "/meta/text"), 6).unwrap();
    assert_eq!(rows[0].1, Ok("1 text 1".to_owned()));
    assert!(rows[9].1.as_ref().unwrap_err().contains("longer than 6 bytes"));
}

/// Decimals as stored by Spark and by SQL: in integers where they fit, else in bytes.
#[test]
fn decimals_are_numbers_to_rank_by() {
    let schema = "message m {
        required int32 a (DECIMAL(9,2)); required int64 b (DECIMAL(18,2));
        required fixed_len_byte_array(9) c (DECIMAL(20,2)); required binary d (DECIMAL(20,2));
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::builder().build())).unwrap();
    let mut columns = writer.next_row_group().unwrap();
    let numbers = [-150i64, 7];
    let bytes = numbers.map(|number| ByteArray::from(i128::from(number).to_be_bytes()[7..].to_vec()));
    let mut i = 0;
    while let Some(mut column) = columns.next_column().unwrap() {
        match i {
            0 => column.typed::<Int32Type>().write_batch(&numbers.map(|number| number as i32), None, None),
            1 => column.typed::<Int64Type>().write_batch(&numbers, None, None),
            2 => column.typed::<FixedLenByteArrayType>().write_batch(
                &bytes.clone().map(FixedLenByteArray::from),
                None,
                None,
            ),
            _ => column.typed::<ByteArrayType>().write_batch(&bytes, None, None),
        }
        .unwrap();
        column.close().unwrap();
        i += 1;
    }
    columns.close().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), writer.into_inner().unwrap()).unwrap();
    let file = SerializedFileReader::new(file.reopen().unwrap()).unwrap();
    let group = file.get_row_group(0).unwrap();
    for (place, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let column = Column::find(&name.parse().unwrap(), file.metadata().file_metadata().schema_descr());
        let values = column.read(Some(&mut group.get_column_reader(place).unwrap()), 2).unwrap();
        let floats = values.iter().map(|value| match value {
            Value::Cell(Cell::Float(number)) => *number,
            _ => f64::NAN,
        });
        assert_eq!(floats.collect::<Vec<_>>(), [-1.5, 0.07], "{name}");
    }
}

#[test]
fn damage_costs_a_row_group_at_most() {
    let whole = sample(200);
    for end in (0..whole.len()).step_by(37) {
        assert!(read_sample(&whole[..end], &fields("number", "/meta/text"), 99).is_err());
    }
    let mut n_saved = 0;
    for place in (0..whole.len()).step_by(29) {
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << (place % 8);
        // A file with a damaged footer cannot be opened.
        if let Ok(rows) = read_sample(&damaged, &fields("number", "/meta/text"), 99) {
            n_saved += usize::from(rows.iter().filter(|(_, row)| row.is_ok()).count() >= 133);
        }
    }
    assert!(n_saved > 20, "{n_saved}");
}

/// One of the columns was once taken without a word.
#[test]
fn several_columns_of_one_name_are_none() {
    let schema = "message m { required binary id (STRING); \
                  required binary text (STRING); required binary text (STRING); }";
    let schema = parse_message_type(schema).unwrap();
    let schema = SchemaDescriptor::new(Arc::new(schema));
    let find = |name: &str| Column::find(&name.parse().unwrap(), &schema);
    assert_eq!(find("id").place(), Some(0));
    assert_eq!(find("text"), Column::Other("one of several columns of that name"));
}

/// A map once was no field at all, and its name was advised for the text.
#[test]
fn maps_are_named() {
    let schema = "message m { optional group text (MAP) {
        repeated group key_value { required binary key (STRING); optional binary value (STRING); }
    } }";
    let schema = SchemaDescriptor::new(Arc::new(parse_message_type(schema).unwrap()));
    let find = |name: &str| Column::find(&name.parse().unwrap(), &schema);
    for name in ["text", "text.body", "text[*].body", "/text/body"] {
        assert_eq!(find(name), Column::Other("a map"), "{name}");
    }
    assert_eq!(find("text.key_value[*].value").place(), Some(1));
    assert_eq!(find("body"), Column::Missing);
}

/// Writes a file of one row group; `write` writes the column of each number.
fn written(schema: &str, write: impl Fn(usize, &mut SerializedColumnWriter<'_>)) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::builder().build())).unwrap();
    let mut columns = writer.next_row_group().unwrap();
    let mut i = 0;
    while let Some(mut column) = columns.next_column().unwrap() {
        write(i, &mut column);
        column.close().unwrap();
        i += 1;
    }
    columns.close().unwrap();
    writer.into_inner().unwrap()
}

/// Ids and texts as numpy, DuckDB, Polars and SQL write them.
#[test]
fn ids_of_other_types_and_strings_without_their_annotation() {
    let schema = "message m {
        required fixed_len_byte_array(16) uuid (UUID); required fixed_len_byte_array(2) bytes;
        required fixed_len_byte_array(9) number (DECIMAL(20,2)); required binary text;
        optional int32 nothing (UNKNOWN); required binary raw;
    }";
    let fixed = |bytes: &[u8]| FixedLenByteArray::from(bytes.to_vec());
    let content = written(schema, |i, column| {
        let fixed = [fixed(&[7; 16]), fixed(b"\xff\x01"), fixed(&[0, 0, 0, 0, 0, 0, 0, 2, 188])];
        match i {
            0..=2 => column.typed::<FixedLenByteArrayType>().write_batch(&fixed[i..=i], None, None),
            4 => column.typed::<Int32Type>().write_batch(&[], Some(&[0]), None),
            3 => column.typed::<ByteArrayType>().write_batch(&[ByteArray::from("a text")], None, None),
            _ => column.typed::<ByteArrayType>().write_batch(&[ByteArray::from(vec![200])], None, None),
        }
        .unwrap();
    });
    for (id, text, expected) in [
        ("uuid", "text", Ok("07070707-0707-0707-0707-070707070707 a text")),
        ("bytes", "text", Ok("ff01 a text")),
        ("number", "text", Ok("7 a text")),
        ("raw", "text", Ok("c8 a text")),
        ("uuid", "raw", Err("\"raw\" holds binary data")),
        ("uuid", "nothing", Err("\"nothing\" holds null")),
        ("nothing", "text", Err("\"nothing\" holds null")),
        ("id", "text", Err("it has \"uuid\", \"bytes\", \"number\", \"text\", \"nothing\", \"raw\"; ")),
    ] {
        let rows = read_sample(&content, &fields(id, text), 99).unwrap();
        match (&rows[0].1, expected) {
            (Ok(row), Ok(expected)) => assert_eq!(row, expected),
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason:?} should say {part:?}"),
            (row, _) => panic!("{id} {text}: {row:?}"),
        }
    }
}

/// Conversations, as sets for training have them.
#[test]
fn texts_in_lists() {
    let schema = "message m {
        required int64 id;
        optional group messages (LIST) {
            repeated group list { optional group element { optional binary content (STRING); } }
        }
        repeated group tags { required binary name (STRING); }
        optional group lines (LIST) { repeated binary array (STRING); }
    }";
    let texts = |texts: &[&str]| texts.iter().map(|text| ByteArray::from(*text)).collect::<Vec<_>>();
    let content = written(schema, |i, column| {
        match i {
            0 => column.typed::<Int64Type>().write_batch(&[1, 2, 3, 4], None, None),
            // Two messages, then one without content, then no message, then no list.
            1 => column.typed::<ByteArrayType>().write_batch(
                &texts(&["a", "b"]),
                Some(&[4, 4, 3, 1, 0]),
                Some(&[0, 1, 0, 0, 0]),
            ),
            2 => column.typed::<ByteArrayType>().write_batch(
                &texts(&["x", "y", "z"]),
                Some(&[1, 1, 1, 0, 0]),
                Some(&[0, 1, 0, 0, 0]),
            ),
            _ => column.typed::<ByteArrayType>().write_batch(
                &texts(&["p", "q"]),
                Some(&[2, 2, 1, 1, 0]),
                Some(&[0, 1, 0, 0, 0]),
            ),
        }
        .unwrap();
    });
    let (none, null) = (Err("no field"), Err("holds null"));
    for (path, expected) in [
        ("/messages/0/content", [Ok("1 a"), null, none, none]),
        ("messages[1].content", [Ok("1 b"), none, none, none]),
        ("messages[*].content", [Ok("1 a\nb"), null, none, none]),
        ("tags[*].name", [Ok("1 x\ny"), Ok("2 z"), none, none]),
        ("tags.1.name", [Ok("1 y"), none, none, none]),
        ("lines[*]", [Ok("1 p\nq"), none, none, none]),
        ("/messages/content", [none; 4]),
        ("messages", [Err("holds a list"); 4]),
        ("/messages/0", [Err("holds a group of fields"); 4]),
    ] {
        let rows = read_sample(&content, &fields("id", path), 99).unwrap();
        for ((number, row), expected) in rows.iter().zip(expected) {
            match (row, expected) {
                (Ok(row), Ok(expected)) => assert_eq!(row, expected, "{path}"),
                (Err(reason), Err(part)) => assert!(reason.contains(part), "{path} {number}: {reason}"),
                (row, _) => panic!("{path} {number}: {row:?}"),
            }
        }
    }
}

#[test]
fn a_line_has_all_columns() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), sample(3)).unwrap();
    let (columns, n_bytes) = (fields("number", "/meta/text").columns(), Arc::default());
    let parquet = Parquet::open(Parts::Local(file.into_file()), &columns, &n_bytes, 999).unwrap();
    let mut parquet = parquet.with_whole_rows(&WholeRows::JsonOfAll);
    let mut records = Records::new(Form::Row);
    parquet.append_records(&mut records);
    let lines: Vec<_> = records.iter().map(|(_, record)| record.unwrap().line().unwrap()).collect();
    let line = r#"{"number":4,"meta":{"text":"text 4"},"weight":null,"raw":null,"tags":null,"#;
    let line = format!("{line}\"day\":\"1970-01-01T00:00:00.004Z\"}}");
    assert_eq!((lines.len(), str::from_utf8(lines[3]).unwrap()), (6, &*line));
}
