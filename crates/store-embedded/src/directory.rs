//! The directory of an embedded store: accepted, created, or refused as another program's.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use index::{Error, ErrorKind, Mode, Result};

use super::errors::io_error;

/// LMDB's file of pages; a directory with it is, or is about to be, an environment.
pub(super) const DATA_FILE: &str = "data.mdb";

/// The name of a copy that is put back, until it is whole.
pub(super) const PARTIAL_FILE: &str = "data.mdb.partial";

/// LMDB's locks and its table of readers.
pub(super) const LOCK_FILE: &str = "lock.mdb";

/// The file that the writer of an image locks. It has nothing in it.
pub(super) const IMAGE_LOCK_FILE: &str = "image.lock";

/// Files ignored in a directory taken for empty: locks, created before the data or left by an index
/// that was removed, and an entry of a volume's root.
const IGNORED_FILES: [&str; 3] = [LOCK_FILE, IMAGE_LOCK_FILE, "lost+found"];

/// A directory for its owner only.
const MODE: u32 = 0o700;
/// The bits that let others open a file. A user able to open the file of pages can take the
/// writers' lock.
const OTHERS_READ: u32 = 0o044;

/// Returns the canonical path of a directory that holds a store or, if `mode` allows, is fit to
/// hold one.
pub(super) fn prepare(path: &Path, mode: Mode) -> Result<PathBuf> {
    let shown = path.display();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            let data = path.join(DATA_FILE);
            if fs::metadata(&data).is_ok_and(|data| data.permissions().mode() & OTHERS_READ != 0) {
                tracing::warn!(
                    file = %data.display(),
                    "other users may read the file, so they can keep all writers from it; let its owner only: chmod 600"
                );
            }
        }
        Ok(_) => {
            return Err(Error::invalid(format!("{shown} is a file; embedded: takes a directory of its own")));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => match mode {
            Mode::MustExist => return Err(not_found(path)),
            Mode::CreateIfMissing => make(path).map_err(|error| {
                io_error(&error, format!("failed to make the directory {shown}")).caused_by(error)
            })?,
        },
        Err(error) => return Err(io_error(&error, format!("failed to look at {shown}")).caused_by(error)),
    }
    let read = |error| io_error(&error, format!("failed to read the directory {shown}")).caused_by(error);
    let mut is_store = false;
    let mut other = None;
    for entry in fs::read_dir(path).map_err(read)? {
        let name = entry.map_err(read)?.file_name();
        is_store |= name == DATA_FILE;
        if !IGNORED_FILES.iter().any(|ignored| name == *ignored) {
            other = Some(name);
        }
    }
    match (is_store, other, mode) {
        (true, _, _) | (false, None, Mode::CreateIfMissing) => {}
        (false, None, Mode::MustExist) => return Err(not_found(path)),
        (false, Some(name), _) => {
            return Err(Error::invalid(format!(
                "{shown} is no index and is not empty (it holds {}); name an empty or a new directory",
                name.display()
            )));
        }
    }
    path.canonicalize().map_err(read)
}

/// Returns the canonical path of a directory without an index, created if it is missing, for an
/// index that is put there whole.
pub(super) fn prepare_vacant(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    let read = |error| io_error(&error, format!("failed to read the directory {shown}")).caused_by(error);
    match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(path).map_err(|error| {
            io_error(&error, format!("failed to make the directory {shown}")).caused_by(error)
        })?,
        Err(error) => return Err(read(error)),
        Ok(entries) => {
            for entry in entries {
                let name = entry.map_err(read)?.file_name();
                if name == DATA_FILE {
                    return Err(Error::invalid(format!(
                        "there is an index at {shown} already, and nothing was changed; stop what uses it and move it \
                         away, or name a new directory"
                    )));
                }
                if name != PARTIAL_FILE && !IGNORED_FILES.iter().any(|ignored| name == *ignored) {
                    return Err(Error::invalid(format!(
                        "{shown} is not empty (it holds {}); name an empty or a new directory",
                        name.display()
                    )));
                }
            }
        }
    }
    path.canonicalize().map_err(read)
}

/// Creates a directory and its missing parents.
fn make(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.is_dir();
        let new: Vec<&Path> = parent.ancestors().take_while(is_new).collect();
        fs::create_dir_all(parent)?;
        // Their names too outlive a loss of power; `sync` does the same for the last one.
        for above in new.into_iter().rev().filter_map(Path::parent) {
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            File::open(above)?.sync_all()?;
        }
    }
    // Another process may have created the directory meanwhile, which `recursive` permits.
    DirBuilder::new().recursive(true).mode(MODE).create(path)
}

/// Makes the names of new files outlive a loss of power.
pub(super) fn sync(path: &Path) -> Result<()> {
    for directory in [Some(path), path.parent()].into_iter().flatten() {
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        match synced {
            Ok(()) => {}
            // The parent may be closed to us, or on a file system that cannot sync directories.
            Err(_) if directory != path => {}
            Err(error) => {
                return Err(
                    io_error(&error, format!("failed to sync {}", directory.display())).caused_by(error)
                );
            }
        }
    }
    Ok(())
}

/// The size of LMDB's file in bytes, 0 where there is none.
pub(super) fn data_bytes(path: &Path) -> u64 {
    fs::metadata(path.join(DATA_FILE)).map_or(0, |metadata| metadata.len())
}

fn not_found(path: &Path) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!(
            "there is no index at {0}; make one with `indexer index --store embedded:{0} FILE`",
            path.display()
        ),
    )
}
