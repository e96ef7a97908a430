//! The images: their sources, contexts and users.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{path, python, stdout, text};
use crate::support::root;

const DOCKERFILES: [&str; 2] = ["docker/Dockerfile", "docker/hbase.Dockerfile"];

/// Returns the instructions of a Dockerfile: the word and its arguments, with continued lines
/// joined.
fn instructions(name: &str) -> Vec<(String, String)> {
    let lines: Vec<String> =
        text(name).lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    let joined = lines.join("\n").replace("\\\n", " ");
    let instructions = joined.lines().filter_map(|line| line.split_once(' '));
    instructions.map(|(word, rest)| (word.to_owned(), rest.trim().to_owned())).collect()
}

fn all<'a>(instructions: &'a [(String, String)], word: &'a str) -> impl Iterator<Item = &'a str> {
    instructions.iter().filter(move |(own, _)| own == word).map(|(_, rest)| rest.as_str())
}

/// Returns true if the build context has a file of the checkout. Rules are prefixes, and the last
/// matching rule decides.
fn is_in_context(rules: &str, file: &str) -> bool {
    let mut is_in = true;
    for rule in rules.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (pattern, keeps) = rule.strip_prefix('!').map_or((rule, false), |kept| (kept, true));
        let fits = match (pattern.strip_prefix("**/"), pattern.strip_suffix('*')) {
            (Some(name), _) => file.split('/').any(|step| step == name),
            (None, Some(start)) => file.starts_with(start),
            (None, None) => file == pattern || file.starts_with(&format!("{pattern}/")),
        };
        if fits {
            is_in = keeps;
        }
    }
    is_in
}

/// Copies the files of a folder that are in the context.
pub(super) fn copy_context(rules: &str, folder: &Path, to: &Path) -> usize {
    let mut n_files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap().path();
        let file = entry.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        if entry.is_dir() {
            let is_ours = !file.starts_with('.') && !file.starts_with("target") && file != "data";
            n_files += if is_ours { copy_context(rules, &entry, to) } else { 0 };
        } else if is_in_context(rules, &file) {
            fs::create_dir_all(to.join(&file).parent().unwrap()).unwrap();
            fs::copy(&entry, to.join(&file)).unwrap();
            n_files += 1;
        }
    }
    n_files
}

/// A file missing from the context fails a build; a superfluous file slows it, or is a secret.
#[test]
fn the_context_is_what_cargo_needs() {
    let rules = fs::read_to_string(root().join(".dockerignore")).unwrap();
    for kept in ["Cargo.lock", "crates/indexer/src/main.rs", "schema/create.rb", "deploy/hbase/conf/irbrc"] {
        assert!(is_in_context(&rules, kept), "{kept}");
    }
    for left in [".git/config", "tests/data/news.jsonl", "deploy/compose/keys.toml", "crates/index/target/x"]
    {
        assert!(!is_in_context(&rules, left), "{left}");
    }
    let context = tempfile::tempdir().unwrap();
    assert!(copy_context(&rules, root(), context.path()) > 100);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut metadata = Command::new(cargo);
    metadata.current_dir(&context).args([
        "metadata",
        "--no-deps",
        "--locked",
        "--offline",
        "--format-version",
        "1",
    ]);
    let metadata: serde_json::Value = serde_json::from_str(&stdout(&mut metadata)).unwrap();
    for package in metadata["packages"].as_array().unwrap() {
        for target in package["targets"].as_array().unwrap() {
            let source = Path::new(target["src_path"].as_str().unwrap());
            assert!(source.exists(), "the context lacks {}", source.display());
        }
    }
}

#[test]
fn what_they_copy_and_run_is_there() {
    let rules = fs::read_to_string(root().join(".dockerignore")).unwrap();
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let rust = manifest.split_once("rust-version = \"").unwrap().1.split('"').next().unwrap();
    for name in DOCKERFILES {
        let instructions = instructions(name);
        for copied in all(&instructions, "COPY").filter(|rest| !rest.starts_with("--from") && *rest != ". .")
        {
            let (sources, _) = copied.rsplit_once(' ').unwrap();
            for source in sources.split(' ') {
                assert!(root().join(source).exists(), "{name}: there is no {source}");
                assert!(is_in_context(&rules, source), "{name}: {source} is not in the context");
            }
        }
        let last_stage = instructions.iter().rposition(|(word, _)| word == "FROM").unwrap();
        let user = all(&instructions[last_stage..], "USER").last().expect("somebody runs it");
        let numbers = user.split(':').map(|number| number.parse::<u32>().expect("users are numbers"));
        assert!(numbers.min() > Some(0), "{name} runs as {user}");
        // Hadoop does not start under a user without an entry in /etc/passwd.
        let names = instructions.iter().any(|(_, rest)| rest.contains("useradd -u 10002 "));
        assert_eq!(names, user == "10002:10002", "{name}: {user} needs a name if it is to run Java");
        for stage in all(&instructions, "FROM") {
            let image = stage.split(' ').next().unwrap();
            assert!(image.ends_with("bookworm") || image.ends_with("bookworm-slim"), "{name}: {image}");
            if let Some(version) = image.strip_prefix("rust:") {
                assert!(
                    version.starts_with(&format!("{rust}-")),
                    "{name}: {image} is not the oldest Rust, {rust}"
                );
            }
        }
    }
    let built =
        all(&instructions(DOCKERFILES[0]), "RUN").find(|run| run.contains("cargo build")).unwrap().to_owned();
    for program in ["indexer", "query-worker", "pigeonhole"] {
        assert!(built.contains(&format!("--bin {program} ")), "{built}");
        assert!(built.contains(&format!("target/release/{program} ")), "{built}");
    }
    assert!(built.contains("--release --locked"), "{built}");
}

#[test]
fn hadolint_finds_nothing() {
    let Some(python) = python("the Dockerfiles") else { return };
    let mut hadolint = Command::new(python.with_file_name("hadolint"));
    // Debian removes old versions from its archive, so a pinned version soon cannot be installed.
    hadolint.args(["--no-color", "--ignore", "DL3008"]).args(DOCKERFILES.map(path));
    stdout(&mut hadolint);
}
