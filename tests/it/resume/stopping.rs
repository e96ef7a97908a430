//! Signals, the last steps of a job, and the runs that may resume it.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Output};

use serde_json::json;

use super::{Job, assert_same, corpora};
use crate::support::{command, made_up_corpus, run, sealed, signal, unsealed, until};

const N: usize = 4_000;

fn write_corpus(place: &Path) -> String {
    let corpus = place.join("corpus.jsonl");
    fs::write(&corpus, made_up_corpus(N, 10)).unwrap();
    corpus.to_str().unwrap().to_owned()
}

/// Starts a job, waits until its work has begun, and sends signals.
fn signalled(job: &Job, signals: &[&str]) -> Output {
    let child = job.spawn();
    until(|| job.folder.join("journal/job.json").exists());
    signals.iter().for_each(|name| signal(&child, name));
    child.wait_with_output().unwrap()
}

#[test]
fn a_signal_stops_at_a_checkpoint_and_a_second_one_at_once() {
    let place = tempfile::tempdir().unwrap();
    let corpus = write_corpus(place.path());
    let often = ["--checkpoint-records", "20"];
    let expected = Job::dedup(place.path(), "whole", &corpus, &often).finish();
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let job = Job::dedup(place.path(), signal, &corpus, &often);
        let output = signalled(&job, &[signal]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("the same command goes on"), "{said}");
        assert!((1..N as u64).contains(&job.n_read()), "{}", job.n_read());
        assert_same(&job.finish(), &expected, signal);
    }
    // The only checkpoint would be the end.
    let job = Job::dedup(place.path(), "twice", &corpus, &["--checkpoint-records", "1000000"]);
    let output = signalled(&job, &["-INT", "-TERM"]);
    // If both signals wait, the system chooses their order.
    assert!(matches!(output.status.signal(), Some(2 | 15)), "{output:?}");
    assert_eq!(job.n_read(), 0);
    let once = Job::dedup(place.path(), "once", &corpus, &["--checkpoint-records", "1000000"]);
    assert_same(&job.finish(), &once.finish(), "twice");
}

/// The job is killed between two moves of outputs to their places, or before the journal records
/// the last move. The outputs are named without a folder, so their names differ before and after
/// the moves.
#[test]
fn killed_while_the_outputs_are_moved() {
    let place = tempfile::tempdir().unwrap();
    let corpus = write_corpus(place.path());
    let folder = place.path();
    let go = || {
        let args =
            ["dedup", "-q", &corpus, "--journal", "j", "--output", "kept.jsonl.gz", "--duplicates", "dups"];
        let output = command("indexer", args).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let files = ["kept.jsonl.gz", "dups"].map(|name| fs::read(folder.join(name)).unwrap());
        (output.stdout.split(|&byte| byte == b's').next().unwrap().to_owned(), files)
    };
    let expected = go();
    let journal = |name: &str| folder.join("j").join(name);
    let read = |name: &str| unsealed(&journal(name)).unwrap();
    let job = read("job.json")["name"].as_str().unwrap().to_owned();
    for left in [&["kept.jsonl.gz", "dups"][..], &["kept.jsonl.gz"], &[]] {
        let mut checkpoint = read("checkpoint.json");
        checkpoint["stage"] = json!("Written");
        fs::write(journal("checkpoint.json"), sealed(&checkpoint)).unwrap();
        for name in left {
            fs::rename(folder.join(name), folder.join(format!(".{name}.{job}.partial"))).unwrap();
        }
        assert_eq!(go(), expected, "{left:?}");
        assert_eq!(go(), expected, "{left:?}, once more");
    }
}

