//! `deploy/release all`: what it makes of what cargo and an engine for images make, which are
//! scripts in their place here.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use super::{is_there, path, stdout, text};

const PROGRAMS: [&str; 3] = ["indexer", "query-worker", "pigeonhole"];

/// Instead of a build the programs are scripts; all else is asked of the real cargo.
const CARGO: &str = r#"#!/bin/sh
[ "$1" = build ] || PATH=$OWN_PATH exec cargo "$@"
echo "cargo $*" >>"$LOG"
out=$CARGO_TARGET_DIR/x86_64-unknown-linux-musl/release
mkdir -p "$out"
for program in indexer query-worker pigeonhole; do
  printf '#!/bin/sh\n[ "$1" != man ] || echo man >"$2/%s.1"\necho "$0"\n' "$program" >"$out/$program"
  chmod 755 "$out/$program"
done
"#;

const DOCKER: &str = r#"#!/bin/sh
case $1 in
  info) exit "$ENGINE" ;;
  build) echo "docker $*" >>"$LOG" ;;
  save) echo "image $2" ;;
esac
"#;

/// Runs the script with stand-ins; `engine` is what an engine for images says of itself.
fn release(folder: &TempDir, engine: i32, args: &[&str]) -> Output {
    let programs = folder.path().join("bin");
    fs::create_dir_all(&programs).unwrap();
    for (name, script) in
        [("cargo", CARGO), ("docker", DOCKER), ("podman", DOCKER), ("musl-gcc", ""), ("maturin", "")]
    {
        fs::write(programs.join(name), script).unwrap();
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let own = std::env::var("PATH").unwrap();
    Command::new(path("release"))
        .args(args)
        .env("PATH", format!("{}:{own}", programs.display()))
        .env("OWN_PATH", own)
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .env("LOG", folder.path().join("log"))
        .env("ENGINE", engine.to_string())
        .output()
        .unwrap()
}

/// Checks what a program is built of: known crates, each once, and each that another one needs.
#[track_caller]
fn check_sbom(file: &Path, program: &str) {
    let sbom: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(
        (&sbom["bomFormat"], &sbom["metadata"]["component"]["name"]),
        (&"CycloneDX".into(), &program.into())
    );
    let all = |list: &str, field: &str| -> Vec<String> {
        let list = sbom[list].as_array().unwrap();
        list.iter().map(|one| one[field].as_str().unwrap().to_owned()).collect()
    };
    let crates: BTreeSet<_> = all("components", "bom-ref").into_iter().collect();
    assert!(crates.len() > 100, "{program} has only {} crates", crates.len());
    assert_eq!(crates.len(), all("components", "name").len());
    let listed = text("licences.md");
    let not_ours = |name: &String| !name.starts_with("pigeonhole-") && name != "hbase-rpc";
    for name in all("components", "name").into_iter().filter(not_ours) {
        let is_ours = super::root().join("crates").join(&name).exists();
        assert!(is_ours || listed.contains(&format!("/crates/{name})")), "{program}: {name} is in no list");
    }
    let own = sbom["metadata"]["component"]["bom-ref"].as_str().unwrap().to_owned();
    let refs: BTreeSet<_> = all("dependencies", "ref").into_iter().collect();
    assert_eq!(refs, crates.into_iter().chain([own]).collect());
}

#[test]
fn all_that_is_released_has_one_list_of_digests() {
    if !is_there("jq", "deploy/release") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = release(&folder, 0, &["all", "--without", "wheels"]);
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && said.contains("left out: wheels"), "{said}");
    let out = folder.path().join("target/release-all");
    let version = env!("CARGO_PKG_VERSION");
    let archive = format!("pigeonhole-{version}-x86_64-linux.tar.gz");
    let images = ["pigeonhole", "pigeonhole-hbase"].map(|name| format!("{name}-{version}-image.tar.gz"));
    let sboms = PROGRAMS.map(|program| format!("{program}.cdx.json"));
    let mut expected: Vec<_> = [&images[..], &sboms, std::slice::from_ref(&archive)].concat();
    expected.sort();
    let sums = fs::read_to_string(out.join("SHA256SUMS")).unwrap();
    let mut summed: Vec<_> = sums.lines().map(|line| line.split_once("  ").unwrap().1.to_owned()).collect();
    summed.sort();
    assert_eq!(summed, expected);
    assert_eq!(fs::read_dir(&out).unwrap().count(), expected.len() + 1, "and nothing else");
    stdout(Command::new("sha256sum").current_dir(&out).args(["--check", "--strict", "SHA256SUMS"]));
    let listed = stdout(Command::new("tar").arg("-tzf").arg(out.join(&archive)));
    let name = archive.trim_end_matches(".tar.gz");
    for file in ["bin/indexer", "sboms/pigeonhole.cdx.json", "man/man1/query-worker.1", "licences/serde-"] {
        assert!(listed.contains(&format!("{name}/{file}")), "{file} is not in the archive:\n{listed}");
    }
    for program in PROGRAMS {
        check_sbom(&out.join(format!("{program}.cdx.json")), program);
    }
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    for file in ["Dockerfile", "hbase.Dockerfile"] {
        assert!(log.contains(&format!("docker build -f deploy/docker/{file} -t pigeonhole")), "{log}");
    }
}

/// A release names each missing tool before it builds anything, and leaves out only what one asks.
#[test]
fn what_cannot_be_made_ends_it_at_once() {
    if !is_there("jq", "deploy/release") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (engine, args, code, part) in [
        (1, &["all"][..], 69, "images need docker or podman, with an engine that runs; --without images"),
        (0, &["all", "--without"], 64, "all takes --without programs, wheels or images"),
        (0, &["all", "--without", "tests"], 64, "not --without tests"),
        (0, &["--all"], 64, "there is no option --all"),
    ] {
        let run = release(&folder, engine, args);
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(part), "{args:?}: {said}");
    }
    assert!(!folder.path().join("log").exists(), "nothing is built");
    let none = ["all", "--without", "images", "--without", "wheels", "--without", "programs"];
    let run = release(&folder, 1, &none);
    assert_ne!(run.status.code(), Some(0), "nothing is left to release");
}
