//! The files of an open store, and whether they are still what is at its path. Who writes into files that were removed,
//! moved away or replaced is told of every success, and the next process that opens the path knows nothing of it.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use heed::Env;
use index::{Error, ErrorKind, Result};

use super::directory::{DATA_FILE, LOCK_FILE};
use super::environment::{Failure, explain, io_error};
use super::pages::{self, Pages};

/// Where a store is, and what was there when it was opened.
pub(super) struct Place {
    data_path: PathBuf,
    lock_path: PathBuf,
    data_id: FileId,
    /// Two processes with two lock files do not know of each other, and each writes over what the other has written.
    lock_id: FileId,
    /// LMDB's own file. That it stays open keeps the system from giving its number to another file.
    data: File,
    /// The file never shrinks: at least so long has it been.
    n_bytes: AtomicU64,
    /// Whether every page has been looked at.
    is_looked_through: AtomicBool,
}

/// How often a snapshot is taken to look through: two transactions that end at once take its root away.
const LOOKS_MAX: usize = 64;

/// Which file of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), number: metadata.ino() }
    }
}

/// What LMDB's lock file is before LMDB opens it, or makes it.
pub(super) struct Before(Option<FileId>);

impl Before {
    /// Looks at a directory that is to be opened, and refuses a file that is not as long as it says it is.
    pub(super) fn look(directory: &Path) -> Result<Self> {
        let failed = |error| io_error(&error, "the store's files cannot be read").caused_by(error);
        match File::open(directory.join(DATA_FILE)) {
            Ok(data) if pages::extent(&data)?.is_some() => {}
            Ok(_) => check_unused(directory, "is empty")?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => check_unused(directory, "is gone")?,
            Err(error) => return Err(failed(error)),
        }
        // By its name only: closing any handle of it would lose LMDB's own locks on it.
        match fs::metadata(directory.join(LOCK_FILE)) {
            Ok(metadata) => Ok(Self(Some(FileId::of(&metadata)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self(None)),
            Err(error) => Err(failed(error)),
        }
    }
}

impl Place {
    /// The place of an environment that LMDB has just opened, with a handle of the file that it really has.
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

    /// Looks at pages by plain reads, if not all have been looked at: LMDB believes what is in them. What is written from then
    /// on is what LMDB's processes write. For a thread without a transaction.
    ///
    /// # Errors
    /// `Corrupt` where a page holds other bytes than LMDB can have written.
    pub(super) fn look_through(&self, env: &Env, pages: Pages) -> Result<(), Failure> {
        if self.is_looked_through.load(Ordering::Acquire) {
            return Ok(());
        }
        for _ in 0..LOOKS_MAX {
            // Its pages are not used again before it ends.
            let txn = env.read_txn()?;
            if pages::check(&self.data, txn.id() as u64, pages)? {
                self.is_looked_through.fetch_or(pages == Pages::All, Ordering::Release);
                return Ok(());
            }
        }
        Err(pages::written_meanwhile().into())
    }

    /// Whether a handle is of the file of pages.
    pub(super) fn is_of(&self, data: &File) -> bool {
        data.metadata().is_ok_and(|metadata| FileId::of(&metadata) == self.data_id)
    }

    /// How long the file of pages is, after a look whether the files are in their place.
    ///
    /// # Errors
    /// `NotFound` where they are gone or others, until they are back; `Corrupt` where the file has become shorter.
    pub(super) fn check(&self) -> Result<u64> {
        // Before the look: others may see it longer meanwhile.
        let n_bytes_seen = self.n_bytes.load(Ordering::Acquire);
        let n_bytes = same(&self.data_path, self.data_id)?.len();
        same(&self.lock_path, self.lock_id)?;
        if n_bytes < n_bytes_seen {
            return Err(pages::truncated(n_bytes, n_bytes_seen));
        }
        self.n_bytes.fetch_max(n_bytes, Ordering::Release);
        Ok(n_bytes)
    }

    /// The error of a file whose content is not what LMDB last wrote.
    pub(super) fn overwritten(&self) -> Error {
        replaced(&self.data_path)
    }
}

/// Refuses a directory in which an index was written, by what its lock file says: what is left
/// there is not a new one.
fn check_unused(directory: &Path, what: &str) -> Result<()> {
    // No environment of this process has the lock file open, as a look comes before LMDB opens it.
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
