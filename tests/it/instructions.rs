//! Instructions of twelve jobs of the programs, and of their start, counted by Valgrind and held
//! against the counts in `bench/instructions/counts.toml`. Time on a shared machine says little,
//! and a count the same everywhere.

mod counts;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

use self::counts::{Count, Counts};
use crate::support::{Suite, limited, program, root, run, run_command, sealed, unsealed};

/// The reason for new counts, which are written then.
const UPDATE: &str = "PIGEONHOLE_UPDATE_INSTRUCTIONS";

/// The share by which a count may differ, in percent.
const PERCENT_MAX: u64 = 3;

/// A job: its name, the job whose instructions are taken off its own, as both have them, and the
/// command. It runs in a folder of its own, beside the folder `in`.
type Job = (&'static str, Option<&'static str>, &'static [&'static str]);

/// What every program does before its first text: a thirtieth of it would hide a tenth of a job.
const START: &str = "start";
const START_WITH_WORDS: &str = "start-with-words";

/// A job whose documents are in files. When memory ends it depends on Valgrind's own, so the job
/// goes on from a checkpoint that says so.
const SPILLED: &str = "dedup-spilled";

const JOBS: [Job; 13] = [
    (START, None, &["indexer", "dedup", "../in/one.jsonl", "--output", "kept.jsonl"]),
    (START_WITH_WORDS, None, &["indexer", "fingerprint", "../in/one.jsonl"]),
    ("dedup-english", Some(START), &["indexer", "dedup", "../in/english.jsonl", "--output", "kept.jsonl"]),
    ("dedup-chinese", Some(START), &["indexer", "dedup", "../in/chinese.jsonl", "--output", "kept.jsonl"]),
    (
        "dedup-short-clusters-pairs",
        Some(START),
        &["indexer", "dedup", "../in/short.jsonl", "--clusters", "clusters.jsonl", "--pairs", "pairs.jsonl"],
    ),
    (
        SPILLED,
        Some(START),
        &[
            "indexer",
            "dedup",
            "../in/short.jsonl",
            "--output",
            "kept.jsonl",
            "--temp",
            ".",
            "--journal",
            "journal",
            "--checkpoint-records",
            "200",
        ],
    ),
    (
        "dedup-into-index",
        Some(START_WITH_WORDS),
        &["indexer", "dedup", "../in/chinese.jsonl", "--store", "embedded:index", "--output", "kept.jsonl"],
    ),
    ("fingerprint", Some(START_WITH_WORDS), &["indexer", "fingerprint", "../in/chinese.jsonl"]),
    (
        "index",
        Some(START),
        &[
            "indexer",
            "index",
            "../in/short.jsonl",
            "--store",
            "embedded:index",
            WORDS[0],
            WORDS[1],
            WORDS[2],
            WORDS[3],
        ],
    ),
    ("query", None, &["pigeonhole", "query", "--store", "embedded:../in/index", QUERY]),
    (
        "import",
        None,
        &[
            "indexer",
            "import",
            "../in/export.jsonl",
            "--store",
            "embedded:index",
            WORDS[0],
            WORDS[1],
            WORDS[2],
            WORDS[3],
        ],
    ),
    ("pairs", None, &["indexer", "pairs", "--store", "embedded:../in/index", "--output", "."]),
    (
        "reindex",
        None,
        &["indexer", "reindex", "embedded:../in/index", "embedded:index", "--profile", "minhash"],
    ),
];

/// A recipe without dictionaries, whose loading takes more than all else.
const WORDS: [&str; 4] = ["--segmenter", "words", "--weights", "uniform"];

const QUERY: &str = "the harbour office closes at noon on fridays and opens again at seven on mondays";

/// Commands of one thread, where they have threads.
fn is_threaded(command: &[&str]) -> bool {
    command[0] == "indexer" && !["pairs", "reindex"].contains(&command[1])
}

