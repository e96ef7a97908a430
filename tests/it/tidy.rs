//! Properties of the workspace beyond the compiler and clippy: dependencies between crates, modules
//! without circles, places of versions, and published crates.

mod arguments;
mod book;
mod paths;
mod prose;
mod rooms;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use self::rooms::Rooms;
use crate::support::root;

/// The allowed dependencies between crates, to build, to run or to test. A new edge is a decision
/// about the design, not a detail: change `ARCHITECTURE.md` with it.
const EDGES: [(&str, &[&str]); 20] = [
    ("pigeonhole-simhash", &[]),
    ("pigeonhole-lanes", &[]),
    ("pigeonhole-minhash", &["pigeonhole-lanes"]),
    ("pigeonhole-runs", &[]),
    ("pigeonhole-features", &["pigeonhole-lanes", "pigeonhole-minhash", "pigeonhole-simhash"]),
    ("pigeonhole-tables", &["pigeonhole-simhash"]),
    ("pigeonhole-index", &["pigeonhole-minhash", "pigeonhole-simhash", "pigeonhole-tables"]),
    // For ids and sources, with their allowed values, and the policy of retries.
    ("pigeonhole-corpus", &["pigeonhole-index"]),
    ("pigeonhole-evaluation", &[]),
    // The stores do not depend on each other.
    (
        "pigeonhole-store-embedded",
        &[
            "pigeonhole-index",
            "pigeonhole-minhash",
            "pigeonhole-runs",
            "pigeonhole-simhash",
            "pigeonhole-tables",
        ],
    ),
    // HBase's protocol, for any program.
    ("hbase-rpc", &[]),
    (
        "pigeonhole-store-hbase",
        &["hbase-rpc", "pigeonhole-index", "pigeonhole-minhash", "pigeonhole-simhash", "pigeonhole-tables"],
    ),
    ("pigeonhole-store-redis", &["pigeonhole-index", "pigeonhole-minhash", "pigeonhole-simhash"]),
    (
        "pigeonhole-engine",
        &[
            "pigeonhole-features",
            "pigeonhole-index",
            "pigeonhole-minhash",
            "pigeonhole-runs",
            "pigeonhole-simhash",
            "pigeonhole-store-embedded",
            "pigeonhole-store-hbase",
            "pigeonhole-store-redis",
        ],
    ),
    // The flags of the programs become options of these.
    (
        "program",
        &[
            "pigeonhole-corpus",
            "pigeonhole-engine",
            "pigeonhole-features",
            "pigeonhole-index",
            "pigeonhole-minhash",
            "pigeonhole-simhash",
        ],
    ),
    // `store-hbase` for the rows of bulk loads, which no other store has.
    (
        "indexer",
        &[
            "pigeonhole-corpus",
            "pigeonhole-engine",
            "pigeonhole-features",
            "pigeonhole-index",
            "program",
            "pigeonhole-minhash",
            "pigeonhole-runs",
            "pigeonhole-simhash",
            "pigeonhole-store-hbase",
            "pigeonhole-tables",
        ],
    ),
    (
        "query-worker",
        &[
            "pigeonhole-engine",
            "pigeonhole-features",
            "pigeonhole-index",
            "pigeonhole-minhash",
            "program",
            "pigeonhole-simhash",
        ],
    ),
    (
        "pigeonhole",
        &[
            "pigeonhole-corpus",
            "pigeonhole-engine",
            "pigeonhole-evaluation",
            "pigeonhole-features",
            "pigeonhole-index",
            "pigeonhole-minhash",
            "program",
            "pigeonhole-simhash",
            "pigeonhole-tables",
        ],
    ),
    // The Python package runs the programs as they are; all else in it stands on `engine`.
    (
        "python",
        &[
            "indexer",
            "pigeonhole",
            "pigeonhole-engine",
            "pigeonhole-features",
            "pigeonhole-index",
            "pigeonhole-minhash",
            "pigeonhole-simhash",
            "program",
            "query-worker",
        ],
    ),
    // The tests run the programs as processes; the libraries are for their oracles.
    (
        "pigeonhole-tests",
        &[
            "pigeonhole-engine",
            "pigeonhole-features",
            "pigeonhole-index",
            "pigeonhole-minhash",
            "pigeonhole-simhash",
            "pigeonhole-store-embedded",
            "pigeonhole-store-hbase",
            "pigeonhole-store-redis",
            "pigeonhole-tables",
        ],
    ),
];

fn packages() -> Vec<Value> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root())
        .args(["metadata", "--no-deps", "--locked", "--format-version", "1"])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn crates_know_whom_they_may() {
    let packages = packages();
    let names: Vec<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    let edges: BTreeMap<&str, BTreeSet<&str>> = packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let known: BTreeSet<&str> = dependencies
                .map(|dependency| dependency["name"].as_str().unwrap())
                // A crate may be its own dev-dependency, for its tests to see its features.
                .filter(|name| names.contains(name) && package["name"] != **name)
                .collect();
            (package["name"].as_str().unwrap(), known)
        })
        .collect();
    let expected: BTreeMap<&str, BTreeSet<&str>> =
        EDGES.iter().map(|(name, known)| (*name, known.iter().copied().collect())).collect();
    assert_eq!(edges, expected);
}

