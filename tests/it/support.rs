//! Paths of the programs, their runs and results, and corpora for the tests.

mod browser;
mod door;
mod figures;
mod gate;
mod hbase;
mod hbase_cluster;
mod hbase_shell;
mod hdfs;
mod history;
mod kerberos;
mod limited;
mod log;
mod ports;
mod python;
mod redis;
mod s3;
mod suite;
mod worker;

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use simhash::Distance;

pub(crate) use browser::{BROWSER, Browser, Engine, browser, key};
pub(crate) use door::Door;
pub(crate) use figures::Figures;
pub(crate) use gate::{Gate, Mood};
pub(crate) use hbase::{Foreground, Hbase, HbaseOfAReader, SHORT_LIVED, alone, hbase};
pub(crate) use hbase_cluster::{HbaseCluster, hbase_cluster};
pub(crate) use hdfs::{Hdfs, hdfs};
pub(crate) use history::History;
pub(crate) use kerberos::Kerberos;
pub(crate) use limited::limited;
pub(crate) use log::Log;
pub(crate) use ports::free_ports;
pub(crate) use python::venv;
pub(crate) use redis::{DURABLE, Redis, redis};
pub(crate) use s3::{S3, open_s3, s3};
pub(crate) use suite::{ASK, Suite};
pub(crate) use worker::Worker;

pub(crate) fn apart(n_bits: u32) -> Distance {
    Distance::new(n_bits).unwrap()
}

/// The root of the checkout.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the workspace")
}

/// The corpus that ships with the project.
pub(crate) fn news() -> PathBuf {
    root().join("tests/data/news.jsonl")
}

/// Returns the path of a program; for a test, cargo builds no binaries of other packages by itself.
pub(crate) fn program(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let test = std::env::current_exe().expect("a running test has a file");
        let folder = test.ancestors().nth(2).expect("cargo runs tests from target/PROFILE/deps");
        let profile = folder.file_name().and_then(OsStr::to_str).expect("cargo's folders have plain names");
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // With the examples, the features of the dependencies are those of
        // `cargo test --workspace`, and nearly everything is built already.
        build.current_dir(root()).args(["build", "--locked", "--workspace", "--bins", "--examples"]);
        build.arg("--target-dir").arg(folder.parent().expect("a profile's folder lies in the target folder"));
        build.args(["--profile", if profile == "debug" { "dev" } else { profile }]);
        let built = build.output().expect("cargo runs, since it runs this test");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        folder.to_owned()
    });
    folder.join(name)
}

/// Builds programs with a non-default feature, and returns their folder, which is a separate one
/// because the programs of the default build have the same names.
pub(crate) fn programs_with(feature: &str, names: &[&str]) -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a file");
    let target = test.ancestors().nth(3).expect("cargo runs tests from target/PROFILE/deps");
    let folder = target.join(feature);
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // From 1.91 on, cargo builds shared dependencies in this folder. The example gives the
    // dependencies the features of the tests.
    build.current_dir(root()).env("CARGO_BUILD_BUILD_DIR", target);
    build.args(["build", "--locked", "--workspace", "--example", "rows", "--target-dir"]).arg(&folder);
    for name in names {
        build.args(["--bin", name, "--features", &format!("{name}/{feature}")]);
    }
    run_command(&mut build).expect(0);
    folder.join("debug")
}

/// Exit status and output of a program.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Checks the exit status and returns the run.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

/// Runs a program to its end with nothing on stdin.
pub(crate) fn run<A: AsRef<OsStr>>(name: &str, args: impl IntoIterator<Item = A>) -> Run {
    run_with_input(name, args, b"")
}

