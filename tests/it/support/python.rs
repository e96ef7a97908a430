//! Python packages for the tests, each set in a virtual environment of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the Python of an environment with these requirements, made once for each version of
/// them, under `target/`.
pub(crate) fn venv(name: &str, requirements: &Path) -> Result<PathBuf, String> {
    let wanted = fs::read(requirements).map_err(|error| error.to_string())?;
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let python = place.join("bin/python");
    if fs::read(place.join("requirements.txt")).is_ok_and(|there| there == wanted) {
        return Ok(python);
    }
    // Built beside its place, and moved there when complete. A virtual environment that moves keeps
    // its `python`, but not its scripts.
    let made = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    run(Command::new("python3").args(["-m", "venv"]).arg(made.path()))?;
    run(Command::new(made.path().join("bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(requirements))?;
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
    // `venv` reports missing packages on stdout.
    let said = [output.stdout, output.stderr].concat();
    Err(String::from_utf8_lossy(&said).trim().to_owned())
}
