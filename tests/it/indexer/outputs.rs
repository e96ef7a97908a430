//! `dedup --output`: in the format of the input, with every column of the kept rows.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::Row;
use serde_json::Value;

use super::formats::{delimited, documents, parquet};
use super::nested::nested;
use super::news_arg;
use crate::support::{Run, made_up_corpus, run, run_with_input};

fn dedup(inputs: &[&Path], output: &Path) -> Run {
    let inputs = inputs.iter().map(|path| path.to_str().unwrap());
    let output = ["--output", output.to_str().unwrap()];
    run("indexer", ["dedup", "-q", "--force"].into_iter().chain(inputs).chain(output))
}

/// Returns the ids that `dedup` keeps of the shipped corpus.
fn kept_ids() -> HashSet<String> {
    let kept = run("indexer", ["dedup", "-q", &news_arg(), "--output", "-"]).expect(0).stdout;
    let id = |line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
    let ids: HashSet<String> = kept.lines().map(id).collect();
    assert_eq!(ids.len(), 17);
    ids
}

/// Returns the documents that `dedup` keeps of the shipped corpus.
fn kept_documents() -> Vec<(String, String)> {
    let ids = kept_ids();
    documents().into_iter().filter(|(id, _)| ids.contains(id)).collect()
}

/// Returns rows as the program writes them, quoted only where required.
fn plain(documents: &[(String, String)], delimiter: char) -> String {
    let quoted = |cell: &str| match cell.contains(['"', '\r', '\n', delimiter]) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    };
    let note = "a \"note\"\r\nof two\tlines,";
    let rows = documents
        .iter()
        .map(|(id, text)| ["7", text, note, id].map(quoted).join(&delimiter.to_string()) + "\n");
    let header = ["n", "text", "note", "id"].join(&delimiter.to_string());
    format!("\u{feff}{header}\n{}", rows.collect::<String>())
}

#[test]
fn csv_stays_csv_with_all_columns() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("news.csv"), delimited(&documents(), ',')).unwrap();
    fs::write(at("news.tsv"), delimited(&documents(), '\t')).unwrap();
    for (input, output, delimiter) in
        [("news.csv", "kept.csv", ','), ("news.tsv", "kept.tsv", '\t'), ("news.csv", "other.tsv", '\t')]
    {
        dedup(&[&at(input)], &at(output)).expect(0);
        assert_eq!(fs::read_to_string(at(output)).unwrap(), plain(&kept_documents(), delimiter), "{output}");
    }
    // Deduplicated again, the kept rows are the same, and none is dropped.
    dedup(&[&at("kept.csv")], &at("again.csv")).expect(0);
    assert_eq!(fs::read(at("again.csv")).unwrap(), fs::read(at("kept.csv")).unwrap());
    // Capital letters name the same formats.
    dedup(&[&at("kept.csv")], &at("KEPT.CSV.ZST")).expect(0);
    let unpacked = zstd::decode_all(&fs::read(at("KEPT.CSV.ZST")).unwrap()[..]).unwrap();
    assert_eq!(unpacked, fs::read(at("kept.csv")).unwrap());
    // Standard input can be read only once.
    let kept = at("packed.csv.zst");
    let args = ["dedup", "-q", "--format", "csv", "-", "--output", kept.to_str().unwrap()];
    run_with_input("indexer", args, &super::inputs::PACKERS[0].1(&delimited(&documents(), ','))).expect(0);
    let unpacked = zstd::decode_all(&fs::read(kept).unwrap()[..]).unwrap();
    assert_eq!(unpacked, fs::read(at("kept.csv")).unwrap());
}

