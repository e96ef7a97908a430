//! `--duplicates` and `--clusters` as Parquet, CSV and TSV: the values of JSON Lines.

use std::fs;
use std::path::Path;

use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::Field;
use serde_json::{Value, json};

use super::news_arg;
use crate::support::{CLASSIC, made_up_corpus, run};

const DUPLICATES: [&str; 11] = [
    "id",
    "duplicate_of",
    "fingerprint",
    "duplicate_of_fingerprint",
    "distance",
    "similarity",
    "exact",
    "numbers_differ",
    "share_of_a",
    "share_of_b",
    "contained",
];

const CLUSTERS: [&str; 13] = [
    "group",
    "id",
    "status",
    "fingerprint",
    "split_from",
    "chained",
    "n_documents",
    "n_edges",
    "widest_a",
    "widest_b",
    "widest_distance",
    "widest_similarity",
    "widest_at_least",
];

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the expected rows of a table, from the lines about clusters.
fn documents(clusters: &[Value]) -> Vec<Value> {
    let mut rows = Vec::new();
    for cluster in clusters {
        for node in cluster["nodes"].as_array().unwrap() {
            for document in node["documents"].as_array().unwrap() {
                let mut row = json!({
                    "id": document["id"],
                    "status": document["status"],
                    "fingerprint": node["fingerprint"],
                });
                for field in ["group", "split_from", "chained", "n_documents", "n_edges"] {
                    row[field] = cluster[field].clone();
                }
                if let Some(widest) = cluster.get("widest") {
                    row["widest_a"] = widest["between"][0].clone();
                    row["widest_b"] = widest["between"][1].clone();
                    row["widest_distance"] = widest["distance"].clone();
                    row["widest_similarity"] = widest["similarity"].clone();
                    row["widest_at_least"] = widest.get("at_least").is_some().into();
                }
                rows.push(row);
            }
        }
    }
    rows
}

fn cells<'a>(row: &'a Value, columns: &'a [&str]) -> impl Iterator<Item = Value> + 'a {
    columns.iter().map(|name| row[*name].clone())
}

#[track_caller]
fn check_parquet(path: &Path, columns: &[&str], expected: &[Value]) {
    let file = SerializedFileReader::try_from(path).unwrap();
    let schema = file.metadata().file_metadata().schema();
    let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
    assert_eq!(names, columns);
    let value = |field: &Field| match field {
        Field::Null => Value::Null,
        Field::Str(text) => text.as_str().into(),
        Field::Long(number) => (*number).into(),
        Field::Bool(is_so) => (*is_so).into(),
        Field::Double(number) => (*number).into(),
        other => panic!("{other:?} is of no type that is documented"),
    };
    let rows = file.get_row_iter(None).unwrap().map(Result::unwrap);
    let rows: Vec<Vec<Value>> =
        rows.map(|row| row.get_column_iter().map(|(_, field)| value(field)).collect()).collect();
    let expected: Vec<Vec<Value>> = expected.iter().map(|row| cells(row, columns).collect()).collect();
    assert_eq!(rows, expected, "{}", path.display());
}

/// Checks a delimited table of cells without line breaks.
#[track_caller]
fn check_delimited(text: &str, delimiter: char, columns: &[&str], expected: &[Value]) {
    let quoted = |cell: String| match cell.contains(['"', delimiter]) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    };
    let plain = |cell: Value| match cell {
        Value::Null => String::new(),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    };
    let row = |cells: Vec<String>| cells.join(&delimiter.to_string()) + "\n";
    let rows = expected.iter().map(|line| row(cells(line, columns).map(plain).collect()));
    let header = row(columns.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(text, header + &rows.collect::<String>());
}

