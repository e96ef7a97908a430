//! Tables and documents of fields: CSV, JSON Lines, Parquet, and the folders of programs.

use std::fs;
use std::path::Path;

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Run, run};

/// Texts without words in common.
const TEXTS: [&str; 4] = [
    "The ferry to the islands sails at noon from the second pier.",
    "A parade of antique fire engines blocked our bridge for an hour.",
    "Her grandmother kept bees up on that roof over the post office.",
    "Rehearsals are held in gymnasiums until somebody mends every hall.",
];

struct Case {
    folder: TempDir,
}

impl Case {
    fn new(files: &[(&str, Vec<u8>)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join("in").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Self { folder }
    }

    /// Runs the job on an input, to an output of this name.
    fn dedup(&self, input: &str, output: &str, more: &[&str]) -> Run {
        let path = |name: &str| self.folder.path().join(name).to_str().unwrap().to_owned();
        let (input, output) = (path(&format!("in/{input}")), path(output));
        let args = ["dedup", &input, "--output", &output, "--force", "--segmenter", "words"];
        run("indexer", [&args, more].concat())
    }

    /// Returns the ids and texts kept.
    #[track_caller]
    fn kept(&self, input: &str, more: &[&str]) -> Vec<(String, String)> {
        self.dedup(input, "kept.jsonl", more).expect(0);
        let kept = fs::read_to_string(self.folder.path().join("kept.jsonl")).unwrap();
        let field = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let line = |line: &str| {
            let line: Value = serde_json::from_str(&line.replace("NaN", "null")).unwrap();
            (field(&line["id"]), field(&line["text"]))
        };
        kept.lines().map(line).collect()
    }

    #[track_caller]
    fn check(&self, input: &str, more: &[&str], expected: &[(&str, &str)]) {
        let expected: Vec<_> =
            expected.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect();
        assert_eq!(self.kept(input, more), expected, "{input}");
    }
}

/// Returns a file of one row group with columns of strings; null for `None`.
fn parquet(schema: &str, columns: &[Vec<Option<&str>>]) -> Vec<u8> {
    let schema = parse_message_type(&format!("message m {{ {schema} }}")).unwrap();
    let properties = WriterProperties::builder().build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), properties.into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for column in columns {
        let mut writer = group.next_column().unwrap().unwrap();
        let values: Vec<ByteArray> = column.iter().flatten().map(|text| ByteArray::from(*text)).collect();
        let levels: Vec<i16> = column.iter().map(|text| i16::from(text.is_some())).collect();
        // Levels of a column that is required are passed over.
        writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
        writer.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

fn rows(path: &Path) -> Vec<String> {
    let file = SerializedFileReader::try_from(path).unwrap();
    file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

#[test]
fn quotes_between_tabs_are_characters() {
    let [a, b, c, _] = TEXTS;
    let rows = format!("id\ttext\n1\t\"{a}\n2\t{b}\n3\t\"{c}\n");
    let (first, third) = (format!("\"{a}"), format!("\"{c}"));
    Case::new(&[("a.tsv", rows.into())]).check("a.tsv", &[], &[("1", &first), ("2", b), ("3", &third)]);
}

#[test]
fn backslashes_before_quotes() {
    let rows = "id,text\n1,\"He wrote \\\"closed, for now\\\" on the door of the shop and went home.\"\n\
                2,\"The second lock of the canal is drained for repairs until June.\"\n";
    let first = "He wrote \"closed, for now\" on the door of the shop and went home.";
    let second = "The second lock of the canal is drained for repairs until June.";
    Case::new(&[("a.csv", rows.into())]).check("a.csv", &[], &[("1", first), ("2", second)]);
}

#[test]
fn exports_in_other_encodings_and_with_other_delimiters() {
    let text = "Die Fähre über den Fluß fährt künftig öfter, und zwar jeden Tag.";
    let rows = format!("id;text\n1;{text}\n");
    let (windows, ..) = encoding_rs::WINDOWS_1252.encode(&rows);
    let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let case = Case::new(&[
        ("a.csv", windows.into_owned()),
        ("b.csv", utf_16(&format!("\u{feff}{rows}"))),
        ("c.csv", utf_16(&rows)),
        ("d.csv", rows.replace(';', "|").into()),
        ("e.csv", format!("\u{feff}sep=;\r\n{rows}").into()),
        // By the rows alone it would be the comma.
        ("f.csv", format!("SEP=|\n{}", rows.replace(';', "|").replace(' ', ", ")).into()),
    ]);
    for name in ["a.csv", "b.csv", "c.csv", "d.csv", "e.csv"] {
        case.check(name, &[], &[("1", text)]);
    }
    let said = case.dedup("a.csv", "kept.jsonl", &[]).expect(0).stderr;
    assert!(said.contains("a.csv: read as in windows-1252, cells between ';'"), "{said}");
    case.check("f.csv", &[], &[("1", &text.replace(' ', ", "))]);
    let damaged = case.dedup("e.csv", "kept.jsonl", &["--text-field", "body"]).expect(1).stderr;
    assert!(damaged.contains("e.csv:3: there is no field \"body\""), "{damaged}");
    case.check("a.csv", &["--encoding", "latin1", "--delimiter", ";", "--quote", "none"], &[("1", text)]);
}

#[test]
fn times_of_feeds_and_posts() {
    for new in ["Thu, 14 Mar 2024 09:00:00 GMT", "2024-03-14 09:00:00 UTC", "2024/03/14 09:00:00"] {
        let line = |id: &str, time: &str| {
            format!("{{\"id\":\"{id}\",\"text\":{:?},\"created_at\":\"{time}\"}}\n", TEXTS[0])
        };
        let lines = [line("old", "2018-10-10 20:19:24"), line("new", new)].concat();
        let more = ["--keep", "newest", "--time-field", "created_at"];
        Case::new(&[("a.jsonl", lines.into())]).check("a.jsonl", &more, &[("new", TEXTS[0])]);
    }
}

#[test]
fn one_of_several_texts_may_be_null_or_missing() {
    let lines = format!(
        "{{\"id\":1,\"title\":null,\"text\":{:?}}}\n{{\"id\":2,\"text\":{:?}}}\n",
        TEXTS[0], TEXTS[1]
    );
    let case = Case::new(&[("a.jsonl", lines.into())]);
    case.check("a.jsonl", &["--text-field", "title,text"], &[("1", TEXTS[0]), ("2", TEXTS[1])]);
}

#[test]
fn what_is_no_number_in_a_field_that_no_one_reads() {
    let lines = format!(
        "{{\"id\":1,\"text\":{:?},\"score\":NaN}}\n{{\"id\":2,\"text\":{:?},\"score\":0.5}}\n",
        TEXTS[0], TEXTS[1]
    );
    Case::new(&[("a.jsonl", lines.into())]).check("a.jsonl", &[], &[("1", TEXTS[0]), ("2", TEXTS[1])]);
}

#[test]
fn arrays_and_objects_over_many_lines_or_in_one() {
    let [a, b, ..] = TEXTS;
    let printed =
        format!("{{\n  \"id\": 1,\n  \"text\": {a:?}\n}}\n{{\n  \"id\": 2,\n  \"text\": {b:?}\n}}\n");
    let array = format!("[{{\"id\":1,\"text\":{a:?}}},\n{{\"id\":2,\"text\":{b:?}}}]");
    // As clouds deliver streams.
    let line = format!("{{\"id\":1,\"text\":{a:?}}}{{\"id\":2,\"text\":{b:?}}}");
    let case = Case::new(&[("a.json", printed.into()), ("b.json", array.into()), ("c.json", line.into())]);
    for name in ["a.json", "b.json", "c.json"] {
        case.check(name, &[], &[("1", a), ("2", b)]);
    }
}

#[test]
fn fields_in_objects_and_lists() {
    let [a, b, ..] = TEXTS;
    let line = format!(
        "{{\"id\":1,\"text\":{a:?},\"meta\":{{\"key\":7}},\"list\":[{{\"of\":{a:?}}},{{\"of\":{b:?}}}]}}\n"
    );
    let case = Case::new(&[("a.jsonl", line.into())]);
    case.check("a.jsonl", &["--id-field", "meta.key", "--text-field", "list[*].of"], &[("1", a)]);
    let said = case.dedup("a.jsonl", "kept.jsonl", &["--text-field", "meta.kez"]).expect(1).stderr;
    assert!(said.contains("there is no field \"meta.kez\"; it has \"id\", \"text\", \"meta\""), "{said}");
}

#[test]
fn shards_that_differ_in_what_may_be_null_and_lack_a_column() {
    let required = "required binary id (STRING); required binary text (STRING);";
    let optional =
        "optional binary text (STRING); optional binary lang (STRING); optional binary id (STRING);";
    let [a, b, c, d] = TEXTS;
    let case = Case::new(&[
        ("shards/a.parquet", parquet(required, &[vec![Some("1"), Some("2")], vec![Some(a), Some(b)]])),
        (
            "shards/b.parquet",
            parquet(optional, &[vec![Some(c), Some(d)], vec![Some("en"), None], vec![Some("3"), Some("4")]]),
        ),
    ]);
    case.dedup("shards", "kept.parquet", &[]).expect(0);
    let expected: Vec<String> = [("1", a, "null"), ("2", b, "null"), ("3", c, "\"en\""), ("4", d, "null")]
        .map(|(id, text, lang)| format!("{{id: \"{id}\", text: \"{text}\", lang: {lang}}}"))
        .into();
    assert_eq!(rows(&case.folder.path().join("kept.parquet")), expected);
}

#[test]
fn strings_without_annotation_and_columns_of_null() {
    let plain =
        parquet("required binary id; required binary text;", &[vec![Some("1")], vec![Some(TEXTS[0])]]);
    let null = parquet(
        "required binary id (STRING); optional binary text (STRING);",
        &[vec![Some("1")], vec![None]],
    );
    let case = Case::new(&[("plain.parquet", plain), ("null.parquet", null)]);
    case.check("plain.parquet", &[], &[("1", TEXTS[0])]);
    let said = case.dedup("null.parquet", "kept.jsonl", &[]).expect(1).stderr;
    assert!(said.contains("field \"text\" holds null"), "{said}");
}

#[test]
fn folders_that_programs_write() {
    let part = |n: usize| {
        let id = n.to_string();
        parquet(
            "required binary id (STRING); required binary text (STRING);",
            &[vec![Some(&id)], vec![Some(TEXTS[n])]],
        )
    };
    let log = "{\"commitInfo\":{\"timestamp\":1}}\n{\"protocol\":{\"minReaderVersion\":1}}\n{\"add\":{\"path\":\"part-0.parquet\"}}\n";
    let case = Case::new(&[
        ("spark/part-0.parquet", part(0)),
        ("spark/part-1.parquet", part(1)),
        ("spark/.part-0.parquet.crc", b"crc".to_vec()),
        ("spark/_SUCCESS", Vec::new()),
        ("spark/_temporary/0/task_1/part-2.parquet", part(2)),
        ("delta/part-0.parquet", part(0)),
        ("delta/part-1.parquet", part(1)),
        ("delta/_delta_log/00000000000000000000.json", log.into()),
        ("hub/data/train-0.parquet", part(0)),
        ("hub/README.md", b"---\nconfigs:\n- config_name: default\n---\n# A card".to_vec()),
        ("hub/dataset_infos.json", b"{\n  \"default\": {}\n}".to_vec()),
        ("iceberg/metadata/v1.metadata.json", b"{}".to_vec()),
        ("iceberg/data/part-0.parquet", part(0)),
    ]);
    case.check("spark", &[], &[("0", TEXTS[0]), ("1", TEXTS[1])]);
    let said = case.dedup("spark", "kept.jsonl", &[]).expect(0).stderr;
    assert!(said.contains("left out: 2 files (side files 2), which say how a folder was written"), "{said}");
    case.check("delta", &[], &[("0", TEXTS[0])]);
    case.check("hub", &[], &[("0", TEXTS[0])]);
    let refused = case.dedup("iceberg", "kept.jsonl", &[]).expect(2).stderr;
    assert!(refused.contains("is an Iceberg table") && refused.contains("as Parquet"), "{refused}");
}
