//! `dedup --keep`: the near-duplicate that stays, in every format.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use simhash::Fingerprint;

use super::{LONG, news_arg};
use crate::support::{CLASSIC, apart, digest, made_up_corpus, run, run_with_input};

const OTHER: &str =
    "Something else entirely: twelve thousand reeds and willows stand along the old gravel pit by the lake.";
const THIRD: &str =
    "A third text, of the chess club that has met every Wednesday evening for a hundred years and a day.";

/// Returns ids, texts, seconds since 1970 and scores. Appended characters leave the words of a text
/// alone.
fn documents() -> Vec<(&'static str, String, Option<i64>, Option<f64>)> {
    vec![
        ("a1", LONG.to_owned(), Some(1_600_000_000), Some(0.5)),
        ("b1", OTHER.to_owned(), Some(1_700_000_000), None),
        ("a2", LONG.to_owned(), Some(1_650_000_000), Some(-1.0)),
        ("c1", THIRD.to_owned(), None, Some(3.0)),
        ("a3", format!("{LONG} !!"), Some(1_610_000_000), Some(7.25)),
        ("b2", format!("{OTHER} …"), Some(1_690_000_000), Some(-0.5)),
        ("c2", THIRD.to_owned(), Some(-5), Some(3.0)),
    ]
}

const LONGEST: [&str; 3] = ["c1", "a3", "b2"];
const NEWEST: [&str; 3] = ["b1", "a2", "c2"];
const BEST: [&str; 3] = ["c1", "a3", "b2"];

/// Returns seconds since 1970 in common notations.
fn date(seconds: i64) -> &'static str {
    match seconds {
        1_600_000_000 => "2020-09-13T12:26:40Z",
        1_610_000_000 => "2021-01-07 06:13:20",
        1_650_000_000 => "2022-04-15T05:20:00.000+00:00",
        1_690_000_000 => "2023-07-22T12:26:40+08:00",
        1_700_000_000 => "2023-11-14",
        _ => "1969-12-31T23:59:55Z",
    }
}

fn jsonl() -> Vec<u8> {
    let line = |(id, text, time, score)| {
        let record: Value = json!({ "score": score, "text": text, "meta": { "day": Option::map(time, date) }, "id": id, "time": time });
        record.to_string() + "\n"
    };
    documents().into_iter().map(line).collect::<String>().into_bytes()
}

fn csv() -> Vec<u8> {
    let cell = |value: Option<String>| value.unwrap_or_default();
    let row = |(id, text, time, score): (&str, String, Option<i64>, Option<f64>)| {
        format!(
            "{},{id},\"{text}\",{}\r\n",
            cell(time.map(|time| date(time).to_owned())),
            cell(score.map(|score| score.to_string()))
        )
    };
    let rows: String = documents().into_iter().map(row).collect();
    format!("time,id,text,score\r\n{rows}").into_bytes()
}

fn parquet() -> Vec<u8> {
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    let schema = "message m { required binary id (STRING); required binary text (STRING);
        optional int64 time (TIMESTAMP(MICROS,true)); optional double score; }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
    let properties = parquet::file::properties::WriterProperties::builder().build();
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(Vec::new(), schema.into(), properties.into())
            .unwrap();
    let documents = documents();
    let mut group = writer.next_row_group().unwrap();
    for texts in [
        documents.iter().map(|(id, ..)| ByteArray::from(*id)).collect::<Vec<_>>(),
        documents.iter().map(|(_, text, ..)| ByteArray::from(text.as_str())).collect(),
    ] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
        column.close().unwrap();
    }
    let levels: Vec<i16> = documents.iter().map(|(.., time, _)| time.is_some().into()).collect();
    let times: Vec<i64> = documents.iter().filter_map(|(.., time, _)| Some((*time)? * 1_000_000)).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&times, Some(&levels), None).unwrap();
    column.close().unwrap();
    let levels: Vec<i16> = documents.iter().map(|(.., score)| score.is_some().into()).collect();
    let scores: Vec<f64> = documents.iter().filter_map(|(.., score)| *score).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&scores, Some(&levels), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

