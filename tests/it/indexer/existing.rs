//! Outputs that exist already: refused before any work, unless `--force` says to replace them.

use std::fs;

use super::news_arg;
use crate::support::{Run, run};

fn refuses(run: Run, path: &str) {
    let said = run.expect(2).stderr;
    assert!(said.contains(&format!("{path} exists: give --force to replace it, or another name")), "{said}");
}

#[test]
fn only_force_replaces_an_output_of_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (news, store, counts) = (news_arg(), format!("embedded:{}", at("index")), at("counts.idf"));
    let names = ["kept", "dups", "pairs", "clusters", "rejects", "report.json", "copy", "sum.idf", "counts"];
    let [kept, dups, pairs, clusters, rejects, report, copy, sum, idf] = names.map(at);
    run("indexer", ["index", "-q", &news, "--store", &store]).expect(0);
    run("indexer", ["idf", "-q", &news, "--min-df", "1", "--output", &counts]).expect(0);
    let others = fs::read_dir(folder.path()).unwrap().count();
    for (command, flag, path) in [
        (vec!["dedup", "-q", &news], "--output", &kept),
        (vec!["dedup", "-q", &news], "--duplicates", &dups),
        (vec!["dedup", "-q", &news], "--pairs", &pairs),
        (vec!["dedup", "-q", &news], "--clusters", &clusters),
        (vec!["dedup", "-q", &news], "--report", &report),
        (vec!["dedup", "-q", &news], "--rejects", &rejects),
        (vec!["fingerprint", "-q", &news], "--rejects", &rejects),
        (vec!["export", "-q", "--store", &store], "--output", &copy),
        (vec!["idf", "-q", &news], "--output", &idf),
        (vec!["idf-merge", &counts], "--output", &sum),
    ] {
        // A file without content is one, too.
        fs::write(path, "").unwrap();
        let new = format!("embedded:{}", at("new"));
        let args = [&command[..], &[flag, path]].concat();
        let with_index = [&args[..], &["--store", &new]].concat();
        refuses(run("indexer", if command[0] == "dedup" { &with_index } else { &args }), path);
        assert_eq!(fs::read_to_string(path).unwrap(), "", "{args:?}");
        fs::remove_file(path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), others, "{args:?} has left something");
        run("indexer", &args).expect(0);
        let whole = fs::read(path).unwrap();
        refuses(run("indexer", &args), path);
        assert_eq!(fs::read(path).unwrap(), whole, "{args:?}");
        fs::write(path, "of before").unwrap();
        run("indexer", [&args[..], &["--force"]].concat()).expect(0);
        assert_ne!(fs::read_to_string(path).unwrap(), "of before", "{args:?}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn what_is_no_file_is_written_to_without_it() {
    for output in ["-", "/dev/null", "/dev/stdout"] {
        run("indexer", ["dedup", "-q", &news_arg(), "--output", output]).expect(0);
    }
}

/// The second run of a job meets its own outputs, and a new job those of others.
#[test]
fn a_job_goes_on_with_its_own_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (news, kept, one, other) = (news_arg(), at("kept"), at("one"), at("other"));
    let args = ["dedup", "-q", &news, "--output", &kept, "--journal"];
    run("indexer", [&args[..], &[&one]].concat()).expect(0);
    let again = run("indexer", [&args[..], &[&one]].concat()).expect(0).stderr;
    assert!(again.contains("this job was done before"), "{again}");
    refuses(run("indexer", [&args[..], &[&other]].concat()), &kept);
    run("indexer", [&args[..], &[&other, "--force"]].concat()).expect(0);
    // It is the same job without the flag.
    let again = run("indexer", [&args[..], &[&other]].concat()).expect(0).stderr;
    assert!(again.contains("this job was done before"), "{again}");
}
