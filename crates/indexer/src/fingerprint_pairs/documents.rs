//! The documents of an index by their fingerprints, and the different fingerprints, in files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

use anyhow::Context;
use index::{Cursor, DocumentId, Index, MAX_BATCH};
use runs::StringSorter;

use crate::memory;
use crate::string_file::{self, StringFile};

/// The most memory in which documents are sorted.
const SORTED_BYTES_MAX: usize = 256 << 20;

/// The documents from which on a look-up reads: it begins at one in so many.
const DOCUMENTS_A_BLOCK: usize = 32;

/// The number of places of [`Recent`], as a power of two.
const RECENT_BITS: u32 = 12;

/// The most ids in a place of [`Recent`].
const RECENT_IDS_MAX: usize = 16;

/// Bytes of a fingerprint in a file.
const FINGERPRINT_BYTES: usize = 8;

/// Fingerprints read at once.
const READ_AT_ONCE: usize = 32 << 10;

/// The ids of all documents, by fingerprint.
pub(super) struct Documents {
    /// Strings of fingerprint and id, ascending.
    file: StringFile,
    /// The first fingerprint of each block and the place of its first document, ascending. All
    /// documents of a fingerprint are in one block.
    blocks: Vec<(u64, u64)>,
    end: u64,
}

/// The different fingerprints of an index, ascending.
pub(super) struct Different {
    file: File,
    len: u64,
    /// The fingerprints of several documents.
    repeated: Vec<u64>,
}

impl Documents {
    /// Reads and sorts all documents with a fingerprint. Passes the number of documents read so far
    /// to `progress`.
    ///
    /// `None` if a document is filed under other keys than those of its fingerprint, and if the
    /// index was written to meanwhile: a scan in the order of writes then meets a replaced document
    /// twice. A scan in the order of ids meets each document once.
    pub(super) fn sorted(
        index: &Index,
        folder: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> anyhow::Result<Option<(Self, Different)>> {
        let last_write = index.last_write()?;
        let failed = || format!("failed to sort in {}", folder.display());
        let mut sorter = StringSorter::new(folder, SORTED_BYTES_MAX.min(memory::share()));
        let mut string = Vec::new();
        let (mut n_read, mut next) = (0, Some(Cursor::start()));
        while let Some(after) = next {
            let page = index.scan(after, MAX_BATCH)?;
            for stored in &page.documents {
                let sketch = &stored.document.sketch;
                let Some(fingerprint) = sketch.features().simhash else { continue };
                if !index.kind().follows(sketch) {
                    return Ok(None);
                }
                string.clear();
                string.extend(fingerprint.0.to_be_bytes());
                string.extend(stored.document.id.as_str().as_bytes());
                sorter.push(&string).with_context(failed)?;
            }
            n_read += page.documents.len() as u64;
            progress(n_read);
            next = page.next;
        }
        if index.last_write()? != last_write {
            return Ok(None);
        }
        Self::write(sorter, folder).with_context(failed).map(Some)
    }

    fn write(sorter: StringSorter, folder: &Path) -> io::Result<(Self, Different)> {
        let mut different = BufWriter::new(tempfile::tempfile_in(folder)?);
        let (mut len, mut repeated, mut blocks) = (0, Vec::new(), Vec::new());
        let (mut last, mut n_of_block) = (None, 0);
        let (file, end) = StringFile::write(folder, sorter.finish()?, &mut |string, place| {
            let (bits, _) = split(string).ok_or_else(string_file::changed)?;
            n_of_block += 1;
            if last == Some(bits) {
                if repeated.last() != Some(&bits) {
                    repeated.push(bits);
                }
                return Ok(());
            }
            if n_of_block > DOCUMENTS_A_BLOCK || blocks.is_empty() {
                blocks.push((bits, place));
                n_of_block = 1;
            }
            last = Some(bits);
            len += 1;
            different.write_all(&bits.to_be_bytes())
        })?;
        let different = Different { file: different.into_inner()?, len, repeated };
        Ok((Self { file, blocks, end }, different))
    }

    /// Returns the ids of the documents with a fingerprint, ascending.
    pub(super) fn ids(&self, fingerprint: u64, recent: &mut Recent) -> io::Result<Rc<[DocumentId]>> {
        if let Some(ids) = recent.get(fingerprint) {
            return Ok(ids);
        }
        let ids: Rc<[DocumentId]> = self.read(fingerprint)?.into();
        recent.keep(fingerprint, &ids);
        Ok(ids)
    }

    fn read(&self, fingerprint: u64) -> io::Result<Vec<DocumentId>> {
        let after = self.blocks.partition_point(|&(first, _)| first <= fingerprint);
        let Some(&(_, mut place)) = after.checked_sub(1).and_then(|block| self.blocks.get(block)) else {
            return Ok(Vec::new());
        };
        let end = self.blocks.get(after).map_or(self.end, |&(_, place)| place);
        let mut ids = Vec::new();
        while place < end {
            for string in self.file.read(&mut place, end)?.strings() {
                let (bits, id) = split(string).ok_or_else(string_file::changed)?;
                if bits == fingerprint {
                    let id = std::str::from_utf8(id).ok().and_then(|id| DocumentId::new(id).ok());
                    ids.push(id.ok_or_else(string_file::changed)?);
                }
            }
        }
        Ok(ids)
    }
}

/// The ids that were looked up of late, in a place for each hash of a fingerprint. Near
/// fingerprints are looked up again and again.
pub(super) struct Recent {
    places: Vec<Option<(u64, Rc<[DocumentId]>)>>,
}

impl Recent {
    pub(super) fn new() -> Self {
        Self { places: vec![None; 1 << RECENT_BITS] }
    }

    fn place(&mut self, fingerprint: u64) -> &mut Option<(u64, Rc<[DocumentId]>)> {
        let hash = fingerprint.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT_BITS);
        &mut self.places[hash as usize]
    }

    fn get(&mut self, fingerprint: u64) -> Option<Rc<[DocumentId]>> {
        let (of, ids) = self.place(fingerprint).as_ref()?;
        (*of == fingerprint).then(|| Rc::clone(ids))
    }

    fn keep(&mut self, fingerprint: u64, ids: &Rc<[DocumentId]>) {
        if ids.len() <= RECENT_IDS_MAX {
            *self.place(fingerprint) = Some((fingerprint, Rc::clone(ids)));
        }
    }
}

/// Splits a string into fingerprint and id.
fn split(string: &[u8]) -> Option<(u64, &[u8])> {
    let (bits, id) = string.split_first_chunk()?;
    Some((u64::from_be_bytes(*bits), id))
}

impl Different {
    /// The number of different fingerprints.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The fingerprints that several documents have.
    pub(super) fn repeated(&self) -> &[u64] {
        &self.repeated
    }

    /// Calls `visit` for each fingerprint, ascending.
    pub(super) fn for_each(&self, visit: &mut dyn FnMut(u64)) -> io::Result<()> {
        let mut bytes = vec![0; READ_AT_ONCE * FINGERPRINT_BYTES];
        let (mut place, end) = (0, self.len * FINGERPRINT_BYTES as u64);
        while place < end {
            let len = bytes.len().min((end - place) as usize);
            self.file.read_exact_at(&mut bytes[..len], place)?;
            bytes[..len].as_chunks().0.iter().copied().map(u64::from_be_bytes).for_each(&mut *visit);
            place += len as u64;
        }
        Ok(())
    }
}
