//! A local or remote file of Parquet.

use std::io::Read;

use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};

use super::super::location::{Location, Parts};
use super::guarded;

/// A file with random access, as required by [`SerializedFileReader`].
pub struct ParquetFile(Parts);

/// Opens a file and reads its metadata.
///
/// # Errors
/// If the file is not Parquet, or cannot be read.
pub fn open_parquet(location: &Location) -> Result<SerializedFileReader<ParquetFile>> {
    open_parts(location.open_parts()?)
}

/// Reads the metadata of a file opened before.
pub(super) fn open_parts(parts: Parts) -> Result<SerializedFileReader<ParquetFile>> {
    guarded(|| {
        let file = ParquetFile(parts);
        let remote = match &file.0 {
            Parts::Local(_) => None,
            Parts::Remote(windows) => Some(windows.clone()),
        };
        let reader = SerializedFileReader::new(file)?;
        if let Some(windows) = remote {
            let columns = reader.metadata().row_groups().iter().flat_map(|group| group.columns());
            let extents = columns.map(|column| {
                let (start, len) = column.byte_range();
                start..start.saturating_add(len)
            });
            windows.expect(extents.collect());
        }
        Ok(reader)
    })
}

impl Length for ParquetFile {
    fn len(&self) -> u64 {
        match &self.0 {
            Parts::Local(file) => file.len(),
            Parts::Remote(windows) => windows.n_bytes(),
        }
    }
}

impl ChunkReader for ParquetFile {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(match &self.0 {
            Parts::Local(file) => Box::new(file.get_read(start)?),
            Parts::Remote(windows) => Box::new(windows.from(start)),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        match &self.0 {
            Parts::Local(file) => file.get_bytes(start, length),
            Parts::Remote(windows) => Ok(windows.get(start, length)?),
        }
    }
}
