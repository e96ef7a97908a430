//! The folder of rows. The manifest is written last: a folder with a manifest is whole.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::RowFiles;
use super::row_file::Written;
use crate::durable;

const MANIFEST: &str = "manifest";
const METADATA: &str = "metadata.json";
const LOCK: &str = "lock";

/// A folder of rows under construction, locked by this process.
pub(crate) struct RowsFolder {
    path: PathBuf,
    /// Holds the lock until dropped.
    _lock: File,
}

/// Facts for the loader beside the rows.
pub(crate) struct Description<'a> {
    /// The table of the index.
    pub(crate) name: &'a str,
    /// The stored metadata of the index, byte for byte.
    pub(crate) metadata: &'a [u8],
    /// Timestamp of all cells, in milliseconds.
    pub(crate) timestamp: i64,
    /// Lifetime of the cells; `None` keeps them for good.
    pub(crate) retain_seconds: Option<u32>,
}

impl RowsFolder {
    /// Makes the folder, or reuses the folder of a run that died before its rows were whole.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let failed = || format!("failed to make the folder of rows {}", path.display());
        durable::create_folder(path).with_context(failed)?;
        let lock = path.join(LOCK);
        if !lock.exists() {
            let is_empty = fs::read_dir(path).with_context(failed)?.next().is_none();
            ensure!(is_empty, "{} is not empty; name a new folder for the rows", path.display());
        }
        let lock = durable::lock(&lock).with_context(failed)?;
        let lock =
            lock.with_context(|| format!("another run is writing rows to {}; wait for it", path.display()))?;
        ensure!(
            !path.join("loaded").exists(),
            "{} has rows that were loaded; remove the folder, or name another one",
            path.display()
        );
        ensure!(
            !path.join(MANIFEST).exists(),
            "{} has rows that are whole; load them, or remove the folder to make them anew",
            path.display()
        );
        for entry in fs::read_dir(path).with_context(failed)? {
            let entry = entry.with_context(failed)?.path();
            if entry.extension().is_some_and(|extension| extension == "rows") {
                fs::remove_file(entry).with_context(failed)?;
            }
        }
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns files for rows of the index table.
    pub(crate) fn index(&self) -> RowFiles {
        RowFiles::new(self.path.clone(), "index")
    }

    /// Returns files for rows of the documents table.
    pub(crate) fn documents(&self) -> RowFiles {
        RowFiles::new(self.path.clone(), "documents")
    }

    /// Writes the manifest. From here on the rows may be loaded.
    pub(crate) fn finish(
        self,
        description: &Description<'_>,
        index: &[Written],
        documents: &[Written],
    ) -> anyhow::Result<()> {
        let manifest = manifest(description, index, documents);
        let write = |name, content| durable::write(&self.path.join(name), content);
        let written =
            write(METADATA, description.metadata).and_then(|()| write(MANIFEST, manifest.as_bytes()));
        written.with_context(|| format!("failed to write the manifest of {}", self.path.display()))
    }
}

/// Renders the manifest: lines of words separated by tabs, readable in any language without a
/// library.
fn manifest(description: &Description<'_>, index: &[Written], documents: &[Written]) -> String {
    let Description { name, metadata, timestamp, retain_seconds } = description;
    let mut lines = format!("pigeonhole rows\t1\nindex\t{name}\ntimestamp\t{timestamp}\n");
    lines += &format!("retain_seconds\t{}\n", retain_seconds.unwrap_or(0));
    lines += &format!("metadata\t{METADATA}\t{}\t{:08x}\n", metadata.len(), crc32fast::hash(metadata));
    for (table, files) in [("index", index), ("documents", documents)] {
        for Written { name, n_cells, n_bytes, crc32, first_row, last_row } in files {
            let (first, last) = (hex(first_row), hex(last_row));
            lines += &format!("rows\t{table}\t{name}\t{n_cells}\t{n_bytes}\t{crc32:08x}\t{first}\t{last}\n");
        }
    }
    let crc32 = crc32fast::hash(lines.as_bytes());
    lines + &format!("end\t{crc32:08x}\n")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes whatever is written");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fixed bytes: a change here is a new format version.
    #[test]
    fn golden_manifest() {
        let description = Description {
            name: "crawl:news",
            metadata: b"{}",
            timestamp: 1_763_735_000_123,
            retain_seconds: Some(172_800),
        };
        let written = |name: &str| Written {
            name: name.to_owned(),
            n_cells: 3,
            n_bytes: 44,
            crc32: 0xab,
            first_row: b"a".to_vec(),
            last_row: b"b\xff".to_vec(),
        };
        let expected = "pigeonhole rows\t1\n\
            index\tcrawl:news\n\
            timestamp\t1763735000123\n\
            retain_seconds\t172800\n\
            metadata\tmetadata.json\t2\ta3a6bf43\n\
            rows\tindex\tindex-00000.rows\t3\t44\t000000ab\t61\t62ff\n\
            rows\tdocuments\tdocuments-00000.rows\t3\t44\t000000ab\t61\t62ff\n\
            end\tb6f1899c\n";
        let manifest =
            manifest(&description, &[written("index-00000.rows")], &[written("documents-00000.rows")]);
        assert_eq!(manifest, expected);
    }

    #[test]
    fn whose_folder_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let first = RowsFolder::create(&path).unwrap();
        let refused = |part: &str| {
            let error = RowsFolder::create(&path).map(drop).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        refused("another run");
        // A dead run leaves rows; the next run makes them anew.
        fs::write(path.join("index-00003.rows"), "half").unwrap();
        drop(first);
        let next = RowsFolder::create(&path).unwrap();
        assert!(!path.join("index-00003.rows").exists());
        let description = Description { name: "t", metadata: b"{}", timestamp: 1, retain_seconds: None };
        next.finish(&description, &[], &[]).unwrap();
        refused("rows that are whole");
        let error = RowsFolder::create(folder.path()).map(drop).unwrap_err().to_string();
        assert!(error.contains("not empty"), "{error}");
    }
}
