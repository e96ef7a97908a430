//! Files that a run leaves when it is ended in the middle.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{command, made_up_corpus, run_with_input, until};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    entries.map(|name| name.into_string().unwrap()).collect()
}

/// Starts a run that waits for more of its input, with a partial file for each output.
fn waiting(folder: &Path) -> Child {
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (kept, dups, report) = (at("kept.jsonl"), at("dups.parquet"), at("report.html"));
    let outputs = ["--output", &kept, "--duplicates", &dups, "--report", &report];
    let mut child = command("indexer", [&["dedup", "-q", "-"], &outputs[..]].concat())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(made_up_corpus(50, 3).as_bytes()).unwrap();
    until(|| names(folder).len() == 3);
    child
}

#[test]
fn a_signal_takes_partial_files_along_and_a_kill_leaves_them_to_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    for (signal, number) in [("-INT", 2), ("-TERM", 15)] {
        let child = waiting(folder.path());
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(number), "{output:?}");
        assert_eq!(names(folder.path()), [""; 0], "{signal}");
    }
    let mut child = waiting(folder.path());
    child.kill().unwrap();
    child.wait().unwrap();
    let left = names(folder.path());
    assert!(left.iter().all(|name| name.starts_with('.') && name.ends_with(".partial")), "{left:?}");
    let kept = folder.path().join("kept.jsonl");
    let next = ["dedup", "-q", "-", "--output", kept.to_str().unwrap()];
    let said = run_with_input("indexer", next, made_up_corpus(50, 3).as_bytes()).expect(0).stderr;
    let of_kept = left.iter().find(|name| name.starts_with(".kept.jsonl.")).unwrap();
    assert!(said.contains(&format!("{of_kept}, which a killed run has left")), "{said}");
    assert!(!names(folder.path()).contains(of_kept));
}
