//! Byte strings by their numbers, in blocks of a file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of an unpacked block.
const BLOCK_BYTES: usize = 16 << 10;

/// Bytes of a packed block of long records: one or a few, since a read decompresses the whole
/// block.
const LONG_BLOCK_BYTES: usize = 32 << 10;

/// Bytes of a packed block of short records, which hardly shrink alone.
const SHORT_BLOCK_BYTES: usize = 128 << 10;

/// Records of fewer bytes than this on average are short.
const SHORT_MEAN: usize = 1 << 10;

/// Zstandard's level for long records: a third of the time of level 1 for a tenth less compression.
const LEVEL: i32 = -3;

/// Zstandard's level for short records.
const SHORT_LEVEL: i32 = 2;

/// The form of the records in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As they are, for bytes that do not shrink.
    Plain,
    /// Compressed by Zstandard, for texts.
    Zstandard,
}

/// Byte strings in a file without a name, numbered from 0 in the order of their arrival.
///
/// Memory: 24 bytes for each block of 16 KiB (packed: 32 to 128 KiB), the open block, and the
/// blocks that were read recently.
pub struct Records {
    file: File,
    compressor: Option<zstd::bulk::Compressor<'static>>,
    blocks: Vec<Block>,
    open: Vec<u8>,
    n_open: u32,
    n_records: u32,
    read: Mutex<Read>,
    n_cached_bytes: usize,
}

/// A block in the file.
#[derive(Clone, Copy)]
struct Block {
    offset: u64,
    /// The number of its first record.
    first: u32,
    n_stored: u32,
    n_bytes: u32,
}

/// A block in memory, with the places of its records.
struct Open {
    bytes: Vec<u8>,
    /// The end of each record; it starts four bytes after the end of the one before.
    ends: Vec<u32>,
}

/// Recently read blocks, in two generations: the young one, when full, replaces the old one.
#[derive(Default)]
struct Read {
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
    young: HashMap<u32, Arc<Open>>,
    n_young_bytes: usize,
    old: HashMap<u32, Arc<Open>>,
}

/// Bytes of the length before a record.
const LEN_BYTES: usize = size_of::<u32>();

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a block of records is not what was written")
}

impl Records {
    /// Makes an empty file in a folder, with `n_cached_bytes` for recently read blocks.
    ///
    /// # Errors
    /// Where no file can be made there.
    pub fn create(folder: &Path, packing: Packing, n_cached_bytes: usize) -> io::Result<Self> {
        let compressor = match packing {
            Packing::Plain => None,
            Packing::Zstandard => Some(zstd::bulk::Compressor::new(LEVEL)?),
        };
        Ok(Self {
            file: tempfile::tempfile_in(folder)?,
            compressor,
            blocks: Vec::new(),
            open: Vec::new(),
            n_open: 0,
            n_records: 0,
            read: Mutex::default(),
            n_cached_bytes,
        })
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.n_records
    }

    /// Returns true if there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n_records == 0
    }

    /// The bytes of the file.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.blocks.last().map_or(0, |last| last.offset + u64::from(last.n_stored))
    }

    /// Takes a record, whose parts stand one after another. Returns its number.
    ///
    /// # Errors
    /// A failed write, and a record or file beyond 32 bits of lengths and numbers.
    pub fn push(&mut self, parts: &[&[u8]]) -> io::Result<u32> {
        let number = self.n_records;
        let n_bytes: usize = parts.iter().map(|part| part.len()).sum();
        let len = u32::try_from(n_bytes).map_err(io::Error::other)?;
        self.n_records = number.checked_add(1).ok_or_else(|| io::Error::other("there are 2^32 records"))?;
        self.open.extend_from_slice(&len.to_be_bytes());
        parts.iter().for_each(|part| self.open.extend_from_slice(part));
        self.n_open += 1;
        let is_short = self.is_short();
        let n_bytes_max = match self.compressor {
            None => BLOCK_BYTES,
            Some(_) if is_short => SHORT_BLOCK_BYTES,
            Some(_) => LONG_BLOCK_BYTES,
        };
        if self.open.len() >= n_bytes_max {
            self.close_block()?;
        }
        Ok(number)
    }

    fn is_short(&self) -> bool {
        self.open.len() < SHORT_MEAN * self.n_open as usize
    }

    fn close_block(&mut self) -> io::Result<()> {
        let is_short = self.is_short();
        let too_large = |_| io::Error::other("a block of records is above 4 GiB");
        let (offset, n_bytes) = (self.n_bytes(), u32::try_from(self.open.len()).map_err(too_large)?);
        let packed = match &mut self.compressor {
            None => None,
            Some(compressor) => {
                compressor.set_compression_level(if is_short { SHORT_LEVEL } else { LEVEL })?;
                Some(compressor.compress(&self.open)?)
            }
        };
        let stored = packed.as_deref().unwrap_or(&self.open);
        let n_stored = u32::try_from(stored.len()).map_err(too_large)?;
        self.file.write_all(stored)?;
        self.blocks.push(Block { offset, first: self.n_records - self.n_open, n_stored, n_bytes });
        self.open.clear();
        self.n_open = 0;
        Ok(())
    }

    /// Hands a record to `take`; `None` where there is no record of this number.
    ///
    /// # Errors
    /// A failed read.
    pub fn get<T>(&self, number: u32, take: impl FnOnce(&[u8]) -> T) -> io::Result<Option<T>> {
        if number >= self.n_records {
            return Ok(None);
        }
        let block = self.blocks.partition_point(|block| block.first <= number);
        let is_open = number >= self.n_records - self.n_open;
        if is_open {
            return nth(&self.open, number - (self.n_records - self.n_open)).map(|record| Some(take(record)));
        }
        let first = self.blocks[block - 1].first;
        let block = self.block(block as u32 - 1)?;
        block.record(number - first).map(|record| Some(take(record))).ok_or_else(damaged)
    }

    fn block(&self, number: u32) -> io::Result<Arc<Open>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = read.young.get(&number) {
            return Ok(Arc::clone(block));
        }
        if let Some(block) = read.old.remove(&number) {
            self.keep(&mut read, number, &block);
            return Ok(block);
        }
        let Block { offset, n_stored, n_bytes, .. } = self.blocks[number as usize];
        let mut bytes = vec![0; n_stored as usize];
        self.file.read_exact_at(&mut bytes, offset)?;
        if self.compressor.is_some() {
            let decompressor = match &mut read.decompressor {
                Some(decompressor) => decompressor,
                none => none.insert(zstd::bulk::Decompressor::new()?),
            };
            bytes = decompressor.decompress(&bytes, n_bytes as usize)?;
        }
        let block = Arc::new(Open::new(bytes)?);
        self.keep(&mut read, number, &block);
        Ok(block)
    }

    fn keep(&self, read: &mut Read, number: u32, block: &Arc<Open>) {
        let n_bytes_max = self.n_cached_bytes / 2;
        if block.bytes.len() > n_bytes_max / 4 {
            return;
        }
        if read.n_young_bytes + block.bytes.len() > n_bytes_max {
            read.old = mem::take(&mut read.young);
            read.n_young_bytes = 0;
        }
        read.n_young_bytes += block.bytes.len();
        read.young.insert(number, Arc::clone(block));
    }
}

