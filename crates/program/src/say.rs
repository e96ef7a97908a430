//! Messages of a program on stderr. A closed stderr is no reason to stop.

use std::fmt;
use std::io::Write;
use std::process;

use crate::limits::advice;
use crate::printable::line;
use crate::screen::stderr;

/// Prints a line that begins with the name of the program.
pub fn complain(program: &str, message: fmt::Arguments<'_>) {
    let message = message.to_string();
    // In one write: several processes may share one terminal.
    stderr().write_all(format!("{program}: {}\n", line(&message)).as_bytes()).unwrap_or(());
}

/// Formats an error that ends the program, or a try.
#[must_use]
pub fn error(error: &anyhow::Error) -> String {
    format!("error: {}{}", causes(error), advice(error))
}

/// An error and its causes, each once: an error of Parquet tells its cause as its own, after its
/// kind.
fn causes(error: &anyhow::Error) -> String {
    let told: Vec<String> = error.chain().map(ToString::to_string).collect();
    let is_cause = |(n, says): &(usize, &String)| {
        let cause = says.strip_prefix("External: ").unwrap_or(says);
        told.get(n + 1).is_none_or(|next| next != cause)
    };
    told.iter().enumerate().filter(is_cause).map(|(_, says)| says.as_str()).collect::<Vec<_>>().join(": ")
}

/// Prints text of several lines.
pub fn print_to_stderr(what: &impl fmt::Display) {
    stderr().write_all(what.to_string().as_bytes()).unwrap_or(());
}

/// Ends the program as clap does: with the fault of its arguments, or the help requested by them.
/// A fault begins with the name of the program, as every error does.
pub fn exit_with(program: &str, error: &clap::Error) -> ! {
    if !error.use_stderr() {
        error.exit();
    }
    print_to_stderr(&named(program, error));
    process::exit(error.exit_code())
}

/// Formats a fault of the arguments, with the usage. The help that clap gives for a missing command
/// is no fault, and stays as it is.
fn named(program: &str, error: &clap::Error) -> String {
    // Without colours, which could not be told from those in an argument.
    let said = error.render().to_string();
    if said.starts_with("error: ") { format!("{program}: {said}") } else { said }
}

#[cfg(test)]
mod tests {
    use std::io;

    use clap::{Arg, Command};

    use super::*;

    /// Regression: `External: No space left on device (os error 28): No space left on device …`.
    #[test]
    fn a_cause_is_told_once() {
        let full = || io::Error::from_raw_os_error(28);
        let says = full().to_string();
        let parquet = anyhow::Error::new(full()).context(format!("External: {says}"));
        assert_eq!(error(&parquet.context("failed to write x")), format!("error: failed to write x: {says}"));
        let twice = anyhow::Error::new(full()).context(says.clone()).context("failed to write x");
        assert_eq!(error(&twice), format!("error: failed to write x: {says}"));
        let other = anyhow::Error::new(full()).context(format!("failed: {says}"));
        assert_eq!(error(&other), format!("error: failed: {says}: {says}"));
    }

    #[test]
    fn a_fault_of_the_arguments_has_the_name_of_the_program() {
        let command =
            Command::new("sorter").subcommand(Command::new("file").arg(Arg::new("holes").long("holes")));
        let said = |args: &[&str]| {
            let command = command.clone().arg_required_else_help(true);
            named("sorter", &command.try_get_matches_from(args).unwrap_err())
        };
        let fault = said(&["sorter", "file", "--hole=3"]);
        assert!(fault.starts_with("sorter: error: unexpected argument '--hole'"), "{fault}");
        assert!(fault.contains("\n\nUsage: sorter file"), "{fault}");
        let help = said(&["sorter"]);
        assert!(help.starts_with("Usage: sorter"), "{help}");
    }
}
