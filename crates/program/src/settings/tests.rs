use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use tempfile::TempDir;

use super::*;

/// Sort the mail
#[derive(Debug, Parser)]
#[command(name = "sorter")]
struct Sorter {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Put letters in their holes
    File(FileArgs),
    /// Take letters out of their holes
    Empty {
        #[arg(long)]
        holes: Option<u32>,
        #[arg(long)]
        by: Option<String>,
        #[arg(long, help_heading = TASK)]
        all: bool,
    },
    /// Say what this is
    About,
}

#[derive(Debug, Parser)]
struct FileArgs {
    #[arg(required = true)]
    letters: Vec<PathBuf>,
    #[arg(long, default_value_t = 8, help_heading = "Holes")]
    holes: u32,
    #[arg(long, value_delimiter = ',')]
    street: Vec<String>,
    #[arg(long, conflicts_with = "street")]
    unsorted: bool,
    #[arg(long)]
    desk: Option<String>,
    #[arg(long, default_value = "neat", requires = "desk")]
    manner: String,
    #[arg(long, hide = true, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pace: u32,
}

fn command() -> Command {
    configurable(Sorter::command())
}

/// Letters are put on a desk only if the command's own table says so.
const APART: [(&str, &str); 1] = [("file", "desk")];

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn read(&self, file: &str, args: &[&str]) -> anyhow::Result<Settings> {
        let path = self.0.path().join("settings.toml");
        fs::write(&path, file).unwrap();
        let config: OsString = format!("--config={}", path.display()).into();
        let args = args.iter().map(|arg| OsString::from(*arg));
        Settings::read(command(), &APART, ["sorter".into()].into_iter().chain(args).chain([config]))
    }

    fn file(&self, file: &str, args: &[&str]) -> FileArgs {
        let settings = self.read(file, &[&["file", "a"], args].concat()).unwrap();
        match Sorter::from_arg_matches(settings.matches()).unwrap().task {
            Task::File(args) => args,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_nearest_table_and_then_the_flag_hold() {
    let place = Place::new();
    let file = "holes = 1\nby = \"me\"\n[sorter]\nstreet = [\"a\", \"b,c\"]\nholes = 2\n[sorter.file]\nholes = 3\npace = 9\n\
                [query-worker]\nlisten = \"x\"\n[indexer.dedup]\nholes = true";
    let args = place.file(file, &[]);
    assert_eq!((args.holes, args.pace), (3, 9));
    assert_eq!(args.street, ["a", "b", "c"]);
    assert_eq!(place.file(file, &["--holes", "4"]).holes, 4);
    assert_eq!(place.file("[sorter]\nholes = 2\n[sorter.empty]\nholes = 3", &[]).holes, 2);
    let args = place.file("unsorted = true", &[]);
    assert!(args.unsorted && args.street.is_empty() && args.letters.len() == 1 && args.desk.is_none());
    assert_eq!(place.file("desk = \"a\"\n[sorter]\ndesk = \"b\"", &[]).desk, None);
    assert_eq!(place.file("desk = \"a\"\n[sorter.file]\ndesk = \"b\"", &[]).desk.as_deref(), Some("b"));
    // A flag that requires another one may stand there with its default.
    assert_eq!(place.file("manner = \"neat\"", &[]).manner, "neat");
    // A list on the command line replaces the one in the file.
    assert_eq!(place.file("street = \"a\"", &["--street", "b"]).street, ["b"]);
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let place = Place::new();
    for (file, args, parts) in [
        ("\nhole = 1", &["file", "a"][..], &["line 2", "no setting `hole`", "nearest is `holes`"][..]),
        ("[sorter]\nhole = 1", &["file", "a"], &["line 2", "`hole` in [sorter]", "nearest is `holes`"]),
        // A flag of another command.
        ("[sorter.file]\n\nby = \"x\"", &["file", "a"], &["line 3", "no setting `by` in [sorter.file]"]),
        ("[sorter.fil]\n", &["file", "a"], &["line 1", "no table `fil` in [sorter]", "`file`"]),
        ("[sorter.about]\n", &["file", "a"], &["no table `about`"]),
        ("[sorte]\n", &["file", "a"], &["line 1", "no table `sorte`", "`sorter`"]),
        ("config = \"x\"", &["file", "a"], &["no setting `config`"]),
        ("[sorter.empty]\nall = true", &["empty"], &["no setting `all`"]),
        ("listen = \"x\"", &["file", "a"], &["no setting `listen`", "[query-worker]"]),
        ("holes = \"1\"", &["file", "a"], &["`holes`", "line 1", "integer", "string"]),
        ("street = [1]", &["file", "a"], &["`street`", "line 1", "string", "integer"]),
        ("\n\npace = 0", &["file", "a"], &["`pace`", "line 3", "'0'"]),
        ("manner = \"odd\"", &["file", "a"], &["bad settings in", "--desk"]),
        ("street = \"a\"", &["file", "a", "--unsorted"], &["`street`", "line 1", "cannot be used"]),
        ("a\nb", &["file", "a"], &["line 1"]),
        ("holes = 1\nholes = 2", &["file", "a"], &["line 2", "duplicate key"]),
    ] {
        let said = format!("{:#}", place.read(file, args).unwrap_err());
        for part in [parts, &["settings.toml"]].concat() {
            assert!(said.contains(part), "{file:?} should say {part:?}: {said}");
        }
    }
    // Faults of the command line itself stay clap's.
    for args in [&["file", "a", "--holes", "x"][..], &["file"], &["empty", "--street", "a"]] {
        let error = place.read("holes = 3", args).unwrap_err();
        assert!(error.is::<clap::Error>(), "{args:?}: {error:#}");
    }
    assert!(place.read("by = 1", &["file", "a"]).is_ok());
    assert!(
        place
            .read("", &["file", "a", "--pace=3"])
            .unwrap_err()
            .to_string()
            .contains("set `pace` in the file")
    );
}

#[test]
fn what_has_no_flags_reads_no_file() {
    let about = Settings::read(command(), &APART, ["sorter", "about"].map(OsString::from)).unwrap();
    assert!(!about.is_asked_for());
    assert!(Place::new().read("", &["about"]).is_err());
}

#[test]
fn what_is_shown_is_a_file_that_says_the_same() {
    let place = Place::new();
    let values = |shown: &str| -> Vec<String> {
        shown.lines().filter_map(|line| line.split_once("  # ")).map(|(value, _)| value.to_owned()).collect()
    };
    let file = "street = [\"a\", \"b \\\"\\u001b\"]\n[sorter.file]\npace = 9";
    // No letters are needed.
    for args in [&["file", "--print-config", "--holes=0x"][..], &["file", "--holes=0x"]] {
        assert!(place.read(file, args).unwrap_err().is::<clap::Error>());
    }
    let settings = place.read(file, &["file", "--print-config", "--holes=7"]).unwrap();
    assert!(settings.is_asked_for());
    let shown = settings.to_string();
    let path = place.0.path().join("settings.toml");
    for line in [
        "[sorter.file]".to_owned(),
        "# Holes".to_owned(),
        "# desk is not set".to_owned(),
        "holes = 7  # flag".to_owned(),
        format!("pace = 9  # {}", path.display()),
        "unsorted = false  # default".to_owned(),
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
    let again = place.read(&shown, &["file", "--print-config"]).unwrap().to_string();
    assert_eq!(values(&again), values(&shown));
    assert_eq!(values(&again).len(), 5);
}

#[test]
fn short_help_is_short() {
    let mut command = with_short_help(command(), &["holes"]);
    let file = command.find_subcommand_mut("file").unwrap();
    let short = file.render_help().to_string();
    assert!(short.starts_with("Put letters in their holes"), "{short}");
    assert!(short.contains("--holes") && short.contains("--config") && !short.contains("--desk"), "{short}");
    let long = file.render_long_help().to_string();
    assert!(long.contains("--desk") && long.contains("--print-config") && !long.contains("--pace"), "{long}");
}
