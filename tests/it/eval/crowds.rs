//! Very many similar documents: the report names the part left out, and the rest is evaluated.

use std::fs;

use serde_json::Value;

use crate::support::run;

fn evaluated(corpus: &str, more: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let (input, json) = (folder.path().join("corpus.jsonl"), folder.path().join("eval.json"));
    fs::write(&input, corpus).unwrap();
    let args =
        ["eval", "-q", "--profile", "minhash", "--json", json.to_str().unwrap(), input.to_str().unwrap()];
    let printed = run("pigeonhole", [&args, more].concat()).expect(0).stdout;
    (serde_json::from_slice(&fs::read(json).unwrap()).unwrap(), printed)
}

fn line(id: usize, text: &str) -> String {
    serde_json::json!({"id": id, "text": text, "family": "one"}).to_string() + "\n"
}

fn words(from: usize, n: usize) -> String {
    let word = |n: usize| format!("{:x} ", (n as u32).wrapping_mul(2_654_435_761) >> 8);
    (from..from + n).map(word).collect()
}

/// From a family of thousands, most of them copies, a hundred copies are evaluated.
#[test]
fn copies_beyond_the_hundredth_are_left_out() {
    let mut corpus = String::new();
    for id in 0..3_000 {
        let text = if id < 2_500 { words(0, 60) } else { words(1_000 * id, 60) };
        corpus += &line(id, &text);
    }
    let (report, printed) = evaluated(&corpus, &["--families", "family"]);
    assert_eq!((&report["n_read"], &report["n_documents"]), (&3_000.into(), &600.into()));
    assert_eq!(
        (&report["n_pairs"], &report["families"]["n_true"]),
        (&(100 * 99 / 2).into(), &(600 * 599 / 2).into())
    );
    let said = "left out: 2,400 documents that are copies of one that came 100 times before";
    assert_eq!(report["left_out"], serde_json::json!([said]));
    assert!(printed.contains(said), "{printed}");
    let found = &report["profiles"][0];
    assert_eq!((&found["whole"]["recall"], &found["n_dropped"]), (&1.0.into(), &99.into()), "{found}");
}

/// Similar pages have more pairs than the limit: 400 some 80,000, 200 some 20,000.
#[test]
fn what_are_too_many_pairs_is_sampled_and_said() {
    let shared = words(0, 100);
    let page = |n_own: usize| {
        let line = |id: usize| line(id, &format!("{shared}{}", words(1_000 * (id + 1), n_own)));
        (0..400).map(line).collect::<String>()
    };
    let (report, _) = evaluated(&page(6), &["--pairs-max", "30000"]);
    assert_eq!(report["n_documents"], 200, "{}", report["left_out"]);
    assert_eq!(report["n_pairs"], 200 * 199 / 2);
    let said = report["left_out"][0].as_str().unwrap();
    assert!(said.starts_with("200 of 400 documents, chosen at random by the seed 1"), "{said}");
    assert!(said.ends_with("as more of them have more than 30,000 pairs"), "{said}");
    // Less similar pairs are in no curve, and nothing else is left out: 100 of 134 words are .59.
    let (report, printed) = evaluated(&page(34), &["--pairs-max", "30000"]);
    assert_eq!((&report["n_documents"], &report["n_pairs"]), (&400.into(), &0.into()));
    let said = "left out of the curves: pairs below 0.8, which are more than 30,000";
    assert!(report["left_out"] == serde_json::json!([said]) && printed.contains(said), "{printed}");
    assert_eq!(report["profiles"][0]["curve"][0]["from"], 0.8);
}

#[test]
fn a_sample_is_said_with_its_seed_and_is_the_same_again() {
    let corpus: String = (0..200).map(|id| line(id, &words(1_000 * (id / 2), 60))).collect();
    let sampled = |seed| evaluated(&corpus, &["--sample", "120", "--sample-seed", seed]).0;
    let [report, again, another] = ["7", "7", "8"].map(sampled);
    assert_eq!(
        report["left_out"][0],
        "120 of 200 documents, chosen at random by the seed 7, as --sample asks"
    );
    assert_eq!(report, again);
    assert_ne!(report, another);
    let n_pairs = report["n_pairs"].as_u64().unwrap();
    assert!((20..60).contains(&n_pairs), "{n_pairs}");
}
