//! `pigeonhole bench`: its figures are of what the programs do, and nothing of it stays.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{command, digest, news, redis, run, until};

/// Sizes for a test, whose times say nothing.
const SMALL: [&str; 8] = ["-q", "--json", "--bytes", "40kB", "--fingerprints", "2000", "--seconds", "0"];

fn bench(args: &[&str]) -> Value {
    let said = run("pigeonhole", [&["bench"], &SMALL[..], args].concat()).expect(0).stdout;
    serde_json::from_str(&said).unwrap()
}

/// The counts of each job, by job and corpus.
fn counts(report: &Value) -> BTreeMap<(String, String), BTreeMap<String, u64>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |job: &Value| {
        let counts = job["counts"].as_object().unwrap().iter();
        let mut counts: BTreeMap<String, u64> =
            counts.map(|(name, count)| (name.clone(), count.as_u64().unwrap())).collect();
        counts.insert("n".to_owned(), job["n"].as_u64().unwrap());
        ((text(&job["job"]), text(&job["corpus"])), counts)
    };
    report["measured"].as_array().unwrap().iter().map(of).collect()
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn each_job_is_measured_and_counts_as_the_programs_do() {
    let place = tempfile::tempdir().unwrap();
    let temp = place.path().join("temp");
    fs::create_dir(&temp).unwrap();
    let report = bench(&["--temp", temp.to_str().unwrap(), "--threads", "2"]);
    assert!(is_empty(&temp), "nothing stays");
    let machine = &report["machine"];
    assert!(machine["cores"].as_u64().unwrap() > 0 && machine["memory_bytes"].as_u64().unwrap() > 1 << 20);
    assert!(machine.get("memory_limit_bytes").is_some() && report["version"] == env!("CARGO_PKG_VERSION"));
    assert_eq!(report["corpora"].as_array().unwrap().len(), 3);
    let jobs = report["measured"].as_array().unwrap();
    assert_eq!(jobs.len(), 3 * 4 + 3 + 3);
    for job in jobs {
        let positive = |name: &str| job[name].as_f64().is_some_and(|figure| figure > 0.0);
        assert!(
            ["per_second", "per_cpu_second", "wall_seconds", "cpu_seconds"].into_iter().all(positive),
            "{job}"
        );
        assert!(!job["rounds"].as_array().unwrap().is_empty() && job["warm"].as_str().unwrap().len() > 10);
        assert_eq!(job["mb_per_cpu_second"].is_number(), job["bytes"].is_number());
    }
    let counts = counts(&report);
    let of = |job: &str, corpus: &str| &counts[&(job.to_owned(), corpus.to_owned())];
    for kind in ["english", "chinese", "short"] {
        let corpus = format!("made-up {kind}");
        let texts = run("pigeonhole", ["bench", "--print-texts", kind, "--bytes", "40kB"]).expect(0).stdout;
        let file = place.path().join(format!("{kind}.jsonl"));
        fs::write(&file, &texts).unwrap();
        let n = texts.lines().count() as u64;
        assert_eq!(of("signature", &corpus)["with_features"], n);
        for profile in ["minhash", "full"] {
            let output = place.path().join("kept.jsonl");
            let args = ["dedup", "-q", "--force", "--profile", profile, file.to_str().unwrap(), "--output"];
            run("indexer", args.iter().copied().chain([output.to_str().unwrap()])).expect(0);
            let n_kept = fs::read_to_string(&output).unwrap().lines().count() as u64;
            let counts = of(&format!("dedup, {profile}"), &corpus);
            assert_eq!((counts["kept"], counts["kept"] + counts["dropped"]), (n_kept, n), "{kind} {profile}");
            assert!(n_kept < n, "some are repeated");
        }
    }
    let inserted = of("insert what is new", "made-up short");
    assert_eq!(inserted["inserted"], of("dedup, full", "made-up short")["kept"]);
    assert!(inserted["disk_bytes_a_document"] > 0);
    assert_eq!(of("open, one query", "made-up short")["found"].min(1), 1);
    let queries = of("queries", "made-up short");
    assert_eq!(queries["with_matches"], queries["n"], "each text is there, or one near it");
    assert_eq!(of("import", "")["documents"], 2_000);
    let join = of("join with itself", "");
    assert!(join["pairs"] >= join["pairs_at_least"] && join["pairs_at_least"] > 150, "{join:?}");
}

