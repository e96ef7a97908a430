//! The Python package: its wheel, built here, with the package's own tests and type checks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::support::{Suite, root, run_command, venv};

/// The wheel and a Python with it and with all libraries that its tests use.
struct Built {
    wheel: PathBuf,
    python: PathBuf,
}

/// Builds the wheel and installs it, once a process.
fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let requirements = root().join("crates/python/tests/requirements.txt");
        let python = venv("python", &requirements).unwrap_or_else(|why| panic!("no Python: {why}"));
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let wheels = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap().keep();
        let mut build = Command::new(&python);
        build.current_dir(root()).args(["-m", "maturin", "build", "--locked", "--profile", "dev", "--strip"]);
        build.args(["--manifest-path", "crates/python/Cargo.toml", "--interpreter"]).arg(&python);
        build.arg("--target-dir").arg(target).arg("--out").arg(&wheels);
        run_command(&mut build).expect(0);
        let [wheel] = &files(&wheels)[..] else { panic!("{:?}", files(&wheels)) };
        install(&python, wheel);
        Built { wheel: wheel.clone(), python }
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn install(python: &Path, wheel: &Path) {
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall"]);
    run_command(install.arg(wheel)).expect(0);
}

/// Returns a command of a built Python, in the folder of the package's tests.
fn module(python: &Path, name: &str) -> Command {
    let mut command = Command::new(python);
    command.current_dir(root().join("crates/python")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.args(["-m", name]);
    command
}

#[test]
fn the_python_package_passes_its_own_tests() {
    if !Suite::Python.is_asked_for() {
        return;
    }
    let Built { python, .. } = built();
    let cache = ["-p", "no:cacheprovider"];
    // Doctests are those of the installed package: the folder of its source has no native half.
    let tests = ["--quiet", "--doctest-modules", "tests", "--pyargs", "pigeonhole"];
    let ran = run_command(module(python, "pytest").args(cache).args(tests)).expect(0);
    assert!(ran.stdout.contains(" passed") && !ran.stdout.contains("skipped"), "{}", ran.stdout);
}

#[test]
fn the_python_package_is_typed() {
    if !Suite::Python.is_asked_for() {
        return;
    }
    let Built { python, .. } = built();
    run_command(module(python, "mypy").args(["--cache-dir", "/dev/null"])).expect(0);
}

/// In an environment without any other package.
#[test]
fn the_python_wheel_needs_nothing_else() {
    if !Suite::Python.is_asked_for() {
        return;
    }
    let Built { wheel, .. } = built();
    let fresh = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    run_command(Command::new("python3").args(["-m", "venv"]).arg(fresh.path())).expect(0);
    let python = fresh.path().join("bin/python");
    install(&python, wheel);
    let code = "import pigeonhole as ph; r = ph.dedup(['a text', 'A text!', 'b'], result='full'); \
                print(r.kept, r.pairs[0]['a'], r.clusters[1]['cluster'], ph.Index('memory:').info()['documents'])";
    let ran = run_command(Command::new(&python).current_dir(fresh.path()).args(["-c", code])).expect(0);
    assert_eq!(ran.stdout, "['a text', 'b'] 0 0 0\n");
    let ran = run_command(Command::new(fresh.path().join("bin/indexer")).arg("--version")).expect(0);
    assert!(ran.stdout.starts_with("indexer "), "{}", ran.stdout);
}
