//! Texts of a run, compressed in a file that is gone when the run ends, for any reason.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use index::{Error, Result, Text, TextPlace};

/// The bytes of a block of long texts: one or a few texts, since a read decompresses the whole
/// block.
const BLOCK_BYTES: usize = 32 << 10;

/// The bytes of a block of short texts, which hardly shrink alone.
const SHORT_BLOCK_BYTES: usize = 128 << 10;

/// Texts of fewer bytes than this on average are short.
const SHORT_MEAN: usize = 1 << 10;

/// Zstandard's level for long texts: a third of the time of level 1 for a tenth less compression.
const LEVEL: i32 = -3;

/// Zstandard's level for short texts.
const SHORT_LEVEL: i32 = 2;

/// Bytes of recently read blocks that each of the two generations keeps.
const CACHED_BLOCK_BYTES: usize = 2 << 20;

/// The number of recently read texts that are kept.
const CACHED_TEXTS_MAX: usize = 64;
const CACHED_BYTES_MAX: usize = 4 << 20;

/// Texts by their numbers, in a file without a name, which the system frees when the process ends.
///
/// Memory: 8 bytes a number, the open block, and some megabytes of recently read texts.
pub struct Spool {
    file: File,
    compressor: zstd::bulk::Compressor<'static>,
    /// The place of each text, by its number.
    places: Vec<Place>,
    blocks: Vec<Block>,
    /// The texts of the open block, one after another.
    open: Vec<u8>,
    n_open: usize,
    read: Mutex<Read>,
    cached_block_bytes: usize,
}

/// The block of a text and the offset of the text in the block.
#[derive(Clone, Copy, Default)]
struct Place {
    /// The number of the block from 1 on, 0 for no text.
    block: u32,
    from: u32,
}

struct Block {
    offset: u64,
    n_stored: u32,
    n_bytes: u32,
}

/// Recently read blocks and texts.
#[derive(Default)]
struct Read {
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
    /// The young generation. When full it replaces the old one, which is forgotten.
    blocks: HashMap<u32, Arc<[u8]>>,
    n_block_bytes: usize,
    old_blocks: HashMap<u32, Arc<[u8]>>,
    /// Texts, the latest first.
    texts: VecDeque<(u64, Text)>,
}

impl Spool {
    /// Makes an empty spool in a folder.
    ///
    /// # Errors
    /// Where no file can be made there.
    pub fn create(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            file: tempfile::tempfile_in(folder)?,
            compressor: zstd::bulk::Compressor::new(LEVEL)?,
            places: Vec::new(),
            blocks: Vec::new(),
            open: Vec::new(),
            n_open: 0,
            read: Mutex::default(),
            cached_block_bytes: CACHED_BLOCK_BYTES,
        })
    }

    /// The same spool with room for `n_bytes` of recently read blocks.
    #[must_use]
    pub fn caching(self, n_bytes: usize) -> Self {
        Self { cached_block_bytes: n_bytes / 2, ..self }
    }

    /// The bytes of the file.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.blocks.last().map_or(0, |last| last.offset + u64::from(last.n_stored))
    }

    fn close_block(&mut self) -> io::Result<()> {
        let is_short = self.open.len() < SHORT_MEAN * self.n_open;
        self.compressor.set_compression_level(if is_short { SHORT_LEVEL } else { LEVEL })?;
        let stored = self.compressor.compress(&self.open)?;
        let too_large = |_| io::Error::other("a block of texts is above 4 GiB");
        let block = Block {
            offset: self.n_bytes(),
            n_stored: u32::try_from(stored.len()).map_err(too_large)?,
            n_bytes: u32::try_from(self.open.len()).map_err(too_large)?,
        };
        self.file.write_all(&stored)?;
        self.blocks.push(block);
        self.open.clear();
        self.n_open = 0;
        Ok(())
    }

    fn append(&mut self, number: u64, text: &Text) -> io::Result<()> {
        let at = usize::try_from(number).map_err(io::Error::other)?;
        if self.places.len() <= at {
            self.places.resize(at + 1, Place::default());
        }
        let block = u32::try_from(self.blocks.len() + 1).map_err(io::Error::other)?;
        let from = u32::try_from(self.open.len()).map_err(io::Error::other)?;
        self.places[at] = Place { block, from };
        // The form and the length precede the text, so no later text is needed to find its end.
        let len = u32::try_from(text.len()).map_err(io::Error::other)?;
        self.open.push(text.is_reduced().into());
        self.open.extend_from_slice(&len.to_be_bytes());
        self.open.extend_from_slice(text.as_bytes());
        self.n_open += 1;
        let is_short = self.open.len() < SHORT_MEAN * self.n_open;
        if self.open.len() >= if is_short { SHORT_BLOCK_BYTES } else { BLOCK_BYTES } {
            self.close_block()?;
        }
        Ok(())
    }

    fn find(&self, number: u64) -> io::Result<Option<Text>> {
        let at = usize::try_from(number).map_err(io::Error::other)?;
        let Some(&Place { block, from }) = self.places.get(at).filter(|place| place.block > 0) else {
            return Ok(None);
        };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = read.texts.iter().position(|(known, _)| *known == number) {
            let found = read.texts.remove(at);
            return Ok(found.map(|found| {
                let text = found.1.clone();
                read.texts.push_front(found);
                text
            }));
        }
        let text = match self.blocks.get(block as usize - 1) {
            Some(_) => text_at(&self.block(&mut read, block)?, from)?,
            None => text_at(&self.open, from)?,
        };
        read.texts.push_front((number, text.clone()));
        let mut n_bytes = 0;
        let mut fits = |(_, text): &(u64, Text)| {
            n_bytes += text.len();
            n_bytes <= CACHED_BYTES_MAX
        };
        let n_kept = read.texts.iter().take(CACHED_TEXTS_MAX).take_while(|entry| fits(entry)).count();
        read.texts.truncate(n_kept);
        Ok(Some(text))
    }

    fn block(&self, read: &mut Read, number: u32) -> io::Result<Arc<[u8]>> {
        if let Some(bytes) = read.blocks.get(&number) {
            return Ok(Arc::clone(bytes));
        }
        if let Some(bytes) = read.old_blocks.remove(&number) {
            self.keep(read, number, &bytes);
            return Ok(bytes);
        }
        let Block { offset, n_stored, n_bytes } = self.blocks[number as usize - 1];
        let mut stored = vec![0; n_stored as usize];
        self.file.read_exact_at(&mut stored, offset)?;
        let decompressor = match &mut read.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(zstd::bulk::Decompressor::new()?),
        };
        let bytes: Arc<[u8]> = decompressor.decompress(&stored, n_bytes as usize)?.into();
        self.keep(read, number, &bytes);
        Ok(bytes)
    }

    fn keep(&self, read: &mut Read, number: u32, bytes: &Arc<[u8]>) {
        if bytes.len() > self.cached_block_bytes / 8 {
            return;
        }
        if read.n_block_bytes + bytes.len() > self.cached_block_bytes {
            read.old_blocks = mem::take(&mut read.blocks);
            read.n_block_bytes = 0;
        }
        read.n_block_bytes += bytes.len();
        read.blocks.insert(number, Arc::clone(bytes));
    }
}