#[test]
fn what_a_journal_cannot_do_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let corpus = write_corpus(place.path());
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let [journal, kept, store] = ["journal", "kept", "index"].map(at);
    let store = format!("embedded:{store}");
    let dedup = ["dedup", "-q", "--journal", &journal, "--output", &kept];
    let refused = |args: &[&str], part: &str| {
        let run = run("indexer", args).expect(2);
        assert!(run.stderr.contains(part), "{args:?} should say {part:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{args:?}");
    };
    refused(&[&dedup[..], &["-"]].concat(), "standard input");
    refused(&["dedup", "-q", "--journal", &journal, &corpus], "--output");
    refused(&[&dedup[..], &[&corpus, "--report", &at("report.json")]].concat(), "--report");
    refused(&["dedup", "-q", "--journal", &journal, &corpus, "--dry-run"], "leave out --journal");
    refused(&["dedup", "-q", "--journal", &journal, &corpus, "--output", "-"], "name a file");
    refused(&[&dedup[..], &[&corpus, "--keyed"]].concat(), "--key-file");
    refused(&["dedup", "-q", "--journal", &journal, &corpus, "--output", "/dev/null"], "name a file");
    refused(
        &["index", "-q", "--journal", place.path().to_str().unwrap(), &corpus, "--store", &store],
        "no journal",
    );
    // A run refused before its start has left no job behind.
    assert!(!Path::new(&journal).join("job.json").exists());
    run("indexer", [&dedup[..], &[&corpus]].concat()).expect(0);
    refused(&[&dedup[..], &[&corpus, "--text-field", "body"]].concat(), "--text-field");
    refused(&[&dedup[..], &[&corpus, "--seed", "1"]].concat(), "the recipe");
    refused(&[&dedup[..], &[&corpus, &corpus]].concat(), "reads 1 files, and now there are 2");
    refused(
        &["index", "-q", "--journal", &journal, &corpus, "--store", &store],
        "it is `dedup`, not `index`",
    );
    assert!(!Path::new(&at("index")).exists(), "what is refused makes no index");
    let once_more = run("indexer", [&dedup[..], &[&corpus]].concat()).expect(0);
    assert!(once_more.stderr.contains("done before"), "{}", once_more.stderr);
    // A job is not done if an output is missing or changed.
    let whole = fs::read(&kept).unwrap();
    fs::write(&kept, &whole[1..]).unwrap();
    refused(&[&dedup[..], &[&corpus]].concat(), "is not as it was left");
    fs::remove_file(&kept).unwrap();
    refused(&[&dedup[..], &[&corpus]].concat(), "is not there any more");
    fs::write(&kept, &whole).unwrap();
    run("indexer", [&dedup[..], &[&corpus]].concat()).expect(0);
    fs::write(&corpus, "").unwrap();
    refused(&[&dedup[..], &[&corpus]].concat(), "has changed since");
}

/// The job is killed before it began, with nothing decided: leftovers count as nothing.
#[test]
fn killed_before_it_began() {
    let place = tempfile::tempdir().unwrap();
    let corpus = write_corpus(place.path());
    let whole = Job::dedup(place.path(), "whole", &corpus, &["--store", "STORE"]);
    let killed = Job::dedup(place.path(), "killed", &corpus, &["--store", "STORE"]);
    let journal = killed.folder.join("journal");
    fs::create_dir(&journal).unwrap();
    for name in ["lock", "job.json.new", "calls.log", "kept.log", "rows.log", "duplicates.log"] {
        fs::write(journal.join(name), "{\"na").unwrap();
    }
    assert_same(&killed.finish(), &whole.finish(), "after what was left");
}

/// Returns true if a process has opened a file.
fn has_open(child: &Child, path: &Path) -> bool {
    let opened = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
    let path = path.canonicalize().unwrap();
    opened.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|opened| opened == path)
}

#[test]
fn two_runs_at_once_do_not_share_a_journal() {
    let place = tempfile::tempdir().unwrap();
    let corpora = corpora(place.path(), N);
    let corpus = place.path().join(&corpora[0]).to_str().unwrap().to_owned();
    let job = Job::dedup(place.path(), "job", &corpus, &[]);
    let mut first = job.spawn();
    until(|| job.folder.join("journal/job.json").exists());
    signal(&first, "-STOP");
    let second = run("indexer", &job.args).expect(2);
    assert!(second.stderr.contains("another run is at work"), "{}", second.stderr);
    // A new run started at once gets the lock when the killed one releases it.
    let mut third = job.spawn();
    until(|| has_open(&third, &job.folder.join("journal/lock")));
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(third.wait().unwrap().code().is_some_and(|code| code < 2));
    let whole = Job::dedup(place.path(), "whole", &corpus, &[]);
    assert_same(&job.finish(), &whole.finish(), "after the first one was killed");
}
