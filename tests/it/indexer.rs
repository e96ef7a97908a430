//! `indexer`: arguments and files in; output, files and exit status out.

mod alike;
mod dry_run;
mod existing;
mod fields;
pub(crate) mod formats;
pub(crate) mod inputs;
mod keep;
mod left_out;
mod left_over;
mod nested;
mod outputs;
mod parts;
mod report;
mod rows;
mod short_texts;
mod streams;
mod tables;
mod titles;

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::support::{command, digest, json_lines, news, root, run, run_with_input};

const LONG: &str =
    "The bridge across the river was closed for eight months while engineers replaced its bearings.";

fn news_arg() -> String {
    news().to_str().unwrap().to_owned()
}

#[test]
fn fingerprint_prints_one_line_a_document() {
    let all = run("indexer", ["fingerprint", "-q", &news_arg()]).expect(0);
    let text = fs::read_to_string(news()).unwrap();
    assert_eq!(all.stdout.lines().count(), text.lines().count());
    for (line, record) in all.stdout.lines().zip(text.lines()) {
        let record: Value = serde_json::from_str(record).unwrap();
        let (id, digits) = line.split_once('\t').unwrap();
        assert_eq!(record["id"], id);
        if record["text"] == "" {
            assert_eq!(digits, "", "a text without features has no fingerprint");
        } else {
            assert!(digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit()), "{line}");
        }
    }
    assert_eq!(all.stderr, "", "quiet means quiet");
}

#[test]
fn bad_records_are_named_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let [rejects, kept] = ["rejects.jsonl", "kept.jsonl"].map(|name| folder.path().join(name));
    let long_token = "x".repeat(1_000_000);
    let good = json_lines([
        ("good", LONG),
        ("nul", "nul \0 byte"),
        ("token", &long_token),
        ("empty", ""),
        ("dots", "…！？"),
    ]);
    let mut input = good.clone().into_bytes();
    for bad in [
        &b"not json"[..],
        b"{\"id\":\"a\"}",
        b"{\"id\":\"b\",\"text\":null}",
        b"{\"id\":\"c\",\"text\":\"\\ud800\"}",
        b"{\"id\":\"d\",\"text\":\"\xff\"}",
        b"{\"id\":\"e\\u0000\",\"text\":\"x\"}",
        b"[]",
    ] {
        input.extend_from_slice(bad);
        input.push(b'\n');
    }
    // A line of 40 MB is over the limit, and reading continues after it.
    input.extend_from_slice(
        format!("{{\"id\":\"huge\",\"text\":\"{}\"}}\n", "字".repeat(14_000_000)).as_bytes(),
    );
    let last = json_lines([("last", "good again after all of that")]);
    input.extend_from_slice(last.as_bytes());
    let args =
        ["dedup", "-q", "-", "--rejects", rejects.to_str().unwrap(), "--output", kept.to_str().unwrap()];
    let run = run_with_input("indexer", args, &input).expect(1);
    let rejects = fs::read_to_string(rejects).unwrap();
    let rejects: Vec<Value> = rejects.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines: Vec<u64> = rejects.iter().map(|reject| reject["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [6, 7, 8, 9, 10, 11, 12, 13]);
    for (reject, part) in rejects.iter().zip([
        "expected",
        "\"text\"",
        "text",
        "lone surrogate",
        "UTF-8",
        "id",
        "object",
        "longer than",
    ]) {
        assert_eq!(reject["source"], "stdin");
        assert!(reject["reason"].as_str().unwrap().contains(part), "{reject} should say {part}");
    }
    assert!(run.stderr.contains("rejected stdin:6"), "{}", run.stderr);
    assert!(run.stdout.contains("rejected                 8"), "{}", run.stdout);
    assert_eq!(fs::read_to_string(kept).unwrap(), good + &last, "what is kept is kept byte for byte");
}

#[test]
fn what_cannot_run_at_all_exits_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a file");
    fs::write(&file, "not an index").unwrap();
    let in_file = format!("embedded:{}", file.to_str().unwrap());
    let news = news_arg();
    let roundabout = news.replace("tests/", "tests/../tests/");
    let [folder_of_news, beside_news] = ["", "/kept"].map(|name| news.replace("/news.jsonl", name));
    let missing = format!("embedded:{}", folder.path().join("never made").to_str().unwrap());
    let in_store = folder.path().join("never made/data.mdb").to_str().unwrap().to_owned();
    let dict = folder.path().join("dict").to_str().unwrap().to_owned();
    fs::write(&dict, "鸽巢原理\n").unwrap();
    for (args, part) in [
        (vec!["fingerprint", "no/such/file"], "no/such/file"),
        (vec!["fingerprint"], "FILE"),
        (vec!["index", &news], "--store"),
        (vec!["index", &news, "--store", "memory:"], "embedded:PATH"),
        (vec!["index", &news, "--store", "nonsense"], "nonsense"),
        (vec!["index", &news, "--store", &in_file], "a file"),
        (vec!["index", &news, "--store", "embedded:/proc/no"], "/proc/no"),
        (vec!["dedup", &news, "--output", &news], "is an input"),
        (vec!["dedup", &news, "--duplicates", &roundabout], "is an input"),
        (vec!["dedup", &folder_of_news, "--output", &beside_news], "all of which is read"),
        (
            vec!["index", &folder_of_news, "--store", &missing, "--journal", &beside_news],
            "all of which is read",
        ),
        (vec!["dedup", &news, "--output", "x", "--duplicates", "./x"], "two outputs"),
        (vec!["index", &news, "--store", &missing, "--rejects", &roundabout], "is an input"),
        (vec!["fingerprint", &news, "--rejects", "-"], "two outputs"),
        (vec!["fingerprint", "-", "-"], "only once"),
        (vec!["dedup", &news, "--store", &missing, "--output", &in_store], "directory of the index"),
        (vec!["index", "no/such/file", "--store", &missing], "no/such/file"),
        (
            vec!["index", &news, "--store", &missing, "--segmenter", "words", "--user-dict", &dict],
            "user-dictionary",
        ),
        (vec!["dedup", &news, "--output", "/no/such/folder/kept"], "/no/such/folder"),
        (vec!["dedup", &news, "--scheme", "9c9"], "9c9"),
        (vec!["dedup", &news, "--max-distance", "4"], "max distance 4"),
        (vec!["fingerprint", &news, "--segmenter", "telepathy"], "telepathy"),
        (vec!["fingerprint", &news, "--user-dict", "no/such/dict"], "no/such/dict"),
    ] {
        let run = run("indexer", &args).expect(2);
        assert!(run.stderr.contains(part), "{args:?} should say {part:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{args:?}");
    }
    assert!(!folder.path().join("never made").exists(), "what is refused makes no index");
}

