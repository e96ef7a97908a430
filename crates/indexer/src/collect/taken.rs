//! The files taken by a round: their identities when read, and their removal.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use serde::Deserialize;
use walkdir::WalkDir;

/// Path, length and time of a file.
#[derive(PartialEq)]
pub(super) struct Identity {
    pub(super) path: PathBuf,
    n_bytes: u64,
    modified: SystemTime,
}

/// Returns all files of a round.
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

/// Returns true if the round has files. A round killed at its beginning has none.
pub(super) fn has_files(folder: &Path) -> anyhow::Result<bool> {
    Ok(folder.is_dir() && !identities(folder)?.is_empty())
}

/// The path relative to its folder, independent of where the folder is.
pub(super) fn below<'a>(folder: &Path, file: &'a Path) -> &'a Path {
    file.strip_prefix(folder).unwrap_or(file)
}

/// Reads the files below `folder` that a file of rejects names, as paths relative to `folder`.
pub(super) fn named_by(rejects: &Path, folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Reject {
        source: String,
    }
    let failed = || format!("failed to read {}", rejects.display());
    let mut sources = BTreeSet::new();
    for line in BufReader::new(File::open(rejects).with_context(failed)?).lines() {
        let reject: Reject = serde_json::from_str(&line.with_context(failed)?).with_context(failed)?;
        // `source` is text, even for a path of other bytes.
        let folder = folder.to_string_lossy();
        sources.insert(below(Path::new(&*folder), Path::new(&reject.source)).to_string_lossy().into_owned());
    }
    Ok(sources)
}

/// Removes the files for which `may_go` returns true, and then the empty folders.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Files were known by their full paths. In a folder moved meanwhile, no path matched a
    /// rejected one, and `--delete` removed all files.
    #[test]
    fn files_are_known_wherever_their_folder_is() {
        let place = tempfile::tempdir().unwrap();
        let [rejects, folder] = ["rejects", "taken"].map(|name| place.path().join(name));
        let source = folder.join("feed/a.jsonl").to_str().unwrap().to_owned();
        fs::write(&rejects, format!("{}\n", serde_json::json!({ "source": source }))).unwrap();
        let rejected = named_by(&rejects, &folder).unwrap();
        assert_eq!(rejected, BTreeSet::from(["feed/a.jsonl".to_owned()]));
        let moved = place.path().join("moved");
        for name in ["feed/a.jsonl", "feed/b.jsonl"] {
            fs::create_dir_all(moved.join("feed")).unwrap();
            fs::write(moved.join(name), "").unwrap();
        }
        delete(&moved, |file| !rejected.contains(&*below(&moved, file).to_string_lossy())).unwrap();
        assert!(moved.join("feed/a.jsonl").exists() && !moved.join("feed/b.jsonl").exists());
    }
}
