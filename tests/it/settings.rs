//! Settings of all three programs: from flags, the environment and one file. Settings of the worker
//! alone are in `worker/settings.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::{Run, command, news, root, run};

/// All commands with settings.
const COMMANDS: [(&str, &[&str]); 23] = [
    ("indexer", &["fingerprint"]),
    ("indexer", &["index"]),
    ("indexer", &["bulk-rows"]),
    ("indexer", &["dedup"]),
    ("indexer", &["collect"]),
    ("indexer", &["export"]),
    ("indexer", &["import"]),
    ("indexer", &["reindex"]),
    ("indexer", &["pairs"]),
    ("indexer", &["idf"]),
    ("indexer", &["idf-merge"]),
    ("pigeonhole", &["compare"]),
    ("pigeonhole", &["eval"]),
    ("pigeonhole", &["tune"]),
    ("pigeonhole", &["key", "encode"]),
    ("pigeonhole", &["key", "decode"]),
    ("pigeonhole", &["query"]),
    ("pigeonhole", &["scheme"]),
    ("pigeonhole", &["info"]),
    ("pigeonhole", &["remove"]),
    ("pigeonhole", &["verify"]),
    ("pigeonhole", &["repair"]),
    ("query-worker", &[]),
];

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn shown(program: &str, command: &[&str], more: &[&str]) -> Run {
    run(program, [command, more, &["--print-config"]].concat())
}

/// Returns the printed settings without their origins.
fn values(printed: &str) -> Vec<&str> {
    printed.lines().filter_map(|line| line.split_once("  # ")).map(|(value, _)| value).collect()
}

/// Returns the file that ships with the source, with its commented-out settings enabled.
fn whole_example() -> String {
    let text = fs::read_to_string(root().join("deploy/pigeonhole.toml")).unwrap();
    let is_key = |line: &str| {
        let name = line.split_once(" = ").map_or("", |(name, _)| name);
        !name.is_empty() && name.bytes().all(|c| c.is_ascii_lowercase() || c == b'-')
    };
    let settings =
        text.lines().map(|line| line.strip_prefix("# ").filter(|line| is_key(line)).unwrap_or(line));
    settings.map(|line| format!("{line}\n")).collect()
}

/// The first screen of each command teaches by three examples or more, which the programs take, and
/// at most 15 flags.
#[test]
fn the_help_of_each_command_is_a_screen_with_examples() {
    for program in ["indexer", "pigeonhole", "query-worker"] {
        let commands = run(program, ["-h"]).expect(0).stdout;
        let commands = commands.split("\nCommands:\n").nth(1).unwrap_or_default();
        let own = commands.lines().take_while(|line| !line.is_empty()).filter_map(|line| {
            let name = line.strip_prefix("  ")?.split(' ').next()?;
            (!["", "completions", "man", "help", "key"].contains(&name)).then_some(name)
        });
        let commands: Vec<_> = if program == "query-worker" { vec![None] } else { own.map(Some).collect() };
        assert!(program == "query-worker" || commands.len() > 10, "{commands:?}");
        for name in commands {
            let help = run(program, name.into_iter().chain(["-h"])).expect(0).stdout;
            let is_flag = |line: &&str| line.trim_start().starts_with('-') && line.starts_with("  ");
            let n_flags = help.lines().filter(is_flag).count();
            assert!(n_flags <= 16, "{n_flags} flags beside --help:\n{help}");
            let examples =
                help.split("\nExamples:\n").nth(1).unwrap_or_else(|| panic!("no examples:\n{help}"));
            let examples = examples.lines().take_while(|line| line.starts_with("  ")).map(str::trim);
            let examples: Vec<_> = examples.filter(|example| example.starts_with(program)).collect();
            assert!(examples.len() >= 3 || program == "query-worker", "{help}");
            for example in examples {
                assert!(example.chars().count() <= 98, "{example}");
                // Without the comment, and what a shell does with the output.
                let line = example.split("   ").next().unwrap();
                let line = line.split(" | ").next().unwrap().split(" >").next().unwrap();
                if name.is_none_or(|name| line.split(' ').nth(1) == Some(name)) && !line.contains("new-key") {
                    taken(program, line);
                }
            }
        }
    }
}

/// Checks that a program takes a line of a shell.
fn taken(program: &str, line: &str) {
    let quoted: Vec<&str> = line.split('\'').collect();
    let words = quoted.iter().enumerate().flat_map(|(n, part)| match n % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![*part],
    });
    run(program, words.skip(1).chain(["--print-config"])).expect(0);
}

#[test]
fn a_share_may_be_a_number() {
    let folder = tempfile::tempdir().unwrap();
    for share in ["0.85", "\"0.85\""] {
        let file = write(folder.path(), "share.toml", &format!("min-similarity = {share}\n"));
        let printed = shown("indexer", &["dedup"], &["--config", &file]).expect(0).stdout;
        assert!(values(&printed).contains(&"min-similarity = \"0.85\""), "{printed}");
    }
}

