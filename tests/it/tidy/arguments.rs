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

/// In the batch job, one room turns arguments into options, and the rooms below know only options.
/// The library's main function passes them on, and one module takes command-line items from other
/// crates.
#[test]
fn below_its_command_line_the_batch_job_knows_no_arguments() {
    const COMMAND_LINE: &str = "lib.rs";
    const DOOR: &str = "opening.rs";
    let source = root().join("crates/indexer/src");
    let mut n_files = 0;
    for_each_file(&source, &source, &mut |name, text| {
        if name == "cli.rs" || name.starts_with("cli/") {
            return;
        }
        n_files += 1;
        for line in text.lines() {
            let is_of_others = line.contains("cli::") && name == DOOR && !line.contains("crate::cli");
            let is_known = line.contains("clap") || line.contains("cli::");
            let may_know = is_of_others || (name == COMMAND_LINE && !line.contains("clap"));
            assert!(!is_known || may_know, "{name} is below the command line and knows it: {line}");
        }
    });
    assert!(n_files > 60, "{n_files} files");
}
