//! Marks on a page of pairs, and `eval --labels`, which takes them.

use std::fs;

use serde_json::{Value, json};

use super::{corpus, evaluated, profile};
use crate::support::{browser, run};

/// Two pairs of near-duplicates, the second of which differs in a number, and a pair further apart.
fn texts() -> String {
    // Without digits, which would be numbers.
    let word =
        |n: usize| format!("reed{}{} ", char::from(b'a' + n as u8 / 26), char::from(b'a' + n as u8 % 26));
    let words = |from: usize, n: usize| (from..from + n).map(word).collect::<String>();
    corpus(&[
        ("sea", &words(0, 60)),
        ("sea again", &(words(0, 59) + "willow")),
        ("fine", &(words(100, 60) + "1,000 crowns")),
        ("fine more", &(words(100, 60) + "9,000 crowns")),
        ("dune", &words(200, 40)),
        ("dune longer", &words(200, 56)),
    ])
}

fn labels(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn labels_are_held_beside_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("labels.jsonl");
    let label = |a: &str, b: &str, same: bool| json!({"a": a, "b": b, "similarity": 0.9, "same": same});
    let lines = [
        label("sea", "sea again", false),
        // The last one counts, in whatever order the two are named.
        label("sea again", "sea", true),
        label("fine", "fine more", false),
        label("dune", "dune longer", true),
        label("dune", "gone", true),
    ];
    fs::write(&file, labels(&lines)).unwrap();
    let report = evaluated(&texts(), &["--labels", file.to_str().unwrap()]);
    assert_eq!((&report["labels"]["n"], &report["labels"]["n_unknown"]), (&3.into(), &1.into()));
    let expected = json!({
        "n_agreeing": 1, "n_same_called": 1, "n_same_missed": 1, "n_different_called": 1, "n_different_left": 0,
    });
    assert_eq!(profile(&report, "full")["labels"], expected);
    let at = |least: f64| {
        let all = report["labels"]["by_min_similarity"].as_array().unwrap();
        all.iter().find(|one| one["min_similarity"] == least).unwrap()["n_agreeing"].clone()
    };
    assert_eq!((at(0.65), at(0.8)), (2.into(), 1.into()), "{report:#}");
}

#[test]
fn labels_that_are_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("corpus.jsonl"), texts()).unwrap();
    let refused = |labels: &str| {
        run("pigeonhole", ["eval", "-q", &at("corpus.jsonl"), "--labels", labels]).expect(2).stderr
    };
    fs::write(at("labels.jsonl"), "{\"a\": \"sea\", \"b\": \"dune\"}\n").unwrap();
    let said = refused(&at("labels.jsonl"));
    assert!(said.contains("labels.jsonl:1: a label is {\"a\": ID"), "{said}");
    assert!(refused(&at("none.jsonl")).contains("failed to read"));
}

/// The page of a run sorts, filters and marks pairs, and its download is what `eval` takes.
#[test]
fn a_browser_marks_pairs() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("corpus.jsonl"), texts()).unwrap();
    let report = ["--min-similarity", "0.6", "--report", &at("report.html"), "--dry-run"];
    run("indexer", [&["dedup", "-q", &at("corpus.jsonl")], &report[..]].concat()).expect(0);
    browser.open(&format!("file://{}", at("report.html")));
    let shown = |what: &str| {
        let ids = format!(
            "return [...document.querySelectorAll('{what} > article')].filter((pair) => !pair.hidden).map((pair) => pair.dataset.b)"
        );
        browser.script(&ids)
    };
    let first = "section:nth-of-type(2) [data-pairs]";
    let listed = shown(first);
    assert_eq!(listed, json!(["dune longer", "fine more", "sea again"]));
    let choose = |label: &str, option: &str| {
        browser.script(&format!(
            "const select = [...document.querySelectorAll('.tools label')].find((one) => one.textContent.startsWith('{label}')).querySelector('select');
             select.value = '{option}'; select.dispatchEvent(new Event('change'))"
        ));
    };
    choose("order", "most similar first");
    assert_eq!(shown(first), json!(["sea again", "fine more", "dune longer"]));
    choose("show", "numbers differ");
    assert_eq!(shown(first), json!(["fine more"]));
    choose("show", "all");
    // The pair with numbers stands in two lists, and has one mark.
    browser.click("[data-b='fine more'] button[data-same='false']");
    browser.click("[data-b='sea again'] button[data-same='true']");
    browser.click("[data-b='dune longer'] button[data-same='true']");
    browser.click("[data-b='dune longer'] button[data-same='true']");
    assert_eq!(browser.count("[data-b='fine more'] button[aria-pressed='true']"), 2);
    assert!(browser.text(".tools output").ends_with("2 marked"), "{}", browser.text(".tools output"));
    browser.script("URL.createObjectURL = (blob) => { window.saved = blob; return '#'; }");
    browser.click(".tools button");
    let saved = browser.script("return window.saved.text()");
    fs::write(at("labels.jsonl"), saved.as_str().unwrap()).unwrap();
    let said = run("pigeonhole", ["eval", "-q", &at("corpus.jsonl"), "--labels", &at("labels.jsonl")]);
    let said = said.expect(0).stdout;
    assert!(said.contains("2 labelled pairs: 1 the same document, 1 different ones"), "{said}");
    browser.resize(375, 740);
    browser.fits("a telephone");
    browser.is_readable("a telephone");
    assert_eq!(browser.console(&[]), [""; 0]);
}
