//! Jobs that compare their records with the index's documents of the same ids, killed between two
//! calls of the store.

use std::fs;

use serde_json::json;

use super::{Job, assert_same};
use crate::support::{Random, run};

/// Documents of the killed run must count neither as earlier versions nor as other documents.
/// Documents removed from the index must be gone or there as in an undisturbed run.
#[test]
fn killed_while_ids_are_compared_and_replaced() {
    const N: usize = 5_000;
    let place = tempfile::tempdir().unwrap();
    let mut random = Random(19);
    let mut word = || -> String { (0..7).map(|_| (b'a' + random.below(26) as u8) as char).collect() };
    let words: Vec<String> = (0..N / 5 * 11 + 60).map(|_| word()).collect();
    // Five texts of the same words, and the next five with most of these words, make chains: a near
    // b, b near c, a far from c.
    let mut chain = |n: usize| -> String {
        let mut text: Vec<&str> = words[n % N / 5 * 11..][..60].iter().map(|word| &**word).collect();
        for _ in 0..random.below(8) {
            text[random.below(60)] = &words[random.below(6)];
        }
        text.join(" ")
    };
    let line = |id: usize, text: &str| format!("{}\n", json!({ "id": format!("{id:05}"), "text": text }));
    let (mut before, mut now) = (String::new(), String::new());
    for n in 0..N {
        let (id, text) = (n * 7919 % N, chain(n));
        now += &line(id, if n % 97 == 0 { "" } else { &text });
        match n % 5 {
            0 => before += &line(id, &text),
            1 => before += &line(id, &chain(n)),
            2 | 3 => before += &line(id, &chain(n + N / 2)),
            _ => {}
        }
    }
    let [before_at, corpus] = ["before.jsonl", "corpus.jsonl"].map(|name| place.path().join(name));
    fs::write(&before_at, before).unwrap();
    fs::write(&corpus, now).unwrap();
    let outputs = ["--output", "kept.jsonl", "--duplicates", "dropped.jsonl"];
    for (known_ids, keep) in
        [("compare", "first"), ("replace", "first"), ("compare", "longest"), ("replace", "longest")]
    {
        let job = |kind: &str| {
            // Several calls of the store between two checkpoints: `dedup` puts at most 2,048
            // documents into one.
            let args = ["dedup", "--store", "STORE", "--segmenter", "words", "--checkpoint-records", "4900"];
            let more = ["--known-ids", known_ids, "--keep", keep];
            let name = format!("{kind} {known_ids} {keep}");
            let args = [&args[..], &more, &outputs].concat();
            let job = Job::new(place.path(), &name, corpus.to_str().unwrap(), &args);
            let store = job.store.as_deref().unwrap();
            let args = ["dedup", "-q", "--store", store, "--segmenter", "words", "--output", "/dev/null"];
            run("indexer", [&args[..], &[before_at.to_str().unwrap()]].concat()).expect(0);
            job
        };
        let expected = job("whole").finish();
        let report = String::from_utf8_lossy(&expected[0].1);
        let count = |name: &str| -> Option<u64> {
            let row = report.lines().find_map(|line| line.trim_start().strip_prefix(name))?;
            row.split_whitespace().next()?.replace(',', "").parse().ok()
        };
        assert!(count("kept") > Some(500) && count("duplicates") > Some(500), "{report}");
        assert!(known_ids == "replace" || count("unchanged") > Some(200), "{report}");
        let killed = job("killed");
        (2..=3).for_each(|n_decided| killed.kill_once_decided(n_decided));
        assert_same(&killed.finish(), &expected, &format!("{known_ids} {keep}"));
    }
}
