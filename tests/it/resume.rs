//! Jobs with a journal: killed, stopped, and resumed with wrong settings.

mod known;
mod moved;
mod stopping;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::indexer::formats::{delimited, parquet, warc};
use crate::indexer::inputs::PACKERS;
use crate::reports::archives::tar;
use crate::support::{Figures, Random, command, digest, json_lines, made_up_corpus, pause, run, unsealed};

/// The number of records between two checkpoints: small, so that there are many.
const CHECKPOINT_RECORDS: &str = "50";

/// Returns documents whose outcome depends on earlier ones: near-duplicates, repeated ids with the
/// same or another text, and texts without features.
fn documents(n: usize) -> Vec<(String, String)> {
    let mut random = Random(7);
    let mut documents: Vec<(String, String)> = Vec::new();
    for line in made_up_corpus(n, 6).lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let [id, text] = ["id", "text"].map(|field| record[field].as_str().unwrap().to_owned());
        let earlier = (!documents.is_empty()).then(|| documents[random.below(documents.len())].clone());
        documents.push(match (random.below(20), earlier) {
            (0, Some(earlier)) => earlier,
            (1, Some((id, _))) => (id, text),
            (2, _) => (id, "…！？".to_owned()),
            _ => (id, text),
        });
    }
    documents
}

/// Writes the same documents in every format, and returns the names of the files and folders.
pub(crate) fn corpora(folder: &Path, n: usize) -> Vec<String> {
    let documents = documents(n);
    let lines = json_lines(documents.iter().map(|(id, text)| (id.as_str(), text.as_str())));
    // Records that cannot be read count as well.
    let lines = lines.replace("\"id\":\"made-up/11", "\"no id\":\"made-up/11").into_bytes();
    let mut files: Vec<(String, Vec<u8>)> =
        PACKERS.iter().map(|(suffix, pack)| (format!("corpus.jsonl{suffix}"), pack(&lines))).collect();
    let (_, gzip) = PACKERS.iter().find(|(suffix, _)| *suffix == ".gz").unwrap();
    let middle = lines.len() / 2;
    let half = middle + lines[middle..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let (first, second) = lines.split_at(half);
    let members: [(&str, &[u8]); 4] =
        [("a.jsonl", first), ("b.pdf", b"%PDF"), ("c/d.jsonl.gz", &gzip(second)), ("e.tar", b"")];
    files.push(("corpus.tar.gz".to_owned(), gzip(&tar(&members))));
    files.push(("corpus.jsonl".to_owned(), lines));
    files.push(("corpus.csv".to_owned(), delimited(&documents, ',')));
    files.push(("corpus.tsv".to_owned(), delimited(&documents, '\t')));
    files.push(("corpus.parquet".to_owned(), parquet(&documents, 170)));
    files.push(("corpus.warc".to_owned(), warc(&documents)));
    let texts = folder.join("corpus.texts");
    fs::create_dir(&texts).unwrap();
    for (i, (_, text)) in documents.iter().enumerate() {
        fs::write(texts.join(format!("{i}.txt")), text).unwrap();
    }
    for (name, content) in &files {
        fs::write(folder.join(name), content).unwrap();
    }
    files.into_iter().map(|(name, _)| name).chain(["corpus.texts".to_owned()]).collect()
}

/// A job with its own folder for its journal, its outputs and perhaps its index.
struct Job {
    folder: PathBuf,
    args: Vec<String>,
    store: Option<String>,
}

impl Job {
    /// Makes a job of `what`: the command, then the options. Names of outputs and stores are in the
    /// job's own folder.
    fn new(place: &Path, name: &str, corpus: &str, what: &[&str]) -> Self {
        let folder = place.join(name);
        fs::create_dir(&folder).unwrap();
        let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let mut args: Vec<String> = what.iter().map(|arg| (*arg).to_owned()).collect();
        let store = what.contains(&"--store").then(|| format!("embedded:{}", at("index")));
        for arg in &mut args {
            match (&store, arg.as_str()) {
                (Some(store), "STORE") => arg.clone_from(store),
                (_, name) if name.contains('.') => *arg = at(name),
                _ => {}
            }
        }
        let more = ["-q", "--journal", &at("journal"), "--rejects", &at("rejects.jsonl"), corpus];
        args.extend(more.map(str::to_owned));
        Self { folder, args, store }
    }

    fn dedup(place: &Path, name: &str, corpus: &str, more: &[&str]) -> Self {
        // In parts, where the name has a place for their number.
        let (kept, dropped) = match corpus.rsplit('.').next() {
            Some("csv") => ("kept.csv", "dropped.tsv.gz"),
            Some("tsv") => ("kept-{}.tsv.zst", "dropped.csv"),
            Some("jsonl") => ("kept-{}.jsonl", "dropped.jsonl"),
            Some("warc") => ("kept.parquet", "dropped.jsonl.gz"),
            Some("parquet") => ("kept.parquet", "dropped.parquet"),
            Some("texts") => ("kept-{}.parquet", "dropped.parquet"),
            _ => ("kept.jsonl.gz", "dropped.jsonl.zst"),
        };
        let what = ["dedup", "--output", kept, "--duplicates", dropped];
        let parts: &[&str] = if kept.contains("{}") { &["--output-bytes-max", "60kB"] } else { &[] };
        Self::new(place, name, corpus, &[&what, parts, more].concat())
    }

    fn spawn(&self) -> Child {
        command("indexer", &self.args).spawn().unwrap()
    }

    /// Runs the job until `n_decided` calls of the store are decided, and kills it. Once a call is
    /// decided, earlier ones were made.
    fn kill_once_decided(&self, n_decided: usize) {
        let mut child = self.spawn();
        while child.try_wait().unwrap().is_none()
            && n_frames(&self.folder.join("journal/calls.log")) < n_decided
        {
            pause();
        }
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "{:?} came to its end before it was killed", self.args);
    }

    /// Returns the number of records read at the last checkpoint.
    fn n_read(&self) -> u64 {
        self.checkpoint().map_or(0, |checkpoint| checkpoint["n_read"].as_u64().unwrap())
    }

    fn checkpoint(&self) -> Option<Value> {
        unsealed(&self.folder.join("journal/checkpoint.json"))
    }

    /// Runs the job to its end, and returns its report, its digest and its files.
    fn finish(&self) -> Vec<(String, Vec<u8>)> {
        let report = run("indexer", &self.args);
        assert!(report.code.is_some_and(|code| code < 2), "{report:#?}");
        let mut seen = vec![("report".to_owned(), without_time(&report.stdout).into_bytes())];
        seen.extend(self.store.iter().map(|store| ("digest".to_owned(), digest(store).into_bytes())));
        let mut files: Vec<PathBuf> =
            fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files.iter().filter(|path| path.is_file()) {
            let name = file.file_name().unwrap().to_str().unwrap();
            assert!(!name.ends_with(".partial"), "{name} is left over");
            seen.push((name.to_owned(), fs::read(file).unwrap()));
        }
        seen
    }
}