#[test]
fn duplicates_and_clusters_are_the_same_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Some ids need quotes. Texts of few words make chains.
    let corpus = made_up_corpus(400, 3).replace("made-up/1", "made-up, \\\"1\\\"");
    fs::write(at("made-up.jsonl"), corpus).unwrap();
    let made_up = at("made-up.jsonl").to_str().unwrap().to_owned();
    let mut n_split = 0;
    for (input, chains) in [(&news_arg(), "report"), (&made_up, "report"), (&made_up, "split")] {
        let write = |suffix: &str| {
            let paths = ["dropped", "clusters"].map(|name| at(&format!("{name}{suffix}")));
            let [dropped, clusters] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
            let options = ["--duplicates", dropped, "--clusters", clusters, "--chains", chains];
            // Simhashes make chains.
            let classic = if chains == "split" { &CLASSIC[..] } else { &[] };
            let args = [&["dedup", "-q", "--force", input][..], &options, classic].concat();
            run("indexer", args).expect(0);
            paths
        };
        let [dropped, clusters] = write(".jsonl").map(|path| lines(&path));
        n_split += clusters.iter().filter(|cluster| cluster["split_from"].is_string()).count();
        let documents = documents(&clusters);
        assert!(dropped.len() >= 12 && documents.len() > dropped.len(), "{}", documents.len());
        let [path, clusters_path] = write(".parquet");
        check_parquet(&path, &DUPLICATES, &dropped);
        check_parquet(&clusters_path, &CLUSTERS, &documents);
        for (suffix, delimiter) in [(".csv", ','), (".tsv", '\t'), (".CSV.zst", ','), (".tsv.gz", '\t')] {
            let [dropped_text, clusters_text] = write(suffix).map(|path| {
                let content = fs::read(path).unwrap();
                let content = match &suffix[4..] {
                    ".zst" => zstd::decode_all(&content[..]).unwrap(),
                    ".gz" => std::io::read_to_string(flate2::read::MultiGzDecoder::new(&content[..]))
                        .unwrap()
                        .into_bytes(),
                    _ => content,
                };
                String::from_utf8(content).unwrap()
            });
            check_delimited(&dropped_text, delimiter, &DUPLICATES, &dropped);
            check_delimited(&clusters_text, delimiter, &CLUSTERS, &documents);
        }
    }
    assert!(n_split > 0, "there were no chains to split");
}

/// A reader of an empty table finds its columns.
#[test]
fn tables_without_rows_have_columns() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("one.jsonl"), made_up_corpus(1, 3)).unwrap();
    let write = |suffix: &str| {
        let [input, dropped, clusters] =
            ["one.jsonl", &format!("dropped{suffix}"), &format!("clusters{suffix}")]
                .map(|name| at(name).to_str().unwrap().to_owned());
        run("indexer", ["dedup", "-q", &input, "--duplicates", &dropped, "--clusters", &clusters]).expect(0);
        [dropped, clusters]
    };
    for (path, columns) in write(".parquet").iter().zip([&DUPLICATES[..], &CLUSTERS]) {
        check_parquet(Path::new(path), columns, &[]);
    }
    for (path, columns) in write(".csv").iter().zip([&DUPLICATES[..], &CLUSTERS]) {
        check_delimited(&fs::read_to_string(path).unwrap(), ',', columns, &[]);
    }
}

/// A job with a journal makes its Parquet file at the end, equal to the file without a journal.
#[test]
fn a_journal_changes_no_byte_of_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let corpus = at("corpus.jsonl");
    fs::write(&corpus, made_up_corpus(800, 6)).unwrap();
    let (plain, journalled, journal) = (at("plain.parquet"), at("journalled.parquet"), at("journal"));
    let args = ["dedup", "-q", "--segmenter", "words", &corpus, "--duplicates"];
    run("indexer", args.into_iter().chain([&*plain])).expect(0);
    let more = [&journalled, "--journal", &journal, "--checkpoint-records", "70"];
    run("indexer", args.into_iter().chain(more)).expect(0);
    assert!(fs::read(plain).unwrap() == fs::read(journalled).unwrap());
    let mut left: Vec<_> = fs::read_dir(&journal).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["checkpoint.json", "job.json", "lock"], "what only helped to go on is removed");
}
