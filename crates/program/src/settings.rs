//! Sources of a program's settings: a flag overrides the environment, the environment overrides the
//! file of `--config`, and the file overrides the default.
//!
//! The file is TOML, and one file serves all programs. Its keys are the long flags without the
//! dashes. A key at the top is for every program and command with such a flag; a table `[indexer]`
//! is for one program, and `[indexer.dedup]` for one of its commands. The nearer table wins. A key
//! unknown to all commands of the program is refused anywhere but below the name of another
//! program. At the top, a file for several programs can therefore hold only keys known to each of
//! them.
//!
//! Settings from the file are put before the flags of the command line, unless a flag or the
//! environment sets them. Every flag can therefore be in the file, and clap alone knows the valid
//! values. For this reason neither figment nor config reads the file. Both make values by serde,
//! and every option would need a second parser beside the one of its flag. Neither knows the line
//! of a key, nor the source of a value in clap. All they would replace is the merge of three tables
//! (`File::settings`), for two crates more (config 0.15), or eight, with an older `toml` beside
//! ours (figment 0.10).
//!
//! A hidden flag is for the file and the environment only.

mod file;
mod kind;
mod shown;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process;

use anyhow::{anyhow, bail};
use clap::builder::Resettable;
use clap::error::{ContextKind, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};

use self::file::File;
use crate::invocation::command_line;
use crate::say::{complain, error, exit_with};
use crate::screen::stdout;

/// Heading of flags about the settings themselves. These flags have no place in the file.
const HEADING: &str = "Settings";

/// Heading of flags that state the task and not its manner, such as the documents to remove. A file
/// written for another purpose must not state a task, so these flags have no place in it either.
pub const TASK: &str = "What to do";

/// Flags for the file of settings, and for printing the settings.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = HEADING)]
pub struct SettingsArgs {
    /// Read settings from this file (TOML)
    ///
    /// Its keys are the long flags without the dashes before them, as in `top-terms = 100`: at its
    /// top for all programs, below `[indexer]`, `[query-worker]` or `[pigeonhole]` for one, and
    /// below `[indexer.dedup]` for a command. Paths in it are relative to where the program is
    /// started. A flag is stronger than the environment, and that than the file.
    #[arg(long, value_name = "FILE", env = "PIGEONHOLE_CONFIG")]
    pub config: Option<PathBuf>,
    /// Print the settings that hold and where each comes from, as a file for --config, and stop
    #[arg(long)]
    pub print_config: bool,
}

/// Returns the command line with `--config` and `--print-config` in every command with flags.
#[must_use]
pub fn configurable(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|found| found.get_name().to_owned()).collect();
    match names.is_empty() {
        true if command.get_opts().next().is_some() => {
            // Only the flags: the description of `SettingsArgs` is not one of the command.
            let flags = SettingsArgs::augment_args(Command::default());
            command.args(flags.get_arguments())
        }
        true => command,
        false => names.iter().fold(command, |command, name| command.mut_subcommand(name, configurable)),
    }
}

/// Returns the command line whose `-h` shows only `--config` and the flags of `common`, given by
/// their long names, in each command; `--help` shows all.
#[must_use]
pub fn with_short_help(command: Command, common: &[&str]) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|found| found.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| {
        let is_common = arg.get_long().is_none_or(|long| long == "config" || common.contains(&long));
        arg.hide_short_help(!is_common)
    });
    names
        .iter()
        .fold(command, |command, name| command.mut_subcommand(name, |found| with_short_help(found, common)))
}

/// The examples of commands, by their names.
pub type Examples<'a> = &'a [(&'a str, &'a [&'a str])];

/// Returns the command line with examples at the end of the help of commands. What else stands
/// there is left to `--help`.
#[must_use]
pub fn with_examples(command: Command, examples: Examples<'_>) -> Command {
    examples.iter().fold(command, |command, (name, lines)| {
        let short = format!("Examples:\n  {}", lines.join("\n  "));
        command.mut_subcommand(name, |found| {
            let long =
                found.get_after_help().map_or_else(|| short.clone(), |rest| format!("{short}\n\n{rest}"));
            found.after_help(short).after_long_help(long)
        })
    })
}

/// Returns the command line with other headings for the flags of `topics` in the help of each
/// command.
#[must_use]
pub fn with_topics(command: Command, topics: &'static [(&'static str, &'static [&'static str])]) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|found| found.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| {
        let is_its = |flags: &[&str]| arg.get_long().is_some_and(|long| flags.contains(&long));
        match topics.iter().find(|(_, flags)| is_its(flags)) {
            Some((heading, _)) => arg.help_heading(*heading),
            None => arg,
        }
    });
    names
        .iter()
        .fold(command, |command, name| command.mut_subcommand(name, |found| with_topics(found, topics)))
}

