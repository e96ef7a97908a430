//! HBase's start script: each part is readable alone, and the script runs from any place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use regex::Regex;

use super::images::copy_context;
use super::invocation::help;
use super::{is_there, path, stdout, text};
use crate::support::{free_ports, root, without_settings};

const PART_LINES_MAX: usize = 200;
const FUNCTION_LINES_MAX: usize = 30;
const COLUMNS_MAX: usize = 120;

/// The part with the shared variables.
const STATE: &str = "lib/state.sh";

/// The variable with the script's folder, known before the parts are found.
const PLACE: &str = "here";

/// A file of the script.
struct Part {
    name: String,
    text: String,
    functions: Vec<Function>,
}

struct Function {
    name: String,
    /// The lines from the name to the last brace.
    lines: Vec<String>,
}

impl Part {
    fn read(name: &str) -> Self {
        let text = text(&format!("hbase/{name}"));
        let start = Regex::new(r"^(\w+)\(\) \{").unwrap();
        let mut functions: Vec<Function> = Vec::new();
        let mut is_inside = false;
        for line in text.lines() {
            if let Some(found) = start.captures(line) {
                assert!(!is_inside, "{name}: {line}");
                functions.push(Function { name: found[1].to_owned(), lines: Vec::new() });
                is_inside = true;
            }
            if is_inside {
                functions.last_mut().unwrap().lines.push(line.to_owned());
                is_inside = line != "}" && !(line.ends_with(" }") && start.is_match(line));
            }
        }
        assert!(!is_inside, "{name}: a function has no end");
        Self { name: name.to_owned(), text, functions }
    }

    fn code(&self) -> impl Iterator<Item = &str> {
        self.text.lines().map(without_comment)
    }
}

impl Function {
    fn code(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|line| without_comment(line))
    }
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') { "" } else { line.split(" # ").next().unwrap() }
}

