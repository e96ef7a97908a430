//! `dedup --contained`: a part is dropped for its whole, by count, and marked.

use std::fs;

use serde_json::Value;

use crate::report::text;
use crate::support::{json_lines, run};

fn lines(path: &str) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the first `hundredths` percent of the bytes of a text.
fn beginning(text: &str, hundredths: usize) -> &str {
    &text[..text.len() * hundredths / 100]
}

#[test]
fn a_part_is_dropped_for_its_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [corpus, dropped, json] = ["corpus.jsonl", "dropped.jsonl", "report.json"].map(at);
    let texts: Vec<String> = (0..30).map(|n| text(n, 40)).collect();
    let mut documents: Vec<(String, String)> = Vec::new();
    for (n, whole) in texts.iter().enumerate() {
        documents.push((format!("whole {n}"), whole.clone()));
        documents.push((format!("part {n}"), beginning(whole, 72).to_owned()));
        // Half of the text is its own.
        documents.push((format!("quoting {n}"), beginning(whole, 50).to_owned() + &text(n + 100, 20)));
    }
    documents.push(("near".to_owned(), beginning(&texts[0], 95).to_owned()));
    let first =
        documents.iter().map(|(id, text)| json_lines([(id.as_str(), text.as_str())])).collect::<String>();
    let turned = documents.iter().rev().map(|(id, text)| json_lines([(id.as_str(), text.as_str())]));
    let store = format!("embedded:{}", at("index"));
    for (input, more) in [
        (&first, &["--contained", "0.9"][..]),
        (&turned.collect(), &["--contained", "0.9", "--keep", "longest"]),
        (&first, &["--contained", "0.9", "--store", &store]),
        (
            &first,
            &[
                "--contained",
                "0.9",
                "--journal",
                &at("journal"),
                "--store",
                &format!("embedded:{}", at("other")),
            ],
        ),
    ] {
        fs::write(&corpus, input).unwrap();
        let has_journal = more.contains(&"--journal");
        let report = if has_journal { vec![] } else { vec!["--report", &json] };
        let args =
            [&["dedup", "-q", "--force", "--duplicates", &dropped, &corpus], more, &report[..]].concat();
        let said = run("indexer", args).expect(0).stdout;
        let rows = lines(&dropped);
        let contained: Vec<&Value> = rows.iter().filter(|row| row["contained"] == true).collect();
        // At a similarity of .72 the bands propose .96.
        assert!((25..=30).contains(&contained.len()), "{}: {said}", contained.len());
        for row in &contained {
            let number = row["id"].as_str().unwrap().strip_prefix("part ").unwrap();
            assert_eq!(row["duplicate_of"], format!("whole {number}"), "{row}");
            let share = |name: &str| row[name].as_f64().unwrap();
            assert!(share("share_of_a") > 0.99 && (0.68..0.8).contains(&share("share_of_b")), "{row}");
            assert!(share("similarity") < 0.8 && row["exact"] == true, "{row}");
        }
        assert_eq!(rows.len(), contained.len() + 1, "{rows:?}");
        let near = rows.iter().find(|row| row["id"] == "near").unwrap();
        assert_eq!((&near["duplicate_of"], &near["contained"]), (&"whole 0".into(), &false.into()));
        let summary = said.lines().find(|line| line.starts_with("  contained")).unwrap();
        assert!(summary.contains(&format!(" {} ", contained.len())), "{said}");
        if !has_journal {
            let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
            assert_eq!(report["counts"]["contained"], contained.len());
            assert_eq!(report["doubtful"]["contained"]["pairs"].as_array().unwrap().len(), 5);
            assert_eq!(report["doubtful"]["least_similar"].as_array().unwrap().len(), 1);
        }
    }
    // With the flag, the report has a place for parts even where there are none.
    let single = at("single.jsonl");
    fs::write(&single, json_lines([("a", "The ferry leaves at noon.")])).unwrap();
    run("indexer", ["dedup", "-q", "--force", "--contained", "0.9", "--report", &json, &single]).expect(0);
    let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(report["counts"]["contained"], 0);
    assert_eq!(report["doubtful"]["contained"], serde_json::json!({ "n": 0, "pairs": [] }));
    // Without the flag, no report mentions parts, and the parts stay.
    let said = run("indexer", ["dedup", "-q", "--force", "--duplicates", &dropped, &corpus]).expect(0).stdout;
    let rows = lines(&dropped);
    assert!(rows.len() == 1 && rows[0].get("contained").is_none() && !said.contains("contained"), "{rows:?}");
}

#[test]
fn where_it_cannot_be_decided_it_is_refused_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (corpus, store) = (at("corpus.jsonl"), format!("embedded:{}", at("index")));
    fs::write(&corpus, json_lines([("a", "The ferry leaves at noon.")])).unwrap();
    let refused = |more: &[&str]| {
        run("indexer", [&["dedup", "-q", &corpus, "--contained", "0.9"], more].concat()).expect(2).stderr
    };
    for (more, expected) in [
        (&["--store", "redis://localhost:1/news"][..], "memory: and embedded: alone"),
        (&["--store", "hbase+rpc://localhost:1/news"], "memory: and embedded: alone"),
        (&["--profile", "classic", "--verify", "off"], "counted over the texts"),
        (&["--store", &store, "--texts", "none"], "counted over the texts"),
        (&["--clusters", &at("clusters.jsonl")], "leave out --clusters or --contained"),
    ] {
        let said = refused(more);
        assert!(said.contains(expected), "{more:?}: {said}");
    }
    let low = run("indexer", ["dedup", "-q", &corpus, "--contained", "0.3"]).expect(2).stderr;
    assert!(low.contains("from .5 to 1"), "{low}");
    assert!(!folder.path().join("index").exists());
    run("indexer", ["dedup", "-q", &corpus, "--store", &store, "--texts", "none"]).expect(0);
    let said = refused(&["--store", &store]);
    assert!(said.contains("this index keeps none"), "{said}");
}
