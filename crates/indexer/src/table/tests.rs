use std::fs;
use std::io::Read;

use ::parquet::file::reader::FileReader;
use ::parquet::file::serialized_reader::SerializedFileReader;
use ::parquet::record::Field;
use simhash::{Distance, Fingerprint};

use super::*;
use crate::journal::{Checkpoint, Description, JournalOptions, Stage};

/// A column for each kind of value.
enum Samples {}

#[derive(Clone, Copy)]
struct Sample<'a> {
    name: &'a str,
    note: Option<&'a str>,
    n: u64,
}

impl Schema for Samples {
    type Row<'a> = Sample<'a>;

    const ROLE: Role = Role::Duplicates;
    const OPTION: &'static str = "--duplicates";

    fn columns<'a>(to: &mut impl Columns<'a, Sample<'a>>) {
        to.column("name", |row| row.name);
        to.column("fingerprint", |row| Fingerprint(row.n));
        to.column("distance", |row| Distance::of_differing(row.n));
        to.column("n", |row| row.n);
        to.column("half", |row| row.n as f64 / 2.0);
        to.column("even", |row| row.n.is_multiple_of(2));
        to.column("note", |row| row.note);
        to.column("third", |row| row.note.map(|_| row.n as f64 / 3.0));
    }
}

const SAMPLES: [Sample<'static>; 3] = [
    Sample { name: "a", note: None, n: 3 },
    Sample { name: "地,\"b\"\tc", note: Some(""), n: 1 },
    Sample { name: "c", note: Some("a note"), n: 4 },
];

fn write<'a>(path: &Path, rows: impl IntoIterator<Item = Sample<'a>>) {
    let mut table: Table<Samples> = Table::open(path, None).unwrap();
    rows.into_iter().for_each(|row| table.add(row).unwrap());
    table.finish().unwrap();
}

#[test]
fn the_name_says_how_rows_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str| {
        let path = folder.path().join(name);
        write(&path, SAMPLES);
        fs::read(path).unwrap()
    };
    // Sorted by name; a missing value has no field.
    let json = concat!(
        r#"{"distance":2,"even":false,"fingerprint":"0000000000000003","half":1.5,"n":3,"name":"a"}"#,
        "\n",
        r#"{"distance":1,"even":false,"fingerprint":"0000000000000001","half":0.5,"n":1,"name":"地,\"b\"\tc","note":"","third":0.3333333333333333}"#,
        "\n",
        r#"{"distance":1,"even":true,"fingerprint":"0000000000000004","half":2.0,"n":4,"name":"c","note":"a note","third":1.3333333333333333}"#,
        "\n",
    );
    let csv = concat!(
        "name,fingerprint,distance,n,half,even,note,third\n",
        "a,0000000000000003,2,3,1.5,false,,\n",
        "\"地,\"\"b\"\"\tc\",0000000000000001,1,1,0.5,false,,0.3333333333333333\n",
        "c,0000000000000004,1,4,2.0,true,a note,1.3333333333333333\n",
    );
    let tsv = concat!(
        "name\tfingerprint\tdistance\tn\thalf\teven\tnote\tthird\n",
        "a\t0000000000000003\t2\t3\t1.5\tfalse\t\t\n",
        "\"地,\"\"b\"\"\tc\"\t0000000000000001\t1\t1\t0.5\tfalse\t\t0.3333333333333333\n",
        "c\t0000000000000004\t1\t4\t2.0\ttrue\ta note\t1.3333333333333333\n",
    );
    for (name, expected) in [("a", json), ("a.jsonl", json), ("a.csv", csv), ("a.TSV", tsv)] {
        assert_eq!(String::from_utf8(written(name)).unwrap(), expected, "{name}");
    }
    let mut unpacked = String::new();
    flate2::read::MultiGzDecoder::new(&written("a.csv.gz")[..]).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, csv);
    assert_eq!(zstd::decode_all(&written("a.jsonl.zst")[..]).unwrap(), json.as_bytes());
}

fn rows(path: &Path) -> Vec<Vec<Field>> {
    let file = SerializedFileReader::try_from(path).unwrap();
    let fields = |row: ::parquet::record::Row| row.into_columns().into_iter().map(|(_, field)| field);
    file.get_row_iter(None).unwrap().map(|row| fields(row.unwrap()).collect()).collect()
}

