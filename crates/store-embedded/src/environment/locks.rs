//! The room for LMDB's lock file. LMDB gives the file its length and maps it, with holes for which
//! the disk has no room yet: a process that first writes into one on a full disk is killed
//! (SIGBUS).

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use heed::env_closing_event;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{Errno, retry_on_intr};

use crate::directory::LOCK_FILE;
use crate::limits::READERS_MAX;

/// `sizeof(MDB_txninfo)` and `sizeof(MDB_reader)`, which are lines of the processor's cache. Where
/// they are larger, the rest of the file has holes.
const HEAD_BYTES: u64 = 192;
const READER_BYTES: u64 = 64;
/// The length of a file that LMDB begins: one reader is in the head.
const LOCK_BYTES: u64 = HEAD_BYTES + (READERS_MAX as u64 - 1) * READER_BYTES;
/// The unit of `st_blocks`.
const BLOCK_BYTES: u64 = 512;

/// Reserves the room of the lock file in a directory that is about to be opened. The file is
/// created where it is missing, and keeps its length and content otherwise. LMDB goes by the
/// length: another process may have mapped the file, and an empty one is for LMDB to begin.
///
/// # Errors
/// The system's error of a full disk. Others are left for LMDB to meet, and file systems that
/// cannot reserve go without.
pub(super) fn reserve(directory: &Path) -> io::Result<()> {
    let path = directory.join(LOCK_FILE);
    let n_bytes = fs::metadata(&path).map_or(0, |found| found.blocks().saturating_mul(BLOCK_BYTES));
    if n_bytes >= LOCK_BYTES {
        return Ok(());
    }
    // Closing any handle of the file loses the locks that this process has on it. A store in this
    // process is opened by one thread at a time, and closed before its path is forgotten.
    if directory.canonicalize().is_ok_and(|path| env_closing_event(path).is_some()) {
        return Ok(());
    }
    let file = match File::options().create(true).truncate(false).write(true).mode(0o600).open(path) {
        Err(error) if !is_full(&error) => return Ok(()),
        opened => opened?,
    };
    match retry_on_intr(|| fallocate(&file, FallocateFlags::KEEP_SIZE, 0, LOCK_BYTES))
        .map_err(io::Error::from)
    {
        Err(error) if is_full(&error) => Err(error),
        _ => Ok(()),
    }
}

fn is_full(error: &io::Error) -> bool {
    [Errno::NOSPC, Errno::DQUOT].iter().any(|full| error.raw_os_error() == Some(full.raw_os_error()))
}
