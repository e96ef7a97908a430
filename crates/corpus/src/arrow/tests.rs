use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::builder::{
    FixedSizeBinaryBuilder, ListBuilder, StringBuilder, StringDictionaryBuilder, StructBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{
    BinaryArray, Decimal128Array, Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray,
    UInt64Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Fields, Schema};

use super::super::fields::FieldNames;
use super::super::fields::testing::{names, rows};
use super::super::mutations::Numbers;
use super::*;

fn options(compression: Option<CompressionType>) -> IpcWriteOptions {
    IpcWriteOptions::default().try_with_compression(compression).unwrap()
}

fn file(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let schema = batches[0].schema();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &schema, options(compression)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn stream(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let schema = batches[0].schema();
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options(compression)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

/// Returns a table of two batches with `n_rows` rows each; every third text is null.
pub(in super::super) fn sample(n_rows: i64) -> Vec<RecordBatch> {
    let batches = (0..2).map(|n_batch| {
        let numbers = n_batch * n_rows + 1..=(n_batch + 1) * n_rows;
        let texts: StringArray = numbers.clone().map(|n| (n % 3 != 0).then(|| format!("text {n}"))).collect();
        batch(vec![("number", Arc::new(Int64Array::from_iter_values(numbers))), ("text", Arc::new(texts))])
    });
    batches.collect()
}

pub(in super::super) fn sample_file() -> Vec<u8> {
    file(&sample(4), Some(CompressionType::ZSTD))
}

fn read(content: &[u8], id: &str, text: &str) -> Vec<(u64, Result<String, String>)> {
    let names = FieldNames { id: Some(id.parse().unwrap()), ..names(&[text], false) };
    let mut arrow = Arrow::new(content, &names.clone().columns(), 1000);
    rows(&mut arrow, names)
}

#[test]
fn both_forms_with_each_compression() {
    let batches = sample(1000);
    for compression in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        for content in [file(&batches, compression), stream(&batches, compression)] {
            let rows = read(&content, "number", "text");
            assert_eq!(rows.len(), 2000);
            for (i, (number, row)) in rows.iter().enumerate() {
                assert_eq!(*number, i as u64 + 1);
                match row {
                    Ok(row) => assert_eq!(*row, format!("{number} text {number}")),
                    Err(why) => assert!(number % 3 == 0 && why.contains("\"text\" holds null"), "{why}"),
                }
            }
        }
    }
}

#[test]
fn streams_one_after_another_are_read_by_their_own_schemas() {
    let of_three: Vec<(&str, ArrayRef)> = vec![
        ("url", Arc::new(StringArray::from(vec!["u"; 2]))),
        ("text", Arc::new(LargeStringArray::from(vec!["seven", "eight"]))),
        ("number", Arc::new(Int64Array::from(vec![7, 8]))),
    ];
    let other = [batch(of_three)];
    let none = [batch(vec![("title", Arc::new(StringArray::from(vec!["t"])))])];
    let (first, other, none) = (stream(&sample(2), None), stream(&other, None), stream(&none, None));
    let rows = read(&[&first[..], &[0; 12], &other, &none, &first].concat(), "number", "text");
    let shown: Vec<String> = rows.iter().map(|(_, row)| row.clone().unwrap_or_else(|why| why)).collect();
    assert_eq!(shown.len(), 11, "{shown:?}");
    assert!(rows.iter().map(|(number, _)| *number).eq(1..=11), "{rows:?}");
    assert_eq!(
        (&shown[..2], &shown[3..6]),
        (&shown[7..9], &["4 text 4", "7 seven", "8 eight"].map(str::to_owned)[..])
    );
    assert!(shown[2].contains("holds null") && shown[9].contains("holds null"), "{shown:?}");
    assert!(shown[6].contains("it has \"title\""), "{shown:?}");
    // Without a word before, all after the first stream was passed over.
    let whole = read(&first, "number", "text");
    for more in [&b"\n"[..], b"{}\n{}\n", &first[..100], &file(&sample(2), None)[..9]] {
        let rows = read(&[&first[..], more].concat(), "number", "text");
        let (last, before) = rows.split_last().unwrap();
        assert_eq!(before, whole);
        assert!(
            last.1.as_ref().is_err_and(|why| why.contains("more follows the mark of its end")),
            "{last:?}"
        );
    }
    for padding in [&b"\0"[..], &[0; 1000]] {
        assert_eq!(read(&[&first[..], padding].concat(), "number", "text"), whole);
    }
    let file = file(&sample(2), None);
    assert_eq!(read(&[&first[..], &file].concat(), "number", "text").len(), 8);
    assert_eq!(read(&file, "number", "text"), whole);
}

#[test]
fn ids_and_texts_of_many_types() {
    let mut messages = ListBuilder::new(StructBuilder::from_fields(
        Fields::from(vec![Field::new("content", DataType::Utf8, true)]),
        2,
    ));
    for texts in [&["a", "b"][..], &[]] {
        for text in texts {
            let message = messages.values();
            message.field_builder::<StringBuilder>(0).unwrap().append_value(text);
            message.append(true);
        }
        messages.append(true);
    }
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    ["x", "x"].iter().for_each(|text| dictionary.append_value(text));
    let uuid = [0x12; 16];
    let mut uuids = FixedSizeBinaryBuilder::new(16);
    [uuid, uuid].iter().for_each(|uuid| uuids.append_value(uuid).unwrap());
    let decimals = Decimal128Array::from(vec![700, 701]).with_precision_and_scale(10, 2).unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("large", Arc::new(LargeStringArray::from(vec!["l", "m"]))),
        ("view", Arc::new(StringViewArray::from(vec!["v", "a view of more than twelve bytes"]))),
        ("dictionary", Arc::new(dictionary.finish())),
        ("messages", Arc::new(messages.finish())),
        ("raw", Arc::new(BinaryArray::from(vec![&b"r"[..], b"\x01\xff"]))),
        ("unsigned", Arc::new(UInt64Array::from(vec![u64::MAX, 1]))),
        ("decimal", Arc::new(decimals)),
        ("uuid", Arc::new(uuids.finish())),
    ];
    let content = stream(&[batch(columns)], None);
    for (id, text, expected) in [
        ("large", "view", ["l v", "m a view of more than twelve bytes"]),
        ("view", "dictionary", ["v x", "a view of more than twelve bytes x"]),
        ("large", "messages[*].content", ["l a\nb", "there is no field \"messages[*].content\""]),
        ("large", "messages[1].content", ["l b", "there is no field \"messages[1].content\""]),
        ("raw", "large", ["r l", "01ff m"]),
        ("unsigned", "large", ["18446744073709551615 l", "1 m"]),
        ("decimal", "large", ["7 l", "a number that is no 64-bit integer"]),
        ("uuid", "large", ["12121212121212121212121212121212 l", "12121212121212121212121212121212 m"]),
        ("large", "messages", ["holds a list", "holds a list"]),
        ("large", "none", ["there is no field \"none\"; it has \"large\"", "there is no field"]),
    ] {
        let rows = read(&content, id, text);
        assert_eq!(rows.len(), 2);
        for ((_, row), expected) in rows.iter().zip(expected) {
            assert!(row.as_ref().unwrap_or_else(|why| why).contains(expected), "{id} {text}: {row:?}");
        }
    }
}

/// Such a text once cost its whole batch, counted as one record.
#[test]
fn a_text_that_is_not_utf_8_costs_its_row() {
    let texts = ["first text, of some length", "a text with a caf~ in it", "third text, of some length"];
    let mut list = ListBuilder::new(StringBuilder::new());
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    for text in texts {
        list.values().append_value(text);
        list.append(true);
        dictionary.append_value(text);
    }
    let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2, 3]));
    let of_types: [(&str, ArrayRef); 5] = [
        ("text", Arc::new(StringArray::from(texts.to_vec()))),
        ("text", Arc::new(LargeStringArray::from(texts.to_vec()))),
        ("text", Arc::new(StringViewArray::from(texts.to_vec()))),
        ("text", Arc::new(dictionary.finish())),
        ("text[*]", Arc::new(list.finish())),
    ];
    for (path, array) in of_types {
        let mut content = file(&[batch(vec![("id", Arc::clone(&unsigned)), ("text", array)])], None);
        let at = content.windows(4).position(|bytes| bytes == b"caf~").unwrap();
        content[at + 3] = 0xe9;
        let rows = read(&content, "id", path);
        assert_eq!(
            (&rows[0], &rows[2]),
            (&(1, Ok(format!("1 {}", texts[0]))), &(3, Ok(format!("3 {}", texts[2]))))
        );
        let why = rows[1].1.as_ref().unwrap_err();
        assert!(why.contains("is not valid UTF-8 after its byte 17"), "{path}: {why}");
        assert_eq!(rows.len(), 3);
    }
}