fn text_at(block: &[u8], from: u32) -> io::Result<Text> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a block of texts is not what was written");
    let (&[form, ref len @ ..], rest) =
        block.get(from as usize..).and_then(|rest| rest.split_first_chunk::<5>()).ok_or_else(damaged)?;
    let bytes = rest.get(..u32::from_be_bytes(*len) as usize).ok_or_else(damaged)?;
    let text = str::from_utf8(bytes).map_err(|_| damaged())?;
    Ok(if form == 0 { text.into() } else { Text::reduced(text) })
}

impl TextPlace for Spool {
    fn put(&mut self, number: u64, text: &Text) -> Result<()> {
        self.append(number, text).map_err(|error| {
            let kind = error.kind();
            let failed =
                "failed to write the texts of this run to the spool; name a folder with room by --spool";
            match kind {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Error::new(index::ErrorKind::StorageFull, failed).caused_by(error)
                }
                _ => Error::new(index::ErrorKind::Internal, failed).caused_by(error),
            }
        })
    }

    fn get(&self, number: u64) -> Result<Option<Text>> {
        self.find(number).map_err(|error| {
            Error::corrupt("failed to read the texts of this run back from the spool").caused_by(error)
        })
    }

    fn remove(&mut self, number: u64) {
        if let Some(place) = usize::try_from(number).ok().and_then(|at| self.places.get_mut(at)) {
            *place = Place::default();
        }
        let read = self.read.get_mut().unwrap_or_else(PoisonError::into_inner);
        read.texts.retain(|(known, _)| *known != number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_as_they_were_put() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(folder.path()).unwrap();
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the file has no name");
        let text = |n: u64| match n % 5 {
            0 => Text::from("地铁七号线".repeat(n as usize)),
            1 => Text::reduced(&format!("short {n}")),
            2 => Text::from("x".repeat(100 * n as usize)),
            3 => Text::from(""),
            _ => Text::from(format!("{n} ferries leave. ").repeat(40)),
        };
        for n in 1..2_000 {
            spool.put(n, &text(n)).unwrap();
            assert_eq!(spool.get(n).unwrap(), Some(text(n)));
        }
        spool.remove(7);
        for n in (1..2_000).rev().chain([3, 1_999, 1_000]) {
            assert_eq!(spool.get(n).unwrap(), Some(text(n)).filter(|_| n != 7), "{n}");
        }
        assert_eq!((spool.get(0).unwrap(), spool.get(5_000).unwrap()), (None, None));
        let again = [spool.get(11).unwrap().unwrap(), spool.get(11).unwrap().unwrap()];
        assert!(again[0].is(&again[1]), "a text that is read again is the same one");
    }

    #[test]
    fn it_takes_half_of_the_bytes_of_its_texts() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(folder.path()).unwrap();
        let mut n_bytes = 0;
        for n in 0..400_u64 {
            let words = (0..150).map(|k| (n * 31 + k * k * 7) % 997);
            let text: String = words.map(|word| format!("word{word} of the {} ", word % 13)).collect();
            n_bytes += text.len() as u64;
            spool.put(n, &text.into()).unwrap();
        }
        assert!(spool.n_bytes() < n_bytes / 2, "{} of {n_bytes}", spool.n_bytes());
    }
}
