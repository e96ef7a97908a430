//! `pigeonhole eval`: figures that can be checked by hand, over real texts, and what is refused.

use std::fs;

use serde_json::Value;

use crate::support::{made_up_corpus, news, run};

const PROFILES: [&str; 4] = ["classic-unverified", "classic", "minhash", "full"];

/// The report of all profiles, as JSON.
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

/// Short texts of which simhash finds none, and those that it takes for others.
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
        &[],
    );
    assert_eq!(report["n_documents"], 9);
    // Two by equality, and one with 15 of 17 bigrams in common.
    assert_eq!(report["n_pairs"], 3);
    for name in PROFILES {
        let found = profile(&report, name);
        let whole = &found["whole"];
        assert_eq!(whole["n_true"], 3, "{name}");
        assert!(found["n_compared"].as_u64() >= whole["n_called"].as_u64(), "{name}: {found}");
        if name != "classic-unverified" {
            assert_eq!(whole["n_wrong"], 0, "{name}: {found}");
        }
    }
    for name in ["minhash", "full"] {
        let found = profile(&report, name);
        assert_eq!((&found["whole"]["recall"], &found["n_dropped"]), (&1.0.into(), &3.into()), "{found}");
        assert_eq!((&found["n_wrongly_dropped"], &found["n_wrongly_kept"]), (&0.into(), &0.into()));
    }
    // What simhash makes of them.
    let found = profile(&report, "classic-unverified");
    assert_eq!(
        found["misses"].as_array().unwrap().len() as u64 + found["whole"]["n_found"].as_u64().unwrap(),
        3
    );
}

/// The figures of all documents of the corpus that comes with the project, and of one made of it.
#[test]
fn bands_and_signatures_find_what_there_is() {
    let report = evaluated(&(fs::read_to_string(news()).unwrap() + &made_up_corpus(1_500, 5)), &[]);
    assert!(report["n_pairs"].as_u64().unwrap() > 100, "{}", report["n_pairs"]);
    let (minhash, full) = (profile(&report, "minhash"), profile(&report, "full"));
    for found in [minhash, full] {
        assert!(found["whole"]["recall"].as_f64().unwrap() >= 0.99, "{}", found["whole"]);
        assert_eq!(found["whole"]["strict_precision"], 1.0, "{}", found["mistakes"]);
        assert_eq!(found["n_wrongly_dropped"], 0);
    }
    // What one finds alone, both find together; and they cost what they say.
    assert!(full["whole"]["n_found"].as_u64() >= minhash["whole"]["n_found"].as_u64());
    let n = report["n_documents"].as_u64().unwrap();
    assert!(minhash["n_rows"].as_u64().unwrap() <= 18 * n && minhash["n_bytes"].as_u64().unwrap() <= 340 * n);
}

#[test]
fn what_is_printed() {
    let news = news();
    let printed =
        run("pigeonhole", ["eval", "-q", "--profile", "minhash", news.to_str().unwrap()]).expect(0).stdout;
    for part in [
        "documents, in the middle",
        "strict",
        "minhash",
        "characters of the shorter",
        "recall / strict precision",
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
        (&["eval", "--min-similarity", "0", news], "above 0"),
        (&["eval", "--floor", "0.9", news], "at most --min-similarity"),
        (&["eval", "/nowhere/at/all.jsonl"], "nowhere"),
        (&["eval"], "FILE"),
    ] {
        let refused = run("pigeonhole", args).expect(2).stderr;
        assert!(refused.contains(part), "{args:?}: {refused}");
    }
}
