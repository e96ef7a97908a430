//! The units: checked by systemd, and their commands run with the settings of the units.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use super::invocation::Invocation;
use super::{is_there, path, seconds, stdout, stop_seconds, text};
use crate::support::{command, news, program, run, until};

const UNITS: [&str; 2] = ["query-worker.service", "indexer-collect.service"];

/// The folder of the programs in the units.
const PROGRAMS: &str = "/usr/local/bin/";

/// The folder of all state in the units.
const STATE: &str = "/var/lib/pigeonhole";

/// The greatest exposure that `systemd-analyze security` may find, times ten; without protection it
/// is 96.
const EXPOSURE_MAX: &str = "20";

/// Returns the value of a setting in a unit.
fn setting(unit: &str, name: &str) -> Option<String> {
    let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix('=')?.to_owned());
    text(&format!("systemd/{unit}")).lines().rev().find_map(value)
}

/// Returns the command of a unit, and the variables of its environment.
fn started(unit: &str) -> (Vec<String>, Vec<(String, String)>) {
    let variables = text("systemd/collect.env");
    let variables =
        variables.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    let variables: Vec<_> = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut line = setting(unit, "ExecStart").unwrap();
    for (name, value) in &variables {
        line = line.replace(&format!("${{{name}}}"), value);
    }
    assert!(!line.contains('$'), "{unit}: nobody gives what {line} asks for");
    let takes = setting(unit, "EnvironmentFile").is_some();
    (line.split(' ').map(str::to_owned).collect(), if takes { variables } else { Vec::new() })
}

#[test]
fn systemd_finds_nothing() {
    if !is_there("systemd-analyze", "the units") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let programs = format!("{}/", program("indexer").parent().unwrap().display());
    for unit in UNITS {
        let text = text(&format!("systemd/{unit}"));
        assert!(text.contains(&format!("ExecStart={PROGRAMS}")));
        fs::write(folder.path().join(unit), text.replace(PROGRAMS, &programs)).unwrap();
    }
    for unit in UNITS {
        let verified = Command::new("systemd-analyze")
            .args(["verify", "--man=no", "--recursive-errors=no"])
            .arg(folder.path().join(unit))
            .output()
            .unwrap();
        // `systemd-analyze` may succeed and still complain.
        let said = String::from_utf8_lossy(&verified.stderr);
        let complaints: Vec<_> = said.lines().filter(|line| line.contains(unit)).collect();
        assert!(verified.status.success() && complaints.is_empty(), "{said}");
        let mut security = Command::new("systemd-analyze");
        security.args(["security", "--offline=yes", "--no-pager", "--threshold", EXPOSURE_MAX]);
        stdout(security.arg(folder.path().join(unit)));
    }
}

/// The user and the folders are made, in a root of their own.
#[test]
fn the_user_and_its_folders_are_made() {
    if !is_there("systemd-sysusers", "the user") || !is_there("systemd-tmpfiles", "the folders") {
        return;
    }
    let own = tempfile::tempdir().unwrap();
    assert_eq!(own.path().metadata().unwrap().uid(), 0, "only root may make the user and its folders");
    let root = format!("--root={}", own.path().display());
    fs::create_dir(own.path().join("etc")).unwrap();
    stdout(Command::new("systemd-sysusers").arg(&root).arg(path("systemd/pigeonhole.sysusers")));
    stdout(
        Command::new("systemd-tmpfiles").arg(&root).arg("--create").arg(path("systemd/pigeonhole.tmpfiles")),
    );
    let users = fs::read_to_string(own.path().join("etc/passwd")).unwrap();
    let user = users.lines().find(|line| line.starts_with("pigeonhole:")).expect(&users);
    let number: u32 = user.split(':').nth(2).unwrap().parse().unwrap();
    assert_eq!(user.split(':').nth(5), Some(STATE));
    let incoming = started(UNITS[1]).1.into_iter().find(|(name, _)| name == "WATCH").unwrap().1;
    for (folder, mode) in [(STATE, 0o750), (&incoming, 0o2770)] {
        let made = own.path().join(folder.trim_start_matches('/')).metadata().expect(folder);
        assert_eq!((made.uid(), made.gid(), made.mode() & 0o7777), (number, number, mode), "{folder}");
    }
    for unit in UNITS {
        assert_eq!(setting(unit, "User").as_deref(), Some("pigeonhole"));
        assert_eq!(format!("/var/lib/{}", setting(unit, "StateDirectory").unwrap()), STATE);
    }
}

