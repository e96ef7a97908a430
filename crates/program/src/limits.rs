//! Limits of the system that end a process, where it could end its work in order.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use signal_hook::consts::SIGXFSZ;

/// From here on a file that may not grow further (`ulimit -f`) is an error of the call that writes it. Without this the
/// system ends the process before the call returns.
///
/// # Errors
/// Where the system refuses it.
pub fn see_limits() -> anyhow::Result<()> {
    // The flag is never looked at: the call that writes says it.
    let seen = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGXFSZ, seen).context("failed to listen for SIGXFSZ")?;
    Ok(())
}

/// What to do about an error of the system that does not say so.
pub(crate) fn advice(error: &anyhow::Error) -> &'static str {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    if causes.into_iter().any(|error| error.kind() == io::ErrorKind::FileTooLarge) {
        "; the file may not grow further; raise the limit of this process (ulimit -f)"
    } else {
        ""
    }
}
