//! Tar, in order: headers by the crate `tar`, in each of its dialects, and bytes as they come.

use std::io::{self, Cursor, Read};
use std::sync::{Arc, Mutex, PoisonError};

use tar::{EntryType, PaxExtensions};

use super::super::left_out::LeftOut;
use super::names::Name;
use super::{Holds, Member, Walk};

const BLOCK_BYTES: u64 = 512;

/// Maximum length of all headers of a member together, which bounds memory: long names and the like
/// are held.
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// Beginning of the keys by which newer programs describe a file with holes.
const SPARSE_KEYS: &[u8] = b"GNU.sparse.";

pub(super) struct Tar {
    stream: Arc<Mutex<Stream>>,
    /// True after a block of zeros, the mark of the end.
    has_end: bool,
}

/// The archive as it is read, by turns by itself and by the reader of a member.
struct Stream {
    inner: Box<dyn Read + Send>,
    /// Number of bytes of the current member that are left.
    n_left: u64,
    /// Number of bytes between the current member and the next header.
    n_padding: u64,
    /// The fault after which nothing is to be trusted.
    failure: Option<String>,
}

impl Tar {
    /// Opens an archive from its unpacked bytes; `None` if there are none.
    pub(super) fn open(mut content: Box<dyn Read + Send>) -> io::Result<Option<Self>> {
        let mut first = Vec::new();
        content.by_ref().take(1).read_to_end(&mut first)?;
        Ok((!first.is_empty()).then(|| Self::new(Box::new(Cursor::new(first).chain(content)))))
    }

    pub(super) fn new(content: Box<dyn Read + Send>) -> Self {
        let stream = Stream { inner: content, n_left: 0, n_padding: 0, failure: None };
        Self { stream: Arc::new(Mutex::new(stream)), has_end: false }
    }
}

impl Walk for Tar {
    fn next(&mut self) -> io::Result<Option<Member>> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = &stream.failure {
            return Err(io::Error::other(format!("the rest of the archive is not read: {why}")));
        }
        stream.skip_rest()?;
        loop {
            let mut block = Vec::new();
            let n_read = stream.inner.by_ref().take(BLOCK_BYTES).read_to_end(&mut block)? as u64;
            let is_zero = block.iter().all(|byte| *byte == 0);
            if n_read == 0 || (self.has_end && is_zero && n_read < BLOCK_BYTES) {
                return match self.has_end {
                    true => Ok(None),
                    false => {
                        Err(broken("the archive ends without the mark of its end; members may be missing"))
                    }
                };
            }
            if n_read < BLOCK_BYTES {
                return Err(broken("the archive breaks off"));
            }
            self.has_end = is_zero;
            if !is_zero {
                let holds = stream.member(block)?;
                return Ok(Some(match holds {
                    (name, None) => {
                        Member { name, holds: Holds::File(Box::new(Bytes(Arc::clone(&self.stream)))) }
                    }
                    (name, Some(holds)) => Member { name, holds },
                }));
            }
        }
    }
}

/// All that a member's headers say of use.
struct Header {
    name: Name,
    kind: EntryType,
    n_stored: u64,
    has_holes: bool,
}

impl Header {
    fn read(headers: &mut impl Read) -> io::Result<Self> {
        let mut archive = tar::Archive::new(headers);
        let mut entry =
            archive.entries()?.next().ok_or_else(|| broken("a header belongs to no member"))??;
        let kind = entry.header().entry_type();
        let has_sparse_keys = |mut keys: PaxExtensions<'_>| {
            keys.any(|key| key.is_ok_and(|key| key.key_bytes().starts_with(SPARSE_KEYS)))
        };
        let has_holes = match kind {
            EntryType::GNUSparse => true,
            // Asking would read its content, which is skipped as that of any member.
            EntryType::XGlobalHeader => false,
            _ => entry.pax_extensions()?.is_some_and(has_sparse_keys),
        };
        let n_stored = match kind {
            EntryType::GNUSparse => entry.header().entry_size()?,
            _ => entry.size(),
        };
        Ok(Self { name: Name::new(&entry.path_bytes()), kind, n_stored, has_holes })
    }
}

