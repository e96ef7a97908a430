//! Files as pandas, polars, pyarrow, DuckDB, Excel, Spark, crawlers and archivers write them, made
//! by `matrix/make.py`: each is read as the corpus that was written into it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Suite, root, run, run_command, venv};

/// A file of the matrix, as `cases.tsv` names it.
#[derive(Clone)]
struct Case {
    path: PathBuf,
    flags: String,
    corpus: String,
}

/// Returns the fingerprints of all documents in some files, or the complaint.
fn fingerprints(files: &[&Path], flags: &str) -> Result<Vec<String>, String> {
    let mut arguments: Vec<&str> = vec!["fingerprint", "-q"];
    arguments.extend(flags.split_whitespace());
    arguments.extend(files.iter().map(|path| path.to_str().unwrap()));
    let ran = run("indexer", arguments);
    match ran.code {
        Some(0) => Ok(ran.stdout.lines().map(|line| line.rsplit('\t').next().unwrap().to_owned()).collect()),
        _ => Err(ran.stderr),
    }
}

/// Returns the fingerprints in an order of their own: folders of several files have another order.
fn sorted(fingerprints: &[String]) -> Vec<String> {
    let mut sorted = fingerprints.to_vec();
    sorted.sort();
    sorted
}

#[test]
fn files_as_python_and_others_write_them_are_read_as_they_are() {
    if !Suite::Python.is_asked_for() {
        return;
    }
    let scripts = root().join("tests/it/reports/matrix");
    let python = venv("matrix", &scripts.join("requirements.txt")).unwrap_or_else(|why| panic!("{why}"));
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("files");
    run_command(Command::new(python).arg("-B").arg(scripts.join("make.py")).arg(&made)).expect(0);
    let listed = fs::read_to_string(made.join("cases.tsv")).unwrap();
    let cases = listed.lines().map(|line| {
        let [name, flags, corpus] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        Case { path: made.join(name), flags: flags.to_owned(), corpus: corpus.to_owned() }
    });
    let mut groups: BTreeMap<(String, String), Vec<Case>> = BTreeMap::new();
    for case in cases {
        groups.entry((case.corpus.clone(), case.flags.clone())).or_default().push(case);
    }
    let mut faults = Vec::new();
    let mut n_files = 0;
    for ((corpus, flags), cases) in groups {
        n_files += cases.len();
        let expected = sorted(&fingerprints(&[&made.join(format!("{corpus}.jsonl"))], "").unwrap());
        let is_right = |found: &Result<Vec<String>, String>, n: usize| {
            found.as_ref().is_ok_and(|found| {
                found.len() == n * expected.len()
                    && found.chunks(expected.len()).all(|part| sorted(part) == expected)
            })
        };
        // All files of a kind in one run, as users give them; one by one only to name a fault.
        let all: Vec<&Path> = cases.iter().map(|case| &*case.path).collect();
        if is_right(&fingerprints(&all, &flags), all.len()) {
            continue;
        }
        for path in all {
            let found = fingerprints(&[path], &flags);
            if !is_right(&found, 1) {
                faults.push(format!("{} {flags}: {found:?}", path.strip_prefix(&made).unwrap().display()));
            }
        }
        assert!(!faults.is_empty(), "the files of {corpus} {flags:?} are read otherwise together than alone");
    }
    assert!(n_files > 330, "{n_files} files");
    assert!(faults.is_empty(), "{} of {n_files} files are misread:\n{}", faults.len(), faults.join("\n"));
}
