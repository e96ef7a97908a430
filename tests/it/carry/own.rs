//! Fingerprints made by other programs.

use std::fs;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::Int64Type;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde_json::json;

use super::{at, embedded};
use crate::support::{CLASSIC, Worker, run, run_with_input};

fn import<'a>(file: &'a str, store: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["import", "-q", file, "--store", store], more].concat()
}

#[track_caller]
fn check_query(store: &str, fingerprint: &str, expected: &[&str]) {
    let told = run("pigeonhole", ["query", "--store", store, "--fingerprint", fingerprint]).expect(0).stdout;
    let matches: Vec<&str> = told.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(matches, expected);
}

/// Ids and fingerprints are numbers, as other programs write them.
#[test]
fn numbers_are_taken_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let fingerprints = [0x9e37_79b9_7f4a_7c15_u64, 0x9e37_79b9_7f4a_7c17, 7];
    let write = |name: &str, lines: &[String]| {
        fs::write(folder.join(name), lines.join("\n") + "\n").unwrap();
    };
    let numbered = |line: &dyn Fn(usize, u64) -> String| -> Vec<String> {
        fingerprints.iter().enumerate().map(|(i, bits)| line(i + 1, *bits)).collect()
    };
    let with_header =
        |delimiter: char, lines: Vec<String>| [vec![format!("id{delimiter}fingerprint")], lines].concat();
    write("unsigned.jsonl", &numbered(&|id, bits| format!("{{\"id\": {id}, \"fingerprint\": {bits}}}")));
    let signed = |id, bits: u64| format!("{{\"fingerprint\": {}, \"id\": \"{id}\"}}", bits.cast_signed());
    write("signed.jsonl", &numbered(&signed));
    write("hex.jsonl", &numbered(&|id, bits| format!("{{\"id\": {id}, \"fingerprint\": \"{bits:016X}\"}}")));
    write("hex.csv", &with_header(',', numbered(&|id, bits| format!("{id},{bits:016x}"))));
    write("decimal.tsv", &with_header('\t', numbered(&|id, bits| format!("{id}\t{}", bits.cast_signed()))));
    for (name, is_signed) in [("unsigned.parquet", false), ("signed.parquet", true)] {
        let logical = (!is_signed).then(|| LogicalType::integer(64, false));
        let field = |name: &str, logical: Option<LogicalType>| {
            let field = Type::primitive_type_builder(name, PhysicalType::INT64);
            Arc::new(field.with_logical_type(logical).with_repetition(Repetition::REQUIRED).build().unwrap())
        };
        let fields = vec![field("simhash", logical), field("doc", None)];
        let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build().unwrap());
        let file = fs::File::create(folder.join(name)).unwrap();
        let mut file = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
        let mut group = file.next_row_group().unwrap();
        for values in [fingerprints.map(u64::cast_signed), [1, 2, 3]] {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&values, None, None).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        file.close().unwrap();
    }
    for (name, flags) in [
        ("unsigned.jsonl", &[][..]),
        ("signed.jsonl", &[]),
        ("hex.jsonl", &[]),
        ("hex.csv", &[]),
        ("decimal.tsv", &["--fingerprint-digits", "decimal"]),
        ("unsigned.parquet", &["--fingerprint-field", "simhash", "--id-field", "doc"]),
        ("signed.parquet", &["--fingerprint-field", "simhash", "--id-field", "doc"]),
    ] {
        let (file, store) = (at(folder, name), embedded(folder, &format!("of-{name}")));
        let told = run("indexer", import(&file, &store, &[flags, &CLASSIC].concat())).expect(0).stdout;
        assert!(told.contains("indexed                  3"), "{name}: {told}");
        check_query(&store, "9e3779b97f4a7c15", &["0\t9e3779b97f4a7c15\t1", "1\t9e3779b97f4a7c17\t2"]);
        check_query(&store, "0000000000000007", &["0\t0000000000000007\t3"]);
    }
    // Over HTTP, too.
    let worker = Worker::start(&embedded(folder, "of-unsigned.parquet"), &[]);
    let (status, found) = worker.post("/v1/query", &json!({ "fingerprint": "9e3779b97f4a7c17" }));
    assert_eq!((status, &found["n_matches"], &found["matches"][0]["id"]), (200, &json!(2), &json!("2")));
}

