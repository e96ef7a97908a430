//! Members of a ZIP archive, unpacked and held against their lengths and checksums.

use std::io::{self, BufReader, Read};

use bzip2::read::BzDecoder;
use flate2::bufread::DeflateDecoder;

use super::super::super::compression::{self, READ_BUFFER_BYTES};
use super::damaged;
use super::directory::Entry;

const STORED: usize = 0;
const DEFLATE: usize = 8;
const BZIP2: usize = 12;
const ZSTANDARD: usize = 93;

/// Returns the content of a member; the error is the reason shown to the user.
pub(super) fn unpacked(
    stored: impl Read + Send + 'static,
    entry: &Entry,
    window_log_max: u32,
) -> io::Result<Box<dyn Read + Send>> {
    let buffered = |stored| BufReader::with_capacity(READ_BUFFER_BYTES, stored);
    let inner: Box<dyn Read + Send> = match entry.method {
        STORED => Box::new(stored),
        DEFLATE => Box::new(DeflateDecoder::new(buffered(stored))),
        BZIP2 => Box::new(BzDecoder::new(stored)),
        ZSTANDARD => compression::zstandard(stored, window_log_max)?,
        method => {
            let name = match method {
                9 => "Deflate64, as Windows packs long files",
                14 => "LZMA",
                95 => "xz",
                98 => "PPMd",
                _ => "a method that is not known here",
            };
            return Err(damaged(&format!(
                "it is packed with {name}, and is not read; unpack the archive, and name its folder"
            )));
        }
    };
    Ok(Box::new(Checked {
        inner,
        hasher: crc32fast::Hasher::new(),
        n_left: entry.n_bytes,
        checksum: entry.checksum,
    }))
}

/// Reader of content with a length and a checksum.
struct Checked<R> {
    inner: R,
    hasher: crc32fast::Hasher,
    n_left: u64,
    checksum: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        let other_length = || damaged("the member has another length than the directory of the archive says");
        self.n_left = self.n_left.checked_sub(n as u64).ok_or_else(other_length)?;
        self.hasher.update(&buffer[..n]);
        if n == 0 && !buffer.is_empty() {
            if self.n_left > 0 {
                return Err(other_length());
            }
            if self.hasher.clone().finalize() != self.checksum {
                return Err(damaged("the checksum of the member is another one, so the member is damaged"));
            }
        }
        Ok(n)
    }
}
