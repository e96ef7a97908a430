//! What the compiler and clippy cannot see of the house: which crate may know which, that the rooms of a crate look downwards
//! only, and where versions are stated.

mod rooms;

mod arguments;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::process::Command;

use serde_json::Value;

use self::rooms::Rooms;
use crate::support::root;

/// Who may know whom, to build, to run or to test. An edge more is a decision about the design, not a detail: change
/// `README.md` with it.
const EDGES: [(&str, &[&str]); 14] = [
    ("simhash", &[]),
    ("features", &["simhash"]),
    ("tables", &["simhash"]),
    ("index", &["simhash", "tables"]),
    // The stores do not know each other.
    ("store-embedded", &["index", "simhash", "tables"]),
    ("store-hbase", &["index", "simhash", "tables"]),
    ("store-redis", &["index", "simhash", "tables"]),
    ("engine", &["features", "index", "simhash", "store-embedded", "store-hbase", "store-redis"]),
    ("manual", &[]),
    ("program", &[]),
    // `store-hbase` for the rows of bulk loads, which are of no other store.
    ("indexer", &["engine", "features", "index", "manual", "program", "simhash", "store-hbase"]),
    ("query-worker", &["engine", "features", "index", "manual", "program", "simhash"]),
    ("pigeonhole", &["engine", "features", "index", "manual", "program", "simhash"]),
    // The programs it runs as processes; the libraries are for its oracles.
    (
        "pigeonhole-tests",
        &["engine", "index", "simhash", "store-embedded", "store-hbase", "store-redis", "tables"],
    ),
];

/// The crates whose rooms, the files and folders right below `src`, name each other without a circle.
const WITHOUT_CIRCLES: [&str; 8] =
    ["simhash", "tables", "manual", "program", "engine", "indexer", "pigeonhole", "query-worker"];

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
    let edges: BTreeMap<&str, Vec<&str>> = packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let mut known: Vec<&str> = dependencies
                .map(|dependency| dependency["name"].as_str().unwrap())
                // A crate may be its own dev-dependency, for its tests to see its features.
                .filter(|name| names.contains(name) && package["name"] != **name)
                .collect();
            known.sort_unstable();
            known.dedup();
            (package["name"].as_str().unwrap(), known)
        })
        .collect();
    let expected: BTreeMap<&str, Vec<&str>> =
        EDGES.iter().map(|(name, known)| (*name, known.to_vec())).collect();
    assert_eq!(edges, expected);
}

#[test]
fn rooms_look_downwards_only() {
    let mut shown = String::new();
    for name in WITHOUT_CIRCLES {
        let rooms = Rooms::of(&root().join("crates").join(name));
        for circle in rooms.circles() {
            let (n, n_rooms, by) = (circle.len(), rooms.n(), rooms.shown(&circle));
            writeln!(shown, "{name}: {n} of {n_rooms} rooms are in one circle\n{by}").unwrap();
        }
    }
    assert!(shown.is_empty(), "what two rooms need of each other belongs into a room below them\n{shown}");
}

#[test]
fn the_crate_at_the_bottom_depends_on_nothing() {
    let packages = packages();
    let simhash = packages.iter().find(|package| package["name"] == "simhash").unwrap();
    let dependencies = simhash["dependencies"].as_array().unwrap();
    assert!(dependencies.iter().all(|dependency| dependency["kind"] == "dev"), "{dependencies:?}");
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
                    line.contains("workspace = true"),
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

/// The drawing in `schema/` shows one key; it must be one.
#[test]
fn the_drawing_of_the_row_key_is_true() {
    let drawing = fs::read_to_string(root().join("schema/README.md")).unwrap();
    let fingerprint = simhash::Fingerprint(0x9e37_79b9_7f4a_7c15);
    let kind = index::SketchKind::default();
    for &bucket in kind.sketch(fingerprint).keys() {
        let key = simhash::RowKey::new(bucket, fingerprint).encode();
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let row = format!("{} {} {}", hex(&key[..4]), hex(&key[4..5]), hex(&key[5..]));
        assert!(drawing.contains(&row), "schema/README.md should show {row}");
    }
}
