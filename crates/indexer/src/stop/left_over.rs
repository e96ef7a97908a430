//! Partial files at the end of a run that a signal ends: removed, or named where a journal goes on
//! with them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tempfile::NamedTempFile;

use super::Stop;

/// Number of files named.
const NAMED_MAX: usize = 3;

static REMOVED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static KEPT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Makes a file that is removed before Ctrl-C or SIGTERM ends the process. One that was moved into
/// its place by then stays there.
pub(crate) fn removed_on_a_signal(
    make: impl FnOnce() -> io::Result<NamedTempFile>,
) -> io::Result<NamedTempFile> {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(listen);
    // Locked until the file is known, so that no signal comes in between.
    let mut removed = REMOVED.lock().unwrap_or_else(PoisonError::into_inner);
    let file = make()?;
    removed.push(file.path().to_owned());
    Ok(file)
}

/// Notes a file with which a job goes on.
pub(crate) fn kept_for_the_job(path: &Path) {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}

/// The files with which the job goes on, as far as they are there.
pub(crate) fn kept() -> Option<String> {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let there: Vec<_> = kept.iter().filter(|path| path.exists()).map(|path| path.display()).collect();
    let named: Vec<String> = there.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    match there.len().saturating_sub(NAMED_MAX) {
        _ if named.is_empty() => None,
        0 => Some(named.join(", ")),
        n_more => Some(format!("{} and {n_more} more", named.join(", "))),
    }
}

/// Listens for the signals that are not ignored. Without a thread for it files are left, and the
/// next run removes them.
fn listen() {
    let heeded: Vec<i32> = [SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)).collect();
    let Ok(mut signals) = Signals::new(heeded) else { return };
    let wait = move || {
        for signal in signals.forever() {
            // A run with a journal ends at its checkpoint.
            if Stop::is_listening() {
                continue;
            }
            // Locked until the end, so that no file is made meanwhile.
            let removed = REMOVED.lock().unwrap_or_else(PoisonError::into_inner);
            for path in removed.iter() {
                let _ = fs::remove_file(path);
            }
            let _ = emulate_default_handler(signal);
        }
    };
    let _ = thread::Builder::new().name("signals".to_owned()).spawn(wait);
}

/// Returns true if this process was started with the signal ignored, as by `nohup` or in the
/// background of a script. Elsewhere than on Linux this is not known.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