/// Bytes of each corpus.
const BYTES: &str = "300kB";

/// The folder of inputs, made by the programs from made-up texts.
fn make_inputs(folder: &Path) {
    fs::create_dir(folder).unwrap();
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    for kind in ["english", "chinese", "short"] {
        let texts = run("pigeonhole", ["bench", "--print-texts", kind, "--bytes", BYTES]).expect(0).stdout;
        fs::write(at(&format!("{kind}.jsonl")), texts).unwrap();
    }
    let short = fs::read_to_string(at("short.jsonl")).unwrap();
    fs::write(at("one.jsonl"), format!("{}\n", short.lines().next().unwrap())).unwrap();
    let store = format!("embedded:{}", at("index"));
    let args = ["index", "-q", "--store", &store, "--threads", "1", &at("short.jsonl")];
    run("indexer", args.into_iter().chain(WORDS)).expect(0);
    run("indexer", ["export", "-q", "--store", &store, "--output", &at("export.jsonl")]).expect(0);
}

/// Begins the job beyond its memory, which a small limit on files ends after some checkpoints, and
/// has the last one say that the documents are in files.
fn begin_spilled(place: &Path) {
    let folder = place.join(SPILLED);
    fs::create_dir(&folder).unwrap();
    let (.., words) = JOBS.into_iter().find(|(name, ..)| *name == SPILLED).unwrap();
    let words = [&words[1..], &["-q", "--threads", "1"]].concat();
    let ended = run_command(limited("-f 400", "indexer", &words).current_dir(&folder)).expect(2);
    assert!(ended.stderr.contains("File too large"), "{}", ended.stderr);
    let path = folder.join("journal/checkpoint.json");
    let mut checkpoint = unsealed(&path).unwrap();
    assert!((1..1_000).contains(&checkpoint["n_read"].as_u64().unwrap()), "{checkpoint}");
    checkpoint["command"]["is_spilled"] = true.into();
    fs::write(path, sealed(&checkpoint)).unwrap();
}

/// Runs a job under Valgrind and returns its instructions. `file` takes them function by function.
fn instructions(place: &Path, name: &str, words: &[&str], file: &Path) -> u64 {
    let folder = place.join(name);
    fs::create_dir_all(&folder).unwrap();
    let mut job = Command::new("valgrind");
    // Other names in the environment are of other lengths.
    job.current_dir(&folder).env_clear().envs([("PATH", "/usr/bin:/bin"), ("HOME", "/")]);
    job.args(["--tool=cachegrind", "--cache-sim=no", "--branch-sim=no"]);
    job.arg(format!("--cachegrind-out-file={}", file.display()));
    job.arg(program(words[0]));
    job.args(&words[1..]);
    if words[0] == "indexer" {
        job.arg("-q");
    }
    if is_threaded(words) {
        job.args(["--threads", "1"]);
    }
    let done = run_command(&mut job).expect(0);
    assert_eq!(name == SPILLED, done.stderr.contains("files in . take about"), "{}", done.stderr);
    fs::remove_dir_all(&folder).unwrap();
    let count = Regex::new(r"I +refs: +([0-9,]+)").unwrap();
    let count = count.captures(&done.stderr).unwrap_or_else(|| panic!("no count in {}", done.stderr));
    count[1].replace(',', "").parse().unwrap()
}

/// Where the counts of functions go, for `cg_annotate`.
fn functions(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(3).unwrap().join("instructions");
    fs::create_dir_all(&folder).unwrap();
    folder.join(format!("{name}.out"))
}

/// The first line of what a command says.
fn said_by(program: impl AsRef<OsStr>, flag: &str) -> String {
    let said = run_command(Command::new(program).arg(flag)).expect(0).stdout;
    said.lines().next().unwrap_or_default().to_owned()
}

fn compiler() -> String {
    said_by(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()), "--version")
}

