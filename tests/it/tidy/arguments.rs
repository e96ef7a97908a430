//! The modules that know the arguments of a command line.

use std::fs;
use std::path::Path;

use crate::support::root;

/// Calls `see` with the path below `source` and the text of each file of Rust.
fn for_each_file(source: &Path, folder: &Path, see: &mut impl FnMut(&str, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            for_each_file(source, &path, see);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let name = path.strip_prefix(source).unwrap().to_str().unwrap();
            see(name, &fs::read_to_string(&path).unwrap());
        }
    }
}

/// In the batch job, one room makes options of arguments, and the rooms below know only options. A
/// command's own flags are fields of its options, with their help, and the parsers of their values
/// stand together. The library's main function passes the options on.
#[test]
fn below_its_command_line_the_batch_job_reads_no_arguments() {
    const COMMAND_LINE: &str = "lib.rs";
    const PARSERS: &str = "flag_values.rs";
    const DERIVED: [&str; 2] = ["use clap::Args;", "use clap::{Args, value_parser};"];
    let source = root().join("crates/indexer/src");
    let mut n_files = 0;
    for_each_file(&source, &source, &mut |name, text| {
        if name == "cli.rs" || name.starts_with("cli/") || name == PARSERS {
            return;
        }
        n_files += 1;
        for line in text.lines().filter(|line| !DERIVED.contains(line)) {
            let is_known = ["clap", "program::flags", "cli::"].iter().any(|word| line.contains(word));
            let may_know = name == COMMAND_LINE && line.contains("cli::");
            assert!(!is_known || may_know, "{name} is below the command line and knows it: {line}");
        }
    });
    assert!(n_files > 60, "{n_files} files");
}

/// Libraries know no command line: their flags are in `program`.
#[test]
fn libraries_know_no_arguments() {
    for name in [
        "simhash",
        "minhash",
        "runs",
        "tables",
        "evaluation",
        "features",
        "index",
        "corpus",
        "engine",
        "hbase-rpc",
        "store-embedded",
        "store-hbase",
        "store-redis",
    ] {
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap();
        assert!(!dependencies.contains("clap"), "{name} knows the command line");
    }
}
