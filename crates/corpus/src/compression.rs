//! Decompression of gzip, zstd and bzip2, recognized by their first bytes, with any number of
//! members.

mod members;
mod zstandard;

use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bzip2::read::MultiBzDecoder;
use members::Members;

/// Size of the buffer for reading a source.
pub(crate) const READ_BUFFER_BYTES: usize = 64 << 10;

/// Binary logarithm of the largest window of zstd that can be read, in bytes: what `zstd --long=31`
/// writes.
pub const WINDOW_LOG_MAX: u32 = 31;

/// Number of bytes that tell the compressions apart.
const HEAD_BYTES: usize = 10;

const GZIP_MAGIC: &[u8] = b"\x1f\x8b";
/// A digit follows, then one of [`BZIP2_NEXT`], the beginning of a block or the end of the stream:
/// `BZh` alone may begin a text.
const BZIP2_MAGIC: &[u8] = b"BZh";
const BZIP2_NEXT: [&[u8]; 2] = [b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90"];

/// An opened source.
pub(super) struct Opened {
    /// The content: unpacked if packed, else unchanged.
    pub(super) content: Box<dyn Read + Send>,
    pub(super) is_packed: bool,
}

/// Returns the content of `raw`: unpacked if packed, else unchanged. A window of zstd may have
/// `2^window_log_max` bytes.
pub(super) fn open(mut raw: impl Read + Send + 'static, window_log_max: u32) -> io::Result<Opened> {
    let head = head(&mut raw)?;
    let is_packed = is_packed(&head);
    let (gzip, zstd, bzip2) = (head.starts_with(GZIP_MAGIC), zstandard::is_frame(&head), is_bzip2(&head));
    let raw = Cursor::new(head).chain(raw);
    let content: Box<dyn Read + Send> = if gzip {
        Box::new(Members::new(BufReader::with_capacity(READ_BUFFER_BYTES, raw)))
    } else if zstd {
        zstandard::open(raw, window_log_max)?
    } else if bzip2 {
        Box::new(MultiBzDecoder::new(raw))
    } else {
        Box::new(raw)
    };
    Ok(Opened { content, is_packed })
}

/// Returns the content of frames of zstd.
pub(super) fn zstandard(
    raw: impl Read + Send + 'static,
    window_log_max: u32,
) -> io::Result<Box<dyn Read + Send>> {
    zstandard::open(raw, window_log_max)
}

/// Returns true if `head` begins content of a known compression.
pub(super) fn is_packed(head: &[u8]) -> bool {
    head.starts_with(GZIP_MAGIC) || zstandard::is_frame(head) || is_bzip2(head)
}

/// Reads the first bytes; a pipe may deliver them one at a time.
fn head(raw: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    raw.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}

fn is_bzip2(head: &[u8]) -> bool {
    head.starts_with(BZIP2_MAGIC)
        && head.get(4..).is_some_and(|next| BZIP2_NEXT.iter().any(|magic| next.starts_with(magic)))
}

/// Reader that counts the bytes read through it.
pub(super) struct Counted {
    inner: Box<dyn Read + Send>,
    n_bytes: Arc<AtomicU64>,
}

impl Counted {
    pub(super) fn new(inner: Box<dyn Read + Send>, n_bytes: &Arc<AtomicU64>) -> Self {
        Self { inner, n_bytes: Arc::clone(n_bytes) }
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.n_bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(content: &[u8]) -> Vec<u8> {
        zstd::encode_all(content, 1).unwrap()
    }

    fn bzip2(content: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn read(raw: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        open(Cursor::new(raw), WINDOW_LOG_MAX)?.content.read_to_end(&mut content)?;
        Ok(content)
    }

    #[test]
    fn members_are_one_text() {
        for pack in [gzip, zstd, bzip2] {
            assert_eq!(read(pack(b"")).unwrap(), b"");
            assert_eq!(read([pack(b"a\nb"), pack(b"c\nd\n")].concat()).unwrap(), b"a\nbc\nd\n");
        }
    }

    #[test]
    fn what_only_begins_like_it_is_text() {
        for text in ["", "\x1f", "BZ", "BZh9 is how bzip2 begins", "BZh91AY&S but not quite"] {
            assert_eq!(read(text.as_bytes().to_vec()).unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn what_breaks_off_or_is_damaged_is_an_error_or_the_same() {
        let text: Vec<u8> = (0..2_000_u32).flat_map(|i| format!("{i} ").into_bytes()).collect();
        for pack in [gzip, zstd, bzip2] {
            let whole = pack(&text);
            for end in (HEAD_BYTES..whole.len()).step_by(97) {
                read(whole[..end].to_vec()).unwrap_err();
            }
            for place in (HEAD_BYTES..whole.len()).step_by(97) {
                let mut damaged = whole.clone();
                damaged[place] ^= 0x10;
                // Zstandard has a checksum only on request; the others always have one.
                if let Ok(read) = read(damaged)
                    && !zstandard::is_frame(&whole)
                {
                    assert_eq!(read, text, "{place}");
                }
            }
        }
    }
}