#[test]
fn parquet_has_types_and_nulls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    write(&path, SAMPLES);
    let text = |text: &str| Field::Str(text.to_owned());
    let row = |n: i64, name, fingerprint, distance, half, even, note: Option<&str>, third: Option<f64>| {
        let note = note.map_or(Field::Null, text);
        let third = third.map_or(Field::Null, Field::Double);
        vec![
            text(name),
            text(fingerprint),
            Field::Long(distance),
            Field::Long(n),
            Field::Double(half),
            Field::Bool(even),
            note,
            third,
        ]
    };
    let expected = [
        row(3, "a", "0000000000000003", 2, 1.5, false, None, None),
        row(1, SAMPLES[1].name, "0000000000000001", 1, 0.5, false, Some(""), Some(1.0 / 3.0)),
        row(4, "c", "0000000000000004", 1, 2.0, true, Some("a note"), Some(4.0 / 3.0)),
    ];
    assert_eq!(rows(&path), expected);
    let file = SerializedFileReader::try_from(path.as_path()).unwrap();
    let mut schema = Vec::new();
    ::parquet::schema::printer::print_schema(&mut schema, file.metadata().file_metadata().schema());
    let expected = "message schema {
  REQUIRED BYTE_ARRAY name (STRING);
  REQUIRED BYTE_ARRAY fingerprint (STRING);
  REQUIRED INT64 distance;
  REQUIRED INT64 n;
  REQUIRED DOUBLE half;
  REQUIRED BOOLEAN even;
  OPTIONAL BYTE_ARRAY note (STRING);
  OPTIONAL DOUBLE third;
}
";
    assert_eq!(String::from_utf8(schema).unwrap(), expected);
}

/// Files without rows have columns, except for JSON Lines.
#[test]
fn no_rows_are_a_table_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["a.jsonl", "a.csv", "a.parquet"] {
        write(&at(name), []);
    }
    assert_eq!(fs::read_to_string(at("a.jsonl")).unwrap(), "");
    assert_eq!(
        fs::read_to_string(at("a.csv")).unwrap(),
        "name,fingerprint,distance,n,half,even,note,third\n"
    );
    assert_eq!(rows(&at("a.parquet")), [[]; 0]);
    let file = SerializedFileReader::try_from(at("a.parquet").as_path()).unwrap();
    assert_eq!(file.metadata().file_metadata().schema().get_fields().len(), 8);
}

/// A row group ends after a number of rows, or of bytes if these are long.
#[test]
fn many_rows_are_several_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let n_rows = |path: &Path| -> Vec<i64> {
        let file = SerializedFileReader::try_from(path).unwrap();
        file.metadata()
            .row_groups()
            .iter()
            .map(::parquet::file::metadata::RowGroupMetaData::num_rows)
            .collect()
    };
    write(&path, (0..100_000).map(|n| Sample { name: "a", note: None, n }));
    assert_eq!(n_rows(&path), [65_536, 34_464]);
    assert_eq!(rows(&path)[99_999][3], Field::Long(99_999));
    let long = "a".repeat(1 << 20);
    write(&path, (0..100).map(|n| Sample { name: &long, note: None, n }));
    assert_eq!(n_rows(&path), [64, 36]);
}

/// A journal returns the cells exactly.
#[test]
fn cells_come_back_from_a_journal_as_they_were() {
    let floats = [0.0, -0.0, 1.0 / 3.0, 5e-324, 1.797_693_134_862_315_7e308, f64::INFINITY];
    let cells = floats.map(Cell::Float).into_iter().chain(cells::<Samples>(SAMPLES[1]));
    for cell in cells.chain([Cell::None, Cell::Integer(i64::MIN)]) {
        let json = serde_json::to_string(&cell).unwrap();
        let back: Cell<'_> = serde_json::from_str(&json).unwrap();
        assert_eq!(back, cell, "{json}");
        assert_eq!(serde_json::to_string(&back).unwrap(), json);
    }
}