pub(crate) fn without_time(report: &str) -> String {
    report.lines().filter(|line| !line.starts_with("seconds")).map(|line| format!("{line}\n")).collect()
}

#[track_caller]
fn assert_same(seen: &[(String, Vec<u8>)], expected: &[(String, Vec<u8>)], what: &str) {
    for ((name, seen), (expected_name, expected)) in seen.iter().zip(expected) {
        assert_eq!(name, expected_name, "{what}");
        if seen != expected {
            let [seen, expected] = [seen, expected].map(|bytes| String::from_utf8_lossy(bytes));
            let differs = seen.lines().zip(expected.lines()).find(|(seen, expected)| seen != expected);
            panic!("{what}: {name} differs, of {} and {} bytes, at {differs:?}", seen.len(), expected.len());
        }
    }
    assert_eq!(seen.len(), expected.len(), "{what}");
}

/// Kills a job `n_kills` times, each at a random moment after it has reached a place, and lets it
/// end. Returns the number of kills before its end.
fn kill_and_finish(job: &Job, n_kills: usize, n_documents: usize, random: &mut Random) -> usize {
    let mut n_killed = 0;
    for i in 0..n_kills {
        // Evenly over the whole job, and not before the last place.
        let target = (n_documents * i + random.below(n_documents)) / n_kills;
        let mut child = job.spawn();
        while child.try_wait().unwrap().is_none() && job.n_read() < target as u64 {
            pause();
        }
        thread::sleep(Duration::from_micros(random.below(8_000) as u64));
        child.kill().unwrap();
        n_killed += usize::from(!child.wait().unwrap().success());
    }
    n_killed
}

