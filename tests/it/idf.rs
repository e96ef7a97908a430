//! `indexer idf`, `indexer idf-merge` and `--idf`: every way to count gives the same file.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;

use crate::support::{Run, command, json_lines, made_up_corpus, run, run_with_input, until};

/// A folder with a corpus in it.
struct Folder(TempDir);

impl Folder {
    fn new(corpus: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::write(folder.path("corpus.jsonl"), corpus).unwrap();
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Counts the corpus into the file `name`.
    fn count(&self, name: &str, args: &[&str]) -> Run {
        let (corpus, output) = (self.path("corpus.jsonl"), self.path(name));
        run("indexer", [&["idf", "-q", "--force", &corpus, "--output", &output], args].concat())
    }

    fn merge(&self, names: &[&str], output: &str, args: &[&str]) -> Run {
        let files: Vec<String> = names.iter().map(|name| self.path(name)).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        run("indexer", [&["idf-merge", "--force", "--output", &self.path(output)], &files[..], args].concat())
    }

    /// Returns the names of the files beside the corpus.
    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "corpus.jsonl");
        names.sort();
        names
    }
}

/// Checks for status 2 and each of `parts` in the message.
#[track_caller]
fn check_refused(run: Run, parts: &[&str]) {
    let said = run.expect(2).stderr;
    for part in parts {
        assert!(said.contains(part), "{said:?} should say {part:?}");
    }
}

#[test]
fn every_term_counts_once_a_document() {
    let folder = Folder::new(&json_lines([
        ("a", "The cat, the CAT and the hat."),
        ("b", "THE ﬁsh"),
        ("c", "…"),
        ("d", "a hat of stop words"),
    ]));
    fs::write(folder.path("stop"), "stop\nOF\n").unwrap();
    let args = ["--segmenter", "words", "--min-df", "1", "--stop-words", &folder.path("stop")];
    let report = folder.count("my.idf", &args).expect(0).stdout;
    let file = folder.read("my.idf");
    let terms: Vec<&str> = file.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(terms, ["a 1", "and 1", "cat 1", "fish 1", "hat 2", "the 2", "words 1"]);
    for (line, value) in
        [("# documents", "3"), ("# min-df", "1"), ("# segmenter", "words"), ("# dictionary", "none")]
    {
        assert!(file.contains(&format!("{line} {value}\n")), "{file}");
    }
    for (name, n) in [("read", "4"), ("counted", "3"), ("no features", "1"), ("terms", "7"), ("written", "7")]
    {
        let line = report.lines().find(|line| line.starts_with(name)).unwrap();
        assert_eq!(line[name.len()..].split_whitespace().next(), Some(n), "{report}");
    }
    folder.count("my.idf", &["--segmenter", "words"]).expect(0);
    let file = folder.read("my.idf");
    let terms: Vec<&str> = file.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(terms, ["hat 2", "the 2"]);
}

/// The ways: in memory; with a bound that sets every document aside, in runs of three sizes; with
/// one thread and with eight; in three shards, merged in any order, and in two steps.
#[test]
fn the_same_corpus_gives_the_same_file() {
    const N: usize = 1_100;
    let folder = Folder::new(&made_up_corpus(N, 5));
    folder.count("whole", &["--min-df", "1", "--threads", "1"]).expect(0);
    let whole = folder.read("whole");
    assert!(whole.contains(&format!("# documents {N}\n")), "{}", &whole[..400]);
    assert!(whole.lines().count() > 2_000);
    folder.count("spilled", &["--min-df", "1", "--threads", "8", "--memory-bytes-max", "1"]).expect(0);
    assert!(folder.read("spilled") == whole, "set aside and added up it is another file");
    for n in 0..3 {
        folder.count(&format!("part-{n}"), &["--shard", &format!("{n}/3")]).expect(0);
    }
    folder.merge(&["part-2", "part-0", "part-1"], "merged", &["--min-df", "1"]).expect(0);
    assert!(folder.read("merged") == whole, "the parts' sum is another file");
    folder.merge(&["part-0", "part-1"], "two", &["--min-df", "1"]).expect(0);
    let report = folder.merge(&["two", "part-2"], "three", &[]).expect(0).stdout;
    folder.count("usual", &[]).expect(0);
    assert!(folder.read("three") == folder.read("usual"), "the sum's terms are others");
    assert!(report.contains("documents            1,100"), "{report}");
    // No other files are left.
    let files = ["merged", "part-0", "part-1", "part-2", "spilled", "three", "two", "usual", "whole"];
    assert_eq!(folder.files(), files);
}

#[test]
fn a_recipe_names_the_file_and_takes_its_terms() {
    let folder = Folder::new(&made_up_corpus(40, 6));
    let report = folder.count("my.idf", &["--segmenter", "chars:3"]).expect(0).stdout;
    let (corpus, idf) = (folder.path("corpus.jsonl"), folder.path("my.idf"));
    let store = format!("embedded:{}", folder.path("index"));
    run("indexer", ["index", "-q", &corpus, "--store", &store, "--idf", &idf]).expect(0);
    let info = run("pigeonhole", ["info", "--store", &store]).expect(0).stdout;
    let digest = report.lines().find_map(|line| line.strip_prefix("digest")).unwrap().trim();
    assert!(info.contains(digest) && info.contains("chars:3"), "{info}");
    // It is an index like any other; a file with another `--min-df` is another recipe.
    run("indexer", ["index", "-q", &corpus, "--store", &store, "--idf", &idf]).expect(0);
    folder.count("other.idf", &["--segmenter", "chars:3", "--min-df", "3"]).expect(0);
    let other =
        run("indexer", ["index", "-q", &corpus, "--store", &store, "--idf", &folder.path("other.idf")]);
    check_refused(other, &["idf", digest]);
}

