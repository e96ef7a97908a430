//! Texts of a run, compressed in a file that is gone when the run ends, for any reason.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use index::{Error, Result, Text, TextPlace};
use runs::{Packing, Records};

/// Bytes of recently read blocks.
const CACHED_BLOCK_BYTES: usize = 4 << 20;

/// The most bytes of texts that stay in memory uncompressed: a corpus of this size is decided
/// without compression, and of a much larger one this is a small part.
const WAITING_BYTES_MAX: u64 = 256 << 20;

/// The same where no memory is given.
const WAITING_BYTES: usize = 32 << 20;

/// The number of recently read texts that are kept.
const CACHED_TEXTS_MAX: usize = 64;
const CACHED_BYTES_MAX: usize = 4 << 20;

/// Texts by their numbers, in a file without a name, which the system frees when the process ends.
///
/// Memory: 4 bytes a number, the open block, recently read blocks, and as many bytes of recently
/// read texts, up to 4 MiB; for texts that are not compressed yet 32 MiB, or of the memory that is
/// [given](TextPlace::give_memory) up to 256 MiB.
pub struct Spool {
    records: Records,
    /// For each number the number of its record, counted from 1; 0 for no text.
    places: Vec<u32>,
    /// Recently read texts, the latest first.
    read: Mutex<VecDeque<(u64, Text)>>,
    n_text_bytes_max: usize,
}

impl Spool {
    /// Makes an empty spool in a folder.
    ///
    /// # Errors
    /// Where no file can be made there.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let mut spool = Self::caching(folder, CACHED_BLOCK_BYTES)?;
        spool.records.set_waiting(WAITING_BYTES);
        Ok(spool)
    }

    /// Makes an empty spool with room for `n_bytes` of recently read blocks. All texts are
    /// compressed.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn caching(folder: &Path, n_bytes: usize) -> io::Result<Self> {
        let records = Records::create(folder, Packing::Zstandard, n_bytes)?;
        let n_text_bytes_max = n_bytes.min(CACHED_BYTES_MAX);
        Ok(Self { records, places: Vec::new(), read: Mutex::default(), n_text_bytes_max })
    }

    /// Gives recently read blocks `n_bytes` from now on.
    pub fn set_cache(&mut self, n_bytes: usize) {
        self.records.set_cache(n_bytes);
        self.read = Mutex::default();
        self.n_text_bytes_max = n_bytes.min(CACHED_BYTES_MAX);
    }

    /// The bytes of the file.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.records.n_bytes()
    }

    fn append(&mut self, number: u64, text: &Text) -> io::Result<()> {
        let at = usize::try_from(number).map_err(io::Error::other)?;
        if self.places.len() <= at {
            self.places.resize(at + 1, 0);
        }
        self.places[at] = self.records.push(&[&[text.is_reduced().into()], text.as_bytes()])? + 1;
        Ok(())
    }

    fn find(&self, number: u64) -> io::Result<Option<Text>> {
        let at = usize::try_from(number).map_err(io::Error::other)?;
        let Some(&place) = self.places.get(at).filter(|&&place| place > 0) else { return Ok(None) };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = read.iter().position(|(known, _)| *known == number) {
            let found = read.remove(at);
            return Ok(found.map(|found| {
                let text = found.1.clone();
                read.push_front(found);
                text
            }));
        }
        let text = self.records.get(place - 1, text_of)?.ok_or_else(damaged)??;
        read.push_front((number, text.clone()));
        let mut n_bytes = 0;
        let mut fits = |(_, text): &(u64, Text)| {
            n_bytes += text.len();
            n_bytes <= self.n_text_bytes_max
        };
        let n_kept = read.iter().take(CACHED_TEXTS_MAX).take_while(|entry| fits(entry)).count();
        read.truncate(n_kept);
        Ok(Some(text))
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a block of texts is not what was written")
}

/// The text of a record: its form in a byte, then its characters.
fn text_of(record: &[u8]) -> io::Result<Text> {
    let (&form, bytes) = record.split_first().ok_or_else(damaged)?;
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

    fn give_memory(&mut self, n_bytes: u64) {
        self.records.set_waiting(n_bytes.min(WAITING_BYTES_MAX) as usize);
    }

    fn remove(&mut self, number: u64) {
        if let Some(place) = usize::try_from(number).ok().and_then(|at| self.places.get_mut(at)) {
            *place = 0;
        }
        let read = self.read.get_mut().unwrap_or_else(PoisonError::into_inner);
        read.retain(|(known, _)| *known != number);
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
}
