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

/// Formats an error that ends the program.
#[must_use]
pub fn error(error: &anyhow::Error) -> String {
    format!("error: {error:#}{}", advice(error))
}

/// Prints text of several lines.
pub fn print_to_stderr(what: &impl fmt::Display) {
    stderr().write_all(what.to_string().as_bytes()).unwrap_or(());
}

/// Ends the program as clap does: with the fault of its arguments, or the help requested by them.
pub fn exit_with(error: &clap::Error) -> ! {
    if !error.use_stderr() {
        error.exit();
    }
    // Without colours, which could not be told from those in an argument.
    print_to_stderr(&error.render());
    process::exit(error.exit_code())
}
