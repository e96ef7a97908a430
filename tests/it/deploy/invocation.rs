//! A command named in a file of `deploy/`, checked against the program's own help.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::{root, run};

/// The programs of the project, as their users call them.
pub(super) const PROGRAMS: [&str; 4] = ["indexer", "query-worker", "pigeonhole", "hbase"];

/// A program with its arguments and the project's variables in its environment.
#[derive(Debug)]
pub(super) struct Invocation {
    /// The place of the command, for messages.
    pub(super) place: String,
    pub(super) program: String,
    pub(super) args: Vec<String>,
    pub(super) variables: Vec<String>,
}

impl Invocation {
    /// Makes an invocation from words. The first word is the program, by name or path.
    pub(super) fn new(place: &str, words: &[String], variables: impl IntoIterator<Item = String>) -> Self {
        let program = words[0].rsplit('/').next().unwrap_or_default().to_owned();
        assert!(PROGRAMS.contains(&&*program), "{place}: {program} is no program of the project");
        let ours = |name: &String| name.starts_with("PIGEONHOLE_");
        let variables = variables.into_iter().filter(ours).collect();
        Self { place: place.to_owned(), program, args: words[1..].to_vec(), variables }
    }

    /// Checks that the program's help names every subcommand, flag and variable.
    #[track_caller]
    pub(super) fn check(&self) {
        let subcommand = self.args.first().filter(|arg| !arg.starts_with('-')).map(String::as_str);
        let help = help(&self.program, subcommand)
            .unwrap_or_else(|| panic!("{}: {} has no {subcommand:?}", self.place, self.program));
        let known = names(&help);
        // Later arguments are for Java, Hadoop and the loader.
        let passes_on = self.program == "hbase" && matches!(subcommand, Some("java" | "bulk-load" | "dfs"));
        let args = if passes_on { &self.args[..1] } else { &self.args[..] };
        for arg in args.iter().filter(|arg| arg.starts_with('-') && arg.len() > 1) {
            let flag = arg.split('=').next().unwrap();
            assert!(
                flag == "--help" || known.contains(flag),
                "{}: {} {subcommand:?} has no {flag}",
                self.place,
                self.program
            );
        }
        for variable in &self.variables {
            assert!(known.contains(&**variable), "{}: {} has no {variable}", self.place, self.program);
        }
    }
}

/// Returns the help of a program or of a subcommand; `None` if there is no such subcommand.
pub(super) fn help(program: &str, subcommand: Option<&str>) -> Option<String> {
    if program == "hbase" {
        let mut command = Command::new(root().join("deploy/hbase/hbase"));
        let help = String::from_utf8(command.arg("--help").output().unwrap().stdout).unwrap();
        let is_named =
            |name| help.lines().any(|line| line.starts_with("hbase ") && names(line).contains(name));
        return subcommand.is_none_or(is_named).then_some(help);
    }
    let help = run(program, subcommand.into_iter().chain(["--help"]));
    (help.code == Some(0)).then_some(help.stdout)
}

/// Returns the words of a help without punctuation: flags, variables, subcommands.
pub(super) fn names(help: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    help.split(|c: char| !is_part(c))
        .map(|word| word.trim_end_matches('-'))
        .filter(|word| !word.is_empty())
        .collect()
}