fn warc() -> Vec<u8> {
    let page = |(id, text, time, score): (&str, String, Option<i64>, Option<f64>)| {
        let content = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>{text}");
        let time = time.map_or_else(String::new, |time| format!("WARC-Date: {}\r\n", date(time)));
        let score = score.map_or_else(String::new, |score| format!("score: {score}\r\n"));
        format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <{id}>\r\n{time}{score}Content-Length: {}\r\n\r\n{content}\r\n\r\n",
            content.len()
        )
    };
    documents().into_iter().map(page).collect::<String>().into_bytes()
}

/// Returns the ids of the lines of JSON in a file.
fn ids(path: &str) -> Vec<String> {
    let lines = fs::read_to_string(path).unwrap();
    let id = |line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
    lines.lines().map(id).collect()
}

#[test]
fn every_format_says_which_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, content) in
        [("i.jsonl", jsonl()), ("i.csv", csv()), ("i.parquet", parquet()), ("i.warc", warc())]
    {
        fs::write(path(name), content).unwrap();
        let [kept, dups] = ["kept.jsonl", "dups.jsonl"].map(path);
        let in_days = ["--keep", "newest", "--time-field", "/meta/day"];
        for (keep, expected, said) in [
            (&["--keep", "longest"][..], LONGEST, "keep               longest\n"),
            (&["--keep", "newest"], NEWEST, "newest  (1 without a time come last)\n"),
            (&in_days, NEWEST, "newest  (1 without a time come last)\n"),
            (&["--keep", "best:score"], BEST, "best:score  (1 without a number come last)\n"),
            (&["--keep", "first"], ["a1", "b1", "c1"], "MB/s)\n"),
        ] {
            // Only JSON Lines has nested fields, and the rule `first` does not depend on formats.
            if (keep == in_days || keep[1] == "first") && name != "i.jsonl" {
                continue;
            }
            let args = ["dedup", "-q", "--force", &path(name), "--output", &kept, "--duplicates", &dups];
            let stdout = run("indexer", [&args[..], keep].concat()).expect(0).stdout;
            assert_eq!(ids(&kept), expected, "{name} {keep:?}");
            assert!(stdout.ends_with(said), "{name} {keep:?}: {stdout}");
            for line in fs::read_to_string(&dups).unwrap().lines() {
                let dup: Value = serde_json::from_str(line).unwrap();
                let of = expected.iter().find(|id| id[..1] == dup["id"].as_str().unwrap()[..1]).unwrap();
                assert_eq!(
                    (&dup["duplicate_of"], &dup["distance"]),
                    (&json!(of), &json!(0)),
                    "{name}: {dup}"
                );
            }
            assert_eq!(ids(&dups).len(), 4);
        }
    }
    // Kept lines of JSON are unchanged.
    let lines = String::from_utf8(jsonl()).unwrap();
    let args = ["dedup", "-q", &path("i.jsonl"), "--keep", "newest", "--output", "-"];
    let expected: String = [1, 2, 6].map(|n| lines.split_inclusive('\n').nth(n).unwrap()).concat();
    assert_eq!(run("indexer", args).expect(0).stdout, expected);
}

/// Returns the fingerprint of each id and the length of its text.
fn lengths(corpus: &str) -> HashMap<String, (Fingerprint, usize)> {
    let text = fs::read_to_string(corpus).unwrap();
    let prints = run("indexer", ["fingerprint", "-q", corpus]).expect(0).stdout;
    let records = text.lines().zip(prints.lines()).map(|(line, print)| {
        let record: Value = serde_json::from_str(line).unwrap();
        let (id, print) = print.split_once('\t').unwrap();
        assert_eq!(record["id"], id);
        (id.to_owned(), (print.parse().unwrap(), record["text"].as_str().unwrap().chars().count()))
    });
    records.collect()
}

/// Checks: no two kept ones are near, and each dropped one is near a kept one that is no shorter.
fn check_longest(lengths: &HashMap<String, (Fingerprint, usize)>, kept: &[String], dropped: &[String]) {
    assert_eq!(kept.len() + dropped.len(), lengths.len());
    assert!(dropped.len() > 20, "{}", dropped.len());
    let is_near = |a: &String, b: &String| lengths[a].0.distance(lengths[b].0) <= apart(3);
    for (i, id) in kept.iter().enumerate() {
        assert!(kept[..i].iter().all(|other| !is_near(id, other)), "{id}");
    }
    for id in dropped {
        let longer = |other: &&String| lengths[*other].1 >= lengths[id].1;
        assert!(kept.iter().filter(longer).any(|other| is_near(id, other)), "{id}");
    }
}