#[test]
fn texts_of_the_user_and_the_table() {
    let place = tempfile::tempdir().unwrap();
    let [news, temp] = [news(), place.path().to_owned()].map(|path| path.to_str().unwrap().to_owned());
    let n = fs::read_to_string(&news).unwrap().lines().count() as u64;
    let report = bench(&["--temp", &temp, &news]);
    assert_eq!(
        (&report["corpora"][0]["documents"], report["corpora"].as_array().unwrap().len()),
        (&n.into(), 1)
    );
    let args = ["bench", "--bytes", "20kB", "--fingerprints", "1000", "--seconds", "0", "--index", "memory:"];
    let said = run("pigeonhole", args.iter().chain(&["--temp", &temp, &news])).expect(0).stdout;
    for part in ["\nmemory  ", "\njob ", "\nsignature ", "\nqueries ", "\njoin with itself "] {
        assert!(said.contains(part), "{part:?} is missing in\n{said}");
    }
    assert!(!said.contains("open, one query"), "what ends with the process is opened once");
    assert!(is_empty(place.path()));
    for (args, part) in [
        (&["--bytes", "1"][..], "--bytes is 1"),
        (&["--fingerprints", "1e12"], "--fingerprints is"),
        (&["--index", "nowhere"], "names no store"),
        (&["/nowhere/texts.jsonl"], "/nowhere/texts.jsonl"),
    ] {
        let refused = run("pigeonhole", [&["bench", "--temp", &temp], args].concat()).expect(2);
        assert!(refused.stderr.contains(part) && refused.stdout.is_empty(), "{args:?}: {}", refused.stderr);
    }
}

#[test]
fn an_index_that_is_there_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let store = |name: &str| format!("embedded:{}", place.path().join(name).display());
    let there = store("index");
    run("indexer", ["index", "-q", "--store", &there, news().to_str().unwrap()]).expect(0);
    let file = place.path().join("index/data.mdb");
    let (before, bytes) = (digest(&there), fs::read(&file).unwrap());
    let refused = run("pigeonhole", [&["bench", "--index", &there], &SMALL[..]].concat()).expect(2);
    assert!(refused.stderr.contains("writes into nothing that is there"), "{}", refused.stderr);
    assert!(refused.stdout.is_empty());
    assert!(digest(&there) == before && fs::read(&file).unwrap() == bytes);
    // So is a folder without an index; a new place is free again in the end.
    fs::create_dir(place.path().join("folder")).unwrap();
    run("pigeonhole", [&["bench", "--index", &store("folder")], &SMALL[..]].concat()).expect(2);
    assert!(is_empty(&place.path().join("folder")));
    let report = bench(&["--index", &store("new")]);
    assert_eq!(report["index"], store("new"));
    assert!(!place.path().join("new").exists());
}

/// A signal ends the measurement between two batches, and what it made is gone.
#[test]
fn nothing_stays_after_a_signal() {
    let place = tempfile::tempdir().unwrap();
    let [temp, index] = ["temp", "index"].map(|name| place.path().join(name));
    fs::create_dir(&temp).unwrap();
    let store = format!("embedded:{}", index.display());
    let args = [&["bench", "--temp", temp.to_str().unwrap(), "--index", &store], &SMALL[..6]].concat();
    let bench = command("pigeonhole", args.iter().chain(&["--seconds", "18000"])).spawn().unwrap();
    until(|| index.is_dir());
    kill_process(Pid::from_raw(bench.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let output = bench.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("what it made is removed") && output.stdout.is_empty(), "{said}");
    assert!(is_empty(&temp) && !index.exists());
}

#[test]
fn an_index_in_redis_is_refused_or_emptied() {
    let Some(redis) = redis() else { return };
    let [there, new] = ["bench-there", "bench-new"].map(|name| redis.url(name));
    run("indexer", ["index", "-q", "--store", &there, news().to_str().unwrap()]).expect(0);
    let before = digest(&there);
    let refused = run("pigeonhole", [&["bench", "--index", &there], &SMALL[..]].concat()).expect(2);
    assert!(refused.stderr.contains("there is an index at"), "{}", refused.stderr);
    assert_eq!(digest(&there), before);
    let ended = run("pigeonhole", [&["bench", "--index", &new], &SMALL[..]].concat()).expect(0);
    assert!(ended.stderr.contains("an empty index stays at"), "{}", ended.stderr);
    let info = run("pigeonhole", ["info", "--digest", "--store", &new]).expect(0).stdout;
    assert!(info.contains("documents     0\n"), "{info}");
}
