//! Byte strings in a nameless file, which vanishes with the process.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use index::Segments;
use runs::SortedStrings;

/// Bytes read at once.
const PAGE_BYTES: usize = 256 << 10;

/// Bytes of the length before each string.
const LEN_BYTES: usize = 4;

/// Byte strings, each after its length in four bytes. A string is at most as long as a page.
pub(crate) struct StringFile {
    file: File,
}

/// Strings that were read together.
pub(crate) struct Page {
    bytes: Vec<u8>,
}

impl StringFile {
    /// Writes all strings into a file in `folder`. Passes each to `visit` first, with its place.
    /// Returns the end of the last one, too.
    pub(crate) fn write(
        folder: &Path,
        mut sorted: SortedStrings,
        visit: &mut dyn FnMut(&[u8], u64) -> io::Result<()>,
    ) -> io::Result<(Self, u64)> {
        let mut file = BufWriter::with_capacity(PAGE_BYTES, tempfile::tempfile_in(folder)?);
        let mut place = 0;
        while let Some(string) = sorted.next_string()? {
            visit(string, place)?;
            file.write_all(&(string.len() as u32).to_be_bytes())?;
            file.write_all(string)?;
            place += (LEN_BYTES + string.len()) as u64;
        }
        Ok((Self { file: file.into_inner()? }, place))
    }

    /// Writes strings that begin with a segment. Returns the place of each part, too, and the end
    /// of the last one.
    pub(crate) fn write_in_parts(
        folder: &Path,
        sorted: SortedStrings,
        parts: &[Segments],
    ) -> io::Result<(Self, Vec<u64>)> {
        let mut places = vec![0];
        let (file, end) = Self::write(folder, sorted, &mut |string, place| {
            let segment = string.first_chunk().copied().map(u32::from_be_bytes).unwrap_or_default();
            while parts[places.len() - 1].end().is_some_and(|end| end <= segment) {
                places.push(place);
            }
            Ok(())
        })?;
        places.resize(parts.len() + 1, end);
        Ok((file, places))
    }

    /// Reads the strings of one page from `place` on, and advances `place` beyond them. `end` is
    /// the end of a string behind `place`.
    pub(crate) fn read(&self, place: &mut u64, end: u64) -> io::Result<Page> {
        let len = (end - *place).min(PAGE_BYTES as u64) as usize;
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, *place)?;
        let mut n_bytes = 0;
        while let Some(len) = bytes[n_bytes..].first_chunk() {
            let end = n_bytes + LEN_BYTES + u32::from_be_bytes(*len) as usize;
            if end > bytes.len() {
                break;
            }
            n_bytes = end;
        }
        if n_bytes == 0 {
            return Err(changed());
        }
        bytes.truncate(n_bytes);
        *place += n_bytes as u64;
        Ok(Page { bytes })
    }
}

impl Page {
    /// The strings of the page.
    pub(crate) fn strings(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let (len, after) = rest.split_first_chunk()?;
            let (string, after) = after.split_at_checked(u32::from_be_bytes(*len) as usize)?;
            rest = after;
            Some(string)
        })
    }
}

/// The error of a file that is not as it was written.
pub(crate) fn changed() -> io::Error {
    io::Error::other("it was changed")
}