/// The commit that is checked out, or the version where there is none.
fn commit() -> String {
    let mut git = Command::new("git");
    let said = git.current_dir(root()).args(["rev-parse", "--short", "HEAD"]).output();
    let hash = said.ok().filter(|said| said.status.success()).map(|said| said.stdout);
    let hash = hash.map(|hash| String::from_utf8_lossy(&hash).trim().to_owned());
    hash.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned())
}

/// The verdict on a count, and a line that says it.
fn judged(name: &str, before: Option<&Count>, now: u64) -> (bool, String) {
    let Some(before) = before else {
        return (false, format!("{name}: {now}, and no count stands in the file"));
    };
    let change = (now as f64 / before.instructions as f64 - 1.0) * 100.0;
    let line = format!("{name}: {} → {now} ({change:+.2} %)", before.instructions);
    (!before.is_off(now, PERCENT_MAX), line)
}

/// Written past the capture of the test harness.
fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

#[test]
fn instructions_of_twelve_jobs_are_as_before() {
    if !Suite::Instructions.is_asked_for() {
        return;
    }
    let path = root().join("bench/instructions/counts.toml");
    let reason = std::env::var(UPDATE).ok();
    let mut counts = Counts::read(&path);
    let (compiler, valgrind) = (compiler(), said_by("valgrind", "--version"));
    let has_avx2 = fs::read_to_string("/proc/cpuinfo").unwrap_or_default().contains(" avx2 ");
    let place = tempfile::tempdir().unwrap();
    make_inputs(&place.path().join("in"));
    begin_spilled(place.path());
    let (mut wrong, mut all) = (String::new(), Vec::<(&str, u64)>::new());
    for (name, start, words) in JOBS {
        let file = functions(name);
        let of_start = start.and_then(|start| all.iter().find(|(name, _)| *name == start));
        let now = instructions(place.path(), name, words, &file) - of_start.map_or(0, |(_, n)| *n);
        let (is_so, line) = judged(name, counts.of(name), now);
        say(&line);
        if !is_so {
            writeln!(wrong, "{line}\n  by function: cg_annotate {}", file.display()).unwrap();
        }
        all.push((name, now));
    }
    if let Some(reason) = reason {
        counts.update(&all, PERCENT_MAX, reason.trim(), &commit(), (&compiler, &valgrind));
        counts.write(&path);
        return;
    }
    if counts.compiler != compiler || !has_avx2 {
        let here = if has_avx2 { &compiler } else { "a processor without AVX2" };
        say(&format!("not compared: the counts are of {}, and these of {here}", counts.compiler));
        return;
    }
    assert!(
        wrong.is_empty(),
        "{wrong}more than {PERCENT_MAX} % off. Mend what takes more, or write the new counts with the reason:\n\
         {UPDATE}='why it is so' PIGEONHOLE_TESTS=instructions cargo test -p pigeonhole-tests instructions"
    );
}

/// The file has each job, with a reason for each count, also where no suite runs.
#[test]
fn each_job_has_a_count_with_a_reason() {
    let counts = Counts::read(&root().join("bench/instructions/counts.toml"));
    assert_eq!(counts.jobs.len(), JOBS.len());
    for (name, ..) in JOBS {
        let count = counts.of(name).unwrap_or_else(|| panic!("{name} has no count"));
        assert!(count.instructions > 1_000_000 && !count.changes.is_empty(), "{name}");
        assert!(count.changes.iter().all(|change| change.contains(": ")), "{name}");
    }
    assert!(counts.compiler.starts_with("rustc 1."));
}

#[test]
fn counts_that_differ_by_more_are_refused() {
    let before = Count { instructions: 1_000_000, changes: Vec::new() };
    for (now, is_so) in
        [(1_000_000, true), (1_030_000, true), (1_031_000, false), (970_000, true), (969_000, false)]
    {
        assert_eq!(judged("a", Some(&before), now).0, is_so, "{now}");
    }
    assert!(!judged("a", None, 1).0);
}
