//! The licences of all parts of the programs: each is allowed, and `deploy/licences.md` lists each.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::process::Command;

use serde_json::Value;
use spdx::Expression;

use crate::support::root;

/// Set to 1 to rewrite the list instead of failing when it differs.
const UPDATE: &str = "PIGEONHOLE_UPDATE_PAGES";

const HEAD: &str = "# What the programs are built of

Every crate in `indexer`, `query-worker`, `pigeonhole` and the Python package, or in what builds them, for Linux. Any of the licences that stand on both
sides of an `OR` may be chosen, and all of those around an `AND` hold; each allows what MIT and Apache-2.0 allow ([`deny.toml`](../deny.toml)
has the list). The C libraries in them are LMDB (OpenLDAP Public License, in `lmdb-master-sys`), zstd (BSD-3-Clause, in `zstd-sys`)
and parts of BoringSSL (ISC and others, in `ring`). The words, idf and model of Chinese are jieba's (MIT). Made from
`Cargo.lock`; a test keeps it true.

| crate | version | licence |
|---|---|---|
";

/// A crate of the programs.
struct Package {
    name: String,
    version: String,
    licence: String,
}

/// Returns the third-party crates of the programs, by name and version.
fn packages() -> Vec<Package> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root())
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let id = |package: &Value| package["id"].as_str().unwrap().to_owned();
    let packages: HashMap<String, &Value> =
        metadata["packages"].as_array().unwrap().iter().map(|package| (id(package), package)).collect();
    let nodes: HashMap<String, &Value> =
        metadata["resolve"]["nodes"].as_array().unwrap().iter().map(|node| (id(node), node)).collect();
    // The Python package is a library of C for its interpreter.
    let is_program = |package: &Value| {
        package["targets"]
            .as_array()
            .unwrap()
            .iter()
            .any(|target| target["kind"][0] == "bin" || target["kind"][0] == "cdylib")
    };
    let is_ours = |package: &Value| package["source"].is_null();
    let mut left: Vec<String> = packages
        .values()
        .filter(|package| is_ours(package) && is_program(package))
        .map(|package| id(package))
        .collect();
    let mut reached: BTreeSet<String> = BTreeSet::new();
    while let Some(next) = left.pop() {
        if !reached.insert(next.clone()) {
            continue;
        }
        for dependency in nodes[&next]["deps"].as_array().unwrap() {
            let kinds = dependency["dep_kinds"].as_array().unwrap();
            if kinds.iter().any(|kind| kind["kind"] != "dev") {
                left.push(dependency["pkg"].as_str().unwrap().to_owned());
            }
        }
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found: Vec<Package> = reached
        .iter()
        .map(|id| packages[id])
        .filter(|package| !is_ours(package))
        .map(|package| Package {
            name: text(&package["name"]),
            version: text(&package["version"]),
            // Older crates separate licences by a slash.
            licence: text(&package["license"]).replace(" / ", " OR ").replace('/', " OR "),
        })
        .collect();
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    found
}

/// Returns the licences that `deny.toml` allows.
fn allowed() -> Vec<String> {
    let text = fs::read_to_string(root().join("deny.toml")).unwrap();
    let list = text.split_once("allow = [").unwrap().1.split(']').next().unwrap();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn all_of_it_may_go_along() {
    let (packages, allowed) = (packages(), allowed());
    assert!(packages.len() > 200 && allowed.len() > 5, "{} packages", packages.len());
    for Package { name, version, licence } in &packages {
        let expression = Expression::parse(licence);
        let expression = expression.unwrap_or_else(|error| panic!("{name} {version}: {licence:?}: {error}"));
        let may = expression.evaluate(|requirement| {
            let id = requirement.license.id().map_or("", |id| id.name);
            allowed.iter().any(|allowed| allowed == id)
        });
        assert!(may, "{name} {version} is under {licence}, which deny.toml does not allow");
    }
}

#[test]
fn the_list_is_whole() {
    let row = |Package { name, version, licence }: &Package| {
        format!("| [{name}](https://crates.io/crates/{name}) | {version} | {licence} |\n")
    };
    let list = HEAD.to_owned() + &packages().iter().map(row).collect::<String>();
    let file = root().join("deploy/licences.md");
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
        fs::write(&file, &list).unwrap();
    }
    let shown = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        shown == list,
        "deploy/licences.md is of another Cargo.lock: {UPDATE}=1 cargo test the_list_is_whole"
    );
}