/// Reads the arguments of this process with its settings, as [`Settings::read`] does. The process
/// ends here after printing help, a fault, or, on request, its settings.
#[must_use]
pub fn of_this_process(command: Command, apart: &[(&str, &str)]) -> ArgMatches {
    let program = command.get_name().to_owned();
    let settings = Settings::read(command, apart, command_line(&program)).unwrap_or_else(|failure| {
        match failure.downcast::<clap::Error>() {
            Ok(failure) => exit_with(&program, &failure),
            Err(failure) => {
                complain(&program, format_args!("{}", error(&failure)));
                process::exit(2)
            }
        }
    });
    if !settings.is_asked_for() {
        return settings.matches;
    }
    match stdout().write_all(settings.to_string().as_bytes()) {
        Err(failure) if failure.kind() != io::ErrorKind::BrokenPipe => {
            complain(&program, format_args!("{}", error(&failure.into())));
            process::exit(2)
        }
        _ => process::exit(0),
    }
}

/// The effective settings, with the source of each.
#[derive(Debug)]
pub struct Settings {
    command: Command,
    /// Names of the subcommands that lead from the program to the command run: `["dedup"]`.
    names: Vec<String>,
    matches: ArgMatches,
    file: Option<PathBuf>,
    /// Flags with values from the file, and the lines of these values.
    from_file: BTreeMap<String, usize>,
}

impl Settings {
    /// Reads the arguments of a process, its environment, and the file named there. The first
    /// argument is the name of the program. `apart` lists commands with a flag that only the
    /// command's own table sets, and no table for several commands.
    ///
    /// # Errors
    /// A [`clap::Error`] for the arguments and the environment, also for a request for help, to be
    /// printed as clap prints it. Another error for a hidden flag on the command line, or for a
    /// fault of the file, with its name and the line.
    pub fn read(
        command: Command,
        apart: &[(&str, &str)],
        args: impl IntoIterator<Item = OsString>,
    ) -> anyhow::Result<Self> {
        let args: Vec<OsString> = args.into_iter().collect();
        // Only for the name of the file and the values that override it: faults are reported below.
        let stronger = command.clone().ignore_errors(true).try_get_matches_from(&args)?;
        let names = names(&stronger);
        let Some(run) = definition(&command, &names).filter(|run| is_configurable(run)).cloned() else {
            // A command without settings takes none from the environment either.
            let command = command.mut_args(|arg| arg.env(Resettable::Reset));
            let matches = command.clone().try_get_matches_from(args)?;
            return Ok(Self { command, names, matches, file: None, from_file: BTreeMap::new() });
        };
        let stronger = leaf(&stronger);
        let file = stronger.get_one::<PathBuf>("config").cloned();
        // With faulty arguments, not even flags have their defaults.
        let prints = stronger.get_one("print_config").copied().unwrap_or(false);
        for arg in run.get_arguments().filter(|arg| arg.is_hide_set()) {
            if stronger.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine) {
                bail!("{}", for_the_file(arg));
            }
        }
        let mut all_args = args.clone();
        let mut from_file = BTreeMap::new();
        if let Some(path) = &file {
            let at = all_args.len().min(1 + names.len());
            for (key, found) in File::read(path)?.settings(&command, &names)? {
                let Some((_, arg)) = keys(&run).find(|(known, _)| *known == key) else { continue };
                if !found.is_own && apart.contains(&(run.get_name(), &key)) {
                    continue;
                }
                let said = found.arguments(path, arg)?;
                if is_explicit(stronger, arg) {
                    continue;
                }
                // A default adds nothing: a flag that requires another one may stand in the file
                // with its default.
                let default: Vec<_> =
                    arg.get_default_values().iter().map(|value| flag(&key, value)).collect();
                if said != default {
                    all_args.splice(at..at, said);
                }
                from_file.insert(key, found.n_line);
            }
        }
        let matches = match command.clone().try_get_matches_from(&all_args) {
            // Printing the settings takes no input.
            Err(error) if prints && error.kind() == ErrorKind::MissingRequiredArgument => {
                command.clone().ignore_errors(true).try_get_matches_from(&all_args)?
            }
            Err(error) => return Err(blamed(&command, args, file, &from_file, error)),
            Ok(matches) => matches,
        };
        Ok(Self { command, names, matches, file, from_file })
    }

    /// Returns clap's result for the flags, the environment and the file.
    #[must_use]
    pub fn matches(&self) -> &ArgMatches {
        &self.matches
    }

    /// Returns true if the settings are to be printed, and nothing else done.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        let run = definition(&self.command, &self.names);
        run.is_some_and(is_configurable) && leaf(&self.matches).get_flag("print_config")
    }
}

