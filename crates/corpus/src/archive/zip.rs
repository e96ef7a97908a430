//! ZIP, by the directory at its end, of which one entry at a time is held: an archive may have any
//! number of members, and two of one name.

mod directory;
mod packed;

use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::super::compression::Counted;
use super::super::left_out::LeftOut;
use super::super::location::{Location, Parts};
use super::super::reading::Reading;
use super::bytes::short;
use super::names::Name;
use super::{Holds, Member, Walk};
use directory::{Directory, Entry};

/// Size of the header in front of a member, without the parts that vary.
const HEADER_BYTES: usize = 30;
const HEADER_MAGIC: &[u8] = b"PK\x03\x04";

const UNIX: u8 = 3;
/// Kinds of files in the modes of Unix.
const MODE_KIND: u64 = 0o170_000;
const MODE_FOLDER: u64 = 0o040_000;
const MODE_FILE: u64 = 0o100_000;
const MODE_LINK: u64 = 0o120_000;
const MODE_PIPE: u64 = 0o010_000;

pub(super) struct Zip {
    parts: Parts,
    n_bytes: u64,
    directory: Directory,
    /// Sum of the lengths of all members so far, as stored.
    n_stored: u64,
    n_bytes_read: Arc<AtomicU64>,
    /// Binary logarithm of the largest window of zstd.
    window_log_max: u32,
}

impl Zip {
    /// Opens an archive; `None` for an empty file.
    pub(super) fn open(location: &Location, reading: &Reading) -> io::Result<Option<Self>> {
        let parts = location.open_parts()?;
        let n_bytes = parts.n_bytes()?;
        if n_bytes == 0 {
            return Ok(None);
        }
        let directory = Directory::find(&parts, n_bytes)?;
        let (n_bytes_read, window_log_max) = (Arc::clone(&reading.n_bytes_read), reading.window_log_max);
        Ok(Some(Self { parts, n_bytes, directory, n_stored: 0, n_bytes_read, window_log_max }))
    }

    /// Returns the bytes of a member, unpacked; the error is the reason shown to the user.
    fn content(&self, entry: &Entry) -> io::Result<Box<dyn Read + Send>> {
        let mut header = [0; HEADER_BYTES];
        self.parts.from(entry.start)?.read_exact(&mut header)?;
        if !header.starts_with(HEADER_MAGIC) {
            return Err(damaged("the directory of the archive names a place where no member begins"));
        }
        if (entry.flags | short(&header, 6)) & 1 != 0 {
            return Err(damaged(
                "it is encrypted; unpack the archive with its password, and name its folder",
            ));
        }
        let start = entry.start + (HEADER_BYTES + short(&header, 26) + short(&header, 28)) as u64;
        if start.checked_add(entry.n_stored).is_none_or(|end| end > self.n_bytes) {
            return Err(damaged("the archive breaks off in this member"));
        }
        let stored = self.parts.from(start)?.take(entry.n_stored);
        packed::unpacked(Counted::new(Box::new(stored), &self.n_bytes_read), entry, self.window_log_max)
    }
}

impl Walk for Zip {
    fn next(&mut self) -> io::Result<Option<Member>> {
        let Some(entry) = self.directory.next()? else { return Ok(None) };
        self.n_stored = self.n_stored.saturating_add(entry.n_stored);
        if self.n_stored > self.n_bytes {
            return Err(damaged(
                "its members overlap, as those of no ordinary archive do; the rest is not read",
            ));
        }
        let name = Name::new(&entry.name);
        let mode = if entry.system == UNIX { entry.attributes >> 16 & MODE_KIND } else { 0 };
        let holds = match mode {
            // Programs of Windows may write backslashes.
            _ if name.shown.ends_with(['/', '\\']) => Holds::Folder,
            MODE_FOLDER => Holds::Folder,
            MODE_LINK => Holds::Nothing(LeftOut::LINKS),
            MODE_PIPE if entry.n_bytes == 0 => Holds::Nothing(LeftOut::DEVICES),
            // `zip` marks the content of its standard input so.
            0 | MODE_FILE | MODE_PIPE => match self.content(&entry) {
                Ok(content) => Holds::File(content),
                Err(error) => Holds::Unread(error.to_string()),
            },
            _ => Holds::Nothing(LeftOut::DEVICES),
        };
        Ok(Some(Member { name, holds }))
    }
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Returns a buffered reader of an archive from a place on.
fn buffered(parts: &Parts, start: u64) -> io::Result<BufReader<Box<dyn Read + Send>>> {
    Ok(BufReader::new(parts.from(start)?))
}
