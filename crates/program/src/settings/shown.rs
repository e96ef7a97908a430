//! The effective settings, formatted as a file.

use std::ffi::OsStr;
use std::fmt;

use clap::Arg;
use clap::parser::ValueSource;
use toml::Value;

use super::kind::{Kind, is_list};
use super::{Settings, definition, keys, leaf};
use crate::printable::line;

/// Formats TOML for `--config`: each setting with its source, and unset ones as comments.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.command.get_name();
        let words = [&[program.to_owned()], &self.names[..]].concat();
        writeln!(f, "# The settings of {}, and where each comes from.", words.join(" "))?;
        // A command of a command has no table of its own.
        writeln!(f, "[{}]", words[..words.len().min(2)].join("."))?;
        let Some(run) = definition(&self.command, &self.names) else { return Ok(()) };
        let mut headings = Vec::new();
        for (_, arg) in keys(run) {
            let heading = arg.get_help_heading();
            if headings.contains(&heading) {
                continue;
            }
            headings.push(heading);
            writeln!(f, "\n# {}", heading.unwrap_or("Others"))?;
            for (key, arg) in keys(run).filter(|(_, arg)| arg.get_help_heading() == heading) {
                self.show(f, key, arg)?;
            }
        }
        Ok(())
    }
}

impl Settings {
    fn show(&self, f: &mut fmt::Formatter<'_>, key: &str, arg: &Arg) -> fmt::Result {
        let raw: Vec<&OsStr> =
            leaf(&self.matches).get_raw(arg.get_id().as_str()).into_iter().flatten().collect();
        let origin = line(&self.origin(key, arg)).into_owned();
        if raw.is_empty() {
            return writeln!(f, "# {key} is not set");
        }
        let Some(texts) = raw.iter().map(|text| text.to_str()).collect::<Option<Vec<_>>>() else {
            return writeln!(f, "# {key} is not UTF-8, which no file has  # {origin}");
        };
        let shown: Vec<String> = texts.iter().map(|text| without_password(text)).collect();
        let is_whole = shown == texts;
        let mut values = shown.iter().map(|text| Kind::of(arg).write(text));
        let value =
            if is_list(arg) { Value::Array(values.collect()) } else { values.next().unwrap_or(false.into()) };
        if is_whole {
            writeln!(f, "{key} = {value}  # {origin}")
        } else {
            writeln!(f, "# {key} = {value}  # {origin}; its password is not shown")
        }
    }

    /// Returns the source of a flag's value.
    fn origin(&self, key: &str, arg: &Arg) -> String {
        let file = self.file.as_ref().filter(|_| self.from_file.contains_key(key));
        match (file, leaf(&self.matches).value_source(arg.get_id().as_str())) {
            (Some(file), _) => file.display().to_string(),
            (None, Some(ValueSource::CommandLine)) => "flag".to_owned(),
            (None, Some(ValueSource::EnvVariable)) => {
                format!("environment {}", arg.get_env().unwrap_or_default().display())
            }
            (None, _) => "default".to_owned(),
        }
    }
}

/// Returns the text, with three stars for the password if it is a URL with one.
fn without_password(text: &str) -> String {
    let masked = || {
        let (scheme, rest) = text.split_once("://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (user, host) = authority.rsplit_once('@')?;
        let (name, _) = user.split_once(':')?;
        Some(format!("{scheme}://{name}:***@{host}{path}"))
    };
    masked().unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (text, expected) in [
            ("http://a:b@c:1/d?e", "http://a:***@c:1/d?e"),
            ("http://a:b@b:b@c", "http://a:***@c"),
            ("http://a@c", "http://a@c"),
            ("redis://c:6379/a@b", "redis://c:6379/a@b"),
            ("a:b@c", "a:b@c"),
        ] {
            assert_eq!(without_password(text), expected);
        }
    }
}
