//! Byte strings by their numbers, in blocks of a file.

mod block;
mod packer;
#[cfg(test)]
mod tests;
mod writing;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::Advice;

use self::block::{Open, damaged, nth};
use self::packer::Packer;
use crate::sealed::{SEAL_BYTES, Sealed};

/// Bytes of an unpacked block: a page. Most begin with one, so that a read is of no other.
const BLOCK_BYTES: usize = 4 << 10;

/// The most bytes of a page that are left free, where the next record has no room.
const FREE_BYTES_MAX: usize = BLOCK_BYTES / 8;

/// Bytes of a packed block of long records: one or a few, since a read decompresses the whole
/// block.
const LONG_BLOCK_BYTES: usize = 32 << 10;

/// Bytes of a packed block of short records, which hardly shrink alone. Blocks of 128 KiB would be
/// a ninth smaller, and each read ten times as long.
const SHORT_BLOCK_BYTES: usize = 8 << 10;

/// Records of fewer bytes than this on average are short.
const SHORT_MEAN: usize = 1 << 10;

/// Zstandard's level for long records: a third of the time of level 1 for a tenth less compression.
const LEVEL: i32 = -3;

/// Zstandard's level for short records.
const SHORT_LEVEL: i32 = 1;

/// One record in so many has the block it is in written down.
const SIGN_EVERY: u32 = 256;

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
/// A thread compresses the blocks. Up to a bound they stay in memory as they are, so a file that is
/// smaller than that takes no compression.
///
/// Memory: 16 bytes for each block of 4 KiB (packed: 8 or 32 KiB), 4 for each 256 records, the open
/// block, blocks that wait for their compression, and the blocks that were read recently.
pub struct Records {
    file: Sealed,
    packing: Packing,
    /// `None` until the first block is compressed.
    packer: Option<Packer>,
    blocks: Vec<Block>,
    /// The last blocks, which are not in the file yet, each with its level of compression.
    unwritten: VecDeque<(Arc<Open>, i32)>,
    /// The number of them, from the first on, that are being compressed.
    n_packing: usize,
    /// The bytes of the others, and the most that they may be.
    n_waiting_bytes: usize,
    n_waiting_bytes_max: usize,
    /// The block of each [`SIGN_EVERY`]th record: a search among a few blocks, and not among all,
    /// which are more than a processor's cache holds.
    signs: Vec<u32>,
    /// The bytes of the file.
    n_stored: u64,
    open: Vec<u8>,
    n_open: u32,
    n_records: u32,
    read: Mutex<Read>,
    n_cached_bytes: usize,
}

/// A block, in the file or on its way there.
#[derive(Clone, Copy)]
struct Block {
    /// 0 until the block is in the file.
    offset: u64,
    /// The number of its first record.
    first: u32,
    /// Its bytes in memory. In the file its checksum ends where the next block begins, or some free
    /// bytes before.
    n_bytes: u32,
}

/// Recently read blocks, in two generations: the young one, when full, replaces the old one. The
/// memory of the old one is used again: an allocator would give such pieces back to the system, and
/// ask for them soon.
#[derive(Default)]
struct Read {
    unpacking: Unpacking,
    young: HashMap<u32, Arc<Open>>,
    n_young_bytes: usize,
    old: HashMap<u32, Arc<Open>>,
    spare: Vec<Open>,
}

/// What a packed block is read with.
#[derive(Default)]
struct Unpacking {
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
    packed: Vec<u8>,
}

/// The place of a reader whose numbers ascend, at the block that it read last.
#[derive(Default)]
pub struct Place {
    /// The number of the block's first record, `None` before the first block.
    first: Option<u32>,
    block: Open,
    unpacking: Unpacking,
}

impl Records {
    /// Makes an empty file in a folder, with `n_cached_bytes` for recently read blocks.
    ///
    /// # Errors
    /// Where no file can be made there.
    pub fn create(folder: &Path, packing: Packing, n_cached_bytes: usize) -> io::Result<Self> {
        Ok(Self {
            file: Sealed::create(folder)?,
            packing,
            packer: None,
            blocks: Vec::new(),
            unwritten: VecDeque::new(),
            n_packing: 0,
            n_waiting_bytes: 0,
            n_waiting_bytes_max: 0,
            signs: Vec::new(),
            n_stored: 0,
            open: Vec::new(),
            n_open: 0,
            n_records: 0,
            read: Mutex::default(),
            n_cached_bytes,
        })
    }

