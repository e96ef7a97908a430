//! The columns of tables in the results.

use std::fs::File;

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::RowAccessor;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};

use super::Place;

const SCHEMA: &str = "message m {
    required binary id (STRING);
    required binary text (STRING);
    required double price;
}";

fn parquet(id: &str, text: &str, price: f64) -> Vec<u8> {
    let schema = parse_message_type(SCHEMA).unwrap();
    let properties = WriterProperties::builder().build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), properties.into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for text in [id, text] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&[ByteArray::from(text)], None, None).unwrap();
        column.close().unwrap();
    }
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&[price], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

/// All columns of tables but id, text and source were once lost, and their files were deleted.
#[test]
fn an_item_of_a_table_has_all_its_columns() {
    let expected = [
        json!({ "id": "a", "text": "The harbour office closes at noon", "price": "5.50" }),
        json!({ "id": "b", "text": "A new bridge opens over the river", "price": 7.25 }),
    ];
    for format in ["jsonl", "parquet"] {
        let place = Place::new();
        place.deliver("a.csv", "id,text,price\na,The harbour office closes at noon,5.50\n");
        place.deliver("b.parquet", parquet("b", "A new bridge opens over the river", 7.25));
        place.collect(&["--results-format", format, "--delete"]).expect(0);
        let mut items = match format {
            "jsonl" => place.items("source="),
            _ => place.files("source=").iter().flat_map(|name| rows(&place, name)).collect(),
        };
        items.sort_by_key(|item| item["id"].to_string());
        assert_eq!(items, expected, "{format}");
    }
}

/// Returns the rows of a file of results as the items that they were.
fn rows(place: &Place, name: &str) -> Vec<Value> {
    let file = SerializedFileReader::new(File::open(place.at("results").join(name)).unwrap()).unwrap();
    let rows = file.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        let mut item: Value = serde_json::from_str(row.get_string(3).unwrap()).unwrap();
        item["id"] = row.get_string(0).unwrap().as_str().into();
        item["text"] = row.get_string(2).unwrap().as_str().into();
        item
    });
    rows.collect()
}
