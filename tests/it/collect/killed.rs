//! Collectors killed at any moment, while users take the results away at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Place, files_in, item};
use crate::support::{Figures, Random, command, made_up_corpus, run, sealed, until};

/// Moves every file with a final name out of the results.
fn take_away(results: &Path, to: &Path) {
    if !results.is_dir() {
        return;
    }
    for name in files_in(results).into_iter().filter(|name| !name.contains("/.")) {
        let new = to.join(name.replace('/', "|"));
        assert!(!new.exists(), "{name} appeared a second time");
        // A collector may be about to move this file.
        fs::rename(results.join(&name), new).unwrap_or(());
    }
}

#[test]
fn nothing_is_lost_and_nothing_is_kept_twice() {
    const FILES: usize = 40;
    let mut random = Random(3);
    let place = Place::new();
    let taken_away = place.at("taken-away");
    fs::create_dir(&taken_away).unwrap();
    let corpus = made_up_corpus(FILES * 60, 9);
    let lines: Vec<String> = corpus
        .lines()
        .enumerate()
        .map(|(n, line)| {
            let mut item: Value = serde_json::from_str(line).unwrap();
            item["n"] = n.into();
            item["source"] = format!("s{}", n % 3).into();
            // Some items lack an id, and in every second file some lack a text.
            match n % 10 {
                0 => drop(item.as_object_mut().unwrap().remove("id")),
                1 if n / 60 % 2 == 1 => drop(item.as_object_mut().unwrap().remove("text")),
                _ => {}
            }
            format!("{item}\n")
        })
        .collect();
    let more = ["-q", "--every-seconds", "0", "--duplicates", "--delete"];
    let mut figures = Figures::default();
    let mut n_killed_in_a_round = 0;
    for (n, lines) in lines.chunks(60).enumerate() {
        place.deliver(&format!("{n}.jsonl"), lines.concat());
        let mut child = command("indexer", place.args(&more)).spawn().unwrap();
        // Before, in and after a round: jieba's dictionary takes a while to load.
        until(|| place.at("incoming/.collector/round.json").exists() || random.below(100) == 0);
        thread::sleep(Duration::from_millis(random.below(40) as u64));
        take_away(&place.at("results"), &taken_away);
        child.kill().unwrap();
        figures.round(|| child.wait()).unwrap();
        figures.faults += 1;
        n_killed_in_a_round += usize::from(place.at("incoming/.collector/round.json").exists());
    }
    assert!(n_killed_in_a_round > FILES / 8, "only {n_killed_in_a_round} were killed in the middle");
    let last = run("indexer", place.args(&[&more[..], &["--once"]].concat()));
    assert!(matches!(last.code, Some(0 | 1)), "{last:?}");
    take_away(&place.at("results"), &taken_away);
    let mut counts = BTreeMap::new();
    let (mut ids, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    for name in files_in(&taken_away) {
        let what = name.split(['=', '|']).next().unwrap();
        for line in fs::read_to_string(taken_away.join(&name)).unwrap().lines() {
            *counts.entry(what.to_owned()).or_insert(0_u64) += 1;
            let item: Value = serde_json::from_str(line).unwrap();
            if what == "source" {
                assert!(ids.insert(item["id"].to_string()), "{item} has the id of another one");
                assert!(numbers.insert(item["n"].as_u64().unwrap()), "{item} is kept twice");
            }
        }
    }
    let totals = place.totals();
    let kept = totals["counts"]["n_kept"].as_u64().unwrap();
    let duplicates = totals["counts"]["n_duplicates"].as_u64().unwrap();
    let rejected = totals["n_rejected"].as_u64().unwrap();
    assert_eq!(totals["n_read"].as_u64().unwrap() as usize, lines.len());
    assert_eq!((kept + duplicates + rejected) as usize, lines.len());
    assert_eq!(rejected as usize, lines.len() / 20);
    let expected = [("_duplicates", duplicates), ("_rejects", rejected), ("source", kept)];
    assert_eq!(counts, expected.map(|(what, n)| (what.to_owned(), n)).into());
    assert!(duplicates > 100 && kept > 1_000, "{totals}");
    let info = run("pigeonhole", ["info", "--store", &place.store()]).expect(0).stdout;
    assert!(info.lines().any(|line| line.split_whitespace().eq(["documents", &kept.to_string()])), "{info}");
    // The rest, apart from the results.
    let mut left = files_in(&place.at("incoming"));
    left.iter_mut().for_each(|name| *name = name.rsplit('/').next().unwrap().to_owned());
    let mut expected: Vec<_> = (1..FILES).step_by(2).map(|n| format!("{n}.jsonl")).collect();
    expected.extend(["last_write.json", "lock", "totals.json"].map(str::to_owned));
    left.sort();
    expected.sort();
    assert_eq!(left, expected);
    figures.acknowledged = numbers.len() as u64;
    figures.end("collect killed");
}

/// Killed after the round was counted, and before its files were removed.
#[test]
fn a_round_that_is_done_is_not_done_again() {
    let place = Place::new();
    place.deliver("a.jsonl", made_up_corpus(100, 5));
    place.collect(&[]).expect(0);
    let totals = place.totals();
    let round = json!({ "name": totals["last_round"], "time_ms": totals["last_time_ms"], "random": 1, "stage": "Reading" });
    fs::write(place.at("incoming/.collector/round.json"), sealed(&round)).unwrap();
    place.collect(&[]).expect(0);
    assert_eq!(place.totals(), totals);
    assert!(!place.at("incoming/.collector/round.json").exists());
}

#[test]
fn a_round_is_ended_with_the_options_it_began_with() {
    let place = Place::new();
    place.deliver("a.jsonl", made_up_corpus(4_000, 5));
    let mut child = command("indexer", place.args(&["--once", "-q"])).spawn().unwrap();
    until(|| place.at("incoming/.collector/journal/job.json").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let refused = place.collect(&["--source-field", "other"]).expect(2);
    let told = ["must be ended with the options it began with", "--source-field was"];
    assert!(told.iter().all(|part| refused.stderr.contains(part)), "{refused:?}");
    place.collect(&[]).expect(0);
    assert_eq!(place.totals()["n_read"], 4_000);
}

/// A resumed round is refused if the files that it had taken are gone. Before, its decisions were
/// silently lost.
#[test]
fn a_round_whose_files_are_gone_is_not_done() {
    let place = Place::new();
    place.deliver("a.jsonl", made_up_corpus(4_000, 5));
    let mut child = command("indexer", place.args(&["--once", "-q"])).spawn().unwrap();
    until(|| place.at("incoming/.collector/journal/job.json").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let [taken, away] = ["incoming/.taken", "away"].map(|name| place.at(name));
    fs::rename(&taken, &away).unwrap();
    let refused = place.collect(&[]).expect(2);
    assert!(refused.stderr.contains("put them back"), "{}", refused.stderr);
    fs::remove_dir(&taken).unwrap();
    fs::rename(&away, &taken).unwrap();
    place.collect(&[]).expect(0);
    let all = Place::new();
    all.deliver("a.jsonl", made_up_corpus(4_000, 5));
    all.collect(&[]).expect(0);
    assert_eq!(place.totals()["counts"], all.totals()["counts"]);
}

/// A collector refuses an index older than its last round. Otherwise items kept since the copy
/// would be kept again, in a new file.
#[test]
fn an_index_that_was_put_back_to_an_older_copy_is_refused() {
    let place = Place::new();
    let data = place.at("seen/data.mdb");
    let collect = |n: usize| {
        place.deliver("a.jsonl", item(n, &json!({ "id": format!("{n}") })));
        place.collect(&[])
    };
    collect(1).expect(0);
    let older = fs::read(&data).unwrap();
    collect(2).expect(0);
    let newer = fs::read(&data).unwrap();
    fs::write(&data, &older).unwrap();
    let refused = collect(3).expect(2).stderr;
    assert!(
        refused.contains("older than the last round") && refused.contains("last_write.json"),
        "{refused}"
    );
    fs::write(&data, newer).unwrap();
    place.collect(&[]).expect(0);
    assert_eq!(place.items("source=").len(), 3);
    // Without a newer copy, the operator confirms by deleting the file.
    fs::write(&data, older).unwrap();
    fs::remove_file(place.at("incoming/.collector/last_write.json")).unwrap();
    collect(2).expect(0);
    assert_eq!(place.items("source=").len(), 4);
}
