//! Partial files: beside their places, under other names.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

use super::folder_of;
use crate::progress::complain;
use crate::stop::left_over;

/// Follows the name of the place and a part that distinguishes several files for it.
const SUFFIX: &str = ".partial";

/// Length of the random part in names of files without a journal. The name of a job is longer.
const N_RANDOM: usize = 6;

/// Bytes read at once to verify a checksum.
const HASHED_BYTES: usize = 1 << 20;

/// State of an output at a checkpoint.
#[derive(Clone, Copy)]
pub(crate) struct Reached {
    pub(crate) len: u64,
    /// Checksum of the first `len` bytes; `None` in a journal older than checksums.
    pub(crate) crc32: Option<u32>,
}

/// A file that is not whole yet.
pub(super) enum Partial {
    /// Removed at the end of the run, unless the process is killed.
    Temporary(NamedTempFile),
    /// Kept for the next run to resume.
    Journalled(Box<Journalled>),
}

pub(super) struct Journalled {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// Hash of all written bytes.
    pub(super) hasher: crc32fast::Hasher,
}

impl Partial {
    /// Creates a partial file for a place, and removes those left by killed runs.
    pub(super) fn temporary(path: &Path) -> io::Result<Self> {
        let folder = folder_of(path);
        let name = path.file_name().unwrap_or_default();
        remove_left(folder, name);
        let prefix = format!(".{}.", name.to_string_lossy());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(SUFFIX).rand_bytes(N_RANDOM);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Those of the replaced file, or else of any new file; the umask of the process is
            // applied.
            let replaced = fs::metadata(path).ok().map(|metadata| metadata.permissions());
            builder.permissions(replaced.unwrap_or_else(|| fs::Permissions::from_mode(0o666)));
        }
        loop {
            let file = left_over::removed_on_a_signal(|| builder.tempfile_in(folder))?;
            // Waits for a run that looks if the file is left over. On a file system without locks,
            // no partial files are removed either.
            let _ = flock(file.as_file(), FlockOperation::LockExclusive);
            // That run may have removed the file before it was locked.
            if file.path().exists() {
                return Ok(Self::Temporary(file));
            }
        }
    }

    /// The checksum of the written bytes, for a journal.
    pub(super) fn crc32(&self) -> Option<u32> {
        match self {
            Self::Temporary(_) => None,
            Self::Journalled(journalled) => Some(journalled.hasher.clone().finalize()),
        }
    }

    pub(super) fn file(&self) -> &File {
        match self {
            Self::Temporary(file) => file.as_file(),
            Self::Journalled(journalled) => &journalled.file,
        }
    }
}

impl Reached {
    /// Returns true if the file at `path` has this length and checksum.
    pub(crate) fn is_at(&self, path: &Path) -> io::Result<bool> {
        let file = File::open(path)?;
        Ok(file.metadata()?.len() == self.len && self.is_with(&hash_of(&file, self.len)?))
    }

    pub(super) fn is_with(&self, hasher: &crc32fast::Hasher) -> bool {
        self.crc32.is_none_or(|crc32| hasher.clone().finalize() == crc32)
    }
}

/// The hash of the first `len` bytes of a file.
pub(super) fn hash_of(file: &File, len: u64) -> io::Result<crc32fast::Hasher> {
    let mut hasher = crc32fast::Hasher::new();
    let mut reader = BufReader::with_capacity(HASHED_BYTES, file).take(len);
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(hasher);
        }
        hasher.update(bytes);
        let n_bytes = bytes.len();
        reader.consume(n_bytes);
    }
}

impl Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n_bytes = self.file().write(bytes)?;
        if let Self::Journalled(journalled) = self {
            journalled.hasher.update(&bytes[..n_bytes]);
        }
        Ok(n_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Partial {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.file().seek(place)
    }
}

/// Removes the partial files of a place that killed runs have left. Ignores errors: a remaining
/// file does no harm.
fn remove_left(folder: &Path, place: &OsStr) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_of_place = name.to_str().and_then(place_of_temporary).is_some_and(|of| place == of);
        if is_of_place && let Some(left) = Left::at(entry.path()) {
            left.remove();
        }
    }
}

/// The name of the file that a partial one without a journal becomes; `None` for any other name.
pub(super) fn place_of_temporary(name: &str) -> Option<&str> {
    let (place, random) = name.strip_prefix('.')?.strip_suffix(SUFFIX)?.rsplit_once('.')?;
    (random.len() == N_RANDOM).then_some(place)
}

/// A partial file that a killed run has left. Its lock is held, so that no run begins to write to
/// it before it is removed.
pub(crate) struct Left {
    path: PathBuf,
    _locked: File,
}

impl Left {
    /// Returns the file at `path`; `None` if a run holds its lock and so writes to it, or if this
    /// cannot be determined.
    pub(crate) fn at(path: PathBuf) -> Option<Self> {
        // Leaves anything but a regular file alone.
        fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let file = File::open(&path).ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Self { path, _locked: file })
    }

    /// Removes the file and says so. Ignores errors.
    pub(crate) fn remove(self) {
        if fs::remove_file(&self.path).is_ok() {
            complain(format_args!("removed {}, which a killed run has left", self.path.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_killed_leave_goes_and_what_others_write_stays() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("kept.jsonl");
        let names =
            [".kept.jsonl.aB3xYz.partial", ".kept.jsonl.0a1b2c3d.partial", ".kept.jsonl.x.aB3xYz.partial"];
        let left = names.map(|name| folder.path().join(name));
        left.iter().for_each(|path| fs::write(path, "left").unwrap());
        let of_another_run = Partial::temporary(&place).unwrap();
        let of_this_run = Partial::temporary(&place).unwrap();
        // The second belongs to a job that can resume, the third to another place.
        assert_eq!(left.each_ref().map(|path| path.exists()), [false, true, true]);
        for partial in [&of_another_run, &of_this_run] {
            let Partial::Temporary(file) = partial else { unreachable!("it belongs to no journal") };
            assert!(file.path().exists());
        }
    }
}