/// At each point of interruption, even while files are moved into their places, the final table is
/// the same to the byte.
#[test]
fn what_was_broken_off_is_gone_on_with() {
    for (name, is_appended) in [("a.jsonl", true), ("a.csv", true), ("a.parquet", false)] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let row = |n: u64| Sample { name: "a", note: n.is_multiple_of(3).then_some("地"), n };
        write(&at(name), (0..10_000).map(row));
        let whole = fs::read(at(name)).unwrap();
        fs::remove_file(at(name)).unwrap();

        let options = JournalOptions { folder: at("journal"), checkpoint_records: 1 };
        let open = || {
            let journal = Journal::open(&options, Description::new("dedup")).unwrap();
            journal.begin().unwrap();
            let table: Table<Samples> = Table::open(&at(name), Some(&journal)).unwrap();
            (journal, table)
        };
        let save = |journal: &mut Journal, table: &mut Table<Samples>, stage| {
            let mut checkpoint = Checkpoint { stage, ..journal.checkpoint().clone() };
            table.checkpoint(&mut checkpoint.lengths).unwrap();
            journal.save(checkpoint).unwrap();
        };
        // Rows after a checkpoint do not count, even if they are many; nor do rows before the first
        // one.
        for (checkpoint, rest) in [(None, 0..9_000), (Some(0..10), 10..20), (Some(10..9_500), 9_500..9_500)] {
            let (mut journal, mut table) = open();
            if let Some(rows) = checkpoint {
                rows.for_each(|n| table.add(row(n)).unwrap());
                save(&mut journal, &mut table, Stage::Reading);
            }
            rest.for_each(|n| table.add(row(n)).unwrap());
        }
        let (mut journal, mut table) = open();
        (9_500..10_000).for_each(|n| table.add(row(n)).unwrap());
        save(&mut journal, &mut table, Stage::Written);
        drop((journal, table));
        for _ in 0..2 {
            let (_journal, table) = open();
            table.finish().unwrap();
            assert!(fs::read(at(name)).unwrap() == whole, "{name}");
        }
        let log = at("journal").join("duplicates.log");
        assert_eq!(log.exists(), !is_appended, "{name}");
        if !is_appended {
            fs::remove_file(log).unwrap();
            let journal = Journal::open(&options, Description::new("dedup")).unwrap();
            let refused = Table::<Samples>::open(&at(name), Some(&journal)).err().unwrap();
            assert!(format!("{refused:#}").contains("duplicates.log"), "{refused:#}");
        }
    }
}

/// A schema as for exports: null is written, bits are unsigned numbers where possible, bytes are
/// bytes.
enum Exact {}

impl Schema for Exact {
    type Row<'a> = Option<&'a [u8]>;

    const ROLE: Role = Role::Records;
    const OPTION: &'static str = "--output";
    const WRITES_NULL: bool = true;

    fn columns<'a>(to: &mut impl Columns<'a, Option<&'a [u8]>>) {
        to.column("bits", |row| row.map(|_| Bits(Fingerprint(u64::MAX - 1))));
        to.column("bytes", |row| row);
        to.column("time", |_| index::Timestamp::saturating(1_795_276_113_639));
    }
}

#[test]
fn bits_bytes_and_times() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let path = folder.path().join(name);
        let mut table: Table<Exact> = Table::open(&path, None).unwrap();
        table.add(Some(&[0, 255, 16])).unwrap();
        table.add(None).unwrap();
        table.finish().unwrap();
        path
    };
    let json = concat!(
        r#"{"bits":"fffffffffffffffe","bytes":"AP8Q","time":"2026-11-21T15:48:33.639Z"}"#,
        "\n",
        r#"{"bits":null,"bytes":null,"time":"2026-11-21T15:48:33.639Z"}"#,
        "\n",
    );
    assert_eq!(fs::read_to_string(write("a.jsonl")).unwrap(), json);
    let csv = "bits,bytes,time\nfffffffffffffffe,AP8Q,2026-11-21T15:48:33.639Z\n,,2026-11-21T15:48:33.639Z\n";
    assert_eq!(fs::read_to_string(write("a.csv")).unwrap(), csv);
    let time = Field::TimestampMillis(1_795_276_113_639);
    let expected = [
        vec![Field::ULong(u64::MAX - 1), Field::Bytes(vec![0, 255, 16].into()), time.clone()],
        vec![Field::Null, Field::Null, time],
    ];
    assert_eq!(rows(&write("a.parquet")), expected);
}
