//! The files that a round has taken: what they were when it read them, and which of them may go.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use serde::Deserialize;
use walkdir::WalkDir;

/// A file as it was found.
#[derive(PartialEq)]
pub(super) struct Identity {
    pub(super) path: PathBuf,
    n_bytes: u64,
    modified: SystemTime,
}

/// All files of a round.
pub(super) fn identities(folder: &Path) -> anyhow::Result<Vec<Identity>> {
    let failed = || format!("failed to read the folder {}", folder.display());
    let mut found = Vec::new();
    for entry in WalkDir::new(folder) {
        let entry = entry.with_context(failed)?;
        if entry.file_type().is_file() {
            let metadata = entry.metadata().with_context(failed)?;
            let modified = metadata.modified().with_context(failed)?;
            found.push(Identity { path: entry.into_path(), n_bytes: metadata.len(), modified });
        }
    }
    Ok(found)
}

/// Whether there is any; a round that was killed at its beginning has none.
pub(super) fn has_files(folder: &Path) -> anyhow::Result<bool> {
    Ok(folder.is_dir() && !identities(folder)?.is_empty())
}

/// The files that a file of rejects names.
pub(super) fn named_by(rejects: &Path) -> anyhow::Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Reject {
        source: String,
    }
    let failed = || format!("failed to read {}", rejects.display());
    let mut sources = BTreeSet::new();
    for line in BufReader::new(File::open(rejects).with_context(failed)?).lines() {
        let reject: Reject = serde_json::from_str(&line.with_context(failed)?).with_context(failed)?;
        sources.insert(reject.source);
    }
    Ok(sources)
}

/// Removes the files that may go, and the folders that are empty then.
pub(super) fn delete(folder: &Path, may_go: impl Fn(&Path) -> bool) -> io::Result<()> {
    for entry in WalkDir::new(folder).contents_first(true) {
        let entry = entry?;
        if entry.file_type().is_dir() {
            match fs::remove_dir(entry.path()) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                removed => removed?,
            }
        } else if may_go(entry.path()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
