//! The folder for the local files of outputs in buckets: that of a journal, or a temporary one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context;
use corpus::Uploads;
use tempfile::TempDir;

use super::Place;
use super::begun::{self, UPLOADS};
use crate::durable;
use crate::journal::outputs_folder;
use crate::output::Left;
use crate::progress::complain;

/// The beginning of the names of temporary folders.
const PREFIX: &str = "pigeonhole-outputs-";

/// The addresses of the outputs of a temporary folder.
const OUTPUTS: &str = "outputs.json";
const LOCK: &str = "lock";

pub(super) struct Folder {
    path: PathBuf,
    /// `None` in a journal, and once it is to be kept.
    temporary: Option<Temporary>,
}

struct Temporary {
    folder: TempDir,
    addresses: Vec<String>,
    /// Holds the lock until dropped.
    _lock: Option<File>,
}

impl Folder {
    pub(super) fn create(place: &Place<'_>, addresses: &[String]) -> anyhow::Result<Self> {
        let parent = match place {
            Place::Journal(folder) => return Ok(Self { path: outputs_folder(folder)?, temporary: None }),
            Place::Temporary(parent) => parent,
        };
        let failed = || format!("failed to make a folder for outputs in {}", parent.display());
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent).with_context(failed)?;
        let lock = durable::lock(&folder.path().join(LOCK)).with_context(failed)?;
        // Last, as a folder without it is left alone by others.
        durable::write_json(&folder.path().join(OUTPUTS), &addresses).with_context(failed)?;
        let path = folder.path().to_owned();
        let temporary = Temporary { folder, addresses: addresses.to_vec(), _lock: lock };
        Ok(Self { path, temporary: Some(temporary) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_of_a_journal(&self) -> bool {
        self.temporary.is_none()
    }

    /// The path of a temporary folder.
    pub(super) fn temporary(&self) -> Option<&Path> {
        self.temporary.as_ref().map(|_| self.path())
    }

    /// Keeps a temporary folder after the run, and returns its path.
    pub(super) fn keep(&mut self) -> Option<PathBuf> {
        let Temporary { folder, .. } = self.temporary.take()?;
        // Without it no later run takes the folder for left over.
        durable::remove(&folder.path().join(OUTPUTS)).ok()?;
        Some(folder.keep())
    }

    /// Removes the temporary folders that killed runs with one of these outputs have left, and
    /// aborts their uploads.
    pub(super) fn remove_left(&self, client: &Uploads) {
        let Some(Temporary { addresses, .. }) = &self.temporary else { return };
        let parent = self.path.parent().unwrap_or(Path::new("."));
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let folder = entry.path();
            if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
                continue;
            }
            // The lock is held until the folder is gone.
            let Some(_left) = Left::at(folder.join(LOCK)) else { continue };
            let theirs: Vec<String> =
                durable::read_json(&folder.join(OUTPUTS)).ok().flatten().unwrap_or_default();
            if !theirs.iter().any(|address| addresses.contains(address)) {
                continue;
            }
            begun::give_up_noted(client, &folder.join(UPLOADS), |_| true);
            if fs::remove_dir_all(&folder).is_ok() {
                complain(format_args!("removed {}, which a killed run has left", folder.display()));
            }
        }
    }
}