#[test]
fn files_of_csv_with_the_same_columns_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = |n: usize| {
        [
            "A heron, grey, stands by the weir.",
            "Twelve boats; no wind, no sail.",
            "",
            "Rye, barley and oats at the mill",
        ][n - 1]
            .to_owned()
    };
    let files = [
        ("a.csv", format!("id,text,year\na,\"{}\",2001\n", text(1))),
        ("b.csv", format!("year,id,text\n2002,b,\"{}\"\n2003,c,\"{}\"\n2004,too short\n", text(2), text(1))),
        ("empty.csv", String::new()),
        ("c.tsv", format!("text\tid\tyear\n{}\td\t\n", text(4))),
        ("other.csv", "id,text\nx,y\n".to_owned()),
    ];
    for (name, content) in &files {
        fs::write(at(name), content).unwrap();
    }
    let [a, b, empty, c, other] = files.map(|(name, _)| at(name));
    // The short row is rejected.
    let kept = at("kept.csv");
    dedup(&[&empty, &a, &b, &c], &kept).expect(1);
    let [one, two, four] = [1, 2, 4].map(text);
    let expected = format!("id,text,year\na,\"{one}\",2001\nb,\"{two}\",2002\nd,\"{four}\",\n");
    assert_eq!(fs::read_to_string(&kept).unwrap(), expected);
    let refused = dedup(&[&a, &other], &kept).expect(2).stderr;
    for part in ["a.csv has the columns id text year", "other.csv has id text;", "ends in .jsonl"] {
        assert!(refused.contains(part), "{part:?} should be in {refused}");
    }
    assert_eq!(fs::read_to_string(&kept).unwrap(), expected, "what was there stays");
    // JSON Lines can hold all rows.
    let json = dedup(&[&other, &a], Path::new("-")).expect(0).stdout;
    let expected =
        format!("{{\"id\":\"x\",\"text\":\"y\"}}\n{{\"id\":\"a\",\"text\":\"{one}\",\"year\":\"2001\"}}\n");
    assert_eq!(json, expected);
}

fn rows(path: &Path) -> Vec<Row> {
    let file = SerializedFileReader::try_from(path).unwrap();
    file.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

#[test]
fn parquet_stays_parquet_whatever_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let documents = documents();
    let (first, second) = documents.split_at(25);
    fs::write(at("a.parquet"), nested(first, 7, "")).unwrap();
    fs::write(at("b.parquet"), nested(second, 5, "")).unwrap();
    let [a, b, kept] = ["a.parquet", "b.parquet", "kept.parquet"].map(at);
    dedup(&[&a, &b], &kept).expect(0);
    let ids = kept_ids();
    let is_kept =
        |row: &Row| ids.contains(&row.get_column_iter().next().unwrap().1.to_string().replace('"', ""));
    let expected: Vec<Row> = rows(&a).into_iter().chain(rows(&b)).filter(is_kept).collect();
    assert_eq!(expected.len(), 17);
    assert_eq!(rows(&kept), expected);
    let [before, after] = [&a, &kept].map(|path| SerializedFileReader::try_from(path.as_path()).unwrap());
    let [before, after] = [&before, &after].map(|file| file.metadata().file_metadata());
    assert_eq!(before.schema(), after.schema());
    assert_eq!(before.key_value_metadata(), after.key_value_metadata());
    // With other columns, even a name within a list, nothing is written.
    let whole = fs::read(&kept).unwrap();
    fs::write(&b, nested(second, 5, "_too")).unwrap();
    let refused = dedup(&[&a, &b], &kept).expect(2).stderr;
    for part in [
        "a.parquet and ",
        "b.parquet have other columns",
        "BYTE_ARRAY element (STRING)",
        "BYTE_ARRAY element_too",
    ] {
        assert!(refused.contains(part), "{part:?} should be in {refused}");
    }
    assert_eq!(fs::read(&kept).unwrap(), whole);
}

