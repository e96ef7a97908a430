//! Where the settings come from: a flag is stronger than the environment, that than the file, and that than the default.
//!
//! The file's keys are the long flags, and what it says is put before the flags of the command line, unless a flag or
//! the environment says otherwise. So every flag can be in the file, and clap alone knows what values may be.

use std::any::TypeId;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

use anyhow::{Context, anyhow, bail};
use clap::builder::Resettable;
use clap::error::{ContextKind, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, FromArgMatches};
use toml::{Table, Value};

use crate::config::{Config, SettingsArgs};

/// The settings that hold, and where each comes from.
pub struct Settings {
    /// All of them.
    pub config: Config,
    command: Command,
    matches: ArgMatches,
    /// The flags whose values are the file's.
    from_file: BTreeSet<String>,
}

/// How a setting is written in TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Boolean,
    Integer,
    /// A number of them, which need not be whole.
    Seconds,
    String,
}

impl Settings {
    /// Reads the arguments of a process, the first of which is its name, its environment, and the file that they name.
    ///
    /// # Errors
    /// A [`clap::Error`] for the arguments and the environment, to be printed as clap prints them, also where they ask for
    /// help; and what is wrong with the file, which is named.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> anyhow::Result<Self> {
        let command = Config::command();
        let args: Vec<OsString> = args.into_iter().collect();
        // Only for the name of the file and what is stronger than it: what is wrong is found below.
        let stronger = command.clone().ignore_errors(true).try_get_matches_from(&args)?;
        let mut from_file = BTreeSet::new();
        let mut all_args = args.clone();
        // To do something else needs no settings, and takes none.
        let serves = stronger.subcommand_name().is_none();
        let command = if serves { command } else { command.mut_args(|arg| arg.env(Resettable::Reset)) };
        let path = stronger.get_one::<PathBuf>("config").filter(|_| serves);
        if let Some(path) = path {
            for (key, value) in read_file(path)? {
                let arg =
                    find(&command, &key).with_context(|| format!("bad settings in `{}`", path.display()))?;
                let said = arguments(arg, &key, &value)
                    .with_context(|| format!("bad setting `{key}` in `{}`", path.display()))?;
                if !is_explicit(&stronger, arg) {
                    all_args.splice(1..1, said);
                    from_file.insert(key);
                }
            }
        }
        let matches = command.clone().try_get_matches_from(all_args).map_err(|error| {
            match (path, command.clone().try_get_matches_from(args)) {
                // That one is wrong by itself; what it lacks the file may have had.
                (_, Err(own)) if own.kind() != ErrorKind::MissingRequiredArgument => own.into(),
                (Some(path), _) => named(path, &from_file, error),
                (None, _) => error.into(),
            }
        })?;
        let config = Config::from_arg_matches(&matches)?;
        Ok(Self { config, command, matches, from_file })
    }

    /// Where the value of a flag comes from.
    fn origin(&self, arg: &Arg, key: &str) -> String {
        let file = self.config.settings.config.as_deref().unwrap_or(Path::new(""));
        match self.matches.value_source(arg.get_id().as_str()) {
            _ if self.from_file.contains(key) => file.display().to_string(),
            Some(ValueSource::CommandLine) => "flag".to_owned(),
            Some(ValueSource::EnvVariable) => {
                format!("environment {}", arg.get_env().unwrap_or_default().to_string_lossy())
            }
            _ => "default".to_owned(),
        }
    }
}

/// TOML, as the file has it.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# The settings of query-worker, and where each comes from.")?;
        let mut heading = None;
        for (key, arg) in keys(&self.command) {
            if arg.get_help_heading() != heading {
                heading = arg.get_help_heading();
                writeln!(f, "\n# {}", heading.unwrap_or("Others"))?;
            }
            let raw = self.matches.get_raw(arg.get_id().as_str());
            let values: Option<Vec<Value>> =
                raw.map(|raw| raw.map(|value| written(kind(arg), &value.to_string_lossy())).collect());
            let value = match values {
                Some(values) if is_list(arg) => Value::Array(values),
                Some(values) if !values.is_empty() => values[0].clone(),
                _ => {
                    writeln!(f, "# {key} is not set")?;
                    continue;
                }
            };
            writeln!(f, "{key} = {value}  # {}", self.origin(arg, key))?;
        }
        Ok(())
    }
}

/// The flags that may be in the file, in the order of the help.
fn keys(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let settings = SettingsArgs::augment_args(Command::default());
    let others = command
        .get_arguments()
        .filter(move |arg| settings.get_arguments().all(|own| own.get_id() != arg.get_id()));
    others.filter_map(|arg| Some((arg.get_long()?, arg)))
}

