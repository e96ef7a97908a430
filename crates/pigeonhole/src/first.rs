//! Reads an index in a process of its own, which may die of damaged pages.
//!
//! LMDB trusts the content of its pages. A page of other bytes can end the reading process
//! (SIGSEGV, SIGBUS, SIGABRT). The store therefore looks at all pages before LMDB does, and reports
//! the first unsound one. A change after that look still ends the reader, so a command that looks
//! for such pages reads them in a child process, and reports the death of the child.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use anyhow::{Context, bail};
use engine::local_path;
use index::{Error, ErrorKind};
use program::invocation;

/// Set in the environment of the child.
const IS_CHILD: &str = "_PIGEONHOLE_READS_FIRST";

/// Signals that end a process reading damaged pages, and their names.
const OF_DAMAGE: [(i32, &str); 5] =
    [(4, "SIGILL"), (6, "SIGABRT"), (7, "SIGBUS"), (8, "SIGFPE"), (11, "SIGSEGV")];

/// Runs this command line in a child process, if the index is in a local file. Returns `None` in
/// the child itself, and for other stores. The death of a child is damage, and is written as one
/// more finding.
pub(crate) fn in_child(store: &str, out: &mut dyn Write) -> anyhow::Result<Option<u8>> {
    let Some(path) = local_path(store).filter(|_| std::env::var_os(IS_CHILD).is_none()) else {
        return Ok(None);
    };
    run(invocation::command_line("pigeonhole").iter().skip(1), &path, out).map(Some)
}

/// Runs a command line that looks at the index in the directory `path`, in a child process.
pub(crate) fn run(
    args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    path: &Path,
    out: &mut dyn Write,
) -> anyhow::Result<u8> {
    let mut command = invocation::again().context("failed to find this program")?;
    let child = command.args(args).env(IS_CHILD, OsStr::new("1")).status();
    let status = child.context("failed to start a process that reads the index")?;
    told(status, path, out)
}

/// The end of a command that examines the index at `store`: an index in a file of this machine that
/// cannot be read for what is in its pages has a finding.
pub(crate) fn or_damaged(done: anyhow::Result<u8>, store: &str, out: &mut dyn Write) -> anyhow::Result<u8> {
    let error = match done {
        Err(error) if local_path(store).is_some() => error,
        done => return done,
    };
    match error.downcast_ref::<Error>() {
        Some(damage) if damage.kind() == ErrorKind::Corrupt => {
            writeln!(out, "damaged\t{damage}")?;
            Ok(1)
        }
        _ => Err(error),
    }
}

/// The exit code that follows from the end of the child.
fn told(status: ExitStatus, path: &Path, out: &mut dyn Write) -> anyhow::Result<u8> {
    if let Some(code) = status.code() {
        return Ok(u8::try_from(code).unwrap_or(2));
    }
    let Some((_, name)) = OF_DAMAGE.iter().find(|(signal, _)| status.signal() == Some(*signal)) else {
        bail!("the process that reads the index was ended ({status}); run the same again");
    };
    let file = path.join("data.mdb");
    writeln!(
        out,
        "damaged\t{}: its pages hold other bytes than were written, and end a process that reads them ({name})\n\
         # stop what uses the index; restore it from a backup, or build it anew from the texts",
        file.display()
    )?;
    Ok(1)
}
