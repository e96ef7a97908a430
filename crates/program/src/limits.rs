//! Limits of the system that end a process, although the process could end its work in order.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use signal_hook::consts::SIGXFSZ;

/// Turns the limit on the size of a file (`ulimit -f`) into an error of the call that writes beyond
/// it. Without this the system ends the process before the call returns.
///
/// # Errors
/// If the system refuses.
pub fn see_limits() -> anyhow::Result<()> {
    // The flag is never read: the call that writes returns the error.
    let seen = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGXFSZ, seen).context("failed to listen for SIGXFSZ")?;
    Ok(())
}

/// Returns advice on an error of the system that gives none; empty where there is none.
pub(crate) fn advice(error: &anyhow::Error) -> &'static str {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    if causes.into_iter().any(|error| error.kind() == io::ErrorKind::FileTooLarge) {
        "; the file may not grow further; raise the limit of this process (ulimit -f)"
    } else {
        ""
    }
}