#[test]
fn the_example_is_for_every_command_of_every_program() {
    let folder = tempfile::tempdir().unwrap();
    let text = whole_example();
    let example = write(folder.path(), "pigeonhole.toml", &text);
    let mut from_file = BTreeSet::new();
    for (program, command) in COMMANDS {
        let printed = shown(program, command, &["--config", &example]).expect(0).stdout;
        let lines = printed.lines().filter(|line| line.ends_with(&example));
        from_file.extend(lines.map(|line| line.split_once(" = ").unwrap().0.to_owned()));
        // A numeric flag of a type unknown there would be a string in the file.
        for line in values(&printed) {
            let text = line.split_once(" = \"").map_or("", |(_, text)| text.trim_end_matches('"'));
            assert!(
                text.is_empty() || !text.bytes().all(|c| c.is_ascii_digit()),
                "{program} {command:?}: {line}"
            );
        }
        // The printed settings are a file of settings with the same values.
        let again = write(folder.path(), "again.toml", &printed);
        let again = shown(program, command, &["--config", &again]).expect(0).stdout;
        assert_eq!(values(&again), values(&printed), "{program} {command:?}");
        let table = [&[program], &command[..command.len().min(1)]].concat().join(".");
        assert!(printed.lines().any(|line| line == format!("[{table}]")), "{printed}");
    }
    // The file has even the settings hidden from the help.
    let printed = shown("query-worker", &[], &[]).expect(0).stdout;
    let help = run("query-worker", ["--help"]).expect(0).stdout;
    let hidden: Vec<_> = values(&printed)
        .into_iter()
        .map(|line| line.split_once(" = ").unwrap().0)
        .filter(|key| !help.contains(&format!("--{key}")))
        .collect();
    assert_eq!(hidden, ["answer-seconds-max"]);
    assert!(hidden.iter().all(|key| from_file.contains(*key)));
    // Every setting of the file has an effect.
    let keys = text.lines().filter(|line| !line.starts_with('#'));
    for (key, _) in keys.filter_map(|line| line.split_once(" = ")) {
        assert!(from_file.contains(key), "{key}: {from_file:?}");
    }
}

#[test]
fn a_flag_is_above_the_environment_that_above_the_file_that_above_the_default() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(
        folder.path(),
        "all.toml",
        "store = \"memory:\"\nsegmenter = \"words\"\ntop-terms = 5\nseed = 1\nid-field = \"a\"",
    );
    for (program, args, id_field) in [
        ("indexer", &["index"][..], true),
        ("pigeonhole", &["query", "--store", "memory:"], false),
        ("query-worker", &["--store", "memory:"], false),
    ] {
        let text = fs::read_to_string(&path).unwrap();
        let text =
            if id_field { text } else { text.replace("id-field = \"a\"", "[indexer]\nid-field = \"a\"") };
        let path = write(folder.path(), "own.toml", &text);
        let args = [args, &["--seed", "3", "--print-config"]].concat();
        let environment =
            [("PIGEONHOLE_CONFIG", &*path), ("PIGEONHOLE_SEED", "2"), ("PIGEONHOLE_TOP_TERMS", "6")];
        let output = command(program, args).envs(environment).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let printed = String::from_utf8(output.stdout).unwrap();
        for line in [
            "seed = 3  # flag".to_owned(),
            "top-terms = 6  # environment PIGEONHOLE_TOP_TERMS".to_owned(),
            format!("segmenter = \"words\"  # {path}"),
            "# idf is not set".to_owned(),
        ] {
            assert!(printed.lines().any(|printed| printed == line), "{program}: {line}\n{printed}");
        }
        assert_eq!(printed.contains(&format!("id-field = \"a\"  # {path}")), id_field, "{printed}");
    }
}

#[test]
fn what_is_wrong_is_said_with_file_line_and_key() {
    let folder = tempfile::tempdir().unwrap();
    for (program, command, text, parts) in [
        ("indexer", &["dedup"][..], "\nkep = 1", &["line 2", "`kep`", "the nearest is `keep`"][..]),
        ("indexer", &["dedup"], "[indexer.dedup]\nwatch = \"a\"", &["line 2", "`watch` in [indexer.dedup]"]),
        ("indexer", &["dedup"], "[indexer.deduup]", &["line 1", "`deduup` in [indexer]", "`dedup`"]),
        ("indexer", &["dedup"], "[dedup]", &["line 1", "no table `dedup`"]),
        ("indexer", &["dedup"], "listen = \"a\"", &["line 1", "`listen`", "[query-worker]"]),
        ("indexer", &["dedup"], "\n\nthreads = 0", &["line 3", "`threads`", "1..=1024"]),
        ("indexer", &["idf"], "min-df = \"2\"", &["line 1", "`min-df`", "integer"]),
        ("indexer", &["index"], "store = \"./a\"", &["line 1", "`store`", "./a"]),
        ("pigeonhole", &["query"], "limit = -1", &["line 1", "`limit`", "-1"]),
        // The selection for removal is no setting.
        ("pigeonhole", &["remove"], "source = \"a\"", &["no setting `source`"]),
        ("pigeonhole", &["repair"], "[pigeonhole.repair]\napply = true", &["line 2", "no setting `apply`"]),
        ("query-worker", &[], "[query-worker]\nlimit = 1", &["line 2", "`limit` in [query-worker]"]),
    ] {
        let path = write(folder.path(), "bad.toml", text);
        let said = shown(program, command, &["--config", &path]).expect(2).stderr;
        for part in [parts, &[&*path, &format!("{program}: error: bad setting")]].concat() {
            assert!(said.contains(part), "{program} {text:?} should say {part:?}: {said}");
        }
    }
    for (program, command) in [("indexer", &["dedup"][..]), ("pigeonhole", &["info"])] {
        let said = shown(program, command, &["--config", "/missing.toml"]).expect(2).stderr;
        assert!(said.contains("failed to read settings `/missing.toml`"), "{said}");
    }
    let said = run("query-worker", ["--answer-seconds-max", "5"]).expect(2).stderr;
    assert!(
        said.contains("set `answer-seconds-max`") && said.contains("PIGEONHOLE_ANSWER_SECONDS_MAX"),
        "{said}"
    );
}

