//! Files that are not whole yet: beside their places, under other names.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

use super::folder_of;

/// After the name of the place and what tells several files of it apart.
const SUFFIX: &str = ".partial";

/// What tells files apart that belong to no journal. The name of a job is longer.
const N_RANDOM: usize = 6;

/// What is read at once of a file that is held against its checksum.
const HASHED_BYTES: usize = 1 << 20;

/// How far an output was at a checkpoint.
#[derive(Clone, Copy)]
pub(crate) struct Reached {
    pub(crate) len: u64,
    /// Of so much of it. A journal of before there were any has none.
    pub(crate) crc32: Option<u32>,
}

/// A file that is not whole yet.
pub(super) enum Partial {
    /// Gone with the run, unless that is killed.
    Temporary(NamedTempFile),
    /// There for the next run to go on with.
    Journalled(Box<Journalled>),
}

pub(super) struct Journalled {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// Of all that was written.
    pub(super) hasher: crc32fast::Hasher,
}

impl Partial {
    /// A new one for a place. Those that runs which were killed have left of it are removed.
    pub(super) fn temporary(path: &Path) -> io::Result<Self> {
        let folder = folder_of(path);
        let prefix = format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy());
        remove_left(folder, &prefix);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(SUFFIX).rand_bytes(N_RANDOM);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Those of the file that is replaced, else what a new file gets; the process's umask is
            // taken off.
            let replaced = fs::metadata(path).ok().map(|metadata| metadata.permissions());
            builder.permissions(replaced.unwrap_or_else(|| fs::Permissions::from_mode(0o666)));
        }
        loop {
            let file = builder.tempfile_in(folder)?;
            // Where the file system has no locks nothing is removed either.
            let _ = flock(file.as_file(), FlockOperation::NonBlockingLockExclusive);
            // Another run may have taken it for one that was left before it was locked.
            if file.path().exists() {
                return Ok(Self::Temporary(file));
            }
        }
    }

    /// A checksum of what was written, where a journal is to hold it.
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
    /// Whether a file is so far, and what was written.
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

/// Removes what runs that were killed have left for a place. What cannot be removed is in the way
/// of nothing.
fn remove_left(folder: &Path, prefix: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(prefix)?.strip_suffix(SUFFIX));
        if random.is_some_and(|random| random.len() == N_RANDOM) && !is_at_work(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a run writes to a file that is not whole, which holds a lock of it then; also where that
/// cannot be told.
pub(crate) fn is_at_work(path: &Path) -> bool {
    // Not by its kind: another thing of that name is left alone.
    let opened =
        fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file).and_then(|_| File::open(path).ok());
    opened.is_none_or(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
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
        // The second is a job's that goes on with it, the third of another place.
        assert_eq!(left.each_ref().map(|path| path.exists()), [false, true, true]);
        for partial in [&of_another_run, &of_this_run] {
            let Partial::Temporary(file) = partial else { unreachable!("it belongs to no journal") };
            assert!(file.path().exists());
        }
    }
}
