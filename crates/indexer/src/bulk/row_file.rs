//! Files of ascending cells.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;

/// The first bytes of a file: its type, and the version of its format.
const MAGIC: [u8; 8] = *b"PHROWS\0\x01";

/// Length at which a file ends and the next one begins. To load a region, the loader skips all rows
/// of a file before the region's first row, hence the bound.
const FILE_BYTES: u64 = 64 << 20;

/// Writes cells into as many files as needed.
pub(crate) struct RowFiles {
    folder: PathBuf,
    name: &'static str,
    current: Option<RowFile>,
    done: Vec<Written>,
}

/// A whole and durable file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) n_cells: u64,
    pub(crate) n_bytes: u64,
    pub(crate) crc32: u32,
    pub(crate) first_row: Vec<u8>,
    pub(crate) last_row: Vec<u8>,
}

impl RowFiles {
    /// Returns a writer of the files `NAME-00000.rows`, `NAME-00001.rows` and so on.
    pub(crate) fn new(folder: PathBuf, name: &'static str) -> Self {
        Self { folder, name, current: None, done: Vec::new() }
    }

    /// Writes the next cell.
    pub(crate) fn write(&mut self, row: &[u8], qualifier: &[u8], value: &[u8]) -> anyhow::Result<()> {
        if self.current.as_ref().is_some_and(|file| file.n_bytes >= FILE_BYTES) {
            self.end()?;
        }
        let file = match &mut self.current {
            Some(file) => file,
            none => {
                let name = format!("{}-{:05}.rows", self.name, self.done.len());
                let created = RowFile::create(self.folder.join(&name), name.clone(), row);
                none.insert(created.with_context(|| failed(&name))?)
            }
        };
        file.write(row, qualifier, value).with_context(|| failed(&file.name))
    }

    /// Makes all files durable and returns them.
    pub(crate) fn finish(mut self) -> anyhow::Result<Vec<Written>> {
        self.end()?;
        Ok(self.done)
    }

    fn end(&mut self) -> anyhow::Result<()> {
        if let Some(file) = self.current.take() {
            let name = file.name.clone();
            self.done.push(file.finish().with_context(|| failed(&name))?);
        }
        Ok(())
    }
}

fn failed(name: &str) -> String {
    format!("failed to write {name}; the same command again makes the rows anew")
}

struct RowFile {
    name: String,
    writer: BufWriter<File>,
    hasher: crc32fast::Hasher,
    n_cells: u64,
    n_bytes: u64,
    first_row: Vec<u8>,
    last_row: Vec<u8>,
}

impl RowFile {
    fn create(path: PathBuf, name: String, first_row: &[u8]) -> io::Result<Self> {
        let mut file = Self {
            name,
            writer: BufWriter::with_capacity(1 << 20, File::create(path)?),
            hasher: crc32fast::Hasher::new(),
            n_cells: 0,
            n_bytes: 0,
            first_row: first_row.to_vec(),
            last_row: Vec::new(),
        };
        file.write_bytes(&MAGIC)?;
        Ok(file)
    }

    fn write(&mut self, row: &[u8], qualifier: &[u8], value: &[u8]) -> io::Result<()> {
        let mut cell = Vec::with_capacity(6 + row.len() + qualifier.len() + value.len());
        for part in [row, qualifier, value] {
            let len = u16::try_from(part.len()).map_err(|_| io::Error::other("a cell is too long"))?;
            cell.extend_from_slice(&len.to_be_bytes());
            cell.extend_from_slice(part);
        }
        self.write_bytes(&cell)?;
        self.n_cells += 1;
        self.last_row.clear();
        self.last_row.extend_from_slice(row);
        Ok(())
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.n_bytes += bytes.len() as u64;
        self.writer.write_all(bytes)
    }

    fn finish(self) -> io::Result<Written> {
        let Self { name, writer, hasher, n_cells, n_bytes, first_row, last_row } = self;
        writer.into_inner()?.sync_all()?;
        Ok(Written { name, n_cells, n_bytes, crc32: hasher.finalize(), first_row, last_row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fixed bytes: a change here is a new format version.
    #[test]
    fn golden() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = RowFiles::new(folder.path().to_owned(), "index");
        files.write(b"a", b"one", b"").unwrap();
        files.write(b"bc", b"d\xff", b"value").unwrap();
        let written = files.finish().unwrap();
        let bytes = std::fs::read(folder.path().join("index-00000.rows")).unwrap();
        let expected = b"PHROWS\0\x01\0\x01a\0\x03one\0\0\0\x02bc\0\x02d\xff\0\x05value";
        assert_eq!(bytes, expected);
        let crc32 = crc32fast::hash(expected);
        let (first_row, last_row) = (b"a".to_vec(), b"bc".to_vec());
        let name = "index-00000.rows".to_owned();
        let n_bytes = expected.len() as u64;
        assert_eq!(written, [Written { name, n_cells: 2, n_bytes, crc32, first_row, last_row }]);
        assert_eq!(RowFiles::new(folder.path().to_owned(), "none").finish().unwrap(), []);
    }
}
