//! The file of settings: its settings for a command, with their lines.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::{Arg, ArgAction, Command};
use toml::de::DeTable;
use toml::{Table, Value};

use super::kind::{Kind, is_list};
use super::{flag, is_configurable, keys};

/// Programs that share one file. A table named after another program is not examined.
const PROGRAMS: [&str; 3] = ["indexer", "query-worker", "pigeonhole"];

pub(super) struct File {
    path: PathBuf,
    text: String,
    table: Table,
}

/// A setting in the file.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) n_line: usize,
    /// True if the setting is in the table of the command itself.
    pub(super) is_own: bool,
    value: Value,
}

/// Maximum size of a file of settings in bytes. An endless one, such as a device, is not read
/// further.
const FILE_BYTES_MAX: u64 = 1 << 20;

fn read_bounded(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let n_bytes = fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if n_bytes as u64 > FILE_BYTES_MAX {
        let why = format!("it has more than {FILE_BYTES_MAX} bytes; name a file of settings");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(text)
}

impl File {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text =
            read_bounded(path).with_context(|| format!("failed to read settings `{}`", path.display()))?;
        let table = text.parse().map_err(|error: toml::de::Error| {
            // The error's own text has several lines, for display.
            let n_line = n_line(&text, error.span().map_or(0, |span| span.start));
            anyhow!("bad settings in `{}`, line {n_line}: {}", path.display(), error.message())
        })?;
        Ok(Self { path: path.to_owned(), text, table })
    }

    /// Returns the settings for a command of the program, by its `names`; the nearest table wins.
    /// Settings for other commands of the program are among them.
    ///
    /// # Errors
    /// If a key or a table is unknown to every program and command.
    pub(super) fn settings(
        &self,
        program: &Command,
        names: &[String],
    ) -> anyhow::Result<BTreeMap<String, Found>> {
        let mut settings = BTreeMap::new();
        let all = flags(program);
        let programs: Vec<&str> = PROGRAMS.into_iter().chain([program.get_name()]).collect();
        self.take(&[], &all, &programs, &mut settings)?;
        let commands = program.get_subcommands().filter(|command| !flags(command).is_empty());
        let commands: Vec<&str> = commands.map(Command::get_name).collect();
        self.take(&[program.get_name()], &all, &commands, &mut settings)?;
        if let Some(command) = names.first().and_then(|name| program.find_subcommand(name)) {
            let table = [program.get_name(), command.get_name()];
            self.take(&table, &flags(command), &[], &mut settings)?;
        }
        Ok(settings)
    }

    /// Takes the settings of one table, whose keys are `flags` and the names of `tables`.
    fn take(
        &self,
        place: &[&str],
        flags: &[&str],
        tables: &[&str],
        settings: &mut BTreeMap<String, Found>,
    ) -> anyhow::Result<()> {
        let mut table = Some(&self.table);
        for name in place {
            table = table.and_then(|table| table.get(*name)).and_then(Value::as_table);
        }
        for (key, value) in table.into_iter().flatten() {
            let n_line = self.n_line(place, key);
            if value.is_table() && tables.contains(&key.as_str()) {
                continue;
            }
            if flags.contains(&key.as_str()) {
                let is_own = place.len() == 2;
                settings.insert(key.clone(), Found { n_line, is_own, value: value.clone() });
                continue;
            }
            let (what, known) = if value.is_table() { ("table", tables) } else { ("setting", flags) };
            let inside = if place.is_empty() { String::new() } else { format!(" in [{}]", place.join(".")) };
            let others = if place.is_empty() && !value.is_table() {
                "; what only one program has goes below its name, as in [query-worker]"
            } else {
                ""
            };
            bail!(
                "bad settings in `{}`, line {n_line}: there is no {what} `{key}`{inside}{}{others}",
                self.path.display(),
                advice(known, key)
            );
        }
        Ok(())
    }

    /// Returns the line of a key in a table, counted from 1, or the line of the nearest known table
    /// around it.
    fn n_line(&self, place: &[&str], key: &str) -> usize {
        let mut at = 0;
        if let Ok(parsed) = DeTable::parse(&self.text) {
            let mut table = Some(parsed.get_ref());
            for name in place.iter().copied().chain([key]) {
                let found = table.and_then(|table| table.iter().find(|(known, _)| known.get_ref() == name));
                let Some((known, value)) = found else { break };
                at = known.span().start;
                table = value.get_ref().as_table();
            }
        }
        n_line(&self.text, at)
    }
}

impl Found {
    /// Returns the equivalent arguments of a command line.
    pub(super) fn arguments(&self, path: &Path, arg: &Arg) -> anyhow::Result<Vec<OsString>> {
        let (kind, key) = (Kind::of(arg), arg.get_long().unwrap_or_default());
        let values = match &self.value {
            Value::Array(values) if is_list(arg) => values.as_slice(),
            value => std::slice::from_ref(value),
        };
        let mut said = Vec::new();
        for value in values {
            let Some(text) = kind.read(value) else {
                let (path, n_line, expected) = (path.display(), self.n_line, kind.name());
                bail!(
                    "bad setting `{key}` in `{path}`, line {n_line}: {expected} is expected, not {} ({value})",
                    value.type_str()
                );
            };
            match arg.get_action() {
                ArgAction::SetTrue if text == "true" => said.push(format!("--{key}").into()),
                ArgAction::SetTrue => {}
                _ => said.push(flag(key, text.as_ref())),
            }
        }
        Ok(said)
    }
}

/// Returns the flags of a command and of all commands in it.
fn flags(command: &Command) -> Vec<&str> {
    let own = keys(command).filter(|_| is_configurable(command)).map(|(key, _)| key);
    own.chain(command.get_subcommands().flat_map(flags)).collect()
}

/// Formats a hint at the most similar known name.
fn advice(known: &[&str], name: &str) -> String {
    let alike = known.iter().map(|known| (strsim::jaro(known, name), known));
    match alike.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((_, nearest)) => format!("; the nearest is `{nearest}`, and --help shows all"),
        None => String::new(),
    }
}

fn n_line(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_a_line() {
        let text = "street = \"a\"\n\n[sorter]\nfile.by = 1\n";
        let file = File { path: PathBuf::new(), text: text.to_owned(), table: text.parse().unwrap() };
        for (place, key, n_line) in [
            (&[][..], "street", 1),
            (&[], "sorter", 3),
            (&["sorter"], "file", 4),
            (&["sorter", "file"], "by", 4),
            (&["sorter"], "unknown", 3),
            (&["unknown"], "by", 1),
            (&["street"], "by", 1),
        ] {
            assert_eq!(file.n_line(place, key), n_line, "{place:?} {key}");
        }
    }
}
