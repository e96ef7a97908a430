//! A journal forgets no flag: any changed flag of a job with a journal makes another job, or is on
//! a list here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use clap::{Arg, ArgAction, FromArgMatches};
use program::settings::Settings;

use super::*;
use crate::cli::Cli;
use crate::journal::Description;

/// Flags that may change when a job goes on. Each is skipped at its option, with the reason.
const FREE: [&str; 16] = [
    "clock_ahead_max",
    "delete",
    "every_seconds",
    // The files found are compared, by path, length and time.
    "files",
    "files_from",
    // Without effect on what is written.
    "force",
    "groups",
    "input_wait_seconds",
    "journal",
    "keep_going",
    "memory_max",
    "once",
    "quiet",
    "temp",
    "threads",
    // Likewise: a round reads the files that it has taken.
    "watch",
];

/// Flags that a journal refuses.
const REFUSED: [&str; 6] = ["chains", "clusters", "dry_run", "pairs", "report", "rows"];

/// Flags of the recipe, which is compared as a whole.
const RECIPE: [&str; 9] =
    ["fold", "idf", "seed", "segmenter", "simplify", "stop_words", "top_terms", "user_dict", "weights"];

/// Flags about the source of options.
const NO_OPTIONS: [&str; 2] = ["config", "print_config"];

/// A flag that becomes a shard by the environment.
const SHARDS: &str = "shards";

/// A command line: values by flag, and the file to read.
type Line = BTreeMap<&'static str, String>;

/// A line for a command, with all that a journal needs.
fn line(command: &str) -> Line {
    let flags: &[(&str, &str)] = match command {
        "index" | "import" => &[("files", "a.jsonl"), ("store", "embedded:a"), ("journal", "job")],
        "dedup" => &[
            ("files", "a.jsonl"),
            ("store", "embedded:a"),
            ("journal", "job"),
            ("output", "kept"),
            ("keep", "newest"),
        ],
        "collect" => &[("watch", "in"), ("results", "out"), ("store", "embedded:a")],
        _ => panic!("{command} has a journal: say what its job is"),
    };
    flags.iter().map(|(flag, value)| (*flag, (*value).to_owned())).collect()
}

