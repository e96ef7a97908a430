//! `pigeonhole eval`: figures checked by hand, figures over real texts, and refused requests.

mod called;
mod crowds;
mod labels;
mod page;

use std::fs;

use serde_json::Value;

use crate::support::{made_up_corpus, news, run};

const PROFILES: [&str; 3] = ["full", "minhash", "classic"];
const UNVERIFIED: &str = "classic --verify off";

/// Returns the report of all profiles, as JSON.
fn evaluated(corpus: &str, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let (input, json) = (folder.path().join("corpus.jsonl"), folder.path().join("eval.json"));
    fs::write(&input, corpus).unwrap();
    let args = ["eval", "-q", "--json", json.to_str().unwrap(), input.to_str().unwrap()];
    run("pigeonhole", [&args, more].concat()).expect(0);
    serde_json::from_slice(&fs::read(json).unwrap()).unwrap()
}

fn profile<'a>(report: &'a Value, name: &str) -> &'a Value {
    let profiles = report["profiles"].as_array().unwrap();
    profiles.iter().find(|profile| profile["profile"] == name).unwrap()
}

fn corpus(texts: &[(&str, &str)]) -> String {
    let line = |(id, text): &(&str, &str)| serde_json::json!({"id": id, "text": text}).to_string() + "\n";
    texts.iter().map(line).collect()
}

/// Texts with equal sets are near at a similarity of 1 only where they are the same, with the same
/// numbers.
#[test]
fn equal_sets_are_no_copies() {
    let texts = [
        ("short", "来去来去来"),
        ("again", "来去来去来去来"),
        ("copy", "来去，来去来"),
        ("1, 2", "第一，二条"),
        ("12", "第一二条"),
    ];
    let counts = |least: &str| {
        let report = evaluated(&corpus(&texts), &["--min-similarity", least, "--profile", "minhash"]);
        let found = profile(&report, "minhash");
        [&report["n_pairs"], &found["whole"]["n_found"], &found["n_wrongly_kept"]].map(|n| n.as_u64())
    };
    assert_eq!(counts("1"), [Some(1), Some(1), Some(0)]);
    assert_eq!(counts("0.99"), [Some(4), Some(4), Some(0)]);
}

/// Short texts: simhash misses some pairs, and calls other texts equal.
#[test]
fn figures_by_hand() {
    let report = evaluated(
        &corpus(&[
            ("agree", "同意"),
            ("disagree", "不同意"),
            ("agree again", "同意！"),
            ("sea", "今天天气很好，我们一起去海边散步吧"),
            ("sea edited", "今天天气很好，我们一起去海边散步啊"),
            ("laugh", "😂😂😂"),
            ("laugh more", "😂😂😂😂😂"),
            ("bracket", "["),
            ("nothing", " "),
        ]),
        &["--unverified"],
    );
    let names: Vec<_> =
        report["profiles"].as_array().unwrap().iter().map(|one| one["profile"].as_str().unwrap()).collect();
    assert_eq!(names, [&PROFILES[..], &[UNVERIFIED]].concat(), "the profile in use comes first");
    assert_eq!(report["n_documents"], 9);
    // Two pairs by equality, and one with 15 of 17 bigrams in common.
    assert_eq!(report["n_pairs"], 3);
    for name in names {
        let found = profile(&report, name);
        let whole = &found["whole"];
        assert_eq!(whole["n_true"], 3, "{name}");
        assert!(found["n_compared"].as_u64() >= whole["n_called"].as_u64(), "{name}: {found}");
        // 同意 and 不同意 have one simhash, and so do the two texts of laughing.
        assert_eq!(whole["n_below"] == 0, name != UNVERIFIED, "{name}: {found}");
    }
    for name in ["minhash", "full"] {
        let found = profile(&report, name);
        assert_eq!((&found["whole"]["recall"], &found["n_dropped"]), (&1.0.into(), &3.into()), "{found}");
        assert_eq!((&found["n_wrongly_dropped"], &found["n_wrongly_kept"]), (&0.into(), &0.into()));
    }
    // The figures of simhash alone.
    let found = profile(&report, UNVERIFIED);
    assert_eq!(
        found["misses"].as_array().unwrap().len() as u64 + found["whole"]["n_found"].as_u64().unwrap(),
        3
    );
}

