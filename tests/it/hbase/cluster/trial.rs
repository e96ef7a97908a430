//! An index on the cluster under load, searches and insertions while a fault occurs, and the checks
//! of its final state.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{n_cells, n_index_rows};
use crate::support::{
    Figures, HbaseCluster, Random, Worker, command, digest, json_lines, made_up_corpus, matches, news, run,
    until_within,
};

/// The number of documents of the load.
const N: usize = 12_000;

/// The number of groups of near-duplicates. Each of two jobs has one document of each.
const N_GROUPS: usize = 300;

/// The limit of every wait here.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(240);

/// The input of the load, and its result without faults.
struct Expected {
    folder: TempDir,
    digest: String,
    n_index_rows: usize,
    n_documents: usize,
    groups: [String; 2],
}

fn expected() -> &'static Expected {
    static EXPECTED: OnceLock<Expected> = OnceLock::new();
    EXPECTED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let corpus = folder.path().join("corpus.jsonl");
        fs::write(&corpus, made_up_corpus(N, 23)).unwrap();
        let store = format!("embedded:{}", folder.path().join("index").display());
        let (news, corpus) = (news(), corpus.to_str().unwrap());
        run("indexer", ["index", "-q", "--store", &store, news.to_str().unwrap(), corpus]).expect(0);
        let info = run("pigeonhole", ["info", "--store", &store]).expect(0).stdout;
        let line = info.lines().find(|line| line.starts_with("documents")).unwrap();
        let n_documents = line.split_whitespace().last().unwrap().parse().unwrap();
        let (digest, n_index_rows) = (digest(&store), n_index_rows(&store));
        Expected { folder, digest, n_index_rows, n_documents, groups: groups() }
    })
}

/// Returns the same texts twice, with different last words, in two orders.
fn groups() -> [String; 2] {
    let mut random = Random(29);
    let texts: Vec<Vec<String>> = (0..N_GROUPS)
        .map(|_| (0..40).map(|_| format!("{:06x}", random.next() & 0xff_ffff)).collect())
        .collect();
    [("a", 7), ("b", 11)].map(|(name, step)| {
        let order = (0..N_GROUPS).map(|i| i * step % N_GROUPS);
        let documents: Vec<_> =
            order.map(|i| (format!("{name}/{i}"), format!("{} {name}", texts[i].join(" ")))).collect();
        json_lines(documents.iter().map(|(id, text)| (id.as_str(), text.as_str())))
    })
}

/// An index with documents, open in a worker.
pub(super) struct Trial {
    cluster: &'static HbaseCluster,
    table: &'static str,
    worker: Worker,
    /// Each query with the status of its answer and the ids in it.
    queries: Vec<(Value, (u16, Vec<Value>))>,
}

impl Trial {
    /// Makes tables of this name, and others beside them for the insertions, then runs `script` in
    /// HBase's shell.
    pub(super) fn new(cluster: &'static HbaseCluster, table: &'static str, script: &str) -> Self {
        let create = |more: &str| {
            format!("ENV.update('TABLE' => '{table}{more}', 'REGIONS' => '4')\nload 'schema/create.rb'\n")
        };
        let script = [&create(""), &create("_race"), script].concat();
        cluster.hbase.shell_text(&format!("create_{table}"), &script).expect(0);
        let (store, news) = (cluster.url(table), news());
        run("indexer", ["index", "-q", "--store", &store, news.to_str().unwrap()]).expect(0);
        let worker = Worker::start(&store, &[]);
        let texts = fs::read_to_string(news).unwrap();
        let query = |line| {
            let query =
                json!({ "text": serde_json::from_str::<Value>(line).unwrap()["text"], "limit": 1000 });
            let expected = ask(&worker, &query);
            assert!([200, 422].contains(&expected.0), "{expected:?}");
            (query, expected)
        };
        let queries: Vec<_> = texts.lines().map(query).collect();
        assert!(queries.iter().any(|(_, (_, found))| found.len() > 1));
        Self { cluster, table, worker, queries }
    }