/// An index is written only on request, as with PIGEONHOLE_STORE.
#[test]
fn dedup_takes_no_index_that_is_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let (kept, index) = (folder.path().join("kept.jsonl"), folder.path().join("index"));
    let text = format!("store = \"embedded:{}\"\n", index.display());
    let path = write(folder.path(), "all.toml", &text);
    let dedup = |path: &str| {
        run(
            "indexer",
            [
                "dedup",
                "-q",
                "--force",
                "--config",
                path,
                "--output",
                kept.to_str().unwrap(),
                news().to_str().unwrap(),
            ],
        )
        .expect(0)
    };
    dedup(&path);
    assert!(kept.exists() && !index.exists());
    dedup(&write(folder.path(), "own.toml", &format!("[indexer.dedup]\n{text}")));
    assert!(index.exists());
    let info = run("pigeonhole", ["info", "--config", &path]).expect(0).stdout;
    assert!(info.contains("documents     "), "{info}");
}

/// A job is the same if its settings are, wherever they come from.
#[test]
fn a_journal_does_not_see_where_settings_come_from() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [kept, job] = ["kept.jsonl", "job"].map(at);
    let news = news();
    let words = ["dedup", news.to_str().unwrap(), "--output", &kept, "--journal", &job];
    let job = |more: &[&str]| run("indexer", [&words, more].concat());
    job(&["--keep", "longest", "--text-field", "text"]).expect(0);
    for name in ["one.toml", "other.toml"] {
        let file = write(folder.path(), name, "text-field = \"text\"\n[indexer.dedup]\nkeep = \"longest\"");
        let said = job(&["--config", &file]).expect(0).stderr;
        assert!(said.contains("this job was done before"), "{said}");
    }
    // The printed settings are enough for a run.
    let printed = job(&["--keep", "longest", "--print-config"]).expect(0).stdout;
    let file = write(folder.path(), "one.toml", &printed);
    let said = run("indexer", ["dedup", "--config", &file, news.to_str().unwrap()]).expect(0).stderr;
    assert!(said.contains("this job was done before"), "{said}");
    let file = write(folder.path(), "one.toml", "[indexer]\nkeep = \"newest\"");
    let said = job(&["--config", &file]).expect(2).stderr;
    assert!(said.contains("--keep was \"longest\" there and is \"newest\" now"), "{said}");
}

/// `-h` has the most used flags, and `--help` all.
#[test]
fn help_comes_in_two_lengths() {
    let flags = |help: &str| -> BTreeSet<String> {
        let lines = help.lines().filter(|line| line.len() - line.trim_start().len() <= 6);
        let words = lines.filter(|line| line.trim_start().starts_with('-'));
        words
            .filter_map(|line| line.split([' ', ',']).find(|word| word.starts_with("--")))
            .map(str::to_owned)
            .collect()
    };
    for (program, command) in COMMANDS {
        let [short, long] =
            ["-h", "--help"].map(|help| run(program, [command, &[help]].concat()).expect(0).stdout);
        for line in short.lines().chain(long.lines()) {
            assert!(line.chars().count() <= 100, "{program} {command:?}: {line}");
        }
        let [few, all] = [&short, &long].map(|help| flags(help));
        assert!(few.is_subset(&all), "{program} {command:?}: {few:?} {all:?}");
        assert!((3..=16).contains(&few.len()), "{program} {command:?}: {few:?}");
        assert!(few.contains("--config") && all.contains("--print-config"), "{program} {command:?}: {all:?}");
        // A command of many flags groups them under headings.
        let headings = long.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).count();
        assert!(all.len() < 12 || headings >= 4, "{program} {command:?}");
    }
}

/// Before, the file was read until the memory was full.
#[test]
fn a_file_of_settings_without_an_end() {
    let said = run("indexer", ["index", "--config", "/dev/zero", "--print-config"]).expect(2).stderr;
    assert!(said.contains("has more than 1048576 bytes"), "{said}");
}
