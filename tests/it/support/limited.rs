//! Programs under a limit of the shell that starts them.

use std::process::{Command, Stdio};

use super::{program, without_settings};

/// Returns a command of a program under a limit, in the syntax of `ulimit`.
pub(crate) fn limited(limit: &str, name: &str, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    without_settings(&mut command);
    command.args(["-c", &format!("ulimit {limit}; exec \"$@\""), "sh"]).arg(program(name)).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