fn read_file(path: &Path) -> anyhow::Result<Table> {
    let text =
        fs::read_to_string(path).with_context(|| format!("failed to read settings `{}`", path.display()))?;
    text.parse().map_err(|error: toml::de::Error| {
        // Its own text is several lines, to be looked at.
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let (path, n_line) = (path.display(), before.matches('\n').count() + 1);
        anyhow!("bad settings in `{path}`, line {n_line}: {}", error.message())
    })
}

fn find<'a>(command: &'a Command, key: &str) -> anyhow::Result<&'a Arg> {
    if let Some((_, arg)) = keys(command).find(|(known, _)| *known == key) {
        return Ok(arg);
    }
    let alike = keys(command).map(|(known, _)| (strsim::jaro(known, key), known));
    let nearest = alike.max_by(|a, b| a.0.total_cmp(&b.0)).map_or("", |(_, known)| known);
    bail!("there is no setting `{key}`; the nearest is `{nearest}`, and --help shows all");
}

/// What the command line would say.
fn arguments(arg: &Arg, key: &str, value: &Value) -> anyhow::Result<Vec<OsString>> {
    let values = match value {
        Value::Array(values) if is_list(arg) => values.as_slice(),
        value => std::slice::from_ref(value),
    };
    let mut said = Vec::new();
    for value in values {
        let text = match (kind(arg), value) {
            (Kind::Boolean, Value::Boolean(is_so)) => is_so.to_string(),
            (Kind::Integer | Kind::Seconds, Value::Integer(number)) => number.to_string(),
            (Kind::Seconds, Value::Float(number)) => number.to_string(),
            (Kind::String, Value::String(text)) => text.clone(),
            (kind, other) => {
                bail!(
                    "{} is expected, not {} ({other})",
                    format!("{kind:?}").to_lowercase(),
                    other.type_str()
                )
            }
        };
        match arg.get_action() {
            ArgAction::SetTrue if text == "true" => said.push(format!("--{key}").into()),
            ArgAction::SetTrue => {}
            _ => said.push(format!("--{key}={text}").into()),
        }
    }
    Ok(said)
}

fn written(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Boolean => text.parse().ok().map(Value::Boolean),
        Kind::Integer => text.parse().ok().map(Value::Integer),
        Kind::Seconds => match text.parse() {
            Ok(whole) => Some(Value::Integer(whole)),
            Err(_) => text.parse().ok().map(Value::Float),
        },
        Kind::String => None,
    }
    .unwrap_or_else(|| Value::String(text.to_owned()))
}

fn kind(arg: &Arg) -> Kind {
    let is = |ids: &[TypeId]| ids.iter().any(|id| arg.get_value_parser().type_id() == *id);
    if is(&[TypeId::of::<bool>()]) {
        Kind::Boolean
    } else if is(&[TypeId::of::<Duration>()]) {
        Kind::Seconds
    } else if is(&[
        TypeId::of::<u16>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
        TypeId::of::<NonZeroU32>(),
        TypeId::of::<NonZeroU64>(),
        TypeId::of::<NonZeroUsize>(),
    ]) {
        Kind::Integer
    } else {
        Kind::String
    }
}

fn is_list(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

fn is_explicit(matches: &ArgMatches, arg: &Arg) -> bool {
    let source = matches.value_source(arg.get_id().as_str());
    matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// What clap says of a value that came from the file.
fn named(path: &Path, from_file: &BTreeSet<String>, error: clap::Error) -> anyhow::Error {
    let place = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    let key = place.trim_start_matches("--").split(' ').next().unwrap_or_default().to_owned();
    if !from_file.contains(&key) {
        return error.into();
    }
    let said = error.to_string();
    // What is wrong, and what may be; not how to ask for help.
    let said: Vec<_> = said.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let said = said.join(" ").trim_start_matches("error: ").to_owned();
    anyhow::anyhow!(said).context(format!("bad setting `{key}` in `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flag for numbers of a type that is not known here would be a string in the file.
    #[test]
    fn what_looks_like_a_number_is_one() {
        let command = Config::command();
        let mut n_numbers = 0;
        for (key, arg) in keys(&command) {
            let default = arg.get_default_values().first().and_then(|default| default.to_str());
            let is_number = default.is_some_and(|default| default.parse::<u64>().is_ok());
            assert_eq!(is_number, is_number && matches!(kind(arg), Kind::Integer | Kind::Seconds), "{key}");
            n_numbers += usize::from(is_number);
        }
        assert!(n_numbers >= 3);
    }
}