    /// Runs `fault` in the middle of a load, searches and insertions, checks the result, and
    /// returns the number of failed searches. Unless `is_patient`, the load may fail, and is run
    /// again then. `name` is that of the fault.
    pub(super) fn check(&self, name: &str, is_patient: bool, fault: &(dyn Fn(&Searches) + Sync)) -> usize {
        let (mut figures, begun) = (Figures { faults: 1, ..Figures::default() }, Instant::now());
        let expected = expected();
        let (store, race) = (self.cluster.url(self.table), self.cluster.url(&format!("{}_race", self.table)));
        let corpus = expected.folder.path().join("corpus.jsonl");
        let kept = ["a", "b"].map(|side| expected.folder.path().join(format!("{}-{side}.jsonl", self.table)));
        let index = ["index", "-q", "--store", &store];
        let mut jobs = vec![Job::start(&[&index[..], &["-"]].concat())];
        for output in &kept {
            let dedup =
                ["dedup", "-q", "--force", "--store", &race, "--output", output.to_str().unwrap(), "-"];
            jobs.push(Job::start(&dedup));
        }
        let inputs = [&fs::read_to_string(&corpus).unwrap(), &expected.groups[0], &expected.groups[1]];
        let is_over = AtomicBool::new(false);
        let searches = Searches { n_answered: AtomicUsize::new(0), n_failed: AtomicUsize::new(0) };
        let outcomes = thread::scope(|scope| {
            // Dropped in a panic too, so that all threads end.
            let over = Over(&is_over);
            let (sender, in_the_middle) = channel();
            let stdins: Vec<_> = jobs.iter_mut().map(|job| job.stdin.take().unwrap()).collect();
            for (stdin, input) in stdins.into_iter().zip(inputs) {
                let (sender, is_over) = (sender.clone(), &is_over);
                scope.spawn(move || feed(stdin, input, &sender, is_over));
            }
            for first in 0..2 {
                let (searches, is_over) = (&searches, &is_over);
                scope.spawn(move || self.search(first, searches, is_over));
            }
            in_the_middle.iter().take(jobs.len()).for_each(drop);
            let docs = format!("{}_docs", self.table);
            until_within(WAIT_MAX, || n_cells(self.cluster.hbase.gateway, &docs) > N / 8);
            fault(&searches);
            searches.wait_for_more(50);
            drop(over);
            jobs.into_iter().map(|job| job.child.wait_with_output().unwrap()).collect::<Vec<_>>()
        });
        let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
        for (n, outcome) in outcomes.iter().enumerate() {
            let may_fail = n == 0 && !is_patient;
            assert!(outcome.status.success() || may_fail, "job {n}: {}", said(outcome));
        }
        if !outcomes[0].status.success() {
            assert!(said(&outcomes[0]).contains("enable"), "{}", said(&outcomes[0]));
            run("indexer", [&index[..], &[corpus.to_str().unwrap()]].concat()).expect(0);
        }
        self.look(&store, &race, &kept);
        // Two jobs with one document of each group each, the load, and the searches.
        figures.rounds = (3 + searches.n_answered.into_inner()) as u64;
        figures.acknowledged = (expected.n_documents + N_GROUPS) as u64;
        figures.hung = u64::from(begun.elapsed() > WAIT_MAX);
        figures.end(&format!("HBase under load, {name}"));
        searches.n_failed.into_inner()
    }

    /// Repeats the queries. An answer may fail, but must not differ from the first one.
    fn search(&self, first: usize, searches: &Searches, is_over: &AtomicBool) {
        for (query, expected) in self.queries.iter().cycle().skip(first * self.queries.len() / 2) {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let answer = ask(&self.worker, query);
            if answer.0 == 503 {
                searches.n_failed.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(100));
            } else {
                assert_eq!(answer, *expected, "{query}");
                searches.n_answered.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Checks that every document is there, once, and nothing else.
    fn look(&self, store: &str, race: &str, kept: &[PathBuf]) {
        let (expected, gateway) = (expected(), self.cluster.hbase.gateway);
        assert_eq!(digest(store), expected.digest);
        assert_eq!(n_cells(gateway, self.table), expected.n_index_rows);
        // A record and a text of each document, and the metadata.
        assert_eq!(n_cells(gateway, &format!("{}_docs", self.table)), 2 * expected.n_documents + 1);
        run("pigeonhole", ["verify", "-q", "--store", store]).expect(0);
        let kept: Vec<_> = kept.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        let group = |line: &str| {
            let record: Value = serde_json::from_str(line).unwrap();
            record["id"].as_str().unwrap().split('/').nth(1).unwrap().to_owned()
        };
        let kept: Vec<String> = kept.iter().flat_map(|lines| lines.lines().map(group)).collect();
        assert_eq!(kept.len(), N_GROUPS, "of each group one is kept");
        assert_eq!(kept.iter().collect::<BTreeSet<_>>().len(), N_GROUPS);
        let info = run("pigeonhole", ["info", "--digest", "--store", race]).expect(0).stdout;
        assert!(info.contains(&format!("documents     {N_GROUPS}\n")), "{info}");
    }
}

/// Returns the status of an answer, and the ids of original documents in it.
fn ask(worker: &Worker, query: &Value) -> (u16, Vec<Value>) {
    let (status, answer) = worker.post("/v1/query", query);
    let is_old = |id: &Value| id.as_str().is_some_and(|id| !id.starts_with("made-up/"));
    let found = matches(&answer).unwrap_or_default();
    let mut ids: Vec<_> = found.iter().map(|found| found["id"].clone()).filter(is_old).collect();
    ids.sort_by_key(Value::to_string);
    (status, ids)
}

/// Counts of searches so far.
pub(super) struct Searches {
    n_answered: AtomicUsize,
    n_failed: AtomicUsize,
}

impl Searches {
    /// Waits for `n` more answers.
    pub(super) fn wait_for_more(&self, n: usize) {
        let n = self.n_answered.load(Ordering::Relaxed) + n;
        until_within(WAIT_MAX, || self.n_answered.load(Ordering::Relaxed) >= n);
    }
}

/// A program that reads documents from its standard input.
struct Job {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Job {
    fn start(args: &[&str]) -> Self {
        let mut child = command("indexer", args).stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        Self { child, stdin }
    }
}

/// Writes a third at once, then portions until `is_over`, so that the job stays busy, then the
/// rest.
fn feed(mut stdin: ChildStdin, input: &str, in_the_middle: &Sender<()>, is_over: &AtomicBool) {
    // A job that has ended reads no more; its exit is checked elsewhere.
    let mut write = |lines: &[&str]| stdin.write_all(lines.concat().as_bytes()).unwrap_or(());
    let lines: Vec<_> = input.split_inclusive('\n').collect();
    let (first, rest) = lines.split_at(lines.len() / 3);
    write(first);
    in_the_middle.send(()).unwrap_or(());
    for portion in rest.chunks(rest.len().div_ceil(300)) {
        write(portion);
        if !is_over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(200));
        }
    }
}

/// Sets the flag when dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
