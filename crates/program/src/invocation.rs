//! The command line of a program: that of this process, unless a host such as a Python interpreter
//! runs the program and gives another one.

use std::env;
use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::sync::OnceLock;

/// The command line given by a host.
static HOSTED: OnceLock<Hosted> = OnceLock::new();

/// A command line given by a host.
#[derive(Debug)]
struct Hosted {
    starts: Vec<OsString>,
    arguments: Vec<OsString>,
}

/// Sets the command line of the program that this process is about to run. `starts` holds the words
/// that start the program in another process, and `arguments` the words after those. Only the first
/// call has an effect.
pub fn host(starts: Vec<OsString>, arguments: Vec<OsString>) {
    // A second program in one process would find the signals and the log of the first.
    let _ = HOSTED.set(Hosted { starts, arguments });
}

/// The words of the command line, with the name of the program before them.
#[must_use]
pub fn command_line(program: &str) -> Vec<OsString> {
    match HOSTED.get() {
        Some(hosted) => [program.into()].into_iter().chain(hosted.arguments.iter().cloned()).collect(),
        None => env::args_os().collect(),
    }
}

/// A command that runs this program again, without arguments.
///
/// # Errors
/// Where the file of this program cannot be found.
pub fn again() -> io::Result<Command> {
    let Some(Hosted { starts, .. }) = HOSTED.get() else { return Ok(Command::new(env::current_exe()?)) };
    let (first, rest) = starts.split_first().ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(first);
    command.args(rest);
    Ok(command)
}
