//! `indexer reindex`: from store to store and from profile to profile, by the stored sketches or
//! anew.

use std::fs;
use std::path::Path;

use engine::StoreUri;
use index::{Clock, Metadata, Mode};
use serde_json::Value;

use super::{at, corpus, embedded, indexed, records};
use crate::support::{CLASSIC, Figures, command, digest, json_lines, made_up_corpus, pause, run};

fn reindex<'a>(old: &'a str, new: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["reindex", "-q", old, new], more].concat()
}

#[test]
fn what_the_old_index_has_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let full = indexed(folder, "full", &["--seed", "7"]);
    let with_seed = |flags: &[&'static str]| [&["--seed", "7"], flags].concat();
    for (n, (old, flags)) in [
        (vec![], vec![]),
        (vec![], vec!["--profile", "minhash", "--min-similarity", "0.9"]),
        (vec![], vec!["--profile", "classic", "--scheme", "t11"]),
        (vec![], CLASSIC.to_vec()),
        (
            vec!["--profile", "classic"],
            vec!["--profile", "classic", "--verify", "off", "--max-distance", "2"],
        ),
        (CLASSIC.to_vec(), vec!["--scheme", "t11"]),
    ]
    .into_iter()
    .enumerate()
    {
        let old = if old.is_empty() {
            full.clone()
        } else {
            indexed(folder, &format!("old-{n}"), &with_seed(&old))
        };
        let expected = match (n, &flags[..]) {
            // A new index with the profile of the old one inherits its flags.
            (5, flags) => [&CLASSIC[..], flags].concat(),
            (_, flags) => flags.to_vec(),
        };
        let expected = indexed(folder, &format!("expected-{n}"), &with_seed(&expected));
        let new = embedded(folder, &format!("new-{n}"));
        let told = run("indexer", reindex(&old, &new, &flags)).expect(0).stdout;
        assert!(told.contains("missing                  0"), "{told}");
        assert_eq!(digest(&new), digest(&expected), "{flags:?}");
        assert_eq!(records(folder, &new), records(folder, &expected), "{flags:?}");
        let again = run("indexer", reindex(&old, &new, &[])).expect(0).stdout;
        assert!(again.contains("written                  0"), "{again}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [full, classic] =
        [("full", &[][..]), ("classic", &CLASSIC)].map(|(name, flags)| indexed(folder, name, flags));
    let minhash = indexed(folder, "minhash", &["--profile", "minhash", "--texts", "none"]);
    let other = indexed(folder, "other", &["--segmenter", "words"]);
    let (new, missing) = (embedded(folder, "new"), embedded(folder, "missing"));
    let roundabout = embedded(folder, "full/../full");
    for (old, new, flags, parts) in [
        (&*full, &*full, &[][..], &["the same index"][..]),
        (&full, &roundabout, &[], &["the same index"]),
        (&missing, &new, &[], &["there is no index"]),
        ("memory:", &new, &[], &["memory:"]),
        (&full, "memory:", &[], &["memory:"]),
        (
            &classic,
            &new,
            &["--profile", "full"],
            &["no signatures", "reindex OLD NEW FILE", "--profile classic"],
        ),
        (&classic, &new, &["--verify", "on"], &["format version 2"]),
        (&minhash, &new, &["--profile", "classic"], &["no simhashes", "reindex OLD NEW FILE", "minhash"]),
        (&full, &new, &["--verify", "off"], &["cannot do without verifying"]),
        (&full, &other, &[], &["recipe field segmenter"]),
        (&full, &minhash, &["--profile", "full"], &["profile is \"minhash\" in the index"]),
        (&full, &new, &["--seed", "9"], &["recipe field seed"]),
    ] {
        let said = run("indexer", reindex(old, new, flags)).expect(2).stderr;
        for part in parts {
            assert!(said.contains(part), "{old} {new} {flags:?}: {said}: {part}");
        }
    }
    assert!(!folder.join("new").exists());
}

/// An index of simhashes alone becomes one that verifies, from the texts of its documents.
#[test]
fn what_the_old_index_lacks_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let old = indexed(folder, "old", &[&CLASSIC[..], &["--segmenter", "words"]].concat());
    let corpus = corpus(folder);
    let [new, expected, part] = ["new", "expected", "part"].map(|name| embedded(folder, name));
    // Documents outside of the old index do not come into the new one.
    let more = at(folder, "more.jsonl");
    fs::write(&more, json_lines([("new-1", "The tram stops here."), ("new-2", "The bus does not.")]))
        .unwrap();
    let full = ["--profile", "full"];
    let told =
        run("indexer", reindex(&old, &new, &[&[&*corpus, &more], &full[..]].concat())).expect(0).stdout;
    for part in ["not in old               3", "missing                  0", "written                122"] {
        assert!(told.contains(part), "{told}: {part}");
    }
    let index = ["index", "-q", &corpus, "--store", &expected, "--source", "wire 7", "--segmenter", "words"];
    run("indexer", index).expect(0);
    // An index of simhashes had no features for a text of symbols only.
    let expected: Vec<Value> =
        records(folder, &expected).into_iter().filter(|record| record["id"] != "symbols").collect();
    assert_eq!(records(folder, &new), expected);
    // Documents missing from the inputs are named.
    let some = at(folder, "some.jsonl");
    let lines = fs::read_to_string(&corpus).unwrap();
    fs::write(&some, lines.lines().take(100).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let rejects = at(folder, "rejects.jsonl");
    let told =
        run("indexer", reindex(&old, &part, &[&some, "--rejects", &rejects, "--verify", "on"])).expect(1);
    assert!(told.stdout.contains("missing                 22"), "{}", told.stdout);
    assert!(told.stderr.contains("22 documents of the old index are not in the new one"), "{}", told.stderr);
    let rejects = fs::read_to_string(rejects).unwrap();
    assert_eq!(rejects.lines().filter(|line| line.contains(r#""kind":"missing""#)).count(), 22);
    assert!(rejects.contains(r#"{"id":"short","kind":"missing"}"#), "{rejects}");
    // A changed text is not taken for the old one.
    let [changed, new] = [at(folder, "changed.jsonl"), embedded(folder, "of-changed")];
    let mut first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    first["text"] = "A ferry leaves for the islands in the morning, and another one at night.".into();
    let rest = lines.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>();
    fs::write(&changed, format!("{first}\n{rest}")).unwrap();
    let told = run("indexer", reindex(&old, &new, &[&[&*changed], &full[..]].concat())).expect(1);
    for part in ["written                121", "rejected                 1", "missing                  1"] {
        assert!(told.stdout.contains(part), "{}: {part}", told.stdout);
    }
    assert!(told.stderr.contains("it was made of another text"), "{}", told.stderr);
    // Nor where the two indexes have no feature in common.
    let [new, minhash, back] = ["of-changed-2", "minhash", "back"].map(|name| embedded(folder, name));
    let by_sets = ["--profile", "minhash"];
    run("indexer", reindex(&old, &minhash, &[&[&*corpus], &by_sets[..]].concat())).expect(0);
    for (old, new, flags) in [(&old, &new, &by_sets[..]), (&minhash, &back, &CLASSIC)] {
        let told = run("indexer", reindex(old, new, &[&[&*changed], flags].concat())).expect(1);
        for part in ["written                121", "rejected                 1", "missing                  1"]
        {
            assert!(told.stdout.contains(part), "{}: {part}", told.stdout);
        }
    }
    let ids = |store: &str| {
        let of = |record: Value| (record["id"].clone(), record["fingerprint"].clone());
        records(folder, store).into_iter().map(of).collect::<Vec<_>>()
    };
    let mut expected = ids(&old);
    expected.retain(|(id, _)| *id != first["id"]);
    assert_eq!(ids(&back), expected);
}

/// Signatures of two keys are never compared, so those of the old index do not go into a new one of
/// another key.
#[test]
fn both_indexes_have_one_key() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [keyed, plain] =
        [("keyed", &["--keyed"][..]), ("plain", &[])].map(|(name, flags)| indexed(folder, name, flags));
    for (old, new) in [(&keyed, &plain), (&plain, &keyed)] {
        let said = run("indexer", reindex(old, new, &[])).expect(2).stderr;
        assert!(said.contains("another key"), "{said}");
    }
    // Without signatures there is no key, also where the same is run again.
    let new = embedded(folder, "new");
    for _ in 0..2 {
        run("indexer", reindex(&keyed, &new, &CLASSIC)).expect(0);
    }
}

/// Indexes of format version 1, without an identity, are carried over too.
#[test]
fn an_index_of_version_1_is_carried_over() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let like = indexed(folder, "like", &CLASSIC);
    let open = |uri: &str, mode| uri.parse::<StoreUri>().unwrap().open(mode, Clock::system(), None).unwrap();
    let metadata = open(&like, Mode::MustExist).metadata().unwrap().unwrap();
    let [old, copy, full] = ["old", "copy", "full"].map(|name| embedded(folder, name));
    let first = Metadata { format_version: 1, ..metadata };
    open(&old, Mode::CreateIfMissing).create(&first).unwrap();
    indexed(folder, "old", &[]);
    let info = run("pigeonhole", ["info", "--store", &old]).expect(0).stdout;
    assert!(info.contains("format        1"), "{info}");
    run("indexer", reindex(&old, &copy, &[])).expect(0);
    assert_eq!(digest(&copy), digest(&old));
    let said = run("indexer", reindex(&old, &full, &["--profile", "full"])).expect(2).stderr;
    assert!(said.contains("format version 1") && said.contains("reindex OLD NEW FILE"), "{said}");
    run("indexer", reindex(&old, &full, &[&corpus(folder), "--profile", "full"])).expect(0);
    let ids = |store: &str| {
        records(folder, store).into_iter().map(|record| record["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&full), ids(&old));
    assert!(records(folder, &full).iter().all(|record| record["signature"].is_string()));
}

#[test]
fn killed_at_five_moments_then_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = at(folder, "many.jsonl");
    fs::write(&file, made_up_corpus(9_000, 4)).unwrap();
    let old = embedded(folder, "old");
    run("indexer", ["index", "-q", &file, "--store", &old, "--segmenter", "words"]).expect(0);
    let expected = digest(&old);
    let size =
        |name: &str| fs::metadata(folder.join(name).join("data.mdb")).map_or(0, |metadata| metadata.len());
    let mut figures = Figures::default();
    for fifth in 0..5 {
        let name = format!("new-{fifth}");
        let new = embedded(folder, &name);
        let mut child = command("indexer", reindex(&old, &new, &[])).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && size(&name) < size("old") * fifth / 5 {
            pause();
        }
        child.kill().unwrap();
        figures.faults += u64::from(!child.wait().unwrap().success());
        figures.round(|| run("indexer", reindex(&old, &new, &[])).expect(0));
        figures.acknowledged += 9_000;
        figures.wrong += u64::from(digest(&new) != expected);
    }
    figures.end("reindex killed, and run again");
    assert!(figures.faults >= 3, "only {} of 5 runs were killed before their end", figures.faults);
}

/// Several workers each carry over one part.
#[test]
fn parts_are_carried_over_apart() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (old, new) = (indexed(folder, "old", &[]), embedded(folder, "new"));
    for shard in ["0/2", "1/2"] {
        let told = run("indexer", reindex(&old, &new, &["--shard", shard])).expect(0).stdout;
        assert!(told.contains("missing                  0"), "{told}");
    }
    assert_eq!(digest(&new), digest(&old));
}

/// A new index with retention gives new times, and a warning says this.
#[test]
fn retention_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let folder: &Path = folder.path();
    let (old, new) = (indexed(folder, "old", &["--retain", "2d"]), embedded(folder, "new"));
    let said = run("indexer", ["reindex", &old, &new]).expect(0).stderr;
    assert!(said.contains("the new index forgets"), "{said}");
    let info = run("pigeonhole", ["info", "--store", &new]).expect(0).stdout;
    assert!(info.contains("retain        2d after insertion"), "{info}");
}