/// Returns the names of the subcommands given.
fn names(matches: &ArgMatches) -> Vec<String> {
    let mut names = Vec::new();
    let mut matches = matches;
    while let Some((name, inner)) = matches.subcommand() {
        names.push(name.to_owned());
        matches = inner;
    }
    names
}

/// Returns the matches of the innermost subcommand.
fn leaf(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| leaf(inner))
}

/// Finds a command by the names of the subcommands that lead to it.
fn definition<'a>(command: &'a Command, names: &[String]) -> Option<&'a Command> {
    names.iter().try_fold(command, |command, name| command.find_subcommand(name))
}

fn is_configurable(command: &Command) -> bool {
    command.get_arguments().any(|arg| arg.get_id() == "config")
}

/// Returns the flags of a command that may be in the file, in the order of the help.
fn keys(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let is_setting = |arg: &&Arg| !matches!(arg.get_help_heading(), Some(HEADING | TASK));
    let others = command.get_arguments().filter(is_setting);
    others.filter_map(|arg| Some((arg.get_long()?, arg)))
}

/// Formats a flag with a value, as one word.
fn flag(key: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(format!("--{key}="));
    word.push(value);
    word
}

fn is_explicit(matches: &ArgMatches, arg: &Arg) -> bool {
    let source = matches.value_source(arg.get_id().as_str());
    matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// Formats the refusal of a hidden flag.
fn for_the_file(arg: &Arg) -> String {
    let key = arg.get_long().unwrap_or_default();
    let environment = arg.get_env().map(|name| format!(", or {} in the environment", name.display()));
    let environment = environment.unwrap_or_default();
    format!("--{key} is not for the command line: set `{key}` in the file of --config{environment}")
}

/// Returns the fault of the arguments `own`, or of the settings put before them by the file.
fn blamed(
    command: &Command,
    own: Vec<OsString>,
    file: Option<PathBuf>,
    from_file: &BTreeMap<String, usize>,
    error: clap::Error,
) -> anyhow::Error {
    let is_files = match command.clone().try_get_matches_from(own) {
        // The file may have supplied the missing argument.
        Err(own) if own.kind() == ErrorKind::MissingRequiredArgument => false,
        Err(own) => return own.into(),
        Ok(_) => true,
    };
    let named = [ContextKind::InvalidArg, ContextKind::PriorArg].map(|kind| error.get(kind));
    let named = named.into_iter().flatten().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let mut flags = named.split([' ', ',', '=']).filter_map(|word| word.strip_prefix("--"));
    let place = match (file, flags.find_map(|flag| from_file.get_key_value(flag))) {
        (Some(file), Some((key, n_line))) => {
            format!("bad setting `{key}` in `{}`, line {n_line}", file.display())
        }
        (Some(file), None) if is_files => format!("bad settings in `{}`", file.display()),
        _ => return error.into(),
    };
    let said = error.to_string();
    // The fault and the valid values, without the hint at the help.
    let said: Vec<_> = said.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let said = said.join(" ").trim_start_matches("error: ").to_owned();
    anyhow!(said).context(place)
}