pub(crate) fn run_with_input<A: AsRef<OsStr>>(
    name: &str,
    args: impl IntoIterator<Item = A>,
    input: &[u8],
) -> Run {
    let mut child = command(name, args).stdin(Stdio::piped()).spawn().expect("the program was built");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let output = std::thread::scope(|scope| {
        // A program may close its input unread.
        scope.spawn(move || stdin.write_all(input).unwrap_or(()));
        child.wait_with_output().expect("the program can be waited for")
    });
    let text = |bytes| String::from_utf8(bytes).expect("the programs print UTF-8");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs a command to its end with nothing on stdin.
pub(crate) fn run_command(command: &mut Command) -> Run {
    let output = command.stdin(Stdio::null()).output().expect("the command is there");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Flags for comparisons with simhash distances: the index takes every proposed pair.
pub(crate) const CLASSIC: [&str; 4] = ["--profile", "classic", "--verify", "off"];

/// Sends a signal, as `-TERM`, to a child.
pub(crate) fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill(1) runs");
    assert!(sent.success());
}

/// Returns a command of a program with piped output, without settings from this environment.
pub(crate) fn command<A: AsRef<OsStr>>(name: &str, args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(program(name));
    without_settings(&mut command);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Keeps the `PIGEONHOLE_` variables of this process from a child.
pub(crate) fn without_settings(command: &mut Command) {
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("PIGEONHOLE_") {
            command.env_remove(variable);
        }
    }
}

/// Waits until `is_so` returns true. Panics after two minutes.
#[track_caller]
pub(crate) fn until(is_so: impl FnMut() -> bool) {
    until_within(Duration::from_secs(120), is_so);
}

/// Waits until `is_so` returns true. Panics after `limit`.
#[track_caller]
pub(crate) fn until_within(limit: Duration, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < limit, "this takes too long");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sleeps for a fifth of a millisecond, between two looks at the work of another process. A loop
/// without it takes one of two processors from the process that it waits for.
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_micros(200));
}

/// Returns JSON Lines of `(id, text)`.
pub(crate) fn json_lines<'a>(documents: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    documents.into_iter().map(|(id, text)| format!("{}\n", json!({ "id": id, "text": text }))).collect()
}

/// A small and reproducible generator: splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Returns a corpus of `n` documents as JSON Lines: sentences of the shipped corpus in random
/// order. One in five is a light edit of an earlier document.
pub(crate) fn made_up_corpus(n: usize, seed: u64) -> String {
    let news = std::fs::read_to_string(news()).expect("the corpus ships with the project");
    let sentences: Vec<String> = news
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("the shipped corpus is JSON Lines"))
        .filter(|record| record["note"] == "original")
        .flat_map(|record| {
            let text = record["text"].as_str().expect("texts are strings").to_owned();
            text.split_inclusive(['。', '.']).map(|s| s.trim().to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let mut random = Random(seed);
    let mut texts: Vec<String> = Vec::new();
    for i in 0..n {
        let text = if i > 0 && random.below(5) == 0 {
            format!("{} 编号{}", texts[random.below(i)], random.below(1000))
        } else {
            (0..12)
                .map(|_| format!("{} {} ", sentences[random.below(sentences.len())], random.below(100_000)))
                .collect()
        };
        texts.push(text);
    }
    let ids: Vec<String> = (0..n).map(|i| format!("made-up/{i}")).collect();
    json_lines(ids.iter().map(String::as_str).zip(texts.iter().map(String::as_str)))
}

/// Returns the matches of a worker's answer without the times of insertion, which differ by store.
pub(crate) fn matches(answer: &Value) -> Option<Vec<Value>> {
    let mut matches = answer["matches"].as_array()?.clone();
    for found in &mut matches {
        let time = found.as_object_mut().unwrap().remove("inserted_at");
        assert!(time.is_some_and(|time| time.is_string()), "{answer}");
    }
    Some(matches)
}

/// Returns the content of a sealed JSON file of a job or a collector, or `None` without the file.
pub(crate) fn unsealed(path: &Path) -> Option<Value> {
    let sealed: Value = serde_json::from_slice(&std::fs::read(path).ok()?).expect("it is whole");
    Some(sealed["content"].clone())
}

/// Returns a sealed file of this content, with its checksum.
pub(crate) fn sealed(content: &Value) -> String {
    let content = content.to_string();
    let crc32 = crc32fast::hash(content.as_bytes());
    format!(r#"{{"format":2,"crc32":"{crc32:08x}","content":{content}}}"#)
}

/// Returns the digest from `pigeonhole info --digest`.
pub(crate) fn digest(store: &str) -> String {
    let info = run("pigeonhole", ["info", "--store", store, "--digest"]).expect(0).stdout;
    let line = info.lines().find(|line| line.starts_with("digest")).expect("info prints a digest");
    line.split_whitespace().last().expect("the line is not empty").to_owned()
}

/// Returns the kept lines of `dedup`.
pub(crate) fn kept(store: &str, scheme: &str, corpus: &str) -> String {
    let output = tempfile::NamedTempFile::new().unwrap();
    let path = output.path().to_str().unwrap();
    let flags = ["--scheme", scheme, "--texts", "zstd", "--force", "--output", path];
    run("indexer", [&["dedup", "-q", "--store", store, corpus][..], &flags].concat()).expect(0);
    std::fs::read_to_string(path).unwrap()
}
