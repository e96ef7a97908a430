//! The settings of `query-worker`: from flags, the environment and a file.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::support::{Run, command, hbase, news, run};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, text: &str) -> PathBuf {
        let path = self.0.path().join("worker.toml");
        fs::write(&path, text).unwrap();
        path
    }
}

fn run_with_environment(args: &[&str], environment: &[(&str, &str)]) -> Run {
    let output = command("query-worker", args).envs(environment.iter().copied()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Returns the settings without the comments, which name the sources of the values.
fn values(printed: &str) -> Vec<&str> {
    let values = printed.lines().map(|line| line.split("  # ").next().unwrap());
    values.filter(|line| line.contains(" = ")).collect()
}

#[test]
fn a_flag_is_above_the_environment_that_above_the_file_that_above_the_default() {
    let folder = Folder::new();
    let path = folder.file(
        "store = \"memory:\"\nsimplify = false\ntop-terms = 50\nlisten = \"127.0.0.1:1\"\nrequests-max = 1\n\
         grace-seconds = 1",
    );
    let path = path.to_str().unwrap();
    let environment = [
        ("PIGEONHOLE_CONFIG", path),
        ("PIGEONHOLE_LISTEN", "127.0.0.1:2"),
        ("PIGEONHOLE_REQUESTS_MAX", "2"),
        ("PIGEONHOLE_SEED", "2"),
    ];
    let args = ["--print-config", "--requests-max", "3", "--grace-seconds=3", "--scheme", "t11"];
    let printed = run_with_environment(&args, &environment).expect(0).stdout;
    for (setting, origin) in [
        ("store = \"memory:\"", path),
        ("simplify = false", path),
        ("top-terms = 50", path),
        ("listen = \"127.0.0.1:2\"", "environment PIGEONHOLE_LISTEN"),
        ("seed = 2", "environment PIGEONHOLE_SEED"),
        ("requests-max = 3", "flag"),
        ("grace-seconds = 3", "flag"),
        ("scheme = \"t11\"", "flag"),
        ("body-bytes-max = 8388608", "default"),
    ] {
        let line = format!("{setting}  # {origin}");
        assert!(printed.lines().any(|printed| printed == line), "{line}\n{printed}");
    }
    assert!(printed.contains("# idf is not set"), "{printed}");

    // The printed settings are a file of settings with the same values.
    let again = folder.file(&printed);
    let again = run("query-worker", ["--print-config", "--config", again.to_str().unwrap()]).expect(0).stdout;
    assert_eq!(values(&again), values(&printed));
}

#[test]
fn a_bad_file_is_refused_with_the_place() {
    let folder = Folder::new();
    for (text, parts) in [
        ("reqests-max = 3", vec!["`reqests-max`", "the nearest is `requests-max`"]),
        ("requests_max = 3", vec!["`requests_max`", "the nearest is `requests-max`"]),
        // Not settings of the worker, but of the run.
        ("check = true", vec!["`check`"]),
        ("config = \"other.toml\"", vec!["`config`"]),
        ("requests-max = \"3\"", vec!["`requests-max`", "integer", "string"]),
        ("requests-max = [3]", vec!["`requests-max`", "integer", "array"]),
        ("requests-max = 0", vec!["`requests-max`", "'0'"]),
        ("simplify = \"true\"", vec!["`simplify`", "boolean", "string"]),
        ("store = 5", vec!["`store`", "string", "integer"]),
        ("listen = \"nowhere\"", vec!["`listen`", "nowhere"]),
        ("scheme = \"9c9\"", vec!["`scheme`", "9c9", "t11"]),
        ("[service]\nlisten = \"127.0.0.1:1\"", vec!["`service`"]),
        ("listen", vec!["line 1"]),
    ] {
        let path = folder.file(text);
        let path = path.to_str().unwrap();
        let said = run("query-worker", ["--config", path, "--print-config"]).expect(2).stderr;
        for part in [&parts[..], &[path]].concat() {
            assert!(said.contains(part), "{text:?} should say {part:?}: {said}");
        }
    }
    let missing = folder.0.path().join("missing.toml");
    let said = run("query-worker", ["--config", missing.to_str().unwrap()]).expect(2).stderr;
    assert!(said.contains("missing.toml"), "{said}");
    // An invalid flag is reported as such, whatever the file contains.
    let path = folder.file("requests-max = 3");
    let args = ["--config", path.to_str().unwrap(), "--requests-max", "x"];
    let said = run("query-worker", args).expect(2).stderr;
    assert!(said.contains("'x'") && !said.contains("worker.toml"), "{said}");
}

/// A false variable is off, and commands other than serving need no variables.
#[test]
fn the_environment_is_for_serving() {
    let folder = Folder::new();
    let keys = folder.0.path().join("keys.toml");
    super::keys::add_key(&keys, "a", "read", "");
    let with = |variables: &[(&str, &str)], args: &[&str]| run_with_environment(args, variables);
    let keys = keys.to_str().unwrap();
    let check = ["--check", "--store", "memory:", "--keys", keys];
    with(&[("PIGEONHOLE_INSECURE_NO_AUTH", "false")], &check).expect(0);
    let said = with(&[("PIGEONHOLE_INSECURE_NO_AUTH", "true")], &check).expect(2).stderr;
    assert!(said.contains("leave one of them out"), "{said}");
    let bad = [
        ("PIGEONHOLE_QUEUE_MAX", "abc"),
        ("PIGEONHOLE_KEYS", "/missing"),
        ("PIGEONHOLE_TLS_CERT", "/missing"),
    ];
    assert!(with(&bad, &check).expect(2).stderr.contains("'abc'"));
    with(&bad, &["new-key", "--name", "b", "--scopes", "read"]).expect(0);
    with(&bad, &["completions", "bash"]).expect(0);
}

#[test]
fn a_check_opens_and_makes_nothing() {
    let folder = Folder::new();
    let index = folder.0.path().join("index");
    let store = format!("embedded:{}", index.display());
    let check_at =
        |store: &str, more: &[&str]| run("query-worker", [&["--check", "--store", store], more].concat());
    let check = |more: &[&str]| check_at(&store, more);
    // The same message as at a start.
    let missing = check(&[]).expect(2).stderr;
    assert!(missing.contains("--create-index") && missing.contains("indexer index --store"), "{missing}");
    let checked = check(&["--create-index"]).expect(0).stdout;
    assert!(checked.contains("a start makes one"), "{checked}");
    check(&["--create-index", "--scheme", "t11", "--max-distance", "9"]).expect(2);
    // No file remains.
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 0);
    run("indexer", ["index", "-q", "--store", &store, news().to_str().unwrap()]).expect(0);
    assert!(check(&[]).expect(0).stdout.contains("of scheme 5c2"));
    for (checked, part) in [
        (check(&["--scheme", "t11"]), "scheme is \"5c2\""),
        (check(&["--segmenter", "words"]), "segmenter"),
        (check(&["--idf", "/missing"]), "/missing"),
        (check_at("redis://127.0.0.1:1/x", &[]), "127.0.0.1:1"),
        // A place in which not even root can make anything.
        (
            check_at("embedded:/proc/no/such/place", &["--create-index"]),
            "failed to make a directory in `/proc`",
        ),
    ] {
        let said = checked.expect(2).stderr;
        assert!(said.contains(part), "{part:?}: {said}");
    }
}

/// Before, a check passed with an address on which no start could listen.
#[test]
fn a_check_of_the_address() {
    let check = |address: &str| run("query-worker", ["--check", "--store", "memory:", "--listen", address]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    for (address, said) in [(taken.as_str(), true), ("127.0.0.1:0", false)] {
        let checked = check(address).expect(0).stdout;
        assert_eq!(checked.contains(&format!("{address} is in use")), said, "{checked}");
    }
    // An unassigned address (RFC 5737).
    let said = run(
        "query-worker",
        ["--check", "--store", "memory:", "--listen", "192.0.2.1:8080", "--insecure-no-auth"],
    );
    assert!(said.expect(2).stderr.contains("failed to listen on 192.0.2.1:8080"));
}

/// Before, such names were accepted, and never matched.
#[test]
fn names_that_no_client_can_ask_by() {
    let printed = |name: &str| run("query-worker", ["--print-config", "--allowed-host", name]);
    for name in ["a.b:8080", "http://c.d", "*.e.f", "ü.example", "g h", "", "."] {
        let said = printed(name).expect(2).stderr;
        assert!(said.contains(&format!("'{name}'")) && said.contains("worker.example"), "{name}: {said}");
    }
    let checked =
        run("query-worker", ["--check", "--store", "memory:", "--allowed-host", "good.example,*.e.f"]);
    assert!(checked.expect(2).stderr.contains("'*.e.f'"));
    for name in ["worker.example", "Worker_1.example.", "xn--tda.example", "one.example,two.example"] {
        printed(name).expect(0);
    }
}

/// A start makes no tables in HBase, so missing tables are an error.
#[test]
fn a_check_of_tables_that_hbase_misses() {
    let Some(hbase) = hbase() else { return };
    let said = run("query-worker", ["--check", "--store", &crate::hbase::url(hbase.gateway, "unmade")]);
    assert!(said.stderr.contains("schema/create.rb"), "{said:?}");
    said.expect(2);
}
