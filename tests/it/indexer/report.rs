//! The report of a deduplication in a file.

use std::fs;

use serde_json::{Value, json};

use super::{LONG, news_arg};
use crate::support::{json_lines, run, run_with_input};

/// Runs `dedup` over `input` and returns the report as JSON and as a page.
fn reports(input: &str, more: &[&str], code: i32) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let [json, page] =
        ["report.json", "report.html"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let args = [&["dedup", "-q", "-", "--report", &json, "--report", &page], more].concat();
    run_with_input("indexer", args, input.as_bytes()).expect(code);
    (serde_json::from_slice(&fs::read(json).unwrap()).unwrap(), fs::read_to_string(page).unwrap())
}

#[test]
fn the_report_says_what_is_printed_and_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let [json, dups] =
        ["report.json", "dups"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let args = ["dedup", "-q", &news_arg(), "--report", &json, "--duplicates", &dups];
    let stdout = run("indexer", args).expect(0).stdout;
    let report: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let dups: Vec<Value> =
        fs::read_to_string(dups).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(report["version"], 1);
    let printed = |name: &str| {
        let line = stdout.lines().find(|line| line.starts_with(name)).unwrap();
        let number = line.split_whitespace().find_map(|word| word.parse::<u64>().ok());
        json!(number.unwrap())
    };
    for (field, name) in [
        ("read", "read"),
        ("kept", "kept"),
        ("duplicates", "dup"),
        ("no_features", "no"),
        ("rejected", "rej"),
    ] {
        assert_eq!(report["counts"][field], printed(name), "{field}");
    }
    for distance in report["distances"].as_array().unwrap() {
        let n = dups.iter().filter(|dup| dup["distance"] == distance["distance"]).count();
        assert_eq!(distance["n"], n);
    }
    let n =
        |of: &str| report[of].as_array().unwrap().iter().map(|row| row["n"].as_u64().unwrap()).sum::<u64>();
    assert_eq!((n("distances"), n("similarities")), (dups.len() as u64, dups.len() as u64));
    for similar in report["similarities"].as_array().unwrap() {
        let from = similar["from"].as_f64().unwrap();
        let step =
            |dup: &&Value| (from - 1e-9..from + 0.05 - 1e-9).contains(&dup["similarity"].as_f64().unwrap());
        assert_eq!(similar["n"], dups.iter().filter(step).count());
    }
    let of = |id: &Value| dups.iter().filter(|dup| dup["duplicate_of"] == *id).count();
    let groups = report["groups"]["biggest"].as_array().unwrap();
    assert_eq!(groups.iter().map(|group| of(&group["kept"])).sum::<usize>(), dups.len());
    for group in groups {
        assert_eq!(group["n_duplicates"], of(&group["kept"]));
        assert!(group["excerpt"].as_str().unwrap().chars().count() > 60);
    }
    assert!(groups.is_sorted_by(|a, b| a["n_duplicates"].as_u64() >= b["n_duplicates"].as_u64()));
    assert_eq!(
        report["inputs"],
        json!({ "n": 1, "names": [news_arg()], "left_out": { "n": 0, "endings": [] } })
    );
    // A run without a store files by signatures alone.
    assert_eq!(
        (&report["options"]["profile"], &report["options"]["scheme"]),
        (&json!("minhash"), &json!("none"))
    );
    let bytes = |field: &str| report[field].as_u64().unwrap();
    assert!(0 < bytes("text_bytes_dropped") && bytes("text_bytes_dropped") < bytes("text_bytes"));
}

#[test]
fn sources_and_reasons_are_counted() {
    let record = |id: &str, source: &str, text: &str| {
        json!({ "id": id, "source": source, "text": text }).to_string() + "\n"
    };
    let other = "Something else entirely: twelve thousand reeds and willows stand along the old gravel pit.";
    let input = [
        record("1", "wire", LONG),
        record("2", "blog", LONG),
        record("3", "blog", LONG),
        record("4", "blog", other),
        json_lines([("5", other)]),
        record("4", "wire", LONG),
        record("1", "wire", other),
        "no json\n".to_owned(),
    ];
    let (report, _) = reports(&input.concat(), &[], 1);
    let repeats = json!([
        { "kept_from": "wire", "dropped_from": "blog", "n": 2 },
        { "kept_from": "blog", "dropped_from": "stdin", "n": 1 },
    ]);
    assert_eq!(report["repeats"], json!({ "is_exact": true, "most": repeats }));
    let rejected = report["rejected"].as_array().unwrap();
    assert_eq!(rejected.len(), 2, "{rejected:?}");
    assert_eq!(
        rejected[0],
        json!({ "reason": "id \"…\" was used by an earlier record of the input", "n": 2 })
    );
    assert_eq!(report["text_bytes_dropped"], 2 * LONG.len() + other.len());
}

#[test]
fn the_page_is_safe_and_marks_what_differs() {
    let attack = r#"<script>alert("1")</script><img src=x onerror='alert(1)'> & "#;
    let text = format!("{attack}{}", format!("{LONG} ").repeat(4));
    let edited = text.replacen("eight", "nine", 1);
    let input = json_lines([("\u{202e}<b>\"a\"</b>", &*text), ("'><i>", &edited), ("third", &text)]);
    let (report, page) = reports(&input, &["--store", "memory:"], 0);
    assert_eq!(report["counts"]["duplicates"], 2, "{report}");
    assert!(report["groups"]["biggest"][0]["excerpt"].as_str().unwrap().starts_with(attack.trim_end()));
    for raw in ["<script>alert", "<img", "<b>", "<i>", "http:", "https:"] {
        assert!(!page.contains(raw), "{raw}");
    }
    for part in [
        "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;",
        "<bdi>\u{202e}&lt;b&gt;&quot;a&quot;&lt;/b&gt;</bdi>",
        "<bdi>'&gt;&lt;i&gt;</bdi>",
        "<del>eight</del>",
        "<ins>nine</ins>",
        "dir=\"auto\"",
        "default-src 'none'",
        "prefers-color-scheme: dark",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn what_was_in_the_index_before_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").to_str().unwrap());
    run_with_input(
        "indexer",
        ["index", "-q", "--store", &store, "-"],
        json_lines([("old", LONG)]).as_bytes(),
    )
    .expect(0);
    let (report, page) = reports(&json_lines([("new", LONG)]), &["--store", &store], 0);
    assert_eq!(report["groups"]["biggest"][0]["kept"], "old");
    assert_eq!(report["groups"]["biggest"][0]["excerpt"], Value::Null);
    assert_eq!(report["repeats"]["most"][0]["kept_from"], "(in the index before)");
    assert!(page.contains("was in the index before"), "{page}");
}

#[test]
fn a_report_that_cannot_be_is_refused() {
    let news = news_arg();
    for (path, part) in [
        ("report.txt", "name a file that ends so"),
        ("-", "name a file that ends so"),
        ("/no/such/folder/report.json", "/no/such/folder"),
    ] {
        let run = run("indexer", ["dedup", "-q", &news, "--report", path]).expect(2);
        assert!(run.stderr.contains(part), "{path}: {}", run.stderr);
    }
    let run = run("indexer", ["dedup", "-q", &news, "--report", "r.json", "--report", "./r.json"]).expect(2);
    assert!(run.stderr.contains("two outputs"), "{}", run.stderr);
}
