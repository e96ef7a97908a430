//! Concurrent runs of the indexer on one index, and a worker beside them. Each chain of texts has
//! its first text in one run and the rest in another.
//!
//! Each text of a chain is near only the next one. If the first keeps the second out, the third
//! stays.

use std::fs;
use std::path::Path;
use std::process::Child;

use serde_json::{Value, json};

use crate::support::{History, Random, Worker, command, json_lines};

const N_CHAINS: usize = 500;

/// The number of words in a text, and the number changed in the next text of its chain.
const N_WORDS: usize = 80;
const N_CHANGED: usize = 6;

/// Returns two files of JSON Lines. The first texts of the chains are in the two files by turns.
fn chains(seed: u64) -> [String; 2] {
    let mut random = Random(seed);
    let mut word = || -> String { (0..6).map(|_| char::from(b'a' + random.below(26) as u8)).collect() };
    let mut files = [String::new(), String::new()];
    for chain in 0..N_CHAINS {
        let mut words: Vec<String> = (0..N_WORDS).map(|_| word()).collect();
        for link in 0..4 {
            let file = (chain + usize::from(link > 0)) % 2;
            files[file] += &json_lines([(&*format!("{chain}-{link}"), &*words.join(" "))]);
            let changed = words.iter_mut().skip(link * 2 * N_CHANGED).take(N_CHANGED);
            changed.for_each(|changed| *changed = word());
        }
    }
    files
}

/// A running deduplication and its outputs.
struct Run {
    child: Child,
    kept: String,
    dropped: String,
}

fn dedup(folder: &Path, n: usize, store: &str, input: &str, more: &[&str]) -> Run {
    let at = |name: &str| folder.join(format!("{name}-{n}")).to_str().unwrap().to_owned();
    let [input_path, kept, dropped, journal] = ["input", "kept", "dropped", "journal"].map(at);
    fs::write(&input_path, input).unwrap();
    let args =
        ["dedup", "-q", "--store", store, "--output", &kept, "--duplicates", &dropped, "--format", "jsonl"];
    let more = more.iter().map(|&arg| if arg == "JOURNAL" { &*journal } else { arg });
    let child = command("indexer", args.into_iter().chain(more).chain([&*input_path])).spawn().unwrap();
    Run { child, kept, dropped }
}

impl Run {
    fn finish(self, history: &mut History) {
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        history.kept(&fs::read_to_string(&self.kept).unwrap());
        history.dropped(&fs::read_to_string(&self.dropped).unwrap());
    }
}

/// Makes an index, so that runs do not wait for each other to make it, and returns its URL.
fn index_in(folder: &Path) -> String {
    let store = format!("embedded:{}", folder.join("index").display());
    engine::Engine::open(&store, &engine::Options::default()).unwrap();
    store
}

/// Deduplicates two files at once, each with its options, and checks the history.
fn check(options: [&[&str]; 2], seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let store = index_in(folder.path());
    let (mut history, files) = (History::default(), chains(seed));
    files.iter().for_each(|file| history.came(file));
    let runs = [0, 1].map(|n| dedup(folder.path(), n, &store, &files[n], options[n]));
    runs.into_iter().for_each(|run| run.finish(&mut history));
    history.check(&store);
}

const JOURNAL: &[&str] = &["--journal", "JOURNAL"];

#[test]
fn of_deduplications_with_journals() {
    check([JOURNAL, JOURNAL], 1);
    check([JOURNAL, &[]], 2);
    check([&["--journal", "JOURNAL", "--keep", "longest"], JOURNAL], 3);
}

#[test]
fn of_deduplications_that_replace() {
    let replace: &[&str] = &["--known-ids", "replace"];
    check([replace, replace], 4);
    check([replace, &["--known-ids", "compare", "--journal", "JOURNAL"]], 5);
}

#[test]
fn of_collectors() {
    let folder = tempfile::tempdir().unwrap();
    let store = index_in(folder.path());
    let (mut history, files) = (History::default(), chains(6));
    files.iter().for_each(|file| history.came(file));
    let collectors = [0, 1].map(|n| {
        let [incoming, results] =
            ["incoming", "results"].map(|name| folder.path().join(format!("{name}-{n}")));
        fs::create_dir(&incoming).unwrap();
        let file = incoming.join("a.jsonl");
        fs::write(&file, &files[n]).unwrap();
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        fs::File::options().write(true).open(&file).unwrap().set_modified(long_ago).unwrap();
        let [incoming, results] = [incoming, results].map(|path| path.to_str().unwrap().to_owned());
        let args =
            ["--watch", &incoming, "--results", &results, "--store", &store, "--once", "--duplicates", "-q"];
        (command("indexer", ["collect"].iter().chain(&args)).spawn().unwrap(), results)
    });
    for (collector, results) in collectors {
        let output = collector.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        for file in crate::collect::files_in(Path::new(&results)) {
            let lines = fs::read_to_string(Path::new(&results).join(&file)).unwrap();
            if file.starts_with("_duplicates/") { history.dropped(&lines) } else { history.kept(&lines) }
        }
    }
    history.check(&store);
}

/// A posted batch is decided in one call of the store, and nothing of it beforehand.
#[test]
fn of_a_worker_and_a_deduplication() {
    let folder = tempfile::tempdir().unwrap();
    let store = index_in(folder.path());
    let (mut history, files) = (History::default(), chains(7));
    files.iter().for_each(|file| history.came(file));
    let worker = Worker::start(&store, &[]);
    let run = dedup(folder.path(), 0, &store, &files[0], JOURNAL);
    let lines: Vec<&str> = files[1].lines().collect();
    for lines in lines.chunks(100) {
        let (status, answers) = worker.post_lines("/v1/documents:batch", lines.join("\n").as_bytes());
        assert_eq!(status, 200, "{answers:?}");
        for (line, answer) in lines.iter().zip(&answers) {
            let record: Value = serde_json::from_str(line).unwrap();
            let id = record["id"].as_str().unwrap();
            if answer["outcome"] == json!("duplicate") {
                history.is_dropped(id, answer["duplicate_of"]["id"].as_str().unwrap());
            } else {
                assert_eq!(answer["outcome"], "inserted", "{answer}");
                history.is_kept(id);
            }
        }
    }
    run.finish(&mut history);
    history.check(&store);
}