#[test]
fn a_field_that_says_so_holds_uuids() {
    let mut uuids = FixedSizeBinaryBuilder::new(16);
    uuids.append_value([0x12; 16]).unwrap();
    let metadata = HashMap::from([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())]);
    let fields = vec![
        Field::new("id", DataType::FixedSizeBinary(16), false).with_metadata(metadata),
        Field::new("text", DataType::Utf8, false),
    ];
    let columns: Vec<ArrayRef> = vec![Arc::new(uuids.finish()), Arc::new(StringArray::from(vec!["t"]))];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let rows = read(&file(&[batch], None), "id", "text");
    assert_eq!(rows, [(1, Ok("12121212-1212-1212-1212-121212121212 t".to_owned()))]);
}

#[test]
fn what_breaks_off_or_is_forged_is_an_error() {
    let whole = file(&sample(100), Some(CompressionType::LZ4_FRAME));
    let last = |content: &[u8]| read(content, "number", "text").pop().unwrap().1;
    for end in (8..whole.len() - 700).step_by(31) {
        last(&whole[..end]).unwrap_err();
    }
    assert!(last(b"ARROW1\0\0\xff\xff\xff\xff\xf8\xff\xff\x7f").unwrap_err().contains("longer than 64 MiB"));
    assert!(last(b"\xff\xff\xff\xff\xf8\0\0\0\0\0").unwrap_err().contains("breaks off in a message"));
    assert!(last(b"\xff").unwrap_err().contains("without the mark of its end"));
    assert_eq!(read(b"", "number", "text"), []);
    // A buffer that says to hold an exabyte: its lengths are looked at before memory is taken.
    let mut numbers = Numbers(3);
    let texts = stream(&sample(100), Some(CompressionType::ZSTD));
    for _ in 0..2000 {
        let mut forged = texts.clone();
        let at = numbers.below(forged.len() - 8);
        forged[at..at + 8]
            .copy_from_slice(&[[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f], [0xff; 8]][at % 2]);
        for (_, row) in read(&forged, "number", "text") {
            assert!(!row.is_err_and(|why| why.contains("internal error")), "{at}");
        }
    }
}

