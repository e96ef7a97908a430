//! `--output kept.parquet` of inputs that are no Parquet.

use std::fs;
use std::path::Path;

use parquet::basic::{Compression, Type as PhysicalType};
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::{Field, Row};
use serde_json::{Map, Value, json};

use super::formats::warc;
use crate::support::{made_up_corpus, run};

fn of_json(row: &Row) -> Value {
    let value = |field: &Field| match field {
        Field::Null => Value::Null,
        Field::Bool(boolean) => json!(boolean),
        Field::Long(integer) => json!(integer),
        Field::Double(float) => json!(float),
        Field::Str(text) => json!(text),
        other => panic!("{other:?}"),
    };
    row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect::<Map<_, _>>().into()
}

/// Returns the rows of a file as JSON, and the physical types of its columns.
fn read(path: &Path) -> (Vec<Value>, Vec<(String, PhysicalType)>) {
    let file = SerializedFileReader::try_from(path).unwrap();
    let rows = file.get_row_iter(None).unwrap().map(|row| of_json(&row.unwrap())).collect();
    let columns = file.metadata().file_metadata().schema_descr().columns();
    let types = columns.iter().map(|column| (column.name().to_owned(), column.physical_type()));
    for group in file.metadata().row_groups() {
        assert!(group.columns().iter().all(|column| matches!(column.compression(), Compression::ZSTD(_))));
    }
    (rows, types.collect())
}

#[test]
fn records_of_any_format_become_rows() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let dedup = |input: &str, output: &str| {
        let (input, output) = (at(input), at(output));
        let args = ["dedup", "-q", input.to_str().unwrap(), "--output", output.to_str().unwrap()];
        run("indexer", args).expect(0);
        read(&output)
    };
    let texts = ["A heron, grey, stands by the weir.", "Twelve boats; no wind, no sail."];
    fs::write(
        at("in.jsonl"),
        format!(
            "{}\n{}\n",
            format_args!(
                r#"{{"id":1,"text":"{}","n":7,"f":1,"ok":true,"tags":["x"],"none":null}}"#,
                texts[0]
            ),
            format_args!(r#"{{"text":"{}","id":2,"f":2.5,"n":null,"mixed":"a","tags":{{"b":1}}}}"#, texts[1]),
        ),
    )
    .unwrap();
    let (rows, types) = dedup("in.jsonl", "of-json.parquet");
    let one = json!({
        "id": 1, "text": texts[0], "n": 7, "f": 1.0, "ok": true, "tags": "[\"x\"]", "none": null, "mixed": null
    });
    let two = json!({
        "id": 2, "text": texts[1], "n": null, "f": 2.5, "ok": null, "tags": "{\"b\":1}", "none": null, "mixed": "a"
    });
    assert_eq!(rows, [one, two]);
    let (text, integer) = (PhysicalType::BYTE_ARRAY, PhysicalType::INT64);
    let expected = [
        ("id", integer),
        ("text", text),
        ("n", integer),
        ("f", PhysicalType::DOUBLE),
        ("ok", PhysicalType::BOOLEAN),
        ("tags", text),
        ("none", text),
        ("mixed", text),
    ];
    assert_eq!(types, expected.map(|(name, of)| (name.to_owned(), of)));

    fs::write(
        at("in.csv"),
        format!("id,text,year\n1,\"{}\",\n2,{},2001\n", texts[0], texts[1].replace(',', "")),
    )
    .unwrap();
    let (rows, _) = dedup("in.csv", "of-csv.parquet");
    assert_eq!(rows[0], json!({ "id": "1", "text": texts[0], "year": "" }));
    assert_eq!(rows[1]["year"], "2001");

    fs::create_dir(at("pages")).unwrap();
    fs::write(at("pages/a.txt"), texts[0]).unwrap();
    fs::write(at("pages/b.txt"), texts[1]).unwrap();
    let (rows, _) = dedup("pages", "of-texts.parquet");
    assert_eq!(
        rows,
        [json!({ "id": "a.txt", "text": texts[0] }), json!({ "id": "b.txt", "text": texts[1] })]
    );

    fs::write(at("in.warc"), warc(&[("x".to_owned(), texts[0].to_owned())])).unwrap();
    let (rows, _) = dedup("in.warc", "of-warc.parquet");
    assert!(rows[0]["text"].as_str().unwrap().contains(texts[0]), "{rows:?}");

    fs::write(at("empty.jsonl"), "").unwrap();
    let (rows, types) = dedup("empty.jsonl", "of-none.parquet");
    assert_eq!((rows.len(), types.len()), (0, 2));
    // What was written is read again.
    let (again, _) = dedup("of-json.parquet", "again.parquet");
    assert_eq!(again, read(&at("of-json.parquet")).0);
}

/// In the order of the input, as in JSON Lines.
#[test]
fn rows_are_the_lines_of_json() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("in.jsonl"), made_up_corpus(500, 23)).unwrap();
    for name in ["kept.jsonl", "kept.parquet"] {
        let (input, output) = (at("in.jsonl"), at(name));
        run("indexer", ["dedup", "-q", input.to_str().unwrap(), "--output", output.to_str().unwrap()])
            .expect(0);
    }
    let lines = fs::read_to_string(at("kept.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() > 300);
    assert_eq!(read(&at("kept.parquet")).0, lines);
}
