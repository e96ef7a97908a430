//! The worker conforms to the description that it serves, by Schemathesis: valid and invalid
//! requests made from the description, alone and in sequence, with every answer checked.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::keys::{add_key, key_file};
use crate::support::{Suite, Worker, root, venv};

/// Requests made for each operation in each phase: enough for all faults found so far, in less than
/// a minute.
const EXAMPLES: &str = "100";

/// The time limit of an answer, in seconds.
const ANSWER_MAX: &str = "60";

#[test]
fn the_worker_keeps_to_its_description() {
    if !Suite::Contract.is_asked_for() {
        return;
    }
    let python = venv("schemathesis", &files().join("requirements.txt"));
    let python = python.unwrap_or_else(|why| panic!("there is no Schemathesis: {why}"));
    // Schemathesis leaves files in its working folder.
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    let key = add_key(&file, "contract", "read,write,admin", "");
    let worker = Worker::start("memory:", &["--keys", file.to_str().unwrap()]);
    let mut schemathesis = Command::new(python);
    schemathesis.args(["-m", "schemathesis.cli", "--config-file"]).arg(files().join("schemathesis.toml"));
    schemathesis.arg("run").arg(format!("{}/openapi.json", worker.base()));
    schemathesis.args(["--seed", "1", "--generation-deterministic"]);
    schemathesis.args(["--max-examples", EXAMPLES, "--request-timeout", ANSWER_MAX]);
    schemathesis.args(["--header", &format!("Authorization:Bearer {key}")]);
    schemathesis.args(["--no-color", "--output-truncate", "false", "--warnings", "off"]);
    schemathesis.env("SCHEMATHESIS_HOOKS", "hooks").env("PYTHONPATH", files());
    schemathesis.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(&folder).stdin(Stdio::null());
    let output = schemathesis.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    // A run that tested nothing succeeds as well.
    let n_tested = said.lines().find_map(|line| line.trim().strip_prefix("Tested: "));
    assert_eq!(n_tested, Some("14"), "{said}");
}

fn files() -> PathBuf {
    root().join("tests/it/worker/contract")
}