#[test]
fn with_a_store_the_longest_stay_and_the_next_run_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let store = format!("embedded:{}", path("index"));
    let [corpus, kept, dups] = ["corpus.jsonl", "kept", "dups"].map(path);
    fs::write(&corpus, made_up_corpus(600, 5)).unwrap();
    let dedup = |more: &[&str]| {
        let args = ["dedup", "-q", &corpus, "--keep", "longest", "--output", &kept, "--duplicates", &dups];
        let args = [&args[..], &CLASSIC, &["--force"]].concat();
        run("indexer", [&args[..], more].concat()).expect(0);
        (fs::read_to_string(&kept).unwrap(), fs::read_to_string(&dups).unwrap())
    };
    let without = dedup(&[]);
    check_longest(&lengths(&corpus), &ids(&kept), &ids(&dups));
    assert_eq!(dedup(&["--store", &store]), without);
    let (before, report) = (digest(&store), path("report.json"));
    assert_eq!(dedup(&["--store", &store]).0, without.0);
    let args =
        ["dedup", "-q", &corpus, "--keep", "longest", "--store", &store, "--dry-run", "--report", &report];
    run("indexer", args).expect(0);
    assert_eq!(digest(&store), before);
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    assert_eq!(report["counts"]["kept"], ids(&kept).len());
    // A document of the index stays, even if the new one is longer.
    let longer = json!({ "id": "longer", "text": format!("{} !!!!!", record(&without.0, 0)["text"].as_str().unwrap()) });
    fs::write(&corpus, longer.to_string()).unwrap();
    let (kept, dups) = dedup(&["--store", &store]);
    assert_eq!((&*kept, &record(&dups, 0)["duplicate_of"]), ("", &record(&without.0, 0)["id"]));
}

fn record(lines: &str, n: usize) -> Value {
    serde_json::from_str(lines.lines().nth(n).unwrap()).unwrap()
}

#[test]
fn workers_keep_the_longest_of_their_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let store = format!("embedded:{}", path("index"));
    let [corpus, kept, dups] = ["corpus.jsonl", "kept", "dups"].map(path);
    fs::write(&corpus, made_up_corpus(600, 6)).unwrap();
    let lengths = lengths(&corpus);
    let (mut all_kept, mut all_dropped) = (Vec::new(), Vec::new());
    for shard in ["0/2", "1/2"] {
        let args =
            ["dedup", "-q", "--force", &corpus, "--keep", "longest", "--store", &store, "--shard", shard];
        run("indexer", [&args[..], &["--output", &kept, "--duplicates", &dups], &CLASSIC].concat()).expect(0);
        all_kept.extend(ids(&kept));
        all_dropped.extend(ids(&dups));
    }
    assert_eq!(all_kept.len() + all_dropped.len(), lengths.len());
    let is_near = |a: &String, b: &String| lengths[a].0.distance(lengths[b].0) <= apart(3);
    for (i, id) in all_kept.iter().enumerate() {
        assert!(all_kept[..i].iter().all(|other| !is_near(id, other)), "{id}");
    }
    for id in &all_dropped {
        assert!(all_kept.iter().any(|kept| is_near(id, kept)), "{id}");
    }
}

#[test]
fn of_an_id_that_comes_twice_the_best_one_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let line =
        |id: &str, text: &str, time: &str| json!({ "id": id, "text": text, "time": time }).to_string() + "\n";
    let lines = [
        line("page", LONG, "2024-01-01"),
        line("page", OTHER, "2026-01-01"),
        line("page", OTHER, "2025-01-01"),
        line("copy", LONG, "2023-01-01"),
    ];
    let [input, dups, rejects] = ["input.jsonl", "dups", "rejects"].map(path);
    fs::write(&input, lines.concat()).unwrap();
    let args = ["dedup", "-q", &input, "--keep", "newest", "--output", "-", "--duplicates", &dups];
    let run = run("indexer", [&args[..], &["--rejects", &rejects]].concat()).expect(1);
    assert_eq!(run.stdout, [&*lines[1], &lines[3]].concat());
    assert_eq!(fs::read_to_string(dups).unwrap(), "", "the same text came again under the same id");
    let rejected = record(&fs::read_to_string(rejects).unwrap(), 0);
    assert_eq!(rejected["line"], 1);
    assert!(rejected["reason"].as_str().unwrap().contains("stands for another record"), "{rejected}");
}