    /// Gives recently read blocks `n_cached_bytes` from now on.
    pub fn set_cache(&mut self, n_cached_bytes: usize) {
        self.n_cached_bytes = n_cached_bytes;
        self.read = Mutex::default();
    }

    /// Lets blocks of `n_bytes` together wait in memory for their compression.
    pub fn set_waiting(&mut self, n_bytes: usize) {
        self.n_waiting_bytes_max = n_bytes;
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
        self.n_stored
    }

    /// Takes a record, whose parts stand one after another. Returns its number.
    ///
    /// # Errors
    /// A failed write, and a record or file beyond 32 bits of lengths and numbers.
    pub fn push(&mut self, parts: &[&[u8]]) -> io::Result<u32> {
        let number = self.n_records;
        let n_bytes: usize = parts.iter().map(|part| part.len()).sum();
        let len = u32::try_from(n_bytes).map_err(io::Error::other)?;
        let n_bytes = n_bytes + size_of_val(&len);
        let n_free = self.n_free();
        if self.packing == Packing::Plain && self.n_open > 0 && n_bytes > n_free && n_free <= FREE_BYTES_MAX {
            self.close_block()?;
        }
        self.n_records = number.checked_add(1).ok_or_else(|| io::Error::other("there are 2^32 records"))?;
        if number.is_multiple_of(SIGN_EVERY) {
            self.signs.push(self.blocks.len() as u32);
        }
        if self.open.capacity() == 0 {
            // A block is about as long as the one before it, but for records that are long alone.
            let n_before = self.blocks.last().map_or(0, |block| block.n_bytes as usize);
            let n_bytes = n_before.min(LONG_BLOCK_BYTES);
            self.open.reserve(n_bytes + n_bytes / 8);
        }
        self.open.extend_from_slice(&len.to_be_bytes());
        parts.iter().for_each(|part| self.open.extend_from_slice(part));
        self.n_open += 1;
        let is_short = self.is_short();
        let n_bytes_max = match self.packing {
            Packing::Plain => BLOCK_BYTES,
            Packing::Zstandard if is_short => SHORT_BLOCK_BYTES,
            Packing::Zstandard => LONG_BLOCK_BYTES,
        };
        if self.open.len() + SEAL_BYTES >= n_bytes_max {
            self.close_block()?;
        }
        Ok(number)
    }

    /// The bytes between the end of the open block, as it is, with its checksum, and that of its
    /// last page.
    fn n_free(&self) -> usize {
        let end = self.n_stored as usize + self.open.len() + SEAL_BYTES;
        end.next_multiple_of(BLOCK_BYTES) - end
    }

    fn is_short(&self) -> bool {
        self.open.len() < SHORT_MEAN * self.n_open as usize
    }

    /// Hands a record to `take`; `None` where there is no record of this number.
    ///
    /// # Errors
    /// A failed read.
    pub fn get<T>(&self, number: u32, take: impl FnOnce(&[u8]) -> T) -> io::Result<Option<T>> {
        if number >= self.n_records {
            return Ok(None);
        }
        let Some(at) = self.block_of(number) else { return self.get_open(number, take) };
        let block = self.block(at)?;
        let record = block.record(number - self.blocks[at as usize].first);
        record.map(|record| Some(take(record))).ok_or_else(damaged)
    }