/// A typo in the name of an index makes a new one, in which nothing is a duplicate. The output says
/// so.
#[test]
fn a_new_index_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (news, watched) = (news_arg(), folder.path().join("watched"));
    fs::create_dir(&watched).unwrap();
    let results = folder.path().join("results");
    let (watched, results) = (watched.to_str().unwrap(), results.to_str().unwrap());
    for (n, args) in [
        vec!["index", &news],
        vec!["dedup", &news],
        vec!["collect", "--watch", watched, "--results", results, "--once"],
    ]
    .into_iter()
    .enumerate()
    {
        let at = |name: &str| format!("embedded:{}", folder.path().join(format!("{name}-{n}")).display());
        let said = |name: &str, more: &[&str]| {
            let store = at(name);
            run("indexer", [&args, &["--store", &*store][..], more].concat()).expect(0).stderr
        };
        let line = |name: &str, texts: &str| {
            format!("indexer: there was no index at {}: a new one is made; {texts}\n", at(name))
        };
        let keeps = "it keeps the texts of its documents, --texts none leaves them out";
        assert!(said("first", &[]).contains(&line("first", keeps)), "{args:?}");
        let none = "it keeps no texts, so its similarities are estimates";
        assert!(said("none", &["--texts", "none"]).contains(&line("none", none)), "{args:?}");
        assert!(!said("first", &[]).contains("a new one is made"), "{args:?}");
        assert!(!said("quiet", &["-q"]).contains("a new one is made"), "{args:?}");
    }
    let in_memory = run("indexer", ["dedup", &news]).expect(0).stderr;
    assert!(!in_memory.contains("a new one is made"), "{in_memory}");
}

