//! Backups of an embedded index: LMDB's own copy of its file, and a copy put back in a directory.
//!
//! LMDB copies the pages of one snapshot while writers go on. It reads them through its map, so all
//! pages are checked before.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use index::{BackupFile, Clock, Error, ErrorKind, Mode, Result};
use rustix::fs::{FlockOperation, flock};

use super::directory::{self, DATA_FILE, LOCK_FILE, PARTIAL_FILE};
use super::environment::Opened;
use super::errors::io_error;
use super::place::FileId;
use super::store::EmbeddedStore;
use super::uri::EmbeddedUri;

impl BackupFile for EmbeddedUri {
    fn copy_bytes_max(&self) -> Result<u64> {
        let store = EmbeddedStore::opened(&self.path, Mode::MustExist, Clock::system(), None)?;
        let environment = &store.shared.environment;
        let n_free_bytes = environment.with(Opened::n_free_bytes)?;
        Ok(directory::data_bytes(environment.directory()).saturating_sub(n_free_bytes))
    }

    fn copy_to(&self, file: &mut File) -> Result<()> {
        let store = EmbeddedStore::opened(&self.path, Mode::MustExist, Clock::system(), None)?;
        store.shared.environment.with(|opened| {
            opened.look_through()?;
            opened.copy_to(file)
        })
    }

    fn put_back(&self, write: &mut dyn FnMut(&mut File) -> Result<()>) -> Result<()> {
        let directory = directory::prepare_vacant(&self.path)?;
        let partial = directory.join(PARTIAL_FILE);
        let failed =
            |error| io_error(&error, format!("failed to write {}", partial.display())).caused_by(error);
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .read(true)
            .mode(0o600)
            .open(&partial)
            .map_err(failed)?;
        // The file of a killed process is used again; a live one holds the lock.
        let is_ours = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
            && fs::metadata(&partial).is_ok_and(|there| {
                file.metadata().is_ok_and(|opened| FileId::of(&opened) == FileId::of(&there))
            });
        if !is_ours {
            return Err(Error::new(
                ErrorKind::Busy,
                format!("another process restores an index in {}; wait until it ends", directory.display()),
            ));
        }
        let placed = file
            .set_len(0)
            .map_err(failed)
            .and_then(|()| write(&mut file))
            .and_then(|()| file.sync_all().map_err(failed))
            .and_then(|()| put_in_place(&directory, &partial));
        if placed.is_err() {
            // What failed is told; what is left of it hinders no later call.
            let _ = fs::remove_file(&partial);
        }
        placed
    }
}

/// Gives a whole copy its name. The locks of an earlier index there belong to other pages.
fn put_in_place(directory: &Path, partial: &Path) -> Result<()> {
    let failed = |error| {
        io_error(&error, format!("failed to put the index in its place in {}", directory.display()))
            .caused_by(error)
    };
    directory::prepare_vacant(directory)?;
    match fs::remove_file(directory.join(LOCK_FILE)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    fs::rename(partial, directory.join(DATA_FILE)).map_err(failed)?;
    directory::sync(directory)
}
