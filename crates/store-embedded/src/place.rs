//! The files of an open store, and the check that they are still the ones at its path. A writer to
//! files that were removed, moved away or replaced would be told of success, and the next process
//! that opens the path would not see its writes.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use heed::Env;
use index::{Error, ErrorKind, Result};

use super::directory::{DATA_FILE, LOCK_FILE};
use super::errors::{Failure, explain, io_error};
use super::pages::{self, Pages};

/// The paths of a store, and the files found there at the opening.
pub(super) struct Place {
    data_path: PathBuf,
    lock_path: PathBuf,
    data_id: FileId,
    /// Two processes with two lock files do not know of each other, and each overwrites the other's
    /// writes.
    lock_id: FileId,
    /// LMDB's own file. While it is open, the system gives its number to no other file.
    data: File,
    /// The length of the file as last seen; the file never shrinks.
    n_bytes: AtomicU64,
    /// True once every page was checked.
    is_looked_through: AtomicBool,
}

/// The most snapshots taken for one look at the pages: two transactions that end meanwhile
/// overwrite the root of a snapshot.
const LOOKS_MAX: usize = 64;

/// The identity of a file on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), number: metadata.ino() }
    }
}

/// LMDB's lock file before LMDB opens or creates it.
pub(super) struct Before(Option<FileId>);

impl Before {
    /// Checks a directory before it is opened, and refuses a file shorter than its own account.
    pub(super) fn look(directory: &Path) -> Result<Self> {
        let failed = |error| io_error(&error, "the store's files cannot be read").caused_by(error);
        match File::open(directory.join(DATA_FILE)) {
            Ok(data) if pages::extent(&data)?.is_some() => {}
            Ok(_) => check_unused(directory, "is empty")?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => check_unused(directory, "is gone")?,
            Err(error) => return Err(failed(error)),
        }
        // By its name only: closing any handle of the lock file would lose LMDB's own locks.
        match fs::metadata(directory.join(LOCK_FILE)) {
            Ok(metadata) => Ok(Self(Some(FileId::of(&metadata)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self(None)),
            Err(error) => Err(failed(error)),
        }
    }
}

impl Place {
    /// The place of an environment just opened by LMDB, with a handle of the file that LMDB really
    /// has.
    pub(super) fn of(directory: &Path, before: &Before, data: File) -> Result<Self> {
        let (data_path, lock_path) = (directory.join(DATA_FILE), directory.join(LOCK_FILE));
        let metadata = data.metadata().map_err(|error| explain(error.into()))?;
        let lock_id = FileId::of(&fs::metadata(&lock_path).map_err(|error| gone(&lock_path, error))?);
        if before.0.is_some_and(|before| before != lock_id) {
            return Err(replaced(&lock_path));
        }
        let (data_id, n_bytes) = (FileId::of(&metadata), AtomicU64::new(metadata.len()));
        let is_looked_through = AtomicBool::new(false);
        Ok(Self { data_path, lock_path, data_id, lock_id, data, n_bytes, is_looked_through })
    }

    /// The file of pages.
    pub(super) fn data(&self) -> &File {
        &self.data
    }

    /// Checks pages by plain reads, unless all were checked before: LMDB trusts their content.
    /// Later writes are those of LMDB's processes. For a thread without a transaction.
    ///
    /// # Errors
    /// `Corrupt` where a page holds other bytes than LMDB can have written.
    pub(super) fn look_through(&self, env: &Env, pages: Pages) -> Result<(), Failure> {
        if self.is_looked_through.load(Ordering::Acquire) {
            return Ok(());
        }
        Self::look(env, |txn_id| pages::check(&self.data, txn_id, pages).map(|done| done.then_some(())))?;
        self.is_looked_through.fetch_or(pages == Pages::All, Ordering::Release);
        Ok(())
    }

    /// Returns the bytes of the file's free pages. For a thread without a transaction.
    pub(super) fn n_free_bytes(&self, env: &Env) -> Result<u64, Failure> {
        Self::look(env, |txn_id| pages::n_free_bytes(&self.data, txn_id))
    }

    /// Looks at the snapshot of a transaction, whose number `look` gets; at the next one where the
    /// root of the first is overwritten before it is read.
    fn look<T>(env: &Env, mut look: impl FnMut(u64) -> Result<Option<T>>) -> Result<T, Failure> {
        for _ in 0..LOOKS_MAX {
            // Its pages are not used again before it ends.
            let txn = env.read_txn()?;
            if let Some(seen) = look(txn.id() as u64)? {
                return Ok(seen);
            }
        }
        Err(pages::written_meanwhile().into())
    }

    /// Returns true if `data` is a handle of the file of pages.
    pub(super) fn is_of(&self, data: &File) -> bool {
        data.metadata().is_ok_and(|metadata| FileId::of(&metadata) == self.data_id)
    }

    /// Checks that the files are in their place, and returns the length of the file of pages in
    /// bytes.
    ///
    /// # Errors
    /// `NotFound` while the files are gone or replaced; `Corrupt` where the file has become
    /// shorter.
    pub(super) fn check(&self) -> Result<u64> {
        // Read before the check: other threads may see a longer file meanwhile.
        let n_bytes_seen = self.n_bytes.load(Ordering::Acquire);
        let n_bytes = same(&self.data_path, self.data_id)?.len();
        same(&self.lock_path, self.lock_id)?;
        if n_bytes < n_bytes_seen {
            return Err(pages::truncated(n_bytes, n_bytes_seen));
        }
        self.n_bytes.fetch_max(n_bytes, Ordering::Release);
        Ok(n_bytes)
    }

    /// The error of a file with other content than LMDB last wrote.
    pub(super) fn overwritten(&self) -> Error {
        replaced(&self.data_path)
    }
}

/// Refuses a directory that has held an index, according to its lock file: the rest of an index is
/// not a new one.
fn check_unused(directory: &Path, what: &str) -> Result<()> {
    // No environment of this process has the lock file open: this check comes before LMDB opens it.
    let lock = File::open(directory.join(LOCK_FILE));
    if lock.ok().and_then(|lock| pages::last_commit(&lock)).unwrap_or(0) == 0 {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "{0} has held an index, and its {DATA_FILE} {what}; restore it from a backup, or name a new directory (to begin anew \
         here, remove all that is in it)",
        directory.display()
    )))
}

fn same(path: &Path, id: FileId) -> Result<Metadata> {
    let metadata = fs::metadata(path).map_err(|error| gone(path, error))?;
    if FileId::of(&metadata) == id { Ok(metadata) } else { Err(replaced(path)) }
}

fn gone(path: &Path, error: io::Error) -> Error {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::new(
            ErrorKind::NotFound,
            format!(
                "{shown} was removed or moved away while the store was open; put the directory back, or restart the program; \
                 what this call wrote, if it wrote, is in what was moved"
            ),
        ),
        _ => io_error(&error, format!("{shown} cannot be reached; see whether its disk is there")),
    }
    .caused_by(error)
}

fn replaced(path: &Path) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!(
            "{} was replaced while the store was open; restart every program that has it open; what this call wrote, if it \
             wrote, is in what was there before",
            path.display()
        ),
    )
}