#[test]
fn a_text_that_loses_its_features_leaves_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").to_str().unwrap());
    let index = |input: String| {
        let args = ["index", "-q", "--store", &store, "-"];
        run_with_input("indexer", args, input.as_bytes()).expect(0).stdout
    };
    index(json_lines([("a", LONG), ("b", "another text that stays where it is")]));
    let report = index(json_lines([("a", " \n"), ("c", " ")]));
    assert!(report.contains("removed                  1"), "{report}");
    assert!(report.contains("no features              1"), "{report}");
    let found = run("pigeonhole", ["query", "--store", &store, LONG]).expect(0).stdout;
    assert!(!found.contains("\ta\n"), "{found}");
    // Within one batch the last version counts, as across batches.
    index(json_lines([("d", LONG), ("d", " "), ("e", "\t"), ("e", LONG)]));
    let found = run("pigeonhole", ["query", "--store", &store, LONG]).expect(0).stdout;
    assert!(found.contains("\te\n") && !found.contains("\td\n"), "{found}");
}

#[test]
fn dedup_does_not_take_its_store_from_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("index");
    let mut command = command("indexer", ["dedup", "-q", &news_arg()]);
    command.env("PIGEONHOLE_STORE", format!("embedded:{}", store.to_str().unwrap()));
    assert!(command.output().unwrap().status.success());
    assert!(!store.exists());
}

#[test]
fn dedup_of_the_shipped_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let [kept, dups] =
        ["kept.jsonl", "dups.jsonl"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let run_1 =
        run("indexer", ["dedup", "-q", &news_arg(), "--output", &kept, "--duplicates", &dups]).expect(0);
    let dups = fs::read_to_string(dups).unwrap();
    let mut found = Vec::new();
    for line in dups.lines() {
        let dup: Value = serde_json::from_str(line).unwrap();
        let [a, b] = ["fingerprint", "duplicate_of_fingerprint"]
            .map(|field| dup[field].as_str().unwrap().parse::<simhash::Fingerprint>().unwrap());
        assert_eq!(dup["distance"], a.distance(b).as_bits());
        found.push(format!("{} {}", dup["duplicate_of"].as_str().unwrap(), dup["id"].as_str().unwrap()));
    }
    found.sort();
    // All planted edits, and nothing else.
    let expected = [
        "en-bakery en-bakery-credit",
        "en-battery en-battery-edited",
        "en-chess en-chess-order",
        "en-harbour en-harbour-caps",
        "en-harbour en-harbour-edited",
        "en-observatory en-observatory-fullwidth",
        "en-observatory en-observatory-wrapped",
        "en-wetland en-wetland-corrected",
        "zh-bridge zh-bridge-copy",
        "zh-bridge zh-bridge-edited",
        "zh-flood zh-flood-later",
        "zh-library zh-library-punct",
        "zh-metro zh-metro-numbers",
        "zh-metro zh-metro-order",
        "zh-museum zh-museum-spaced",
        "zh-museum zh-museum-traditional",
        "zh-raingarden zh-raingarden-corrected",
        "zh-raingarden zh-raingarden-edited",
        "zh-tea zh-tea-byline",
    ];
    assert_eq!(found, expected);
    let kept = fs::read_to_string(kept).unwrap();
    let all = fs::read_to_string(news()).unwrap();
    let left: String = all.split_inclusive('\n').filter(|line| kept.contains(line)).collect();
    assert_eq!(kept, left, "kept lines are as they were, in their order");
    assert_eq!(kept.lines().count() + dups.lines().count(), all.lines().count());
    assert!(run_1.stdout.contains("duplicates"), "{}", run_1.stdout);
}

#[test]
fn without_output_files_dedup_shows_the_groups() {
    let run = run("indexer", ["dedup", "-q", &news_arg(), "--groups", "2"]).expect(0);
    assert!(run.stdout.contains("zh-") && run.stdout.contains("en-"), "{}", run.stdout);
    assert!(run.stdout.contains("of which 2 are shown"), "{}", run.stdout);
    assert_eq!(
        run.stdout.lines().filter(|line| line.starts_with("kept      ") && line.contains('-')).count(),
        2
    );
}