#[test]
fn many_small_row_groups_become_few() {
    let folder = tempfile::tempdir().unwrap();
    let [input, kept] = ["in.parquet", "kept.parquet"].map(|name| folder.path().join(name));
    let field =
        |line, name: &str| serde_json::from_str::<Value>(line).unwrap()[name].as_str().unwrap().to_owned();
    let lines = made_up_corpus(220, 12);
    let documents: Vec<_> = lines.lines().map(|line| (field(line, "id"), field(line, "text"))).collect();
    fs::write(&input, parquet(&documents, 1)).unwrap();
    let json = dedup(&[&input], Path::new("-")).expect(0).stdout;
    dedup(&[&input], &kept).expect(0);
    let [before, after] = [&input, &kept].map(|path| rows(path));
    let id = |row: &Row| format!("\"id\":{}", row.get_column_iter().nth(2).unwrap().1);
    let expected: Vec<Row> = before.into_iter().filter(|row| json.contains(&id(row))).collect();
    assert!(expected.len() > 130, "{}", expected.len());
    assert_eq!(after, expected);
    // At most 128 row groups of the input become one.
    assert_eq!(SerializedFileReader::try_from(kept.as_path()).unwrap().num_row_groups(), 2);
}

/// A damaged column outside of the fields is found before its rows are kept, not when they are
/// written.
#[test]
fn rows_that_could_not_be_written_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let documents = documents();
    let content = nested(&documents, 12, "");
    fs::write(at("whole.parquet"), &content).unwrap();
    let file = SerializedFileReader::try_from(at("whole.parquet").as_path()).unwrap();
    let metadata = file.metadata();
    let n_columns = metadata.row_group(1).num_columns();
    let mut n_rejected = 0;
    for n_column in 2..n_columns {
        let (start, len) = metadata.row_group(1).column(n_column).byte_range();
        let mut damaged = content.clone();
        damaged[start as usize..(start + len) as usize].fill(0xff);
        fs::write(at("damaged.parquet"), damaged).unwrap();
        let [damaged, kept] = ["damaged.parquet", "kept.parquet"].map(at);
        let run = dedup(&[&damaged], &kept).expect(1);
        assert!(run.stderr.contains("row group 2 cannot be read from here to its end"), "{}", run.stderr);
        // The other two row groups are kept as if this one were not there.
        let others: Vec<Row> = rows(&at("whole.parquet"))
            .into_iter()
            .enumerate()
            .filter(|(i, _)| i / 12 != 1)
            .map(|(_, row)| row)
            .collect();
        let kept = rows(&kept);
        assert!(kept.len() > 12 && kept.iter().all(|row| others.contains(row)), "{n_column}");
        n_rejected += 1;
    }
    assert_eq!(n_rejected, n_columns - 2);
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("news.csv"), delimited(&documents(), ',')).unwrap();
    fs::write(at("news.parquet"), nested(&documents(), 7, "")).unwrap();
    fs::write(at("damaged.parquet"), b"PAR1 no more").unwrap();
    fs::copy(crate::support::news(), at("news.jsonl")).unwrap();
    fs::write(at("page.txt"), "a text").unwrap();
    for (inputs, output, part) in [
        (&["news.parquet", "news.csv"][..], "kept.parquet", "news.csv is csv and cannot be written to"),
        (&["news.csv", "page.txt"], "kept.tsv.gz", "page.txt is text and cannot be written to"),
        (&["news.csv"], "kept.csv.XZ", "gzip (.gz) or zstd (.zst)"),
        (&["news.parquet"], "kept.csv", "which takes csv and tsv only"),
        (&["news.parquet"], "kept.parquet.gz", "Parquet is packed inside"),
        (&["news.jsonl"], "kept.avro", "the name promises .avro"),
        (&["news.csv"], "kept.csv.bz2", "gzip (.gz) or zstd (.zst)"),
        (&["damaged.parquet"], "kept.parquet", "failed to read"),
    ] {
        let inputs: Vec<_> = inputs.iter().map(|name| at(name)).collect();
        let inputs: Vec<&Path> = inputs.iter().map(|path| path.as_path()).collect();
        let refused = dedup(&inputs, &at(output)).expect(2).stderr;
        assert!(refused.contains(part), "{part:?} should be in {refused}");
        assert!(!at(output).exists(), "{output}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5, "nothing is left over");
}

/// If every record is rejected, the field or the format is wrong, and existing results stay.
#[test]
fn results_stay_where_all_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("news.csv"), delimited(&documents(), ',')).unwrap();
    fs::write(at("semicolons.csv"), delimited(&documents(), ';')).unwrap();
    fs::write(at("nested.parquet"), nested(&documents(), 7, "")).unwrap();
    let (kept, duplicates, rejects, journal) = (at("kept"), at("dropped"), at("rejected"), at("journal"));
    let news = news_arg();
    for (input, command) in [
        (&*news, vec!["dedup", "--output", &kept, "--text-field", "body"]),
        (&*news, vec!["dedup", "--output", &kept, "--keep", "newest", "--text-field", "body"]),
        (&*news, vec!["dedup", "--output", &kept, "--text-field", "body", "--journal", &journal]),
        (&at("news.csv"), vec!["dedup", "--duplicates", &duplicates, "--output", &kept, "--id-field", "url"]),
        (&at("nested.parquet"), vec!["dedup", "--output", &kept, "--text-field", "body"]),
        (&*news, vec!["idf", "--output", &kept, "--text-field", "body"]),
    ] {
        fs::write(&kept, "of before").unwrap();
        // A journal does not take the run for done the second time either.
        for _ in 0..2 {
            let run = run(
                "indexer",
                command.iter().copied().chain(["-q", "--force", "--rejects", &rejects, input]),
            );
            let said = run.expect(1).stderr;
            assert!(
                said.contains("every record was rejected (36), see above; outputs are left"),
                "{command:?}: {said}"
            );
            assert_eq!(fs::read_to_string(&kept).unwrap(), "of before", "{command:?}");
            assert!(!fs::exists(&duplicates).unwrap(), "{command:?}");
            assert!(fs::read_to_string(&rejects).unwrap().lines().count() >= 36, "{command:?}");
        }
    }
    let run = run("indexer", ["dedup", "-q", "--force", &at("semicolons.csv"), "--output", &kept]).expect(0);
    assert!(run.stderr.contains("semicolons.csv: read as cells between ';'"), "{}", run.stderr);
    // An empty input is no error.
    assert_eq!(
        run_with_input("indexer", ["dedup", "-q", "-", "--force", "--output", &kept], b"").expect(0).stderr,
        ""
    );
    assert_eq!(fs::read_to_string(&kept).unwrap(), "");
}

