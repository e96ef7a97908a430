//! The worker keeps to the description that it serves, as Schemathesis sees it: requests made from the description, good
//! and bad, alone and in a row, and every answer held against it.

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::keys::{add_key, key_file};
use crate::support::{Worker, root, venv};

/// Set to 1 where the test must not pass because Schemathesis is missing, as in CI.
const REQUIRED: &str = "PIGEONHOLE_REQUIRE_SCHEMATHESIS";

/// Requests made for each operation in each phase: enough to have found what was wrong so far, in less than a minute.
const EXAMPLES: &str = "100";

/// How long an answer may take, in seconds.
const ANSWER_MAX: &str = "10";

#[test]
fn the_worker_keeps_to_its_description() {
    let Some(python) = python() else { return };
    // It leaves files in the folder that it runs in.
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
    assert_eq!(n_tested, Some("13"), "{said}");
}

/// A Python that has Schemathesis; none where it cannot be had and [`REQUIRED`] is not set, with a line on stderr.
fn python() -> Option<PathBuf> {
    venv("schemathesis", &files().join("requirements.txt"))
        .map_err(|why| {
            let required = std::env::var_os(REQUIRED).is_some_and(|value| value == OsStr::new("1"));
            assert!(!required, "{REQUIRED}=1, and there is no Schemathesis: {why}");
            let line =
                format!("skipped the test of the API's description ({REQUIRED}=1 requires it): {why}\n");
            // Past the capture of the test harness, which would keep it to itself.
            std::io::stderr().write_all(line.as_bytes()).unwrap();
        })
        .ok()
}

fn files() -> PathBuf {
    root().join("tests/it/worker/contract")
}