#[test]
fn an_id_used_twice_is_dropped_or_rejected_but_never_kept_twice() {
    let other = "Something else entirely: twelve thousand reeds and willows stand along the old gravel pit.";
    let input =
        json_lines([("a", LONG), ("a", LONG), ("a", other), ("b", other), ("c", ""), ("c", ""), ("b", "")]);
    let folder = tempfile::tempdir().unwrap();
    let dups = folder.path().join("dups");
    for store in ["memory:".to_owned(), format!("embedded:{}", folder.path().join("index").to_str().unwrap())]
    {
        let outputs = ["--output", "-", "--duplicates", dups.to_str().unwrap(), "--force"];
        let args = [&["dedup", "-q", "-", "--store", &store], &outputs[..]].concat();
        let run = run_with_input("indexer", args, input.as_bytes()).expect(1);
        assert_eq!(run.stdout, json_lines([("a", LONG), ("b", other), ("c", "")]), "{store}");
        assert!(run.stderr.contains("earlier record"), "{}", run.stderr);
        assert!(run.stderr.contains("rejected                 3"), "{}", run.stderr);
        // The same text under the same id is counted, and no document is dropped for itself.
        assert!(run.stderr.contains("same id                1"), "{}", run.stderr);
        assert_eq!(fs::read_to_string(&dups).unwrap(), "");
    }
}

#[test]
fn running_again_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").to_str().unwrap());
    let first = run("indexer", ["index", "-q", "--store", &store, &news_arg()]).expect(0);
    let before = digest(&store);
    let again = run("indexer", ["index", "-q", "--store", &store, &news_arg()]).expect(0);
    assert_eq!(digest(&store), before);
    let count = |run: &str, name| {
        let line = run.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    assert!(count(&first.stdout, "indexed") > 0);
    assert_eq!(count(&again.stdout, "indexed"), 0);
    assert_eq!(count(&again.stdout, "unchanged"), count(&first.stdout, "indexed"));
}

#[test]
fn dedup_against_a_store_gives_the_same_answer_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").to_str().unwrap());
    let without = run("indexer", ["dedup", "-q", "--output", "-", &news_arg()]).expect(0).stdout;
    for _ in 0..2 {
        let with =
            run("indexer", ["dedup", "-q", "--output", "-", "--store", &store, &news_arg()]).expect(0).stdout;
        assert_eq!(with, without);
    }
}

#[test]
fn help_teaches() {
    for args in
        [vec!["--help"], vec!["dedup", "--help"], vec!["index", "--help"], vec!["fingerprint", "--help"]]
    {
        let help = run("indexer", &args).expect(0).stdout;
        assert!(help.contains("JSON Lines"), "{help}");
    }
    assert!(run("indexer", ["--help"]).stdout.contains("Exit status"));
}

/// An open file is appended to and not replaced. A link stays, and its target is replaced.
#[test]
fn an_output_is_never_put_in_the_place_of_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let [all, link] = ["all.txt", "link"].map(|name| folder.path().join(name));
    let news = news();
    let dedup = ["dedup", "-q", news.to_str().unwrap(), "--output"];
    fs::write(&all, "before\n").unwrap();
    let opened = fs::File::options().append(true).open(&all).unwrap();
    let done = command("indexer", dedup.iter().chain(&["/dev/stdout"])).stdout(opened).status().unwrap();
    assert_eq!(done.code(), Some(0));
    let text = fs::read_to_string(&all).unwrap();
    assert!(text.starts_with("before\n{") && text.contains("kept                    16"), "{text}");
    symlink(folder.path().join("nothing"), &link).unwrap();
    let refused = run("indexer", dedup.iter().chain(&[link.to_str().unwrap()])).expect(2);
    assert!(refused.stderr.contains("leads to nothing"), "{refused:?}");
    assert!(link.is_symlink() && !link.exists());
}

/// The commands of the help work in a copy of the source.
#[test]
fn the_commands_of_the_help_work_as_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    symlink(root().join("tests"), folder.path().join("tests")).unwrap();
    let help = run("indexer", ["--help"]).expect(0).stdout;
    let commands: Vec<&str> = help.lines().filter_map(|line| line.trim().strip_prefix("indexer ")).collect();
    assert_eq!(commands.len(), 4, "{help}");
    // At the width of a terminal, no command is broken into two lines.
    assert!(help.lines().filter(|line| line.contains("indexer ")).all(|line| line.len() <= 80), "{help}");
    for arguments in commands {
        let output = command("indexer", arguments.split(' ')).current_dir(&folder).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments}\n{stderr}");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains("read                    36"), "{arguments}\n{stdout}");
    }
    for file in ["kept.jsonl", "out.html", "new.jsonl", "seen", "index", "job"] {
        assert!(folder.path().join(file).metadata().unwrap().len() > 0, "{file}");
    }
}