/// Before, such files were written as lines of JSON, at exit status 0.
#[test]
fn names_that_promise_another_format_are_refused_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (news, store) = (news_arg(), format!("embedded:{}", at("index")));
    fs::create_dir(at("watched")).unwrap();
    let watched = at("watched");
    for (command, flag, name) in [
        (&["dedup", &news][..], "--output", "kept.xlsx"),
        (&["dedup", &news], "--duplicates", "dropped.arrow"),
        (&["dedup", &news], "--clusters", "clusters.xlsx"),
        (&["dedup", &news], "--clusters", "clusters.html.gz"),
        (&["dedup", &news], "--rejects", "rejects.tsv"),
        (&["dedup", &news], "--report", "report.parquet"),
        (&["index", &news, "--store", &store], "--journal", "journal.json"),
        (&["idf", &news], "--output", "news.parquet"),
        (&["idf-merge", &news], "--output", "news.idf.bz2"),
        (&["bulk-rows", &news, "--store", "hbase://localhost:1/x"], "--rows", "rows.parquet"),
        (&["collect", "--once", "--watch", &watched, "--store", &store], "--results", "items.parquet"),
    ] {
        let path = at(name);
        let refused = run("indexer", command.iter().copied().chain([flag, &path])).expect(2);
        let said = &refused.stderr;
        for part in [&*path, "promises", "written"] {
            assert!(said.contains(part), "{flag} {name} should say {part:?}: {said}");
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was made");
}
