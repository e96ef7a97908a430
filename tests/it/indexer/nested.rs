//! A Parquet file with nearly every kind of column.

use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

/// Entries of a leaf in a row: levels of definition and repetition, and a value unless null.
type Leaf<T> = Vec<(i16, i16, Option<T>)>;

/// Returns a file with row groups of this size; `suffix` changes the name of one field.
pub(crate) fn nested(documents: &[(String, String)], n_rows_in_a_group: usize, suffix: &str) -> Vec<u8> {
    let schema = format!(
        "message news {{
            required binary id (STRING);
            optional binary text (STRING);
            optional group meta {{ optional int32 day (DATE); required boolean is_new; }}
            optional group tags (LIST) {{ repeated group list {{ optional binary element{suffix} (STRING); }} }}
            optional group scores (MAP) {{
                repeated group key_value {{ required binary key (STRING); optional double value; }}
            }}
            required group grid (LIST) {{
                repeated group list {{
                    optional group element (LIST) {{ repeated group list {{ required int64 element; }} }}
                }}
            }}
            optional int64 at (TIMESTAMP(MICROS,true));
            optional fixed_len_byte_array(9) price (DECIMAL(20,2));
            optional int96 old;
            optional float weight;
            required int64 n (INTEGER(64,false));
        }}"
    );
    let notes = vec![KeyValue::new("huggingface".to_owned(), "{\"info\": {}}".to_owned())];
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(notes));
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build())).unwrap();
    for documents in documents.chunks(n_rows_in_a_group) {
        let mut group = writer.next_row_group().unwrap();
        let texts = |text: fn(&(String, String)) -> &String| {
            move |i: usize| vec![(1, 0, Some(ByteArray::from(text(&documents[i]).as_str())))]
        };
        let n = documents.len();
        // False in every third row, chosen by `at`: a column is null there.
        let some = |i: usize, at: usize| i % 3 != at;
        write::<ByteArrayType>(&mut group, n, texts(|(id, _)| id));
        write::<ByteArrayType>(&mut group, n, texts(|(_, text)| text));
        write::<Int32Type>(&mut group, n, |i| match i % 3 {
            0 => vec![(0, 0, None)],
            1 => vec![(1, 0, None)],
            _ => vec![(2, 0, Some(i as i32 - 9))],
        });
        write::<BoolType>(&mut group, n, |i| optional(some(i, 0), i % 2 == 0));
        write::<ByteArrayType>(&mut group, n, |i| {
            list(i % 5, |j| ((i + j) % 3 > 0).then(|| ByteArray::from(&*format!("tag {i} {j}"))), 2)
        });
        let entries = |i: usize| (i + 1) % 4;
        write::<ByteArrayType>(&mut group, n, |i| {
            list(entries(i), |j| Some(ByteArray::from(&*format!("key {j}"))), 1)
        });
        write::<DoubleType>(&mut group, n, |i| list(entries(i), |j| (j > 0).then_some(i as f64 / 7.0), 2));
        write::<Int64Type>(&mut group, n, |i| match i % 4 {
            0 => vec![(0, 0, None)],
            1 => vec![(1, 0, None), (2, 1, None)],
            _ => {
                vec![(3, 0, Some(i as i64)), (3, 2, Some(-1)), (2, 1, None), (3, 1, Some(0)), (3, 2, Some(9))]
            }
        });
        write::<Int64Type>(&mut group, n, |i| optional(some(i, 1), 1_700_000_000_000_000 + i as i64));
        let price = |i: usize| FixedLenByteArray::from(vec![0, 0, 0, 0, 0, 0, 1, 2, i as u8]);
        write::<FixedLenByteArrayType>(&mut group, n, |i| optional(some(i, 2), price(i)));
        write::<Int96Type>(&mut group, n, |i| {
            optional(some(i, 0), Int96::from(vec![i as u32, 0, 2_450_000]))
        });
        write::<FloatType>(&mut group, n, |i| optional(some(i, 1), i as f32 / 3.0));
        write::<Int64Type>(&mut group, n, |i| vec![(1, 0, Some(-(i as i64)))]);
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

fn optional<T>(is_some: bool, value: T) -> Leaf<T> {
    vec![(is_some.into(), 0, is_some.then_some(value))]
}

/// Returns the leaf of a list: null for `n` = 0, otherwise a list of `n` - 1 elements. A null
/// element has `n_levels` levels of definition, a value one more.
fn list<T>(n: usize, element: impl Fn(usize) -> Option<T>, n_levels: i16) -> Leaf<T> {
    match n {
        0 => vec![(0, 0, None)],
        1 => vec![(1, 0, None)],
        _ => (0..n - 1)
            .map(|j| {
                let element = element(j);
                (n_levels + i16::from(element.is_some()), i16::from(j > 0), element)
            })
            .collect(),
    }
}

/// Writes the next leaf of `n_rows` rows.
fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    n_rows: usize,
    leaf: impl Fn(usize) -> Leaf<T::T>,
) {
    let leaves: Vec<_> = (0..n_rows).flat_map(leaf).collect();
    let definitions: Vec<i16> = leaves.iter().map(|(definition, ..)| *definition).collect();
    let repetitions: Vec<i16> = leaves.iter().map(|(_, repetition, _)| *repetition).collect();
    let values: Vec<T::T> = leaves.into_iter().filter_map(|(.., value)| value).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(&values, Some(&definitions), Some(&repetitions)).unwrap();
    column.close().unwrap();
}
