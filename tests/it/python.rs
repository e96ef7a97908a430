//! The Python package: its wheel, built here, with the package's own tests and type checks.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::support::{SHORT_LIVED, Suite, root, run_command, venv};

/// The wheel, the source distribution, and a Python with the wheel and with all libraries that its
/// tests use.
struct Built {
    wheel: PathBuf,
    source: PathBuf,
    python: PathBuf,
}

/// Builds what is released, for this machine, and installs the wheel, once a process.
fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let requirements = root().join("crates/python/tests/requirements.txt");
        let python = venv("python", &requirements).unwrap_or_else(|why| panic!("no Python: {why}"));
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let mut build = Command::new(root().join("deploy/release"));
        build.current_dir(root()).args(["wheels", "host"]);
        build.env("PROFILE", "dev").env("CARGO_TARGET_DIR", target);
        let mut path = python.parent().unwrap().as_os_str().to_owned();
        path.extend([OsStr::new(":"), &std::env::var_os("PATH").unwrap_or_default()]);
        run_command(build.env("PATH", path)).expect(0);
        let made = files(&target.join("release-wheels"));
        let of = |end: &str| made.iter().find(|path| path.to_str().is_some_and(|path| path.ends_with(end)));
        let (Some(wheel), Some(source)) = (of(".whl"), of(".tar.gz")) else { panic!("{made:?}") };
        install(&python, wheel);
        Built { wheel: wheel.clone(), source: source.clone(), python }
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
    let mut pytest = module(python, "pytest");
    pytest.env("SPARK_SUBMIT_OPTS", SHORT_LIVED).args(cache).args(tests);
    let ran = run_command(&mut pytest).expect(0);
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

/// Lists the names in an archive, by a Python.
fn names(archive: &Path) -> Vec<String> {
    let code = "import sys, tarfile, zipfile; path = sys.argv[1]; \
                of = zipfile.ZipFile(path).namelist if path.endswith('.whl') else tarfile.open(path).getnames; \
                print('\\n'.join(of()))";
    let ran = run_command(Command::new("python3").args(["-c", code]).arg(archive)).expect(0);
    ran.stdout.lines().map(str::to_owned).collect()
}

/// The list of all crates is `deploy/licences.md`; C has its own texts.
#[test]
fn the_python_package_has_the_texts_of_all_licences() {
    if !Suite::Python.is_asked_for() {
        return;
    }
    let Built { wheel, source, .. } = built();
    let list = fs::read_to_string(root().join("deploy/licences.md")).unwrap();
    let row = |line: &str| {
        let (name, rest) = line.strip_prefix("| [")?.split_once(']')?;
        Some(format!("/{name}-{}/", rest.split('|').nth(1)?.trim()))
    };
    let crates: Vec<String> = list.lines().filter_map(row).collect();
    assert!(crates.len() > 200);
    for archive in [wheel, source] {
        let names = names(archive);
        let missing: Vec<_> =
            crates.iter().filter(|of| !names.iter().any(|name| name.contains(*of))).collect();
        assert!(missing.is_empty(), "{}: {missing:?}", archive.display());
        for text in ["lmdb-libraries-liblmdb-LICENSE", "zstd-LICENSE", "LICENSE-BoringSSL"] {
            assert!(names.iter().any(|name| name.ends_with(text)), "{}: {text}", archive.display());
        }
    }
    let is_bill = |name: &String| name.ends_with(".cyclonedx.json");
    assert!(names(wheel).iter().any(is_bill), "no list of the crates");
}

/// A new folder has all that cargo asks for; to build it takes as long as the package itself.
#[test]
fn the_source_of_the_python_package_is_whole() {
    if !Suite::Python.is_asked_for() {
        return;
    }
    let fresh = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut unpack = Command::new("tar");
    run_command(unpack.arg("-xzf").arg(&built().source).arg("-C").arg(fresh.path())).expect(0);
    let [folder] = &files(fresh.path())[..] else { panic!("one folder") };
    let mut check = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Without members that are not in it, so the lock file is not as it was.
    check.current_dir(folder).args(["metadata", "--offline", "--format-version", "1"]);
    let ran = run_command(check.args(["--manifest-path", "crates/python/Cargo.toml"])).expect(0);
    assert!(ran.stdout.contains("pigeonhole-engine"));
}
