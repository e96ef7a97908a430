//! Where the settings of a program come from: a flag is stronger than the environment, that than the file of `--config`,
//! and that than the default.
//!
//! The file is TOML, and one file serves all programs. Its keys are the long flags without the dashes. At its top they are
//! for every program and command that has such a flag; a table `[indexer]` is for one program, and `[indexer.dedup]` for
//! one command of it. The nearer table is stronger. A key that no command of the program has is refused, wherever it stands but
//! below the name of another program: a file that several programs read has at its top only what each of them knows.
//!
//! What the file says is put before the flags of the command line, unless a flag or the environment says otherwise. So every
//! flag can be in the file, and clap alone knows which values may be. That is why neither figment nor config reads it: both
//! make values by serde, so every option would need a second parser beside the one of its flag; neither knows the line of a
//! key, nor where clap has a value from. All that they would replace is the merge of three tables (`File::settings`), for
//! two crates more (config 0.15), or eight, with an older `toml` beside ours (figment 0.10).
//!
//! A flag that is hidden is for the file and the environment only.

mod file;
mod kind;
mod shown;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;
use std::{env, process};

use anyhow::{anyhow, bail};
use clap::builder::Resettable;
use clap::error::{ContextKind, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};

use self::file::File;
use crate::say::{complain, error, exit_with};
use crate::screen::stdout;

/// The heading of flags that are about settings. They have no place in the file.
const HEADING: &str = "Settings";

/// The heading of flags that say what is to be done, and not how, as which documents to remove. A file that was written for
/// something else must not say that, so these have no place in it either.
pub const TASK: &str = "What to do";

/// Where settings come from, and whether to show them.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = HEADING)]
pub struct SettingsArgs {
    /// Read settings from this file (TOML)
    ///
    /// Its keys are the long flags without the dashes before them, as in `top-terms = 100`: at its top for all programs,
    /// below `[indexer]`, `[query-worker]` or `[pigeonhole]` for one, and below `[indexer.dedup]` for a command. Paths in it are
    /// relative to where the program is started. A flag is stronger than the environment, and that than the file.
    #[arg(long, value_name = "FILE", env = "PIGEONHOLE_CONFIG")]
    pub config: Option<PathBuf>,
    /// Print the settings that hold and where each comes from, as a file for --config, and stop
    #[arg(long)]
    pub print_config: bool,
}

/// The command line with `--config` and `--print-config` in every command that has flags.
#[must_use]
pub fn configurable(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|found| found.get_name().to_owned()).collect();
    match names.is_empty() {
        true if command.get_opts().next().is_some() => {
            // Only its flags: what is said of it as a whole is not of the command.
            let flags = SettingsArgs::augment_args(Command::default());
            command.args(flags.get_arguments())
        }
        true => command,
        false => names.iter().fold(command, |command, name| command.mut_subcommand(name, configurable)),
    }
}

/// The command line whose `-h` shows no other flags than those of `common`, by their long names, in each command;
/// `--help` shows all.
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

/// The command line with other headings for the flags of `topics` in the help of each command.
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