/// A kept document that comes after its duplicates is in the groups and the report too.
#[test]
fn what_comes_later_is_known_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let line = |id: &str, source: &str, text: &str| {
        json!({ "id": id, "source": source, "text": text }).to_string() + "\n"
    };
    let [input, report] = ["input.jsonl", "report.json"].map(path);
    let longer = format!("{LONG} !");
    fs::write(
        &input,
        [line("1", "blog", LONG), line("2", "blog", LONG), line("3", "wire", &longer)].concat(),
    )
    .unwrap();
    let stdout = run("indexer", ["dedup", "-q", &input, "--keep", "longest"]).expect(0).stdout;
    assert!(stdout.starts_with("kept      3  The bridge across"), "{stdout}");
    run("indexer", ["dedup", "-q", &input, "--keep", "longest", "--report", &report]).expect(0);
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    let group = &report["groups"]["biggest"][0];
    assert_eq!(
        (&group["kept"], &group["excerpt"], &group["n_duplicates"]),
        (&json!("3"), &json!(longer), &json!(2))
    );
    let repeats = json!([{ "kept_from": "wire", "dropped_from": "blog", "n": 2 }]);
    assert_eq!(report["repeats"]["most"], repeats);
    assert_eq!((&report["options"]["keep"], &report["unranked"]), (&json!("longest"), &json!(0)));
}

/// The part of one worker may have no document with the field by chance, and must not be missing.
#[test]
fn a_worker_whose_part_has_no_numbers_takes_it_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").to_str().unwrap());
    let input = folder.path().join("input.jsonl").to_str().unwrap().to_owned();
    let texts = ["A bridge was closed", "The chess club met", "Reeds were planted", "A museum opened again"];
    let lines: Vec<String> = (0..)
        .zip(texts)
        .map(|(n, text)| match n {
            0 => json!({ "id": "0", "text": text, "q": 1 }).to_string(),
            _ => json!({ "id": n.to_string(), "text": text }).to_string(),
        })
        .collect();
    fs::write(&input, lines.join("\n")).unwrap();
    let mut kept = String::new();
    for shard in ["0/3", "1/3", "2/3"] {
        let args =
            ["dedup", "-q", &input, "--keep", "best:q", "--store", &store, "--shard", shard, "--output", "-"];
        kept += &run("indexer", args).expect(0).stdout;
    }
    assert_eq!(kept.lines().collect::<BTreeSet<_>>(), lines.iter().map(String::as_str).collect());
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").to_str().unwrap());
    let news = news_arg();
    for (input, more, part) in [
        (
            "-",
            &["--keep", "longest", "--temp", "/dev/shm"][..],
            "standard input (-) can be read only once, and there was no room on a disk for a copy; name a folder with \
             room with --temp, or write it to a file first",
        ),
        (
            &news,
            &["--keep", "newest"],
            "no document has a time in the field \"time\" (in WARC \"WARC-Date\")",
        ),
        (
            &news,
            &["--keep", "newest", "--time-field", "/note"],
            "no document has a time in the field \"/note\"",
        ),
        (&news, &["--keep", "best:note"], "no document has a number in the field \"note\""),
        (&news, &["--keep", "best:"], "write first, longest, newest or best:FIELD"),
        (&news, &["--keep", "last"], "write first, longest, newest or best:FIELD"),
        (&news, &["--keep", "longest", "--time-field", "day"], "--time-field needs --keep newest"),
    ] {
        let args = [&["dedup", "-q", input, "--store", &store], more].concat();
        let run = run_with_input("indexer", args, b"").expect(2);
        assert!(run.stderr.contains(part), "{more:?} should say {part:?}: {}", run.stderr);
        assert_eq!(run.stdout, "");
    }
    assert!(!Path::new("x").exists());
    // An empty input is no error.
    let empty = folder.path().join("empty.jsonl");
    fs::write(&empty, "").unwrap();
    run("indexer", ["dedup", "-q", empty.to_str().unwrap(), "--keep", "newest"]).expect(0);
}
