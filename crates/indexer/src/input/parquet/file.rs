//! A file of Parquet here or elsewhere.

use std::fs::File;
use std::io::Read;

use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};

use super::super::location::Location;
use super::super::remote::Windows;
use super::guarded;

pub(crate) enum ParquetFile {
    Local(File),
    Remote(Windows),
}

/// Reads what the file says of itself.
pub(crate) fn open_parquet(location: &Location) -> Result<SerializedFileReader<ParquetFile>> {
    guarded(|| {
        let file = location.open_parts()?;
        let remote = match &file {
            ParquetFile::Local(_) => None,
            ParquetFile::Remote(windows) => Some(windows.clone()),
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
        match self {
            Self::Local(file) => file.len(),
            Self::Remote(windows) => windows.n_bytes(),
        }
    }
}

impl ChunkReader for ParquetFile {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(match self {
            Self::Local(file) => Box::new(file.get_read(start)?),
            Self::Remote(windows) => Box::new(windows.from(start)),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        match self {
            Self::Local(file) => file.get_bytes(start, length),
            Self::Remote(windows) => Ok(windows.get(start, length)?),
        }
    }
}