/// For every format, `dedup` in both orders with its index in memory, and `index`: after any kills,
/// the results equal those of an undisturbed job, to the byte.
#[test]
fn killed_at_random_moments() {
    const N: usize = 1_000;
    // One packed format and one of columns stand for all at every twentieth of the job; the others
    // at every sixth.
    const STAND_FOR_ALL: [&str; 2] = ["corpus.jsonl.gz", "corpus.parquet"];
    let place = tempfile::tempdir().unwrap();
    let mut random = Random(8);
    let mut figures = Figures::default();
    let mut n_spawned = 0;
    for name in corpora(place.path(), N) {
        let corpus = place.path().join(&name).to_str().unwrap().to_owned();
        // The second pass reads like the only one.
        let stands_for_all = STAND_FOR_ALL.contains(&&*name);
        let n_kills = if stands_for_all { 20 } else { 6 };
        let by_length = stands_for_all.then_some("dedup --keep longest");
        for what in ["dedup", "index"].into_iter().chain(by_length) {
            let job = |kind: &str| {
                let (name, checkpoints) = (
                    format!("{kind} {what} {name}"),
                    ["--segmenter", "words", "--checkpoint-records", CHECKPOINT_RECORDS],
                );
                match what {
                    "dedup" => Job::dedup(place.path(), &name, &corpus, &checkpoints),
                    "dedup --keep longest" => {
                        let more = [&["--keep", "longest"], &checkpoints[..]].concat();
                        Job::dedup(place.path(), &name, &corpus, &more)
                    }
                    _ => Job::new(
                        place.path(),
                        &name,
                        &corpus,
                        &[&[what, "--store", "STORE"], &checkpoints[..]].concat(),
                    ),
                }
            };
            let expected = job("whole").finish();
            let killed = job("killed");
            figures.faults += kill_and_finish(&killed, n_kills, N, &mut random) as u64;
            n_spawned += n_kills as u64;
            let finished = figures.round(|| killed.finish());
            figures.acknowledged += N as u64;
            assert_same(&finished, &expected, &format!("{what} {name}"));
            // The same command again changes nothing and reports the same.
            assert_same(&killed.finish(), &expected, &format!("{what} {name}, once more"));
        }
    }
    figures.end("journals killed, and gone on with");
    let n_killed = figures.faults;
    assert!(n_killed >= n_spawned / 2, "only {n_killed} of {n_spawned} runs were killed before their end");
}

/// In an index that outlives the run, the killed run has written documents later than the
/// checkpoint. They must not count as earlier ones: neither as originals of duplicates, nor as
/// older texts of an id.
#[test]
fn killed_with_an_index_that_stays() {
    let place = tempfile::tempdir().unwrap();
    // Few words a text make chains: a near b, b near c, a far from c.
    let chain = |random: &mut Random, n: usize| -> String {
        let mut text: Vec<String> = (0..60).map(|i| format!("word{}", (n / 40 * 7 + i) % 500)).collect();
        for _ in 0..random.below(4) {
            let place = random.below(text.len());
            text[place] = format!("other{}", random.below(6));
        }
        text.join(" ")
    };
    let lines = |texts: &[String], id: &dyn Fn(usize) -> usize| -> String {
        let line = |(n, text)| format!("{}\n", json!({ "id": format!("{:05}", id(n)), "text": text }));
        texts.iter().enumerate().map(line).collect()
    };
    let outputs = ["--output", "kept.jsonl", "--duplicates", "dropped.jsonl"];
    let by_length = [&outputs[..], &["--keep", "longest"]].concat();
    // Several calls of the store between two checkpoints: `dedup` puts at most 2,048 documents into
    // one, and `index` 10,000.
    for (what, name, outputs, n_documents) in [
        ("dedup", "dedup", &outputs[..], 5_000),
        ("dedup", "dedup by length", &by_length, 5_000),
        ("index", "index", &[], 25_000),
    ] {
        let mut random = Random(9);
        let texts: Vec<String> = (0..n_documents).map(|n| chain(&mut random, n)).collect();
        let [before, corpus] =
            ["before", "corpus"].map(|part| place.path().join(format!("{part} of {name}.jsonl")));
        fs::write(&corpus, lines(&texts, &|n| n * 7919 % n_documents)).unwrap();
        // Some ids are in the index already, for other texts.
        fs::write(&before, lines(&texts[..n_documents / 5], &|n| n * 3)).unwrap();
        let checkpoint_records = (n_documents - 100).to_string();
        let job = |kind: &str| {
            let args = [
                &[what, "--store", "STORE", "--segmenter", "words"][..],
                &["--checkpoint-records", &checkpoint_records][..],
                outputs,
            ];
            let name = format!("{kind} {name}");
            let job = Job::new(place.path(), &name, corpus.to_str().unwrap(), &args.concat());
            let store = job.store.as_deref().unwrap();
            let args = ["index", "-q", "--store", store, "--segmenter", "words", before.to_str().unwrap()];
            run("indexer", args).expect(0);
            job
        };
        let expected = job("whole").finish();
        let report = String::from_utf8_lossy(&expected[0].1);
        assert!(
            !report.lines().any(|line| line.starts_with("unchanged") && line.ends_with(" 0")),
            "{report}"
        );
        let killed = job("killed");
        (2..=3).for_each(|n_decided| killed.kill_once_decided(n_decided));
        assert_same(&killed.finish(), &expected, what);
    }
}

/// Returns the number of complete frames in a log.
fn n_frames(path: &Path) -> usize {
    let (bytes, mut place) = (fs::read(path).unwrap_or_default(), 12);
    for n in 0.. {
        // After the head.
        let Some(len) = bytes.get(place..place + 4) else { return n };
        place += 8 + u32::from_be_bytes(len.try_into().unwrap()) as usize;
        if place > bytes.len() {
            return n;
        }
    }
    unreachable!("a file has an end")
}