/// The rooms of a crate, the files and folders right below `src`, name each other without a circle.
#[test]
fn rooms_look_downwards_only() {
    let mut shown = String::new();
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    for path in crates {
        let (rooms, name) = (Rooms::of(&path), path.file_name().unwrap().display());
        for circle in rooms.circles() {
            let (n, n_rooms, by) = (circle.len(), rooms.n(), rooms.shown(&circle));
            writeln!(shown, "{name}: {n} of {n_rooms} rooms are in one circle\n{by}").unwrap();
        }
    }
    assert!(shown.is_empty(), "what two rooms need of each other belongs into a room below them\n{shown}");
}

/// The share of all Rust that a crate may hold: one part in so many.
const PARTS: usize = 5;

/// A crate that outgrows the others holds more than one thing.
#[test]
fn no_crate_is_more_than_a_fifth_of_the_house() {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let sizes: Vec<(PathBuf, usize)> = crates.map(|path| (path.clone(), n_lines(&path))).collect();
    let n_all = sizes.iter().map(|(_, n)| n).sum::<usize>() + n_lines(&root().join("tests"));
    assert!(n_all > 10_000, "{n_all} lines");
    for (path, n) in sizes {
        let path = path.display();
        assert!(
            n * PARTS <= n_all,
            "{path} holds {n} of {n_all} lines: find what in it is a crate of its own"
        );
    }
}

/// Returns the number of lines of Rust in a folder.
fn n_lines(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.extension() {
            _ if path.is_dir() => n_lines(&path),
            Some(ending) if ending == "rs" => fs::read_to_string(&path).unwrap().lines().count(),
            _ => 0,
        })
        .sum()
}

#[test]
fn the_crates_at_the_bottom_depend_on_nothing() {
    for package in packages().iter().filter(|package| {
        ["pigeonhole-simhash", "pigeonhole-lanes"].contains(&package["name"].as_str().unwrap())
    }) {
        let dependencies = package["dependencies"].as_array().unwrap();
        assert!(dependencies.iter().all(|dependency| dependency["kind"] == "dev"), "{dependencies:?}");
    }
}

#[test]
fn lints_and_versions_are_stated_once() {
    for package in packages() {
        let manifest = package["manifest_path"].as_str().unwrap();
        let text = fs::read_to_string(manifest).unwrap();
        assert!(text.contains("[lints]\nworkspace = true"), "{manifest} must inherit the lints");
        let mut in_dependencies = false;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if line.starts_with('[') {
                in_dependencies = line.ends_with("dependencies]");
            } else if in_dependencies && !line.trim().is_empty() {
                assert!(
                    line.contains("workspace = true") || line.contains("path = \".\""),
                    "{manifest}: state the version in the workspace: {line}"
                );
            }
        }
    }
    for toolchain in ["rust-toolchain", "rust-toolchain.toml"] {
        assert!(
            !root().join(toolchain).exists(),
            "{toolchain} would make a fresh machine download a toolchain"
        );
    }
}

/// Published crates bear the name of the project, except one that is independent of it. Crates of
/// the programs alone are not published, and have short names.
#[test]
fn the_libraries_can_be_published() {
    for package in packages() {
        let manifest = package["manifest_path"].as_str().unwrap();
        let folder = Path::new(manifest).parent().unwrap().strip_prefix(root().join("crates"));
        let name = folder.ok().map(|folder| format!("pigeonhole-{}", folder.display()));
        let is_published = package["publish"].is_null();
        let is_named = name.is_some_and(|name| package["name"] == name) || package["name"] == "hbase-rpc";
        assert_eq!(is_published, is_named, "{manifest}");
        if !is_published {
            continue;
        }
        for field in ["description", "license", "readme", "rust_version"] {
            assert!(package[field].is_string(), "{manifest} has no {field}");
        }
        for field in ["keywords", "categories"] {
            let n = package[field].as_array().unwrap().len();
            assert!((1..=5).contains(&n), "{manifest} has {n} {field}");
        }
        let text = fs::read_to_string(manifest).unwrap();
        assert!(text.contains("\ninclude.workspace = true\n"), "{manifest}: say what is published");
    }
}

/// Only the transports, the list of them, and fakes for tests know the transport of rows to HBase.
#[test]
fn rows_know_no_transport() {
    let place = root().join("crates/store-hbase/src");
    let mut folders = vec![place.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let below = path.strip_prefix(&place).unwrap().with_extension("");
            if ["thrift", "rpc", "fake", "tests", "transport", "opening", "lib"]
                .iter()
                .any(|room| below.starts_with(room))
            {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap().to_lowercase();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            // The name of a feature says which lints a build meets.
            let code = code.replace("feature = \"thrift\"", "");
            for word in ["thrift", "gateway"] {
                assert!(!code.contains(word), "{} has the word {word}", path.display());
            }
        }
    }
}

/// The drawing in `schema/` shows a valid key.
#[test]
fn the_drawing_of_the_row_key_is_true() {
    let drawing = fs::read_to_string(root().join("schema/README.md")).unwrap();
    let fingerprint = simhash::Fingerprint(0x9e37_79b9_7f4a_7c15);
    let kind = index::SketchKind::default();
    for bucket in kind.sketch(fingerprint).keys() {
        let key = simhash::RowKey::new(bucket, fingerprint).encode();
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let row = format!("{} {} {}", hex(&key[..4]), hex(&key[4..5]), hex(&key[5..]));
        assert!(drawing.contains(&row), "schema/README.md should show {row}");
    }
}
