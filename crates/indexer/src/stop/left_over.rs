//! Partial files at the end of a run that a signal ends: removed, or named where a journal goes on
//! with them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tempfile::NamedTempFile;

use super::Stop;

/// Number of files named.
const NAMED_MAX: usize = 3;

/// Wait for a change of what is to be undone.
const UNDO_WAIT: Duration = Duration::from_secs(5);
const UNDO_PAUSE: Duration = Duration::from_millis(10);

static REMOVED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// The rest of what a signal undoes, which is not a file here.
static UNDO: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);
static KEPT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Makes a file that is removed before Ctrl-C or SIGTERM ends the process. One that was moved into
/// its place by then stays there.
pub(crate) fn removed_on_a_signal(
    make: impl FnOnce() -> io::Result<NamedTempFile>,
) -> io::Result<NamedTempFile> {
    listen_once();
    // Locked until the file is known, so that no signal comes in between.
    let mut removed = REMOVED.lock().unwrap_or_else(PoisonError::into_inner);
    let file = make()?;
    removed.push(file.path().to_owned());
    Ok(file)
}

/// Has `undo` called before Ctrl-C or SIGTERM ends the process.
pub(crate) fn undone_on_a_signal(undo: impl Fn() + Send + 'static) {
    listen_once();
    *UNDO.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(undo));
}

/// Makes a change of what is to be undone. A signal waits some seconds for its end, and after a
/// signal it does not begin.
pub(crate) fn without_a_signal<T>(change: impl FnOnce() -> T) -> T {
    let _undo = UNDO.lock().unwrap_or_else(PoisonError::into_inner);
    change()
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

fn listen_once() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(listen);
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
            // Both are locked until the end, so that nothing is made meanwhile.
            let undo = wait_for(&UNDO);
            if let Some(undo) = undo.as_deref().and_then(Option::as_deref) {
                undo();
            }
            let removed = REMOVED.lock().unwrap_or_else(PoisonError::into_inner);
            for path in removed.iter() {
                let _ = fs::remove_file(path);
            }
            let _ = emulate_default_handler(signal);
        }
    };
    let _ = thread::Builder::new().name("signals".to_owned()).spawn(wait);
}

/// Locks what a change may hold as long as a server is away. After a while it is left as it is, and
/// the next run sees after it.
fn wait_for<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let begun = Instant::now();
    loop {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if begun.elapsed() > UNDO_WAIT => return None,
            Err(TryLockError::WouldBlock) => thread::sleep(UNDO_PAUSE),
        }
    }
}

/// Returns true if this process was started with the signal ignored, as by `nohup` or in the
/// background of a script. Elsewhere than on Linux this is not known.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