impl Stream {
    /// Reads the headers of a member, of which the first block was read; `None` for a file that can
    /// be read.
    fn member(&mut self, block: Vec<u8>) -> io::Result<(Name, Option<Holds>)> {
        let mut headers = Cursor::new(with_length(block)).chain(self.inner.by_ref()).take(HEADER_BYTES_MAX);
        let header = Header::read(&mut headers);
        if header.is_err() && headers.limit() == 0 {
            return Err(broken("the header of a member is longer than 1 MiB"));
        }
        let Header { name, kind, n_stored, has_holes } =
            header.map_err(|error| broken(&format!("the archive cannot be read from here on: {error}")))?;
        self.n_left = n_stored;
        self.n_padding = n_stored.checked_next_multiple_of(BLOCK_BYTES).map_or(0, |end| end - n_stored);
        let holds = match kind {
            _ if has_holes => Some(Holds::Unread(
                "a file with holes (sparse) is not read from an archive; unpack it, and pack it without --sparse".to_owned(),
            )),
            EntryType::Regular | EntryType::Continuous => {
                // Older programs mark folders by their names alone.
                name.shown.ends_with('/').then_some(Holds::Folder)
            }
            EntryType::Directory => Some(Holds::Folder),
            EntryType::Link | EntryType::Symlink => Some(Holds::Nothing(LeftOut::LINKS)),
            EntryType::Char | EntryType::Block | EntryType::Fifo => Some(Holds::Nothing(LeftOut::DEVICES)),
            EntryType::XGlobalHeader => Some(Holds::Folder),
            // The name of the whole archive, old names of the next members, a folder with a list
            // of its files (D), and rights (A) and times (I) of a member.
            kind if b"VNMDAI".contains(&kind.as_byte()) => Some(Holds::Folder),
            kind => Some(Holds::Unread(format!(
                "a member of the unknown kind {:?} is not read; unpack the archive, and name its folder",
                char::from(kind.as_byte())
            ))),
        };
        Ok((name, holds))
    }

    /// Reads bytes of the current member.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.n_left == 0 || self.failure.is_some() || buffer.is_empty() {
            return Ok(0);
        }
        let n_max = usize::try_from(self.n_left).unwrap_or(usize::MAX).min(buffer.len());
        let read = match self.inner.read(&mut buffer[..n_max]) {
            Ok(0) => Err(broken("the archive breaks off in this member")),
            read => read,
        };
        match read {
            Ok(n) => self.n_left -= n as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(ref error) => self.failure = Some(error.to_string()),
        }
        read
    }

    /// Skips the rest of the current member.
    fn skip_rest(&mut self) -> io::Result<()> {
        let n = self.n_left.saturating_add(self.n_padding);
        (self.n_left, self.n_padding) = (0, 0);
        let n_skipped = io::copy(&mut self.inner.by_ref().take(n), &mut io::sink())?;
        if n_skipped < n { Err(broken("the archive breaks off")) } else { Ok(()) }
    }
}

/// Returns the first block of a header, with a length: GNU tar leaves that of an archive's name
/// blank.
fn with_length(block: Vec<u8>) -> Vec<u8> {
    let mut header = tar::Header::from_byte_slice(&block).clone();
    if header.entry_type().as_byte() != b'V' || header.entry_size().is_ok() {
        return block;
    }
    let stored = header.cksum().ok();
    header.set_cksum();
    if header.cksum().ok() != stored {
        return block;
    }
    header.set_size(0);
    header.set_cksum();
    header.as_bytes().to_vec()
}

/// Bytes of the current member.
struct Bytes(Arc<Mutex<Stream>>);

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read(buffer)
    }
}

fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