/// Returns the parts in the order in which the script sources them; the script itself is the last.
fn parts() -> Vec<Part> {
    let source = Regex::new(r#"(?m)^source "\$here/(.*)"$"#).unwrap();
    let script = text("hbase/hbase");
    let names = source.captures_iter(&script).map(|found| found[1].to_owned());
    names.chain(["hbase".to_owned()]).map(|name| Part::read(&name)).collect()
}

#[test]
fn parts_are_sourced_and_short() {
    let parts = parts();
    let sourced: Vec<_> = parts.iter().map(|part| part.name.clone()).collect();
    let in_folder = fs::read_dir(path("hbase/lib")).unwrap();
    let mut there: Vec<_> =
        in_folder.map(|file| format!("lib/{}", file.unwrap().file_name().to_str().unwrap())).collect();
    there.push("hbase".to_owned());
    assert_eq!(sourced.iter().collect::<BTreeSet<_>>(), there.iter().collect());
    assert_eq!(sourced.len(), there.len(), "a part is sourced twice: {sourced:?}");
    for Part { name, text, functions } in parts {
        let mut lines = text.lines();
        assert!(
            lines.next().is_some_and(|line| line == "# shellcheck shell=bash" || name == "hbase"),
            "{name}"
        );
        assert!(lines.next().is_some_and(|line| line.starts_with("# ")), "{name} does not say what it holds");
        let n_lines = text.lines().count();
        assert!(n_lines <= PART_LINES_MAX, "{name} has {n_lines} lines: look for the second noun");
        for line in text.lines() {
            assert!(line.chars().count() <= COLUMNS_MAX, "{name} has a line that is too long: {line}");
        }
        for function in functions {
            let n_lines = function.lines.len();
            assert!(n_lines <= FUNCTION_LINES_MAX, "{name}: {} has {n_lines} lines", function.name);
        }
    }
}

/// A part is readable with the parts before it, and without those after it.
#[test]
fn parts_call_only_what_is_before_them() {
    let parts = parts();
    let mut place_of = BTreeMap::new();
    for (place, part) in parts.iter().enumerate() {
        for function in &part.functions {
            let other = place_of.insert(function.name.as_str(), place);
            assert!(other.is_none(), "{} is in two parts", function.name);
        }
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut called = BTreeSet::new();
    for (place, part) in parts.iter().enumerate() {
        let words = part.code().flat_map(|line| {
            let body = line.split_once("() {").map_or(line, |(_, body)| body);
            body.split(|c| !is_part(c))
        });
        for word in words {
            let Some(place_of_called) = place_of.get(word) else { continue };
            let later = &parts[*place_of_called].name;
            assert!(*place_of_called <= place, "{} calls {word} of {later}, a later part", part.name);
            called.insert(word);
        }
    }
    let uncalled: Vec<_> = place_of.keys().filter(|name| !called.contains(*name)).collect();
    assert!(uncalled.is_empty() && called.len() > 50, "nothing calls {uncalled:?}");
}

/// Returns the variables that a line of a function sets. All names are lower-case.
fn assigned(line: &str) -> Vec<String> {
    let forms =
        r"(?:^|[\s;(])(?:([a-z_]+)(?:\[[^\]]*\])?\+?=|mapfile -t (\w+)|read -r ([\w ]+);|for (\w+) in)";
    let mut names = Vec::new();
    for found in Regex::new(forms).unwrap().captures_iter(line) {
        let found = found.iter().skip(1).flatten().flat_map(|found| found.as_str().split(' '));
        names.extend(found.map(str::to_owned));
    }
    names
}

/// Returns the variables that a line declares: at the margin for all parts, after `local` for its
/// function.
fn declared(line: &str) -> Vec<String> {
    let declaration = Regex::new(r"^(?:declare -r?A |readonly (?:-\w+ )?)?[a-z_]+=|\blocal ").unwrap();
    let Some(start) = declaration.find(line) else { return Vec::new() };
    let rest = if line.starts_with(' ') { &line[start.end()..] } else { line };
    rest.split_whitespace().map(|word| word.split('=').next().unwrap().to_owned()).collect()
}

#[test]
fn what_parts_share_is_declared_in_one_place() {
    let parts = parts();
    let state = parts.iter().find(|part| part.name == STATE).expect("it is sourced");
    let shared: BTreeSet<_> = state.code().flat_map(declared).collect();
    assert!(shared.contains("setting") && shared.contains("timeout"), "{shared:?}");
    assert!(state.functions.is_empty(), "{STATE} only declares");
    for Part { name, text, functions } in parts.iter().filter(|part| part.name != STATE) {
        let at_margin = text.lines().filter(|line| !line.starts_with([' ', '#']));
        for line in at_margin.filter(|line| !line.starts_with("readonly ") && !declared(line).is_empty()) {
            assert!(line.starts_with(&format!("{PLACE}=")), "{name}: {line} belongs into {STATE}");
        }
        for function in functions {
            let local: BTreeSet<_> = function.code().flat_map(declared).collect();
            for variable in function.code().flat_map(assigned) {
                let is_known = shared.contains(&variable) || local.contains(&variable);
                let of = &function.name;
                assert!(is_known, "{name}: {of} sets {variable}, which is neither local nor in {STATE}");
            }
        }
    }
}

#[test]
fn shellcheck_finds_nothing() {
    if is_there("shellcheck", "the shell scripts") {
        let mut shellcheck = Command::new("shellcheck");
        // Together with the sourcing script, because parts read each other's variables.
        shellcheck.args([
            "--external-sources",
            "--check-sourced",
            "deploy/hbase/hbase",
            "deploy/release",
            ".ci/run",
            "bench/scale/run",
        ]);
        stdout(shellcheck.current_dir(root()));
    }
}

/// Before, every option that ended in `-port=` was accepted, such as `--foo-port=1`.
#[test]
fn options_that_it_does_not_know_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for unknown in
        ["--foo-port=1", "--foo-port", "--port-=1", "--cluster=1", "--dat=x", "--", "--=1", "-data", "-p"]
    {
        let mut command = Command::new(path("hbase/hbase"));
        without_settings(&mut command);
        let output = command.arg("--data").arg(folder.path()).args(["status", unknown]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(64), "{unknown}: {said}");
        assert_eq!(said, format!("hbase: unknown option {unknown}; see `hbase --help`\n"));
    }
}

/// A data folder, and a Java that does what a script says once it is asked for more than its
/// version.
struct Stub {
    folder: tempfile::TempDir,
    ports: [u16; 3],
}

impl Stub {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        for part in ["conf", "hbase", "logs", "run"] {
            fs::create_dir_all(data.join(part)).unwrap();
        }
        fs::write(data.join("settings"), "mode=standalone\nheap=2g\nmaster-port=16000\n").unwrap();
        fs::write(data.join("hbase/hbase.version"), "8").unwrap();
        // It is of the right version.
        let stub = format!(
            "#!/bin/sh\n[ \"$1\" != -version ] || {{ echo 'openjdk version \"17.0.1\"' >&2; exit 0; }}\n{script}\n"
        );
        let java = folder.path().join("jdk/bin/java");
        fs::create_dir_all(java.parent().unwrap()).unwrap();
        fs::write(&java, stub).unwrap();
        fs::set_permissions(&java, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder, ports: free_ports() }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts the server, and returns what the script says on the way to its failure.
    fn start(&self) -> String {
        let mut command = Command::new(path("hbase/hbase"));
        without_settings(&mut command);
        command.env("JAVA_HOME", self.folder.path().join("jdk"));
        command.arg("--data").arg(self.data()).args(["start", "server"]);
        for (name, port) in ["master", "regionserver", "zookeeper"].into_iter().zip(self.ports) {
            command.args([format!("--{name}-port"), port.to_string()]);
        }
        let output = command.args(["--timeout", "20"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        said
    }
}

/// Settings of an earlier `up`, and those found in `conf`, do not outlive a start with others.
#[test]
fn a_start_goes_by_what_it_is_told_now() {
    let stub = Stub::new("exit 1");
    fs::write(stub.data().join("conf/hbase-site.xml"), "of an older checkout").unwrap();
    let said = stub.start();
    assert!(said.contains("the server died; why is in"), "{said}");
    let master = stub.ports[0];
    let site = fs::read_to_string(stub.data().join("conf/hbase-site.xml")).unwrap();
    assert!(site.contains(&master.to_string()), "{site}");
    let settings = fs::read_to_string(stub.data().join("settings")).unwrap();
    assert!(settings.contains(&format!("master-port={master}\n")), "{settings}");
}

/// A master that gave up may leave its JVM hanging; the start does not wait for the others.
#[test]
fn a_start_ends_where_a_master_has_given_up() {
    let stub = Stub::new(
        "for argument; do case $argument in -Dpigeonhole.log=*) log=${argument#*=} ;; esac; done\n\
         echo \"$(date +%FT%T) ERROR ***** ABORTING master localhost,1,1: no disk *****\" >>\"$log\"\n\
         while :; do sleep 1; done",
    );
    let said = stub.start();
    let log = stub.data().canonicalize().unwrap().join("logs/server.log");
    assert!(said.contains(&format!("the server has given up; why is in {}", log.display())), "{said}");
    assert!(said.contains("no disk"), "{said}");
}

/// The script runs from a copy as in an image, below a folder with a space in its name, through
/// links.
#[test]
fn it_runs_from_any_place() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("a copy");
    let rules = fs::read_to_string(root().join(".dockerignore")).unwrap();
    assert!(copy_context(&rules, &path("hbase"), &copy) > 15);
    let elsewhere = folder.path().join("else where");
    fs::create_dir(&elsewhere).unwrap();
    symlink("../a copy/deploy/hbase/hbase", elsewhere.join("link")).unwrap();
    symlink("link", elsewhere.join("hbase")).unwrap();
    let said = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        without_settings(&mut command);
        command.args(args).current_dir(&elsewhere).output().unwrap()
    };
    for program in ["./hbase", "../a copy/deploy/hbase/hbase", elsewhere.join("link").to_str().unwrap()] {
        let shown = String::from_utf8(said(program, &["--help"]).stdout).unwrap();
        assert_eq!(Some(shown), help("hbase", None), "{program}");
        let status = said(program, &["status", "--data", "no data"]);
        assert_eq!(status.status.code(), Some(3), "{program}: {status:?}");
        let shown = String::from_utf8(status.stdout).unwrap();
        assert!(
            shown.starts_with("standalone HBase in ") && shown.contains("/else where/no data\n"),
            "{shown}"
        );
    }
}