/// A text has another fingerprint than the other program's; the answer says so.
#[test]
fn a_text_asked_of_foreign_fingerprints() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (file, store) = (at(folder, "own.jsonl"), embedded(folder, "index"));
    fs::write(&file, "{\"id\":1,\"fingerprint\":5}\n{\"id\":2,\"fingerprint\":9}\n").unwrap();
    run("indexer", import(&file, &store, &CLASSIC)).expect(0);
    let ask =
        |what: &[&str]| run("pigeonhole", [&["query", "--store", &store], what].concat()).expect(0).stdout;
    let says = "those that another program made";
    assert!(ask(&["the text of document 1"]).contains(says));
    assert!(!ask(&["--fingerprint", "ffffffffffffffff"]).contains(says));
    let worker = Worker::start(&store, &[]);
    let ask = |query| worker.post("/v1/query", &query).1;
    let empty = ask(json!({ "text": "the text of document 1" }));
    assert_eq!(empty["n_matches"], 0);
    assert!(empty["note"].as_str().is_some_and(|note| note.contains(says)), "{empty}");
    for query in [json!({ "fingerprint": "0000000000000005" }), json!({ "fingerprint": "ffffffffffffffff" })]
    {
        let found = ask(query);
        assert!(found.get("note").is_none(), "{found}");
    }
    let lines = "{\"text\": \"a text\"}\n{\"fingerprint\": \"ffffffffffffffff\"}\n";
    let (_, lines) = worker.post_lines("/v1/query:batch", lines.as_bytes());
    assert!(lines[0]["note"].is_string() && lines[1].get("note").is_none(), "{lines:?}");
    // An index of texts has no such excuse.
    let (texts, corpus) = (embedded(folder, "texts"), at(folder, "texts.jsonl"));
    fs::write(&corpus, "{\"id\":1,\"text\":\"The harbour of the old town is being dredged again.\"}\n")
        .unwrap();
    run("indexer", ["index", "-q", "--store", &texts, &corpus]).expect(0);
    let said = run("pigeonhole", ["query", "--store", &texts, "nothing like it in there"]).expect(0).stdout;
    assert!(said.contains(": 0 with") && !said.contains(says), "{said}");
}

/// No text is short where there is none.
#[test]
fn nothing_is_said_of_texts_where_there_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (file, store) = (at(folder, "own.jsonl"), embedded(folder, "index"));
    let line =
        |id: u64| format!("{{\"id\":{id},\"fingerprint\":{}}}\n", id.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    fs::write(&file, (0..2_000).map(line).collect::<String>()).unwrap();
    let said = run("indexer", import(&file, &store, &CLASSIC)).expect(0);
    assert_eq!(said.stderr, "");
}