#[test]
fn the_worker_knows_every_setting() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    let is_key = |name: &str| !name.is_empty() && name.bytes().all(|c| c.is_ascii_lowercase() || c == b'-');
    let mut names = Vec::new();
    let mut all = String::new();
    // With the settings that are commented out.
    for line in text("systemd/query-worker.toml").lines().map(|line| line.trim_start_matches("# ")) {
        if let Some((name, _)) = line.split_once(" = ").filter(|(name, _)| is_key(name)) {
            names.push(name.to_owned());
            all.push_str(&format!("{line}\n"));
        }
    }
    fs::write(&file, all).unwrap();
    let printed =
        run("query-worker", ["--config", file.to_str().unwrap(), "--print-config"]).expect(0).stdout;
    assert!(names.len() >= 8, "{names:?}");
    for name in names {
        let line = printed.lines().find(|line| line.starts_with(&format!("{name} = "))).expect(&printed);
        assert!(line.ends_with("settings.toml"), "{line}");
    }
    let (words, _) = started(UNITS[0]);
    assert_eq!(words[1..], ["--config", "/etc/pigeonhole/query-worker.toml"]);
}

#[test]
fn there_is_time_to_stop() {
    let file = path("systemd/query-worker.toml");
    let needed = stop_seconds(["--config", file.to_str().unwrap()]);
    let given = seconds(&setting(UNITS[0], "TimeoutStopSec").unwrap());
    assert!(given > needed, "a worker may take {needed} s, and is killed after {given}");
    for unit in UNITS {
        let (words, variables) = started(unit);
        Invocation::new(unit, &words, variables.into_iter().map(|(name, _)| name)).check();
    }
}

/// Sends SIGTERM and returns the exit status, which must come within the time of the unit.
fn stop(mut child: Child, unit: &str) -> i32 {
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let begun = Instant::now();
    let status = child.wait().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(seconds(&setting(unit, "TimeoutStopSec").unwrap())),
        "{unit}"
    );
    status.code().unwrap_or_else(|| panic!("{unit} died: {status}"))
}

/// Starts the command of a unit, with all state in a folder of the test.
fn start(unit: &str, state: &Path) -> Child {
    let (words, variables) = started(unit);
    let here = |text: &str| text.replace(STATE, state.to_str().unwrap());
    let settings = here(&text("systemd/query-worker.toml")).replace("127.0.0.1:8080", "127.0.0.1:0");
    fs::write(state.join("query-worker.toml"), settings).unwrap();
    let args = words[1..].iter().map(|word| here(&word.replace("/etc/pigeonhole", STATE)));
    let mut command = command(words[0].strip_prefix(PROGRAMS).unwrap(), args);
    command.envs(variables.iter().map(|(name, value)| (name, here(value)))).current_dir(state);
    command
        .stdout(Stdio::null())
        .stderr(File::create(state.join(format!("{unit}.log"))).unwrap())
        .spawn()
        .unwrap()
}

/// Both units run over one index, as in the settings.
#[test]
fn both_units_run_beside_each_other_and_stop() {
    let state = tempfile::tempdir().unwrap();
    fs::create_dir(state.path().join("incoming")).unwrap();
    let log = |unit: &str| fs::read_to_string(state.path().join(format!("{unit}.log"))).unwrap();
    let [worker, collector] = UNITS.map(|unit| start(unit, state.path()));
    let hidden = state.path().join("incoming/.news.jsonl");
    fs::copy(news(), &hidden).unwrap();
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
    File::options().append(true).open(&hidden).unwrap().set_modified(an_hour_ago).unwrap();
    fs::rename(hidden, state.path().join("incoming/news.jsonl")).unwrap();
    until(|| {
        state.path().join("items").read_dir().is_ok_and(|mut items| {
            items.any(|item| item.unwrap().file_name().to_string_lossy().starts_with("source="))
        })
    });
    until(|| log(UNITS[0]).contains("ready"));
    assert_eq!(stop(collector, UNITS[1]), 0, "{}", log(UNITS[1]));
    assert_eq!(stop(worker, UNITS[0]), 0, "{}", log(UNITS[0]));
    // A record of the corpus that cannot be read is no failure of the service either.
    assert_eq!(setting(UNITS[1], "SuccessExitStatus").as_deref(), Some("1"));
}
