//! Control characters in names of files, ids and arguments do not reach a terminal.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::{command, program, run, run_with_input, without_settings};

/// Sets the title, begins a new line, turns red under C1, reverses the direction, and returns to
/// the start of the line.
const OBEYED: &str = "a\u{1b}]0;owned\u{7}\nindexer: all is well\u{9b}31m\u{202e}\r\u{7f}b";

/// The escaped form of `OBEYED`.
const SHOWN: &str = r"a\u001b]0;owned\u0007\nindexer: all is well\u009b31m\u202e\r\u007fb";

#[track_caller]
fn assert_safe(text: &str, what: &str) {
    let is_obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || c == '\u{202e}';
    assert!(!text.contains(is_obeyed), "{what}: {text:?}");
}

#[test]
fn messages_are_safe() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let [bad, watched, results, index] = [&format!("{OBEYED}.jsonl"), "watched", "results", "index"].map(at);
    fs::write(&bad, "{\"id\":\"1\",\"text\":\"a\"}\nno json\n").unwrap();
    fs::create_dir(&watched).unwrap();
    fs::write(format!("{watched}/{OBEYED}.unknown"), "").unwrap();
    let store = format!("embedded:{index}");
    run("indexer", ["index", "-q", "--store", &store, &bad]).expect(1);
    let missing = format!("embedded:{}", at(OBEYED));
    for (program, args) in [
        ("indexer", &["fingerprint", OBEYED][..]),
        ("indexer", &["fingerprint", &bad]),
        ("indexer", &["dedup", "--output", &at(&format!("nowhere/{OBEYED}")), &bad]),
        (
            "indexer",
            &["dedup", "--duplicates", &at("dups"), "--journal", &at(OBEYED), &bad, "--text-field", OBEYED],
        ),
        ("indexer", &["collect", "--once", "--watch", &watched, "--results", &results, "--store", &store]),
        ("pigeonhole", &["info", "--store", &missing]),
        ("pigeonhole", &["remove", "--store", &store, "--ids-from", &bad]),
        ("pigeonhole", &["remove", "--store", &store, "x\u{202e}"]),
        ("query-worker", &["--config", &at(OBEYED)]),
        ("query-worker", &["--check", "--store", &missing]),
    ] {
        let run = run(program, args);
        assert_safe(&run.stderr, &format!("{args:?}"));
        let begin = format!("{program}: ");
        let own =
            ["read ", "kept ", "fingerprinted ", "duplicates ", "no features ", "rejected ", "seconds "];
        for line in run.stderr.lines().filter(|line| !own.iter().any(|own| line.starts_with(own))) {
            assert!(line.starts_with(&begin) && !line.starts_with("indexer: all"), "{args:?}: {line:?}");
        }
    }
    let run_bad = run("indexer", ["fingerprint", &bad]).expect(1);
    assert!(run_bad.stderr.contains(&format!("{SHOWN}.jsonl:2: ")), "{}", run_bad.stderr);
    // Output for programs is exact.
    let id = "right\u{202e}left";
    let record = format!("{{\"id\":\"{id}\",\"text\":\"some words\"}}");
    let fingerprint = run_with_input("indexer", ["fingerprint", "-q", "-"], record.as_bytes()).expect(0);
    assert!(fingerprint.stdout.starts_with(&format!("{id}\t")), "{:?}", fingerprint.stdout);
}

#[test]
fn what_is_wrong_with_arguments_is_said_safely() {
    for name in ["indexer", "pigeonhole", "query-worker"] {
        let run = run(name, [format!("--{OBEYED}")]).expect(2);
        assert_safe(&run.stderr, name);
        assert!(
            run.stderr.starts_with(&format!("{name}: error: unexpected argument '--a")),
            "{}",
            run.stderr
        );
    }
}

/// Runs a program in a terminal.
fn in_terminal(args: &[&str]) -> Output {
    let quoted: Vec<String> = args[1..].iter().map(|arg| format!("'{arg}'")).collect();
    let line = format!("{} {}", program(args[0]).display(), quoted.join(" "));
    let mut script = Command::new("script");
    without_settings(&mut script);
    script.args(["-q", "-e", "-c", &line, "/dev/null"]).output().unwrap()
}

#[test]
fn results_are_safe_on_a_terminal() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join(OBEYED);
    fs::write(&file, "some words").unwrap();
    let corpus = place.path().join("corpus.jsonl");
    fs::write(&corpus, "{\"id\":\"x\u{202e}y\",\"text\":\"some words\"}\n").unwrap();
    let [file, corpus] = [file, corpus].map(|path| path.to_str().unwrap().to_owned());
    for (args, part) in [
        (&["pigeonhole", "compare", &file, "other words"][..], SHOWN),
        (&["indexer", "fingerprint", "-q", &corpus], r"x\u202ey"),
        (&["indexer", "dedup", "-q", "--output", "-", &corpus], r#""id":"x\u202ey""#),
    ] {
        let output = in_terminal(args);
        let shown = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
        assert!(output.status.success() && shown.contains(part), "{args:?}: {shown:?}");
        assert_safe(&shown, &format!("{args:?}"));
    }
}

#[test]
fn the_log_of_the_worker_is_safe() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join(OBEYED);
    let store = format!("embedded:{}", folder.to_str().unwrap());
    for format in ["text", "json"] {
        let args = ["--store", &store, "--create-index", "--listen", "127.0.0.1:0", "--log-format", format];
        let mut worker = command("query-worker", args).stdout(Stdio::null()).spawn().unwrap();
        let mut log = String::new();
        let mut lines = BufReader::new(worker.stderr.take().unwrap());
        while !log.contains("ready") {
            assert!(lines.read_line(&mut log).unwrap() > 0, "{log}");
        }
        worker.kill().unwrap();
        worker.wait().unwrap();
        assert_safe(&log, format);
        if format == "json" {
            let ready: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
            assert_eq!(ready["store"], store);
        } else {
            assert!(log.lines().all(|line| line.contains("INFO") || line.contains("WARN")), "{log}");
        }
    }
}
