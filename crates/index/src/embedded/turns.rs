//! Whose turn it is to write, among all threads of all processes.
//!
//! LMDB has a lock for that, a robust mutex that the processes share: when its owner is killed, the next one gets it. But
//! when one is killed that *waits*, after it was woken and before it has taken the lock, nobody wakes the others, unless
//! the lock is still free when the kernel looks. They sleep until somebody else has to wait too, which may be never. So
//! nobody waits there: whoever wants LMDB's lock first takes one that the kernel itself hands on.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;

use super::environment::explain;
use crate::{Error, Result};

/// The line of those who want to write.
pub(super) struct Turns {
    /// Locked by flock(2), which is between openings of a file: each process stands in line with one thread.
    file: Mutex<File>,
}

/// It is somebody's turn, until this is dropped.
pub(super) struct Turn<'a> {
    file: MutexGuard<'a, File>,
}

impl Turns {
    /// The line at a directory. Not at LMDB's lock file: closing any handle of that would lose LMDB's own locks on it.
    pub(super) fn at(directory: &Path) -> Result<Self> {
        let file = File::open(directory).map_err(|error| explain(error.into()))?;
        Ok(Self { file: Mutex::new(file) })
    }

    pub(super) fn take(&self) -> Result<Turn<'_>> {
        let file = self.file.lock().map_err(|_| Error::poisoned())?;
        retry_on_intr(|| flock(&*file, FlockOperation::LockExclusive))
            .map_err(|error| explain(io::Error::from(error).into()))?;
        Ok(Turn { file })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Cannot fail on a file that is locked; and if it did, the end of the process would unlock it.
        let _ = flock(&*self.file, FlockOperation::Unlock);
    }
}
