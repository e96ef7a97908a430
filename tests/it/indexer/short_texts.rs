//! A run over mostly short texts warns about a profile that misses their near-duplicates.

use std::fs;

use serde_json::json;

use crate::support::{CLASSIC, Random, run};

/// Returns records with texts of `n_words` words of seven letters. The first `n_long` texts are
/// long.
fn corpus(n: usize, n_words: usize, n_long: usize) -> String {
    let mut random = Random(n as u64);
    let mut word = |_| -> String { (0..7).map(|_| (b'a' + random.below(26) as u8) as char).collect() };
    let mut line = |id: usize| {
        let n_words = if id < n_long { 200 } else { n_words };
        let text = (0..n_words).map(&mut word).collect::<Vec<_>>().join(" ");
        format!("{}\n", json!({ "id": id.to_string(), "text": text }))
    };
    (0..n).map(&mut line).collect()
}

const SAID: &str = "records have texts of fewer than 1,000 characters, and there profile classic misses";

#[test]
fn classic_is_warned_of_once_where_most_of_many_texts_are_short() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, n, n_words, n_long) in
        [("short", 1_000, 12, 499), ("half", 1_000, 12, 500), ("few", 999, 12, 0), ("long", 1_000, 126, 0)]
    {
        fs::write(at(name), corpus(n, n_words, n_long)).unwrap();
    }
    let [short, store, journal, kept] =
        [at("short"), format!("embedded:{}", at("index")), at("journal"), at("kept")];
    let verified = ["--profile", "classic"];
    let said = |words: &[&str], more: &[&str]| {
        let words = ["--segmenter", "words", "--format", "jsonl"].iter().chain(words).chain(more);
        let stderr =
            run("indexer", [&["dedup"], &words.copied().collect::<Vec<_>>()[..]].concat()).expect(0).stderr;
        (stderr.matches(SAID).count(), stderr)
    };
    for (words, more, expected) in [
        (&[&*short, "-q"][..], &CLASSIC[..], 1),
        (&[&short], &verified, 1),
        (&[&short, "--dry-run"], &verified, 1),
        // The input is read twice.
        (&[&short, "--keep", "longest"], &verified, 1),
        (&[&short], &["--profile", "minhash"], 0),
        (&[&short], &["--profile", "full"], 0),
        (&[&short], &[], 0),
        (&[&at("half")], &verified, 0),
        (&[&at("few")], &verified, 0),
        (&[&at("long")], &verified, 0),
    ] {
        let (n, stderr) = said(words, more);
        assert_eq!(n, expected, "{words:?} {more:?}: {stderr}");
        let what_to_do = "501 of 1,000 records have";
        assert!(
            n == 0 || stderr.contains(what_to_do) && stderr.contains("run it with --profile full"),
            "{stderr}"
        );
    }
    // An index keeps its profile, and the message says so. A resumed job counts all of its texts,
    // and a finished job warns no more.
    let job =
        ["--store", &store, "--journal", &journal, "--checkpoint-records", "300", "--output", &kept, &short];
    for expected in [1, 0] {
        let (n, stderr) = said(&job, &verified);
        assert_eq!(n, expected, "{stderr}");
        assert!(n == 0 || stderr.contains("keeps its profile, so make a new index"), "{stderr}");
    }
    let index = |store: &str, more: &[&str]| {
        let words = ["index", "-q", "--segmenter", "words", "--format", "jsonl", "--store", store, &short];
        run("indexer", [&words[..], more].concat()).expect(0).stderr.matches(SAID).count()
    };
    assert_eq!(index(&store, &[]), 1);
    assert_eq!(index(&format!("embedded:{}", at("full")), &[]), 0);
}
