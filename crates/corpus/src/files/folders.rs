//! Files in a folder.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use walkdir::WalkDir;

use super::super::holds::said;
use super::super::left_out::LeftOut;
use super::super::side_files::{is_card, is_side_file, is_state};
use super::super::table_folders::{self, Log};
use super::{By, Found};

impl Found {
    /// Adds the files in `folder` and its subfolders, sorted by name; returns those left out.
    /// Hidden entries are skipped. `around` is the log of a table in which the folder lies.
    pub(super) fn add_folder(
        &mut self,
        folder: &Path,
        base: &Path,
        around: Option<&mut Log>,
    ) -> anyhow::Result<LeftOut> {
        let mut left_out = LeftOut::default();
        let mut own = table_folders::listed(folder)?;
        let mut log = own.as_mut().or(around);
        let entries = WalkDir::new(folder).follow_links(true).sort_by_file_name().into_iter();
        for entry in entries.filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry.file_name())) {
            let entry = match entry {
                Ok(entry) => entry,
                // A link to a folder around it leads to nothing new.
                Err(error) if error.loop_ancestor().is_some() => continue,
                Err(error) => {
                    let link = error.path().filter(|_| error.depth() > 0);
                    if link.is_some_and(|link| link.file_name().is_some_and(is_hidden)) {
                        continue;
                    }
                    if let Some(kind) = link.and_then(no_file) {
                        left_out.add_kind(kind);
                        continue;
                    }
                    return Err(error)
                        .with_context(|| format!("failed to read the folder {}", folder.display()));
                }
            };
            let path = entry.path();
            if entry.file_type().is_dir() {
                ensure!(
                    entry.depth() == 0 || table_folders::listed(path)?.is_none(),
                    "the folder {} holds a table with a log, {}; name that itself",
                    folder.display(),
                    path.display()
                );
                continue;
            }
            let below = path.strip_prefix(folder).unwrap_or(path).to_string_lossy();
            if is_side_file(&below)
                || log.as_mut().is_some_and(|log| !log.takes(path))
                || is_state(path)
                || (entry.depth() == 1 && is_card(path))
            {
                left_out.add_side_file();
                continue;
            }
            let name = entry.file_name().to_string_lossy();
            // Only a regular file is certain to end.
            if !entry.file_type().is_file() {
                left_out.add_kind(LeftOut::DEVICES);
            } else if said(self.format, &name).is_some() {
                self.add_file(path, base, By::Folder)?;
            } else {
                left_out.add(&name);
            }
        }
        if let Some(gone) = own.and_then(Log::rest) {
            bail!("{} is in the log of its table, and is not there", gone.display());
        }
        Ok(left_out)
    }
}

/// Returns true for a name that begins with a dot.
pub(super) fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Returns the word by which something is counted that is there and no file: a pipe, a device, or a
/// link that leads to nothing. `None` for files and folders, and for what cannot be looked at.
pub(super) fn no_file(path: &Path) -> Option<&'static str> {
    let is_link = || fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() || metadata.is_dir() => None,
        Ok(_) => Some(LeftOut::DEVICES),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
        Err(_) => is_link().then_some(LeftOut::DANGLING),
    }
}