/// Reader that gives few bytes at a time.
struct Little(io::Cursor<Vec<u8>>);

impl Read for Little {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = buffer.len().min(7);
        self.0.read(&mut buffer[..n])
    }
}

#[test]
fn bytes_may_come_one_by_one() {
    let names = FieldNames { id: Some("number".parse().unwrap()), ..names(&["text"], false) };
    let content = Little(io::Cursor::new(file(&sample(10), None)));
    let content = io::BufReader::with_capacity(5, content);
    let mut arrow = Arrow::new(content, &names.clone().columns(), 1000);
    assert_eq!(rows(&mut arrow, names).len(), 20);
}

#[test]
fn a_line_has_all_columns() {
    let mut tags = ListBuilder::new(StringBuilder::new());
    tags.values().append_value("a\u{1}");
    tags.append(true);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(StringArray::from(vec!["x"]))),
        ("text", Arc::new(LargeStringArray::from(vec!["a \"text\""]))),
        ("tags", Arc::new(tags.finish())),
        ("is_new", Arc::new(arrow_array::BooleanArray::from(vec![true]))),
        ("day", Arc::new(arrow_array::Date32Array::from(vec![365]))),
        ("at", Arc::new(arrow_array::TimestampMillisecondArray::from(vec![1]).with_timezone("UTC"))),
        ("none", Arc::new(UInt64Array::from(vec![None]))),
    ];
    let content = stream(&[batch(columns)], None);
    let mut arrow = Arrow::new(&content[..], &names(&["text"], false).columns(), 999);
    arrow = arrow.with_whole_rows(&WholeRows::JsonOfAll);
    let mut records = Records::new(Form::Row);
    arrow.append_records(&mut records);
    let line = records.iter().next().unwrap().1.unwrap().line().unwrap();
    let expected = r#"{"id":"x","text":"a \"text\"","tags":["a\u0001"],"is_new":true,"day":"1971-01-01","#;
    let expected = format!("{expected}\"at\":\"1970-01-01T00:00:00.001Z\",\"none\":null}}");
    assert_eq!(str::from_utf8(line).unwrap(), expected);
}
