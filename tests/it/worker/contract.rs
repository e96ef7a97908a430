//! The worker keeps to the description that it serves, as Schemathesis sees it: requests made from the description, good
//! and bad, alone and in a row, and every answer held against it.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::keys::{add_key, key_file};
use crate::support::{Worker, root};

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
    assert_eq!(n_tested, Some("12"), "{said}");
}

/// A Python that has Schemathesis; none where it cannot be had and [`REQUIRED`] is not set, with a line on stderr.
fn python() -> Option<PathBuf> {
    installed()
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

/// Made once for each version of the requirements, under `target/`.
fn installed() -> Result<PathBuf, String> {
    let requirements = files().join("requirements.txt");
    let wanted = fs::read(&requirements).unwrap();
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schemathesis");
    let python = place.join("bin/python");
    if fs::read(place.join("requirements.txt")).is_ok_and(|there| there == wanted) {
        return Ok(python);
    }
    // Beside its place, to be moved there when it is whole. A virtual environment that moves keeps its `python`, if not
    // its scripts.
    let made = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    run(Command::new("python3").args(["-m", "venv"]).arg(made.path()))?;
    run(Command::new(made.path().join("bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(&requirements))?;
    fs::write(made.path().join("requirements.txt"), wanted).unwrap();
    fs::remove_dir_all(&place).unwrap_or(());
    fs::rename(made.keep(), &place).unwrap();
    Ok(python)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("no python3: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    // `venv` says on stdout what is missing.
    let said = [output.stdout, output.stderr].concat();
    Err(String::from_utf8_lossy(&said).trim().to_owned())
}

fn files() -> PathBuf {
    root().join("tests/it/worker/contract")
}
