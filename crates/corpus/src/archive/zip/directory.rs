//! The directory of a ZIP archive, entry by entry.

use std::io::{self, BufReader, Read};

use super::super::super::location::Parts;
use super::super::bytes::{long, number, short};
use super::{buffered, damaged};

/// The record at the very end; a comment of up to 64 KiB may follow.
const END_BYTES: usize = 22;
const END_MAGIC: &[u8] = b"PK\x05\x06";
const COMMENT_BYTES_MAX: usize = 0xffff;

/// The pointer in front of it to another such record, for long archives.
const LOCATOR_BYTES: usize = 20;
const LOCATOR_MAGIC: &[u8] = b"PK\x06\x07";
const LONG_END_BYTES: usize = 56;
const LONG_END_MAGIC: &[u8] = b"PK\x06\x06";

const ENTRY_BYTES: usize = 46;
const ENTRY_MAGIC: &[u8] = b"PK\x01\x02";

/// Fields beside an entry: long numbers, and the name in UTF-8.
const LONG_FIELD: usize = 1;
const NAME_FIELD: usize = 0x7075;

/// Stands for a number that is among the long ones.
const IS_LONG: u64 = 0xffff_ffff;

const REPAIR: &str = "`zip -FF` may repair it";

pub(super) struct Directory {
    reader: BufReader<Box<dyn Read + Send>>,
    n_bytes_left: u64,
    /// Number of bytes in front of the archive, such as the program of one that unpacks itself.
    n_before: u64,
    n_entries: u64,
    n_read: u64,
}

/// A member, as the directory has it.
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) system: u8,
    pub(super) flags: usize,
    pub(super) method: usize,
    pub(super) checksum: u32,
    pub(super) n_stored: u64,
    pub(super) n_bytes: u64,
    pub(super) attributes: u64,
    /// Place of the header in front of the member.
    pub(super) start: u64,
}

impl Directory {
    /// Finds the directory of an archive of `n_bytes` bytes.
    pub(super) fn find(parts: &Parts, n_bytes: u64) -> io::Result<Self> {
        let n_tail = n_bytes.min((COMMENT_BYTES_MAX + END_BYTES + LOCATOR_BYTES) as u64);
        let mut tail = Vec::new();
        parts.from(n_bytes - n_tail)?.take(n_tail).read_to_end(&mut tail)?;
        let is_end = |at: &usize| {
            tail[*at..].starts_with(END_MAGIC) && at + END_BYTES + short(&tail, at + 20) <= tail.len()
        };
        let last = tail.len().checked_sub(END_BYTES);
        let at = last.and_then(|last| (0..=last).rev().find(is_end));
        let at = at.ok_or_else(|| {
            damaged(&format!("the archive has no directory at its end, so it was cut off; {REPAIR}"))
        })?;
        let end = &tail[at..];
        if short(end, 4) != 0 {
            return Err(damaged("the archive is one of several parts; join them with `zip -s 0 --out`"));
        }
        let (mut n_entries, mut n_directory, mut start) =
            (short(end, 10) as u64, long(end, 12), long(end, 16));
        let mut end_at = n_bytes - n_tail + at as u64;
        let locator = at.checked_sub(LOCATOR_BYTES).map(|at| &tail[at..]);
        let is_long = n_entries == 0xffff || n_directory == IS_LONG || start == IS_LONG;
        // Some programs write the record for long archives into all.
        if let Some(locator) = locator.filter(|locator| locator.starts_with(LOCATOR_MAGIC)) {
            let near = end_at.checked_sub((LOCATOR_BYTES + LONG_END_BYTES) as u64);
            let places = [Some(number(locator, 8, 8)), near];
            let mut found =
                places.into_iter().flatten().filter_map(|place| Some((place, long_end(parts, place)?)));
            if let Some((place, record)) = found.next() {
                (n_entries, n_directory, start) =
                    (number(&record, 32, 8), number(&record, 40, 8), number(&record, 48, 8));
                end_at = place;
            } else if is_long {
                return Err(damaged(&format!("the directory of the archive is damaged; {REPAIR}")));
            }
        }
        let directory_at = end_at.checked_sub(n_directory);
        let n_before = directory_at.and_then(|at| at.checked_sub(start));
        let (Some(directory_at), Some(n_before)) = (directory_at, n_before) else {
            return Err(damaged(&format!("the directory of the archive is damaged; {REPAIR}")));
        };
        // Members come in windows that grow, since some are passed over.
        let extents = std::iter::once(directory_at..n_bytes).collect();
        parts.expect(extents);
        let reader = buffered(parts, directory_at)?;
        Ok(Self { reader, n_bytes_left: n_directory, n_before, n_entries, n_read: 0 })
    }

    /// Returns the next entry; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Entry>> {
        if self.n_bytes_left == 0 {
            // Some programs write more members than fit the number.
            if (self.n_read ^ self.n_entries) & 0xffff != 0 {
                return Err(damaged(&format!(
                    "the directory of the archive should have {} members, and has {}; {REPAIR}",
                    self.n_entries, self.n_read
                )));
            }
            return Ok(None);
        }
        let head = self.take(ENTRY_BYTES)?;
        if !head.starts_with(ENTRY_MAGIC) {
            return Err(damaged(&format!("the directory of the archive is damaged here; {REPAIR}")));
        }
        let stored = self.take(short(&head, 28))?;
        let fields = self.take(short(&head, 30))?;
        self.take(short(&head, 32))?;
        self.n_read += 1;
        let (mut n_bytes, mut n_stored, mut start) = (long(&head, 24), long(&head, 20), long(&head, 42));
        if let Some(numbers) = field(&fields, LONG_FIELD) {
            let places = [&mut n_bytes, &mut n_stored, &mut start].into_iter().filter(|n| **n == IS_LONG);
            places.zip(numbers.chunks_exact(8)).for_each(|(place, stored)| *place = number(stored, 0, 8));
        }
        let name = match field(&fields, NAME_FIELD) {
            Some([1, rest @ ..]) if long(rest, 0) == u64::from(crc32fast::hash(&stored)) => {
                rest[4.min(rest.len())..].to_vec()
            }
            _ => stored,
        };
        Ok(Some(Entry {
            name,
            system: head[5],
            flags: short(&head, 8),
            method: short(&head, 10),
            checksum: long(&head, 16) as u32,
            n_stored,
            n_bytes,
            attributes: long(&head, 38),
            start: start.saturating_add(self.n_before),
        }))
    }

    /// Reads the next bytes of the directory.
    fn take(&mut self, n: usize) -> io::Result<Vec<u8>> {
        let cut = || damaged(&format!("the directory of the archive is cut off; {REPAIR}"));
        self.n_bytes_left = self.n_bytes_left.checked_sub(n as u64).ok_or_else(cut)?;
        let mut bytes = vec![0; n];
        self.reader.read_exact(&mut bytes).map_err(|_| cut())?;
        Ok(bytes)
    }
}

/// Returns the record for a long archive, if it is at this place.
fn long_end(parts: &Parts, place: u64) -> Option<[u8; LONG_END_BYTES]> {
    let mut record = [0; LONG_END_BYTES];
    parts.from(place).ok()?.read_exact(&mut record).ok()?;
    record.starts_with(LONG_END_MAGIC).then_some(record)
}

/// Returns the field of this number among those beside an entry.
fn field(mut fields: &[u8], number: usize) -> Option<&[u8]> {
    while fields.len() >= 4 {
        let (id, len) = (short(fields, 0), short(fields, 2));
        let content = fields.get(4..4 + len)?;
        if id == number {
            return Some(content);
        }
        fields = &fields[4 + len..];
    }
    None
}
