//! The files in `deploy/` agree with each other and with the programs. No container engine runs
//! here: files for an engine are checked against its schemas or given to its own parser, and their
//! commands run as processes.

mod commands;
mod compose;
mod images;
mod invocation;
mod kubernetes;
mod monitoring;
mod release;
mod start_script;
mod systemd;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::support::{Suite, root, run, venv};

fn path(name: &str) -> PathBuf {
    root().join("deploy").join(name)
}

#[track_caller]
fn text(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("deploy/{name}: {error}"))
}

/// Returns all files for readers here, without the HBase of developers, which has tests of its own.
fn files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root().join("deploy")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap().path();
            if entry == path("hbase") {
                files.extend(
                    fs::read_to_string(entry.join("README.md")).map(|text| ("hbase/README.md".into(), text)),
                );
            } else if entry.is_dir() {
                folders.push(entry);
            } else if let Ok(text) = fs::read_to_string(&entry) {
                let name = entry.strip_prefix(root().join("deploy")).unwrap();
                files.push((name.to_str().unwrap().to_owned(), text));
            }
        }
    }
    files.sort();
    files
}

/// Returns a Python with packages for the formats; `None` unless the suite is selected.
#[track_caller]
fn python(what: &str) -> Option<&'static Path> {
    static PYTHON: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    if !Suite::Deploy.is_asked_for() {
        return None;
    }
    let made = PYTHON.get_or_init(|| venv("deploy", &root().join("tests/it/deploy/requirements.txt")));
    Some(made.as_deref().unwrap_or_else(|why| panic!("{what} cannot be tested: {why}")))
}

/// Runs `check.py`, which must succeed.
#[track_caller]
fn check<A: AsRef<OsStr>>(python: &Path, asked: &str, args: impl IntoIterator<Item = A>) -> String {
    let mut command = Command::new(python);
    command.env("PYTHONDONTWRITEBYTECODE", "1").arg(root().join("tests/it/deploy/check.py")).arg(asked);
    stdout(command.args(args))
}

/// Returns the documents of a YAML file.
#[track_caller]
fn yaml(python: &Path, name: &str) -> Vec<Value> {
    serde_json::from_str(&check(python, "documents", [path(name)])).unwrap()
}

/// Returns the output of a tool, which must succeed.
#[track_caller]
fn stdout(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(status.success(), "{command:?}\n{}{}", text(&stdout), text(&stderr));
    text(&stdout)
}

/// Returns true if the suite is selected, and requires a program of this name then.
#[track_caller]
fn is_there(program: &str, what: &str) -> bool {
    if !Suite::Deploy.is_asked_for() {
        return false;
    }
    let found = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    found.unwrap_or_else(|error| panic!("{what} cannot be tested: no {program}: {error}"));
    true
}

/// Returns the longest time, in seconds, that a worker with these arguments takes to stop.
fn stop_seconds<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> u64 {
    let help =
        run("query-worker", ["--help"]).expect(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let more = help.split_once("A stop takes up to ").expect("the help says how long a stop takes").1;
    let more: u64 = more.split(' ').next().unwrap().parse().unwrap();
    let args = args.into_iter().map(|arg| arg.as_ref().to_owned()).chain(["--print-config".into()]);
    let settings = run("query-worker", args).expect(0).stdout;
    let setting = |name: &str| -> u64 {
        let line = settings.lines().find_map(|line| line.strip_prefix(name)).expect(&settings);
        line.trim_start_matches(" = ").split(' ').next().unwrap().parse().unwrap()
    };
    setting("drain-seconds") + setting("grace-seconds") + more
}

/// Returns the number of seconds of a text like `45s`.
fn seconds(text: &str) -> u64 {
    let (minutes, rest) = text.split_once('m').unwrap_or(("0", text));
    let rest = rest.trim_end_matches('s');
    minutes.parse::<u64>().unwrap() * 60 + if rest.is_empty() { 0 } else { rest.parse().unwrap() }
}

/// Returns the strings of an array.
#[track_caller]
fn words(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    list.iter().map(|word| word.as_str().unwrap_or_else(|| panic!("no string: {word}")).to_owned()).collect()
}