#[test]
fn a_file_that_is_damaged_or_of_another_recipe_is_refused() {
    let folder = Folder::new(&made_up_corpus(40, 7));
    folder.count("my.idf", &[]).expect(0);
    fs::write(folder.path("stop"), "的\n").unwrap();
    let (corpus, idf, stop) = (folder.path("corpus.jsonl"), folder.path("my.idf"), folder.path("stop"));
    let dedup = |args: &[&str]| {
        run("indexer", [&["dedup", "-q", &corpus, "--idf", &idf, "--groups", "0"], args].concat())
    };
    dedup(&[]).expect(0);
    dedup(&["--segmenter", "jieba", "--simplify", "true"]).expect(0);
    check_refused(dedup(&["--segmenter", "words"]), &[&idf, "`segmenter`", "jieba", "words"]);
    check_refused(dedup(&["--simplify", "false"]), &[&idf, "`simplify`", "true", "false"]);
    check_refused(dedup(&["--stop-words", &stop]), &[&idf, "`stop-words`", "none"]);
    let whole = folder.read("my.idf");
    let half = whole.char_indices().map(|(i, _)| i).find(|i| i * 2 > whole.len()).unwrap();
    fs::write(&idf, &whole[..half]).unwrap();
    check_refused(dedup(&[]), &[&idf, "cut short"]);
    fs::write(&idf, whole.replacen("# documents 40", "# documents 41", 1)).unwrap();
    check_refused(dedup(&[]), &[&idf, "checksum"]);
}

#[test]
fn parts_that_do_not_add_up_are_refused() {
    let folder = Folder::new(&made_up_corpus(40, 8));
    folder.count("a", &["--min-df", "1"]).expect(0);
    folder.count("thin", &[]).expect(0);
    folder.count("words", &["--min-df", "1", "--segmenter", "words"]).expect(0);
    fs::copy(folder.path("a"), folder.path("b")).unwrap();
    let a = folder.read("a");
    fs::write(folder.path("cut"), &a[..a.len() - 10]).unwrap();
    // One count among the terms, after the head.
    let (before, after) = a.rsplit_once(" 2\n").unwrap();
    fs::write(folder.path("flipped"), format!("{before} 3\n{after}")).unwrap();
    fs::write(folder.path("jieba"), "的 0.5\n").unwrap();
    for (other, parts) in [
        ("thin", &["`min-df`", "--min-df 1"][..]),
        ("words", &["`segmenter`", "jieba"]),
        ("cut", &["cut short"]),
        ("flipped", &["checksum"]),
        ("jieba", &["# pigeonhole document frequencies"]),
        ("absent", &["No such file"]),
    ] {
        let merged = folder.merge(&["a", other], "sum", &[]);
        check_refused(merged, &[parts, &[folder.path(other).as_str()]].concat());
    }
    check_refused(folder.merge(&["a", "b", "a"], "sum", &[]), &[&folder.path("a"), "twice"]);
    assert!(!Path::new(&folder.path("sum")).exists());
    assert!(!folder.files().iter().any(|name| name.ends_with(".partial")), "{:?}", folder.files());
}

#[test]
fn a_record_that_cannot_be_read_does_not_stop_the_count() {
    let folder = Folder::new(&format!("no record\n{}", json_lines([("a", "one two"), ("b", "two")])));
    let report = folder.count("my.idf", &["--rejects", &folder.path("rejects")]).expect(1).stdout;
    assert!(report.contains("rejected                 1"), "{report}");
    assert!(folder.read("rejects").contains("\"line\":1"));
    assert!(folder.read("my.idf").contains("\ntwo 2\n"));
}

#[test]
fn without_room_there_is_an_error_and_no_file() {
    let folder = Folder::new(&made_up_corpus(200, 9));
    let corpus = folder.path("corpus.jsonl");
    if Path::new("/dev/full").exists() {
        let full = run("indexer", ["idf", "-q", &corpus, "--output", "/dev/full", "--min-df", "1"]);
        check_refused(full, &["/dev/full", "No space left"]);
    }
    let nowhere = folder.path("nowhere");
    check_refused(
        folder.count("my.idf", &["--memory-bytes-max", "1", "--temp", &nowhere]),
        &[&nowhere, "--temp"],
    );
    check_refused(folder.count("my.idf.gz", &[]), &["my.idf.gz", "packed"]);
    assert!(folder.files().is_empty(), "{:?}", folder.files());
}

/// The program is killed in the middle of its input, with runs set aside.
#[test]
fn a_killed_count_leaves_no_file_under_its_name() {
    let folder = Folder::new("");
    let output = folder.path("my.idf");
    let mut child = command("indexer", ["idf", "-", "--output", &output, "--memory-bytes-max", "1"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(made_up_corpus(500, 10).as_bytes()).unwrap();
    until(|| !folder.files().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let files = folder.files();
    assert!(
        matches!(&files[..], [name] if name.starts_with(".my.idf.") && name.ends_with(".partial")),
        "{files:?}"
    );
}

#[test]
fn the_file_can_go_to_standard_output() {
    let corpus = json_lines([("a", "one two"), ("b", "two")]);
    let Run { stdout, stderr, .. } =
        run_with_input("indexer", ["idf", "-q", "-", "--output", "-"], corpus.as_bytes()).expect(0);
    assert!(
        stdout.starts_with("# pigeonhole document frequencies 1\n") && stdout.contains("\ntwo 2\n"),
        "{stdout}"
    );
    assert!(stderr.contains("counted"), "{stderr}");
}
