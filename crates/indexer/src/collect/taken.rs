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

/// What is left of a path when its folder is moved.
pub(super) fn below<'a>(folder: &Path, file: &'a Path) -> &'a Path {
    file.strip_prefix(folder).unwrap_or(file)
}

/// The files below a folder that a file of rejects names.
pub(super) fn named_by(rejects: &Path, folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Reject {
        source: String,
    }
    let failed = || format!("failed to read {}", rejects.display());
    let mut sources = BTreeSet::new();
    for line in BufReader::new(File::open(rejects).with_context(failed)?).lines() {
        let reject: Reject = serde_json::from_str(&line.with_context(failed)?).with_context(failed)?;
        // Sources are text, whatever their bytes were.
        let folder = folder.to_string_lossy();
        sources.insert(below(Path::new(&*folder), Path::new(&reject.source)).to_string_lossy().into_owned());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The files were known by where they were: in a folder that had been moved none of them was one of which something
    /// was rejected, and `--delete` took them all.
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
