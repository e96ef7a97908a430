//! The bytes of a block: records in a row, each after its length.

use std::io;

/// A block in memory, with the places of its records.
#[derive(Default)]
pub(super) struct Open {
    pub(super) bytes: Vec<u8>,
    /// The end of each record; it starts four bytes after the end of the one before.
    ends: Vec<u32>,
}

/// Bytes of the length before a record.
const LEN_BYTES: usize = size_of::<u32>();

pub(super) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a block of records is not what was written")
}

/// The record in the place `n` of a block.
pub(super) fn nth(bytes: &[u8], n: u32) -> io::Result<&[u8]> {
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
    /// A block whose records are not found yet.
    pub(super) fn new(mut bytes: Vec<u8>) -> Self {
        bytes.shrink_to(bytes.len() + bytes.len() / 8);
        Self { bytes, ends: Vec::new() }
    }

    /// The memory of a block, without bytes.
    pub(super) fn into_empty(self) -> Vec<u8> {
        let mut bytes = self.bytes;
        bytes.clear();
        bytes
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + size_of::<u32>() * self.ends.capacity()
    }

    /// Finds the records in `bytes`, of which there should be `n_records`.
    pub(super) fn find_records(&mut self, n_records: u32) -> io::Result<()> {
        self.ends.clear();
        self.ends.reserve_exact(n_records as usize);
        let mut rest = &self.bytes[..];
        while !rest.is_empty() {
            (_, rest) = first(rest)?;
            self.ends.push((self.bytes.len() - rest.len()) as u32);
        }
        Ok(())
    }

    pub(super) fn record(&self, n: u32) -> Option<&[u8]> {
        let (n, end) = (n as usize, *self.ends.get(n as usize)?);
        let start = if n == 0 { 0 } else { self.ends[n - 1] as usize } + LEN_BYTES;
        self.bytes.get(start..end as usize)
    }
}