/// Two values for a flag that have nothing in common; `folder` is for files.
fn values(flag: &str, arg: &Arg, folder: &Path) -> [String; 2] {
    let possible = arg.get_possible_values();
    if let [one, other, ..] = &possible[..] {
        return [one, other].map(|value| value.get_name().to_owned());
    }
    let file = |name: &str, content: &str| {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let [one, other] = match flag {
        "files" => ["a.jsonl", "b.jsonl"],
        "shard" => ["0/2", "1/2"],
        "store" => ["embedded:a", "embedded:b"],
        "retain" | "clock_ahead_max" => ["1d", "2d"],
        "segmenter" => ["words", "chars:5"],
        "contained" | "min_similarity" => ["0.8", "0.9"],
        // Those of another profile.
        "expect_documents" => ["1e7", "1e9"],
        "weights" => ["uniform", "levels"],
        "delimiter" => [";", "tab"],
        "quote" => ["'", "none"],
        "encoding" => ["gb18030", "big5"],
        "keep" => ["longest", "best:quality"],
        "report" => ["a.json", "b.json"],
        "user_dict" => return [file("user-1", "one 5\n"), file("user-2", "two 5\n")],
        "key_file" => return [file("key-1", &"01".repeat(16)), file("key-2", &"23".repeat(16))],
        "stop_words" => return [file("stop-1", "one\n"), file("stop-2", "two\n")],
        "idf" => return [file("idf-1", "one 1.5\n"), file("idf-2", "two 1.5\n")],
        "checkpoint_records" | "every_seconds" | "groups" | "input_wait_seconds" | "max_distance"
        | "record_bytes_max" | "seed" | "threads" | "top_terms" => ["1", "2"],
        "clusters" | "duplicates" | "files_from" | "id_field" | "journal" | "output" | "pairs"
        | "fingerprint_field" | "rejects" | "results" | "rows" | "signature_field" | "source"
        | "source_field" | "temp" | "text_field" | "time_field" | "watch" => ["one", "two"],
        "memory_max" | "output_bytes_max" => ["1MB", "1GB"],
        "zstd_window_log_max" => ["27", "30"],
        _ => panic!("say two values of --{flag}"),
    };
    [one.to_owned(), other.to_owned()]
}

/// The job of a command line, or the reason for which there is none.
fn job(command: &str, definition: &clap::Command, line: &Line) -> anyhow::Result<Description> {
    let mut words = vec!["indexer".to_owned(), command.to_owned()];
    for (flag, value) in line {
        let arg = definition.get_arguments().find(|arg| arg.get_id() == *flag).unwrap();
        match (arg.get_long(), arg.get_action()) {
            (None, _) => words.push(value.clone()),
            (Some(long), ArgAction::SetTrue) => words.push(format!("--{long}")),
            (Some(long), _) => words.push(format!("--{long}={value}")),
        }
    }
    job_of(&Cli::command_line().try_get_matches_from(words)?)
}

fn job_of(matches: &clap::ArgMatches) -> anyhow::Result<Description> {
    match Cli::from_arg_matches(matches)?.command.task()?.unwrap() {
        Task::Index(options) => options.description(),
        Task::Dedup(options) => options.description(),
        Task::Collect(options) => {
            let job = options.job(Path::new("taken"), Path::new("rejects.jsonl"));
            options.description(&job, &CollectOptions::journal("journal".into()))
        }
        task => panic!("{task:?} has no journal"),
    }
}

/// The outcome of going on with another value of a flag.
#[derive(Debug)]
enum Outcome {
    Free,
    /// A job with a journal refuses the flag.
    Refused,
    /// The journal tells of another job.
    AnotherJob(String),
}

fn outcome(command: &str, definition: &clap::Command, arg: &'static str, folder: &Path) -> Outcome {
    let base = || {
        let mut line = line(command);
        match arg {
            "chains" => drop(line.insert("clusters", "clusters".to_owned())),
            "dry_run" => drop(line.remove("output")),
            "output_bytes_max" => drop(line.insert("output", "part-{}".to_owned())),
            _ => {}
        }
        line
    };
    let argument = definition.get_arguments().find(|found| found.get_id() == arg).unwrap();
    let [mut one, mut other] = [base(), base()];
    if matches!(argument.get_action(), ArgAction::SetTrue) {
        other.insert(arg, String::new());
    } else {
        let values = values(arg, argument, folder);
        for (line, value) in [&mut one, &mut other].into_iter().zip(values) {
            line.insert(arg, value);
        }
    }
    match (job(command, definition, &one), job(command, definition, &other)) {
        (Ok(one), Ok(other)) => one.difference(&other).map_or(Outcome::Free, Outcome::AnotherJob),
        (_, Err(error)) => {
            let error = error.to_string();
            assert!(error.contains("journal"), "{command} {other:?}: {error}");
            Outcome::Refused
        }
        (Err(error), Ok(_)) => panic!("{command} {one:?}: {error}"),
    }
}

#[test]
fn a_journal_forgets_no_flag() {
    let folder = tempfile::tempdir().unwrap();
    let mut cli = Cli::command_line();
    cli.build();
    let has_journal = |command: &&clap::Command| {
        command.get_name() == "collect" || command.get_arguments().any(|arg| arg.get_id() == "journal")
    };
    let (mut free, mut refused, mut commands) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for definition in cli.get_subcommands().filter(has_journal) {
        let command = definition.get_name();
        commands.insert(command);
        for arg in definition.get_arguments() {
            let id: &'static str = arg.get_id().as_str().to_owned().leak();
            if ["help", "version", SHARDS].contains(&id) || NO_OPTIONS.contains(&id) {
                continue;
            }
            match outcome(command, definition, id, folder.path()) {
                Outcome::Free => drop(free.insert(id)),
                Outcome::Refused => drop(refused.insert(id)),
                Outcome::AnotherJob(difference) => {
                    let name = match id {
                        "shard" => "the shard".to_owned(),
                        // It stands for a profile and a scheme.
                        "expect_documents" => "--profile".to_owned(),
                        _ if RECIPE.contains(&id) => "the recipe".to_owned(),
                        _ => format!("--{}", arg.get_long().unwrap()),
                    };
                    assert!(difference.starts_with(&format!("{name} was ")), "{command} {id}: {difference}");
                }
            }
        }
    }
    assert_eq!(commands, BTreeSet::from(["collect", "dedup", "import", "index"]));
    assert_eq!(free, BTreeSet::from(FREE), "what a journal is not to compare");
    assert_eq!(refused, BTreeSet::from(REFUSED), "what does not go with a journal");
}

/// A setting counts in every source of options, and in a file at any path.
#[test]
fn a_setting_counts_as_the_flag_does() {
    let folder = tempfile::tempdir().unwrap();
    let job = |words: &[&str]| {
        let words = ["indexer", "dedup", "a.jsonl"].iter().chain(words).map(Into::into);
        job_of(Settings::read(Cli::command_line(), &[], words).unwrap().matches()).unwrap()
    };
    let by_flags =
        job(&["--journal=job", "--output=kept", "--keep=newest", "--make-ids", "--text-field=a,b"]);
    let difference = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        by_flags.difference(&job(&["--config", path.to_str().unwrap()]))
    };
    let file = "text-field = [\"a\", \"b\"]\n[indexer]\nmake-ids = true\n\
                [indexer.dedup]\njournal = \"job\"\noutput = \"kept\"\nkeep = \"newest\"\n";
    assert_eq!(difference("one.toml", file), None);
    assert_eq!(difference("other.toml", file), None);
    let changed = difference("one.toml", &file.replace("newest", "longest")).unwrap();
    assert!(changed.starts_with("--keep was "), "{changed}");
}

/// The number in the environment tells the part.
#[test]
fn shards_are_a_shard() {
    assert_eq!(shard_of(Ok("1".to_owned()), 3).unwrap(), "1/3".parse().unwrap());
    for (n, part) in [
        (Err(VarError::NotPresent), "elsewhere say --shard N/OF"),
        (Ok("3".to_owned()), "JOB_COMPLETION_INDEX=3 of 3 shards: write N/OF"),
    ] {
        let refused = shard_of(n, 3).unwrap_err().to_string();
        assert!(refused.contains(part), "{refused}");
    }
}