/// The figures hold for all documents of the shipped corpus and of one made from it.
#[test]
fn bands_and_signatures_find_what_there_is() {
    let corpus = fs::read_to_string(news()).unwrap() + &made_up_corpus(1_500, 5);
    let report = evaluated(&corpus, &["--texts", "zstd", "--texts", "none"]);
    assert!(report["n_pairs"].as_u64().unwrap() > 100, "{}", report["n_pairs"]);
    let (minhash, full) = (profile(&report, "minhash"), profile(&report, "full"));
    for found in [minhash, full] {
        assert!(found["whole"]["recall"].as_f64().unwrap() >= 0.99, "{}", found["whole"]);
        assert_eq!(found["whole"]["precision"], 1.0, "{}", found["mistakes"]);
        assert_eq!(found["n_wrongly_dropped"], 0);
    }
    // Edits with a number at the end differ in their numbers.
    assert!(full["n_numbers_differ"].as_u64().unwrap() > 50, "{}", full["n_numbers_differ"]);
    assert!(full["n_numbers_differ"].as_u64() < full["whole"]["n_called"].as_u64());
    // Estimates err only near the threshold.
    let estimated = profile(&report, "full --texts none");
    let [of_counted, of_estimated] = [full, estimated].map(|found| found["n_compared"].as_u64().unwrap());
    assert_eq!(of_counted, of_estimated);
    assert!(estimated["whole"]["recall"].as_f64().unwrap() > 0.9, "{}", estimated["whole"]);
    // Each pair is in one bin, and the proposals are as many as the bands promise.
    let curve = minhash["curve"].as_array().unwrap();
    let of = |bin: &Value, key: &str| bin[key].as_f64().unwrap();
    let near = curve.iter().filter(|bin| of(bin, "from") >= 0.8);
    assert_eq!(
        near.map(|bin| bin["n_pairs"].as_u64().unwrap()).sum::<u64>(),
        report["n_pairs"].as_u64().unwrap()
    );
    for bin in curve.iter().filter(|bin| of(bin, "n_pairs") > 0.0) {
        let (n, promised) = (of(bin, "n_pairs"), of(bin, "promised_by_bands"));
        let deviation = (n * promised * (1.0 - promised)).sqrt();
        assert!((of(bin, "n_proposed") - n * promised).abs() <= 4.0 * deviation + 1.0, "{bin}");
    }
    // Both together find at least as much as one alone, at the stated cost.
    assert!(full["whole"]["n_found"].as_u64() >= minhash["whole"]["n_found"].as_u64());
    let n = report["n_documents"].as_u64().unwrap();
    assert!(minhash["n_rows"].as_u64().unwrap() <= 18 * n && minhash["n_bytes"].as_u64().unwrap() <= 340 * n);
}

/// Families agree with the exact truth except for one pair of each kind, one text without a family,
/// and one alone.
#[test]
fn families_by_hand() {
    let text = |n: usize| (0..30).map(|i| format!("word{} ", (i * 7 + n * 31) % 97)).collect::<String>();
    let line = |id: &str, text: &str, family: Value| {
        serde_json::json!({"id": id, "text": text, "family": family}).to_string() + "\n"
    };
    // A name of any length, on two lines.
    let long = "https://example.org/\n".repeat(50);
    let corpus = [
        line("a", &text(1), long.as_str().into()),
        line("b", &text(1), long.as_str().into()),
        // Written anew.
        line("c", &text(2), long.as_str().into()),
        // A number is a name, too.
        line("d", &text(3), 2.into()),
        line("e", &text(3), "3".into()),
        line("f", &text(1), Value::Null),
        line("g", &text(4), Value::from(Vec::<u64>::new())),
    ];
    let folder = tempfile::tempdir().unwrap();
    let (input, json) = (folder.path().join("corpus.jsonl"), folder.path().join("eval.json"));
    fs::write(&input, corpus.concat()).unwrap();
    let args =
        ["eval", "-q", "--families", "family", "--json", json.to_str().unwrap(), input.to_str().unwrap()];
    let run = run("pigeonhole", args).expect(0);
    assert!(run.stderr.contains("an integer or null") && run.stderr.contains("--families"), "{}", run.stderr);
    let report: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let expected = serde_json::json!({
        "n_families": 1, "n_documents": 5, "n_true": 3, "n_found": 1, "n_called": 2,
        "recall": 1.0 / 3.0, "precision": 0.5, "f1": 0.4,
    });
    assert_eq!(report["families"], expected);
    assert_eq!(report["n_pairs"], 4, "with those of no family");
    for name in PROFILES {
        assert_eq!(profile(&report, name)["families"], expected, "{name}");
    }
    for part in ["exact truth", "against families", "1 families of two documents and more, 3 pairs"] {
        assert!(run.stdout.contains(part), "{part:?} is missing in\n{}", run.stdout);
    }
}

/// Regression: readers were sent to see what was rejected above, where nothing was.
#[test]
fn an_empty_file_and_a_single_document() {
    for command in ["eval", "tune"] {
        let stderr = run("pigeonhole", [command, "-q", "/dev/null"]).expect(2).stderr;
        assert!(stderr.contains("there is no document in what was named\n"), "{stderr}");
    }
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one.jsonl");
    fs::write(&one, corpus(&[("a", "b")])).unwrap();
    let printed = run("pigeonhole", ["eval", "-q", one.to_str().unwrap()]).expect(0).stdout;
    assert!(printed.starts_with("1 document, in the middle 1 character; 0 pairs of"), "{printed}");
}

#[test]
fn what_is_printed() {
    let news = news();
    let printed =
        run("pigeonhole", ["eval", "-q", "--profile", "minhash", news.to_str().unwrap()]).expect(0).stdout;
    for part in [
        "documents, in the middle",
        "called  numbers",
        "minhash",
        "characters of the shorter",
        "recall, precision, F1",
    ] {
        assert!(printed.contains(part), "{part:?} is missing in\n{printed}");
    }
    assert!(!printed.contains("classic"), "{printed}");
}

#[test]
fn what_cannot_be_evaluated_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.jsonl");
    fs::write(&empty, "").unwrap();
    let empty = empty.to_str().unwrap();
    let news = news();
    let news = news.to_str().unwrap();
    for (args, part) in [
        (&["eval", empty][..], "no document"),
        (&["eval", "--min-similarity", "1.5", news], "from 0 to 1"),
        (&["eval", "--min-similarity", "0", news], "below 0.5"),
        (&["eval", "--sample", "1", news], "at least 2"),
        (&["eval", "-q", "--families", "nowhere", news], "no document has the field"),
        (&["eval", "-q", "--html", "/nowhere/at/all.html", news], "/nowhere/at/all.html"),
        (&["eval", "/nowhere/at/all.jsonl"], "nowhere"),
        (&["eval"], "FILE"),
    ] {
        let refused = run("pigeonhole", args).expect(2).stderr;
        assert!(refused.contains(part), "{args:?}: {refused}");
    }
}
