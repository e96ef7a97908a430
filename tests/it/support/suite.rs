//! The suites that need more than Rust: servers, JVMs, a browser or Python. Each runs if its name
//! is in [`ASK`], and its requirements must be installed then. A test without a suite needs nothing
//! installed.

use std::ffi::OsStr;
use std::io::Write;
use std::sync::{Once, OnceLock};

use super::root;

/// The variable with the suites to run, separated by commas; `all` selects each of them.
pub(crate) const ASK: &str = "PIGEONHOLE_TESTS";

const ALL: &str = "all";

/// A suite. Its name is a word in the paths of its tests, so that `cargo test` can filter by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    /// The pages in Chromium, and in Firefox where it is.
    Browser,
    /// The API checked against its description, by Schemathesis.
    Contract,
    /// Files that an operator installs, checked by the tools that read them.
    Deploy,
    Hbase,
    Hdfs,
    /// Instructions of jobs, counted by Valgrind.
    Instructions,
    Kerberos,
    /// The commands of all pages.
    Pages,
    /// The Python package, and its tests.
    Python,
    Redis,
    S3,
}

impl Suite {
    pub(crate) const ALL: [(&str, Self); 11] = [
        ("browser", Self::Browser),
        ("contract", Self::Contract),
        ("deploy", Self::Deploy),
        ("hbase", Self::Hbase),
        ("hdfs", Self::Hdfs),
        ("instructions", Self::Instructions),
        ("kerberos", Self::Kerberos),
        ("pages", Self::Pages),
        ("python", Self::Python),
        ("redis", Self::Redis),
        ("s3", Self::S3),
    ];

    /// Returns the name of the suite.
    fn word(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(_, suite)| *suite == self);
        found.expect("each suite is in the list").0
    }

    /// Returns true if this run selects the suite. The first test left out prints a line for all of
    /// them.
    #[track_caller]
    pub(crate) fn is_asked_for(self) -> bool {
        static ASKED: OnceLock<Result<Vec<Suite>, String>> = OnceLock::new();
        static SAID: Once = Once::new();
        // Threads of tests have the names of their tests, unless there is only one thread.
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("main");
        let word = self.word();
        assert!(
            test == "main" || test.contains(word),
            "`cargo test {word}` is to find {test} too: rename it"
        );
        let asked = ASKED.get_or_init(|| of(&std::env::var_os(ASK).unwrap_or_default()));
        let asked = asked.as_ref().unwrap_or_else(|why| panic!("{why}"));
        if asked.contains(&self) {
            return true;
        }
        SAID.call_once(|| {
            // Written to stderr itself, because the test harness would capture the line.
            std::io::stderr().write_all(left_out(asked).as_bytes()).expect("stderr can be written");
        });
        false
    }
}

/// Returns the suites that a value of [`ASK`] names.
fn of(value: &OsStr) -> Result<Vec<Suite>, String> {
    let value = value.to_string_lossy();
    let words: Vec<&str> = value.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let named = |word: &str| Suite::ALL.iter().find(|(name, _)| *name == word);
    if let Some(unknown) = words.iter().find(|word| **word != ALL && named(word).is_none()) {
        let names = Suite::ALL.map(|(name, _)| name).join(", ");
        return Err(format!("{ASK} names {unknown:?}; there are {names}, and {ALL}"));
    }
    let is_named = |name: &str| words.contains(&ALL) || words.contains(&name);
    Ok(Suite::ALL.into_iter().filter(|(name, _)| is_named(name)).map(|(_, suite)| suite).collect())
}

/// Returns the line that names the suites left out, and the way to run them.
fn left_out(asked: &[Suite]) -> String {
    let left_out = Suite::ALL.into_iter().filter(|(_, suite)| !asked.contains(suite));
    let names = left_out.map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    format!("left out: {names}; {ASK}={ALL} runs every suite, {ASK}=NAME,NAME some (CONTRIBUTING.md)\n")
}

/// The page of developers names each suite.
#[test]
fn every_suite_is_in_the_page() {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    for (word, _) in Suite::ALL {
        assert!(text.contains(&format!("\n| `{word}` |")), "CONTRIBUTING.md has no row for {word}");
    }
}

#[test]
fn what_is_asked_for_runs_and_the_rest_is_named() {
    assert_eq!(of(OsStr::new("")), Ok(Vec::new()));
    assert_eq!(of(OsStr::new("redis, hbase")), Ok(vec![Suite::Hbase, Suite::Redis]));
    assert_eq!(of(OsStr::new(ALL)).unwrap().len(), Suite::ALL.len());
    let why = of(OsStr::new("hbase,mongo")).unwrap_err();
    assert!(why.contains("\"mongo\"") && why.contains("hdfs"), "{why}");
    let rest = "left out: browser, contract, deploy, hdfs, instructions, kerberos, pages, python, s3; ";
    assert!(left_out(&[Suite::Hbase, Suite::Redis]).starts_with(rest));
}
