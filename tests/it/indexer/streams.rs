//! Records that arrive while the run goes on: each is decided when it comes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};

use crate::support::{command, run, until};

/// Starts a program that reads from a pipe.
fn start(args: &[&str]) -> (Child, ChildStdin) {
    let mut child = command("indexer", args).stdin(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take().unwrap();
    (child, input)
}

const LINES: [&str; 3] = [
    "{\"id\": \"a\", \"text\": \"The harbour office closes at noon on Fridays, and opens on Monday.\"}\n",
    "{\"id\": \"b\", \"text\": \"The harbour office closes at noon on Fridays, and opens on Monday!\"}\n",
    "{\"id\": \"c\", \"text\": \"A ferry to the islands leaves every hour from the second pier.\"}\n",
];

/// A line comes out although its writer waits for it before the next one, and holds the pipe open.
#[test]
fn a_filter_hands_on_each_line() {
    let (mut filter, mut input) = start(&["dedup", "-q", "-", "--output", "-"]);
    let mut output = BufReader::new(filter.stdout.take().unwrap());
    let mut next = || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line
    };
    let [a, b, c] = LINES;
    input.write_all(a.as_bytes()).unwrap();
    assert_eq!(next(), a);
    // A duplicate, and half a line, hold up nothing.
    let again = a.replace("\"a\"", "\"d\"");
    let (half, rest) = again.split_at(20);
    input.write_all(format!("{b}{c}{half}").as_bytes()).unwrap();
    assert_eq!(next(), c);
    input.write_all(rest.as_bytes()).unwrap();
    drop(input);
    assert_eq!(next(), "");
    assert!(filter.wait().unwrap().success());
}

/// An error ends the run although the writer holds the pipe open and sends nothing more.
#[test]
fn an_error_does_not_wait_for_the_writer() {
    let (mut filter, mut input) = start(&["dedup", "-q", "-", "--output", "-"]);
    for n in 0..1_100 {
        input.write_all(format!("{{\"id\": {n}, \"content\": \"no text\"}}\n").as_bytes()).unwrap();
    }
    until(|| filter.try_wait().unwrap().is_some());
    assert_eq!(filter.wait().unwrap().code(), Some(2));
    drop(input);
}

/// Fingerprints come out, and documents into the index, while the writer waits.
#[test]
fn other_commands_do_not_wait_either() {
    let (mut program, mut input) = start(&["fingerprint", "-q", "-"]);
    input.write_all(LINES[0].as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("a\t"), "{line}");
    drop(input);
    assert!(program.wait().unwrap().success());

    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").display());
    let (mut program, mut input) = start(&["index", "-q", "-", "--store", &store]);
    input.write_all(LINES[0].as_bytes()).unwrap();
    until(|| {
        let text = "The harbour office closes at noon on Fridays, and opens on Monday.";
        let found = run("pigeonhole", ["query", "--store", &store, text]);
        // Before the program has made the index there is none.
        found.code == Some(0) && found.stdout.lines().any(|line| line.ends_with("\ta"))
    });
    drop(input);
    assert!(program.wait().unwrap().success());
}
