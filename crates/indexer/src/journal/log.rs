//! An append-only file of frames, each of them whole or absent, after a head for the caller.
//!
//! ```text
//! length of the payload, u32, big-endian | CRC-32 of the payload, u32, big-endian | payload, JSON
//! ```
//!
//! A process that dies in the middle of a frame leaves a torn one at the end; the next process
//! removes it.
//!
//! LMDB, linked for the embedded store, would not hold frames more simply: its files have no
//! checksums and the byte order of the machine, so a journal could not be moved and damage would
//! stay unnoticed. A checkpoint also states the length of each log beside those of the outputs, and
//! a resumed run cuts all files back to their lengths; a database has no such length.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

const HEADER_BYTES: usize = 8;

pub(super) struct Log {
    file: File,
    /// Offset of the first frame.
    start: u64,
}

impl Log {
    /// Opens the log at `path`, created if `len` is 0, and passes all frames of its first `len`
    /// bytes to `take`. Cuts off the rest.
    pub(super) fn open<T: DeserializeOwned>(path: &Path, len: u64, take: impl FnMut(T)) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(len == 0).truncate(false).open(path)?;
        Self::read(file, 0, Some(len), take)
    }

    /// Opens the log in a file with a head of `start` bytes. Its length is not known: its frames
    /// end at the first torn one.
    pub(super) fn after_head<T: DeserializeOwned>(
        file: File,
        start: u64,
        take: impl FnMut(T),
    ) -> io::Result<Self> {
        Self::read(file, start, None, take)
    }

    fn read<T: DeserializeOwned>(
        mut file: File,
        start: u64,
        len: Option<u64>,
        mut take: impl FnMut(T),
    ) -> io::Result<Self> {
        file.seek(SeekFrom::Start(start))?;
        let mut whole = start;
        let mut reader = BufReader::new(&file).take(len.unwrap_or(u64::MAX));
        while let Some(payload) = read_frame(&mut reader)? {
            whole += (HEADER_BYTES + payload.len()) as u64;
            take(serde_json::from_slice(&payload)?);
        }
        if len.is_some_and(|len| len != whole) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is damaged"));
        }
        file.set_len(whole)?;
        file.seek(SeekFrom::Start(whole))?;
        Ok(Self { file, start })
    }

    /// Writes the head and hands it to the kernel.
    pub(super) fn write_head(&self, head: &[u8]) -> io::Result<()> {
        self.file.write_all_at(head, 0)
    }

    /// Adds a frame and hands it to the kernel: the frame outlives this process.
    pub(super) fn append(&mut self, frame: &impl Serialize) -> io::Result<()> {
        let mut bytes = vec![0; HEADER_BYTES];
        serde_json::to_writer(&mut bytes, frame)?;
        let payload = &bytes[HEADER_BYTES..];
        let n_bytes = u32::try_from(payload.len()).map_err(io::Error::other)?;
        let crc = crc32fast::hash(payload);
        bytes[..4].copy_from_slice(&n_bytes.to_be_bytes());
        bytes[4..HEADER_BYTES].copy_from_slice(&crc.to_be_bytes());
        self.file.write_all(&bytes)
    }

    /// Makes the added frames durable, and returns the length of the file.
    pub(super) fn sync(&mut self) -> io::Result<u64> {
        self.file.sync_data()?;
        self.file.stream_position()
    }

    /// Removes all frames.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(self.start)?;
        self.file.seek(SeekFrom::Start(self.start)).map(|_| ())
    }
}

/// The payload of the next frame; `None` if there is no whole one.
fn read_frame(reader: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut header = Vec::new();
    reader.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    let Ok([a, b, c, d, crc @ ..]) = <[u8; HEADER_BYTES]>::try_from(header) else { return Ok(None) };
    let n_bytes = u32::from_be_bytes([a, b, c, d]);
    let mut payload = Vec::new();
    // Grows with the read bytes, because the length in a torn header may be huge.
    let n_read = reader.by_ref().take(n_bytes.into()).read_to_end(&mut payload)?;
    // JSON is never empty. A crashed machine may leave zeros in place of a frame, and zero is the
    // checksum of an empty payload.
    let whole =
        n_bytes > 0 && n_read == n_bytes as usize && crc32fast::hash(&payload) == u32::from_be_bytes(crc);
    Ok(whole.then_some(payload))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn frames(path: &Path, len: Option<u64>) -> io::Result<Vec<String>> {
        let mut frames = Vec::new();
        let take = |frame| frames.push(frame);
        match len {
            Some(len) => Log::open(path, len, take),
            None => Log::after_head(File::options().read(true).write(true).open(path)?, 0, take),
        }
        .map(|_| frames)
    }

    #[test]
    fn what_is_torn_is_taken_away_and_what_is_damaged_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("log");
        let mut log = Log::open(path, 0, |_: String| panic!("it is empty")).unwrap();
        log.append(&"one").unwrap();
        let n_one = log.sync().unwrap();
        log.append(&"two").unwrap();
        let n_two = log.sync().unwrap();
        let whole = fs::read(path).unwrap();
        assert_eq!(whole[..n_one as usize], *b"\0\0\0\x05\x91\xc5\x54\x00\"one\"");
        for len in 0..=whole.len() as u64 {
            fs::write(path, &whole[..len as usize]).unwrap();
            let expected: &[&str] = match len {
                _ if len < n_one => &[],
                _ if len < n_two => &["one"],
                _ => &["one", "two"],
            };
            assert_eq!(frames(path, None).unwrap(), expected, "{len} bytes");
            fs::write(path, &whole[..len as usize]).unwrap();
            assert_eq!(frames(path, Some(n_one)).is_ok(), len >= n_one, "{len} bytes");
        }
        for place in 0..n_one as usize {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            fs::write(path, &damaged).unwrap();
            assert!(frames(path, Some(n_one)).is_err(), "byte {place}");
        }
        fs::write(path, &whole).unwrap();
        let mut log = Log::open(path, n_one, |_: String| ()).unwrap();
        log.append(&"three").unwrap();
        drop(log);
        assert_eq!(frames(path, None).unwrap(), ["one", "three"]);
        Log::open(path, fs::metadata(path).unwrap().len(), |_: String| ()).unwrap().clear().unwrap();
        assert_eq!(frames(path, None).unwrap(), [""; 0]);
    }
}