/// The record in the place `n` of a block.
fn nth(bytes: &[u8], n: u32) -> io::Result<&[u8]> {
    let mut rest = bytes;
    for _ in 0..n {
        (_, rest) = first(rest)?;
    }
    Ok(first(rest)?.0)
}

/// The first record of a block, and what comes after it.
fn first(bytes: &[u8]) -> io::Result<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<LEN_BYTES>().ok_or_else(damaged)?;
    rest.split_at_checked(u32::from_be_bytes(*len) as usize).ok_or_else(damaged)
}

impl Open {
    fn new(bytes: Vec<u8>) -> io::Result<Self> {
        let (mut ends, mut rest) = (Vec::new(), &bytes[..]);
        while !rest.is_empty() {
            (_, rest) = first(rest)?;
            ends.push((bytes.len() - rest.len()) as u32);
        }
        Ok(Self { bytes, ends })
    }

    fn record(&self, n: u32) -> Option<&[u8]> {
        let n = n as usize;
        let start = if n == 0 { 0 } else { self.ends[n - 1] as usize } + LEN_BYTES;
        self.bytes.get(start..*self.ends.get(n)? as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(n: u32) -> Vec<u8> {
        match n % 5 {
            0 => Vec::new(),
            1 => n.to_be_bytes().to_vec(),
            2 => vec![n as u8; 40 * n as usize],
            3 => format!("{n} ferries leave. ").repeat(9).into_bytes(),
            _ => (0..n).map(|byte| (byte * byte + n) as u8).collect(),
        }
    }

    #[test]
    fn records_come_back_as_they_were_pushed() {
        for (packing, n_cached_bytes) in
            [(Packing::Plain, 0), (Packing::Plain, 1 << 20), (Packing::Zstandard, 1 << 20)]
        {
            let folder = tempfile::tempdir().unwrap();
            let mut records = Records::create(folder.path(), packing, n_cached_bytes).unwrap();
            assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the file has no name");
            let get =
                |records: &Records, n| records.get(n, <[u8]>::to_vec).unwrap().map(|got| got == record(n));
            for n in 0..2_000 {
                let of_n = record(n);
                let (head, rest) = of_n.split_at(of_n.len() / 3);
                assert_eq!(records.push(&[head, rest]).unwrap(), n);
                assert_eq!(get(&records, n), Some(true), "{n}");
                assert_eq!(get(&records, n / 2), Some(true), "{n}");
            }
            for n in (0..2_000).rev().chain([3, 1_999, 1_000]) {
                assert_eq!(get(&records, n), Some(true), "{n}");
            }
            assert_eq!(get(&records, 2_000), None);
            assert_eq!(records.len(), 2_000);
        }
    }

    #[test]
    fn texts_take_half_of_their_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let mut records = Records::create(folder.path(), Packing::Zstandard, 0).unwrap();
        let mut n_bytes = 0;
        for n in 0..400_u64 {
            let words = (0..150).map(|k| (n * 31 + k * k * 7) % 997);
            let text: String = words.map(|word| format!("word{word} of the {} ", word % 13)).collect();
            n_bytes += text.len() as u64;
            records.push(&[text.as_bytes()]).unwrap();
        }
        assert!(records.n_bytes() < n_bytes / 2, "{} of {n_bytes}", records.n_bytes());
    }
}