/// What the process was told, with the file of its settings, as [`Settings::read`] does. The process ends here with help,
/// with what is wrong, or, where that is asked for, after its settings were printed.
#[must_use]
pub fn of_this_process(command: Command, apart: &[(&str, &str)]) -> ArgMatches {
    let program = command.get_name().to_owned();
    let settings = Settings::read(command, apart, env::args_os()).unwrap_or_else(|failure| match failure
        .downcast::<clap::Error>(
    ) {
        Ok(failure) => exit_with(&failure),
        Err(failure) => {
            complain(&program, format_args!("{}", error(&failure)));
            process::exit(2)
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

/// The settings that hold, and where each comes from.
#[derive(Debug)]
pub struct Settings {
    command: Command,
    /// The command that is run, from the program's own on: `["dedup"]`.
    names: Vec<String>,
    matches: ArgMatches,
    file: Option<PathBuf>,
    /// The flags whose values are the file's, and the lines that have them.
    from_file: BTreeMap<String, usize>,
}

impl Settings {
    /// Reads the arguments of a process, the first of which is its name, its environment, and the file that they name.
    /// `apart` are commands with a flag that only the command's own table sets, and none that is for other commands, too.
    ///
    /// # Errors
    /// A [`clap::Error`] for the arguments and the environment, to be printed as clap prints them, also where they ask for
    /// help; and what is wrong with the file, with its name and the line.
    pub fn read(
        command: Command,
        apart: &[(&str, &str)],
        args: impl IntoIterator<Item = OsString>,
    ) -> anyhow::Result<Self> {
        let args: Vec<OsString> = args.into_iter().collect();
        // Only for the name of the file and what is stronger than it: what is wrong is found below.
        let stronger = command.clone().ignore_errors(true).try_get_matches_from(&args)?;
        let names = names(&stronger);
        let Some(run) = definition(&command, &names).filter(|run| is_configurable(run)).cloned() else {
            // What needs no settings takes none.
            let command = command.mut_args(|arg| arg.env(Resettable::Reset));
            let matches = command.clone().try_get_matches_from(args)?;
            return Ok(Self { command, names, matches, file: None, from_file: BTreeMap::new() });
        };
        let stronger = leaf(&stronger);
        let file = stronger.get_one::<PathBuf>("config").cloned();
        // Where something is wrong with the arguments not even flags have their defaults.
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
                // What a flag is anyway asks for nothing else: one that goes only with another one may stand in the file.
                let default: Vec<_> =
                    arg.get_default_values().iter().map(|value| flag(&key, value)).collect();
                if said != default {
                    all_args.splice(at..at, said);
                }
                from_file.insert(key, found.n_line);
            }
        }
        let matches = match command.clone().try_get_matches_from(&all_args) {
            // To see the settings takes no input.
            Err(error) if prints && error.kind() == ErrorKind::MissingRequiredArgument => {
                command.clone().ignore_errors(true).try_get_matches_from(&all_args)?
            }
            Err(error) => return Err(blamed(&command, args, file, &from_file, error)),
            Ok(matches) => matches,
        };
        Ok(Self { command, names, matches, file, from_file })
    }

    /// What clap made of them all.
    #[must_use]
    pub fn matches(&self) -> &ArgMatches {
        &self.matches
    }

    /// Whether to print them, and nothing else.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        let run = definition(&self.command, &self.names);
        run.is_some_and(is_configurable) && leaf(&self.matches).get_flag("print_config")
    }
}

/// The subcommands that were given.
fn names(matches: &ArgMatches) -> Vec<String> {
    let mut names = Vec::new();
    let mut matches = matches;
    while let Some((name, inner)) = matches.subcommand() {
        names.push(name.to_owned());
        matches = inner;
    }
    names
}

/// What was given to the innermost of them.
fn leaf(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| leaf(inner))
}

/// The command that was given by its names.
fn definition<'a>(command: &'a Command, names: &[String]) -> Option<&'a Command> {
    names.iter().try_fold(command, |command, name| command.find_subcommand(name))
}

fn is_configurable(command: &Command) -> bool {
    command.get_arguments().any(|arg| arg.get_id() == "config")
}

/// The flags of a command that may be in the file, in the order of the help.
fn keys(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let is_setting = |arg: &&Arg| !matches!(arg.get_help_heading(), Some(HEADING | TASK));
    let others = command.get_arguments().filter(is_setting);
    others.filter_map(|arg| Some((arg.get_long()?, arg)))
}

/// A flag with a value, as one word.
fn flag(key: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(format!("--{key}="));
    word.push(value);
    word
}

fn is_explicit(matches: &ArgMatches, arg: &Arg) -> bool {
    let source = matches.value_source(arg.get_id().as_str());
    matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// Why a hidden flag is not taken.
fn for_the_file(arg: &Arg) -> String {
    let key = arg.get_long().unwrap_or_default();
    let environment = arg.get_env().map(|name| format!(", or {} in the environment", name.display()));
    let environment = environment.unwrap_or_default();
    format!("--{key} is not for the command line: set `{key}` in the file of --config{environment}")
}

/// What is wrong with the arguments `own`, or with what the file has put before them.
fn blamed(
    command: &Command,
    own: Vec<OsString>,
    file: Option<PathBuf>,
    from_file: &BTreeMap<String, usize>,
    error: clap::Error,
) -> anyhow::Error {
    let is_files = match command.clone().try_get_matches_from(own) {
        // What it lacks the file may have had.
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
    // What is wrong, and what may be; not how to ask for help.
    let said: Vec<_> = said.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let said = said.join(" ").trim_start_matches("error: ").to_owned();
    anyhow!(said).context(place)
}