    /// The same for a reader whose numbers ascend: it holds a single block, and displaces none of
    /// those that others read recently.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_in_order<T>(
        &self,
        place: &mut Place,
        number: u32,
        take: impl FnOnce(&[u8]) -> T,
    ) -> io::Result<Option<T>> {
        if let Some(record) = place.record(number) {
            return Ok(Some(take(record)));
        }
        if number >= self.n_records {
            return Ok(None);
        }
        let Some(at) = self.block_of(number) else { return self.get_open(number, take) };
        if let Some(block) = self.unwritten(at) {
            let record = block.record(number - self.blocks[at as usize].first);
            return record.map(|record| Some(take(record))).ok_or_else(damaged);
        }
        place.first = None;
        self.read_block(at, &mut place.block, &mut place.unpacking)?;
        place.first = Some(self.blocks[at as usize].first);
        place.record(number).map(|record| Some(take(record))).ok_or_else(damaged)
    }

    /// Asks the system to read records of these numbers, ascending, side by side before they are
    /// asked for. Those that were read recently are passed over.
    pub fn foresee(&self, numbers: impl IntoIterator<Item = u32>) {
        let (recent, mut last) = (self.recent(), None);
        for at in numbers.into_iter().filter_map(|number| self.block_of(number)) {
            let is_known = last.replace(at) == Some(at) || self.unwritten(at).is_some();
            if is_known || recent.young.contains_key(&at) || recent.old.contains_key(&at) {
                continue;
            }
            let (offset, len) = self.place_of(at);
            // A system that cannot look ahead reads later.
            let _ = rustix::fs::fadvise(self.file.file(), offset, NonZeroU64::new(len), Advice::WillNeed);
        }
    }

    /// The offset of a block in the file, and its length there with its checksum.
    fn place_of(&self, at: u32) -> (u64, u64) {
        let Block { offset, n_bytes, .. } = self.blocks[at as usize];
        if self.packing == Packing::Plain {
            return (offset, u64::from(n_bytes) + SEAL_BYTES as u64);
        }
        let next = Some(at as usize + 1).filter(|&next| next < self.n_written());
        let end = next.map_or(self.n_stored, |next| self.blocks[next].offset);
        (offset, end - offset)
    }

    /// The block in the file that has a record, `None` if that is in the open block.
    fn block_of(&self, number: u32) -> Option<u32> {
        if number >= self.n_records - self.n_open {
            return None;
        }
        let sign = (number / SIGN_EVERY) as usize;
        let first = self.signs[sign];
        let last = self.signs.get(sign + 1).map_or(self.blocks.len(), |&next| next as usize + 1);
        let blocks = &self.blocks[first as usize..last.min(self.blocks.len())];
        Some(first + blocks.partition_point(|block| block.first <= number) as u32 - 1)
    }

    fn get_open<T>(&self, number: u32, take: impl FnOnce(&[u8]) -> T) -> io::Result<Option<T>> {
        nth(&self.open, number - (self.n_records - self.n_open)).map(|record| Some(take(record)))
    }

    fn recent(&self) -> MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn block(&self, number: u32) -> io::Result<Arc<Open>> {
        if let Some(block) = self.unwritten(number) {
            return Ok(Arc::clone(block));
        }
        let mut read = self.recent();
        if let Some(block) = read.young.get(&number) {
            return Ok(Arc::clone(block));
        }
        let block = match read.old.remove(&number) {
            Some(block) => block,
            None => {
                let mut block = read.spare.pop().unwrap_or_default();
                self.read_block(number, &mut block, &mut read.unpacking)?;
                Arc::new(block)
            }
        };
        self.keep(&mut read, number, &block);
        Ok(block)
    }

    /// Reads a block of the file into `block`.
    fn read_block(&self, number: u32, block: &mut Open, unpacking: &mut Unpacking) -> io::Result<()> {
        let ((offset, len), n_bytes) = (self.place_of(number), self.blocks[number as usize].n_bytes);
        let read = |bytes: &mut Vec<u8>| {
            bytes.reserve_exact((len as usize).saturating_sub(bytes.len()));
            bytes.resize(len as usize, 0);
            self.file.read_at(bytes, offset)
        };
        if self.packing == Packing::Zstandard {
            let Unpacking { decompressor, packed } = unpacking;
            let decompressor = match decompressor {
                Some(decompressor) => decompressor,
                none => none.insert(zstd::bulk::Decompressor::new()?),
            };
            read(packed)?;
            block.bytes.clear();
            block.bytes.reserve_exact(n_bytes as usize);
            decompressor.decompress_to_buffer(self.file.opened(packed)?, &mut block.bytes)?;
        } else {
            read(&mut block.bytes)?;
            self.file.opened(&block.bytes)?;
            block.bytes.truncate(n_bytes as usize);
        }
        let of_next = self.blocks.get(number as usize + 1).map(|next| next.first);
        let n_records = of_next.unwrap_or(self.n_records - self.n_open) - self.blocks[number as usize].first;
        block.find_records(n_records)
    }

    fn keep(&self, read: &mut Read, number: u32, block: &Arc<Open>) {
        let n_bytes_max = self.n_cached_bytes / 2;
        let n_bytes = block.bytes.capacity();
        if n_bytes > n_bytes_max / 4 {
            return;
        }
        if read.n_young_bytes + n_bytes > n_bytes_max {
            mem::swap(&mut read.young, &mut read.old);
            read.spare.extend(read.young.drain().filter_map(|(_, block)| Arc::into_inner(block)));
            read.n_young_bytes = 0;
        }
        read.n_young_bytes += n_bytes;
        read.young.insert(number, Arc::clone(block));
    }
}

impl Place {
    fn record(&self, number: u32) -> Option<&[u8]> {
        self.block.record(number.checked_sub(self.first?)?)
    }
}
