//! A reader's environment: a folder like the checkout, the programs on the `PATH`, and a home
//! folder.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::MutexGuard;
use std::thread;
use std::time::{Duration, Instant};

use regex::Regex;
use tempfile::TempDir;

use super::blocks::Step;
use crate::support::{HbaseOfAReader, Redis, alone, free_ports, news, program, root, without_settings};

/// The time limit of a page. Clusters and shells of HBase start slowly on a busy machine.
const PAGE: Duration = Duration::from_secs(900);

/// The line before and after the output of a step.
const MARK: &str = "=-=-=-=";

/// A script in place of cargo: the programs are built already.
const CARGO: &str = r#"#!/bin/bash
case $1 in
  run)
    while [[ $1 != --bin && $1 != --example ]]; do shift; done
    folder=$PROGRAMS; [[ $1 == --bin ]] || folder=$PROGRAMS/examples
    name=$2; shift 2; [[ ${1-} != -- ]] || shift
    exec "$folder/$name" "$@" ;;
  test) ;; # this is what runs
  *) echo "cargo $1 is not for here" >&2; exit 1 ;;
esac
"#;

/// A script that writes the log of a service to a file.
const WORKER: &str = r#"#!/bin/bash
case $1 in
  --store | --config) exec "$PROGRAMS/query-worker" "$@" 2>>"$HOME/worker.log" ;;
  *) exec "$PROGRAMS/query-worker" "$@" ;;
esac
"#;

/// Settings of curl: wait until a service is up, and show refusals.
const CURL: &str = "silent\nfail-with-body\nretry = 60\nretry-delay = 1\nretry-connrefused\n";

/// The output of a step, on both of its streams.
pub(super) struct Said {
    /// `None` if the shell ended in this step.
    pub(super) status: Option<i32>,
    pub(super) text: String,
}

pub(super) struct Desk {
    /// Ends before its folder is deleted.
    hbase: HbaseOfAReader,
    _redis: Option<Redis>,
    folder: TempDir,
    /// Pairs of a port in the pages and the port that replaces it.
    ports: Vec<(&'static str, String)>,
    /// Other region servers give up one that gets no processor time for some seconds.
    _alone: Option<MutexGuard<'static, ()>>,
}

impl Desk {
    /// Prepares the servers and tools that these steps need.
    pub(super) fn new(steps: &[Step]) -> Self {
        let needs = |tool: &str| {
            let is_word = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.');
            steps.iter().any(|step| step.command.split(is_word).any(|word| word == tool))
        };
        for tool in ["curl", "jq"].into_iter().filter(|tool| needs(tool)) {
            let found = Command::new(tool).arg("--version").output();
            assert!(found.is_ok(), "there is no {tool}; apt-get install {tool}");
        }
        let alone = needs("hbase").then(alone);
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let home = folder.path().join("home/me");
        fs::create_dir_all(&home).unwrap();
        let hbase = HbaseOfAReader::new(&home, needs("hbase"));
        let redis = needs("redis-cli").then(|| Redis::run(&[]));
        let mut ports = hbase.ports();
        ports.extend(redis.iter().map(|redis| ("6379", redis.address.port().to_string())));
        let services: [u16; 2] = free_ports();
        ports.extend(["8080", "8081"].into_iter().zip(services.map(|port| port.to_string())));
        let desk = Self { hbase, _redis: redis, folder, ports, _alone: alone };
        desk.furnish();
        // A page that does not start HBase first requires a running one.
        let first = steps.iter().find(|step| step.command.contains("hbase"));
        if needs("hbase") && !first.is_some_and(|step| step.command.contains("hbase up")) {
            desk.hbase.up();
        }
        desk
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home/me")
    }

    fn checkout(&self) -> PathBuf {
        self.folder.path().join("pigeonhole")
    }

    fn programs() -> PathBuf {
        program("indexer").parent().unwrap().to_owned()
    }

