//! The turns to write, among all threads of all processes.
//!
//! LMDB has a lock for this, a robust mutex shared by the processes: when its owner is killed, the
//! next one gets the lock. But when a *waiting* process is killed, after it was woken and before it
//! has taken the lock, the others are not woken, unless the lock is still free when the kernel
//! looks. They sleep until one more process has to wait, which may be never. So no process waits
//! there: before LMDB's lock it takes another one, which the kernel itself hands on.
//!
//! Every user with read permission for the file of pages may take this lock, and keep it; LMDB
//! creates the file for its owner only. So a wait ends after some time without commits. A wait for
//! the kernel cannot be cancelled, so a thread of its own makes it, one for each process. The
//! thread outlives callers that have given up, and releases a lock that no caller wants any more.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use index::{Error, ErrorKind, Result};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};

use super::directory::DATA_FILE;
use super::errors::explain;

/// The most times its patience that a call waits while others go on committing: they were served
/// first each time.
const WAITS_MAX: u32 = 10;

/// The line of threads that want to write.
pub(super) struct Turns(Arc<Line>);

struct Line {
    directory: PathBuf,
    /// Locked by flock(2), a lock between openings of a file: each process stands in line once.
    file: File,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lock: Lock,
    /// True while a thread of this process has its turn.
    is_taken: bool,
    /// The threads of this process that wait for a turn.
    n_waiting: usize,
}

/// The state of the file's lock in this process.
#[derive(Clone, Copy, Default, PartialEq)]
enum Lock {
    #[default]
    Free,
    /// A thread stands in the kernel's line.
    Awaited,
    Ours,
    Failed(Errno),
}

/// A turn to write, until it is dropped.
pub(super) struct Turn<'a>(&'a Line);

impl Turns {
    /// The line at the file of pages in a directory: other users may be able to open the directory,
    /// but not this file. LMDB's lock file will not do: closing any handle of it would lose LMDB's
    /// own locks.
    pub(super) fn at(directory: &Path) -> Result<Self> {
        let file = File::open(directory.join(DATA_FILE)).map_err(|error| explain(error.into()))?;
        let (state, changed) = (Mutex::default(), Condvar::new());
        Ok(Self(Arc::new(Line { directory: directory.to_owned(), file, state, changed })))
    }

    /// Waits for a turn. Gives up if none comes within `patience` and `progress`, which shows the
    /// commits of others, has not changed.
    ///
    /// # Errors
    /// `Busy`, and those of `progress`.
    pub(super) fn take(&self, patience: Duration, progress: impl Fn() -> Result<usize>) -> Result<Turn<'_>> {
        if let Some(turn) = self.wait(Duration::ZERO)? {
            return Ok(turn);
        }
        for _ in 0..WAITS_MAX {
            let before = progress()?;
            if let Some(turn) = self.wait(patience)? {
                return Ok(turn);
            }
            if progress()? == before {
                break;
            }
        }
        Err(self.busy(patience))
    }

    /// Returns a turn, if one comes within `patience`.
    pub(super) fn wait(&self, patience: Duration) -> Result<Option<Turn<'_>>> {
        self.0.take(patience)
    }

    /// The error of a turn that did not come.
    pub(super) fn busy(&self, patience: Duration) -> Error {
        Error::new(
            ErrorKind::Busy,
            format!(
                "no turn to write came within {patience:?}: another process keeps the lock (flock) of {0}; \
                 find it with `lslocks` or `fuser -v {0}`, and try again",
                self.0.directory.join(DATA_FILE).display()
            ),
        )
    }
}

impl Line {
    fn take(self: &Arc<Self>, patience: Duration) -> Result<Option<Turn<'_>>> {
        let begun = Instant::now();
        let mut state = self.state()?;
        state.n_waiting += 1;
        let taken: io::Result<bool> = loop {
            match state.lock {
                _ if state.is_taken => {}
                Lock::Ours => break Ok(true),
                Lock::Free => {
                    match retry_on_intr(|| flock(&self.file, FlockOperation::NonBlockingLockExclusive)) {
                        Ok(()) => {
                            state.lock = Lock::Ours;
                            continue;
                        }
                        Err(Errno::WOULDBLOCK) if !patience.is_zero() => {
                            state.lock = Lock::Awaited;
                            let line = Arc::clone(self);
                            if let Err(error) = thread::Builder::new().spawn(move || line.wait_for_lock()) {
                                state.lock = Lock::Free;
                                break Err(error);
                            }
                        }
                        Err(Errno::WOULDBLOCK) => {}
                        Err(error) => break Err(error.into()),
                    }
                }
                Lock::Awaited => {}
                Lock::Failed(error) => {
                    state.lock = Lock::Free;
                    break Err(error.into());
                }
            }
            let Some(left) = patience.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) else {
                break Ok(false);
            };
            state = self.changed.wait_timeout(state, left).map_err(|_| Error::poisoned())?.0;
        };
        state.n_waiting -= 1;
        match taken {
            Ok(true) => {
                state.is_taken = true;
                Ok(Some(Turn(self)))
            }
            Ok(false) => Ok(None),
            Err(error) => Err(explain(error.into())),
        }
    }

    /// Waits in the kernel's line, on a thread of its own.
    fn wait_for_lock(&self) {
        let locked = retry_on_intr(|| flock(&self.file, FlockOperation::LockExclusive));
        let Ok(mut state) = self.state() else { return };
        state.lock = match locked {
            Ok(()) => Lock::Ours,
            Err(error) => Lock::Failed(error),
        };
        self.let_go(&mut state);
        drop(state);
        self.changed.notify_all();
    }

    /// Releases the lock.
    fn unlock(&self, state: &mut State) {
        // Cannot fail on a locked file; if it did, the end of the process would unlock the file.
        let _ = flock(&self.file, FlockOperation::Unlock);
        state.lock = Lock::Free;
    }

    /// Releases a lock for which no caller waits.
    fn let_go(&self, state: &mut State) {
        if state.n_waiting == 0 && state.lock == Lock::Ours {
            self.unlock(state);
        }
    }

    fn state(&self) -> Result<MutexGuard<'_, State>> {
        self.state.lock().map_err(|_| Error::poisoned())
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Ok(mut state) = self.0.state() {
            state.is_taken = false;
            // Other threads of this process stand in line again: else no other process would get a
            // turn.
            self.0.unlock(&mut state);
        }
        self.0.changed.notify_one();
    }
}