/// An index of the wrong profile would block the right one.
#[test]
fn fingerprints_alone_are_refused_before_there_is_an_index_that_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = at(folder, "own.jsonl");
    fs::write(&file, "{\"id\":1,\"fingerprint\":5}\n{\"id\":2,\"fingerprint\":9}\n").unwrap();
    let store = embedded(folder, "index");
    for (flags, parts) in [
        (&[][..], &["own.jsonl:1", "no field \"signature\"", "--profile classic --verify off"][..]),
        (&["--profile", "classic"], &["--profile classic --verify off"]),
        (&["--profile", "minhash"], &["--signature-field"]),
        (&[&CLASSIC[..], &["--fingerprint-field", "simhash"]].concat(), &["no field \"simhash\""]),
    ] {
        let said = run("indexer", import(&file, &store, flags)).expect(2).stderr;
        for part in parts {
            assert!(said.contains(part), "{flags:?}: {said}: {part}");
        }
        assert!(!folder.join("index").exists());
    }
    // An input that can be read only once is refused record by record.
    let told =
        run_with_input("indexer", import("-", &store, &[]), b"{\"id\":1,\"fingerprint\":5}\n").expect(1);
    assert!(told.stderr.contains("every record was rejected"), "{}", told.stderr);
    let store = embedded(folder, "classic");
    run("indexer", import(&file, &store, &CLASSIC)).expect(0);
    // Into an existing index, a bad record is one of many.
    fs::write(&file, "{\"id\":3,\"fingerprint\":\"12\"}\n{\"id\":4,\"fingerprint\":8}\n").unwrap();
    let rejects = at(folder, "rejects.jsonl");
    let told = run("indexer", import(&file, &store, &["--rejects", &rejects])).expect(1).stdout;
    assert!(
        told.contains("indexed                  1") && told.contains("rejected                 1"),
        "{told}"
    );
    let rejects = fs::read_to_string(rejects).unwrap();
    assert!(rejects.contains("--fingerprint-digits decimal"), "{rejects}");
}

/// An import works like `index`: with parts, journals and sources.
#[test]
fn an_import_is_a_job_like_another() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = at(folder, "own.jsonl");
    let lines = (0..3000_u64).map(|id| {
        format!("{{\"id\":{id},\"fingerprint\":{},\"from\":\"a\"}}\n", id.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    });
    fs::write(&file, lines.collect::<String>()).unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| embedded(folder, name));
    let job = at(folder, "job");
    let journal =
        [&CLASSIC[..], &["--journal", &job, "--checkpoint-records", "100", "--source-field", "from"]]
            .concat();
    run("indexer", import(&file, &whole, &journal)).expect(0);
    let again = run("indexer", import(&file, &whole, &journal)).expect(0);
    assert!(again.stderr.contains("this job was done before"), "{}", again.stderr);
    let other = [&journal[..], &["--fingerprint-digits", "decimal"]].concat();
    let said = run("indexer", import(&file, &whole, &other)).expect(2).stderr;
    assert!(said.contains("--fingerprint-digits was \"hex\" there and is \"decimal\" now"), "{said}");
    for shard in ["0/2", "1/2"] {
        let flags = [&CLASSIC[..], &["--shard", shard, "--source-field", "from"]].concat();
        run("indexer", import(&file, &parts, &flags)).expect(0);
    }
    assert_eq!(super::records(folder, &parts), super::records(folder, &whole));
}

/// An import, or any other run that makes an index, leaves none if every record is rejected.
#[test]
fn no_index_is_left_where_every_record_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [file, rejects] = ["bad.jsonl", "rejects.jsonl"].map(|name| at(folder, name));
    let store = embedded(folder, "index");
    fs::write(&file, "no record\n".repeat(20_000)).unwrap();
    for (command, more) in [("import", &[][..]), ("index", &[]), ("dedup", &["--output", "/dev/null"])] {
        let args = [command, "-q", "--store", &store, "--rejects", &rejects, &file];
        let said = run("indexer", [&args[..], more].concat()).expect(2).stderr;
        assert!(said.contains("each of the first 1,000 records was rejected"), "{said}");
        assert!(!folder.join("index").exists(), "{command}");
        let said = run("indexer", [&args[..], more, &["--keep-going"]].concat()).expect(1).stderr;
        assert!(said.contains("every record was rejected (20000)"), "{said}");
        assert_eq!(fs::read_to_string(&rejects).unwrap().lines().count(), 20_000);
        assert!(!folder.join("index").exists(), "{command}");
        fs::remove_file(&rejects).unwrap();
    }
    // A single accepted record makes the index, wherever the record is.
    fs::write(&file, "no record\n".repeat(20_000) + "{\"id\":\"a\",\"text\":\"a text\"}\n").unwrap();
    run("indexer", ["index", "-q", "--keep-going", "--store", &store, &file]).expect(1);
    assert!(folder.join("index").exists());
}