    fn furnish(&self) {
        let checkout = self.checkout();
        fs::create_dir_all(checkout.join("target")).unwrap();
        for name in ["tests", "schema", "deploy", "crates"] {
            symlink(root().join(name), checkout.join(name)).unwrap();
        }
        let tools = self.folder.path().join("bin");
        fs::create_dir(&tools).unwrap();
        for name in ["indexer", "pigeonhole"] {
            symlink(program(name), tools.join(name)).unwrap();
        }
        symlink(root().join("deploy/hbase/hbase"), tools.join("hbase")).unwrap();
        for (name, text) in [("cargo", CARGO), ("query-worker", WORKER)] {
            fs::write(tools.join(name), text).unwrap();
            fs::set_permissions(tools.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(self.home().join(".curlrc"), CURL).unwrap();
        // The pages' names for a reader's own corpus.
        fs::create_dir(checkout.join("crawl")).unwrap();
        let corpus = fs::read_to_string(news()).unwrap();
        let (first, second) = corpus.split_at(corpus.match_indices('\n').nth(17).unwrap().0 + 1);
        for (name, text) in [("crawl/1.jsonl.gz", first), ("crawl/2.jsonl.gz", second)] {
            let file = fs::File::create(checkout.join(name)).unwrap();
            let mut file = flate2::write::GzEncoder::new(file, flate2::Compression::default());
            file.write_all(text.as_bytes()).unwrap();
            file.finish().unwrap();
        }
    }

    /// Runs the steps one after another in one shell. Returns `None` for steps that were not
    /// reached.
    pub(super) fn run(&self, steps: &[Step]) -> Vec<Option<Said>> {
        let mut script = String::new();
        for step in steps {
            let mut command = step.command.clone();
            for (shown, here) in &self.ports {
                command = command.replace(shown, here);
            }
            // A script ends at its first error.
            let strict = if step.shown.is_none() { "set -e\n" } else { "" };
            script.push_str(&format!("echo '{MARK}'\n{strict}{command}\n"));
            script.push_str(&format!("status=$?; set +e; echo; echo \"{MARK} $status\"\n"));
        }
        let said = self.shell(&script);
        let begin = format!("{MARK}\n");
        let mut parts = said.split(begin.as_str()).skip(1);
        let mut outcome = || {
            let part = parts.next()?;
            let (text, status) = part.rsplit_once(&format!("\n{MARK} ")).unwrap_or((part, ""));
            Some(Said { status: status.trim().parse().ok(), text: self.as_a_page_shows(text) })
        };
        steps.iter().map(|_| outcome()).collect()
    }

    /// Runs a script in a shell, ends its remaining processes, and returns the output.
    fn shell(&self, script: &str) -> String {
        let (file, said) = (self.folder.path().join("page.sh"), self.folder.path().join("said"));
        fs::write(&file, script).unwrap();
        let out = fs::File::create(&said).unwrap();
        let mut shell = Command::new("bash");
        without_settings(&mut shell);
        let path = std::env::var("PATH").unwrap();
        shell
            .arg(&file)
            .current_dir(self.checkout())
            .env("PATH", format!("{}:{path}", self.folder.path().join("bin").display()))
            .env("HOME", self.home())
            .env("PROGRAMS", Self::programs())
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .process_group(0);
        self.hbase.settings(&mut shell);
        let mut shell = shell.spawn().unwrap();
        let begun = Instant::now();
        while shell.try_wait().unwrap().is_none() && begun.elapsed() < PAGE {
            thread::sleep(Duration::from_millis(50));
        }
        // With the services that the page has started.
        Command::new("kill").args(["-KILL", "--", &format!("-{}", shell.id())]).output().unwrap();
        shell.wait().unwrap();
        String::from_utf8_lossy(&fs::read(said).unwrap()).into_owned()
    }

    /// Replaces ports and folders of this machine by those of the page.
    fn as_a_page_shows(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (shown, here) in &self.ports {
            // Fingerprints and times contain the same digits.
            let port = Regex::new(&format!(r"\b{here}\b")).unwrap();
            text = port.replace_all(&text, *shown).into_owned();
        }
        let folder = |path: &Path| path.to_str().unwrap().to_owned();
        text = text.replace(&folder(&self.home()), "/home/me");
        text = text.replace(&folder(&self.checkout()), "/home/me/pigeonhole");
        match text.trim_end() {
            "" => String::new(),
            text => format!("{text}\n"),
        }
    }
}
