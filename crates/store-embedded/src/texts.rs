//! The texts of documents, each in a record of its own, which searches read only where they count.
//! Drawn in `schema/embedded.md`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use heed::RoTxn;
use index::{Error, ErrorKind, Result, Text};
use zstd::bulk::{Compressor, Decompressor};

use super::environment::Opened;
use super::errors::explain;
use super::record;

/// The version, in the first byte of every record.
const VERSION: u8 = 1;

/// Zstandard's own default: the bytes stay for as long as the index does.
const LEVEL: i32 = 3;

/// A level without Huffman codes, for short texts. Codes of their own would take a sixth of the
/// time in which an index of short texts is filled, and save 7 % of its bytes.
const LEVEL_OF_SHORT: i32 = -5;

/// The bytes from which on a text is not short.
const SHORT_BYTES: usize = 256;

/// The bounds of the cache, in texts and in bytes.
const CACHED_MAX: usize = 64;
const CACHED_BYTES_MAX: usize = 4 << 20;

/// Encodes the texts of a batch as records.
#[derive(Default)]
pub(super) struct Packer {
    of_short: Option<Compressor<'static>>,
    of_others: Option<Compressor<'static>>,
}

impl Packer {
    /// Encodes a text stored under `number`.
    pub(super) fn encode(&mut self, number: u64, text: &Text) -> Result<Vec<u8>> {
        let failed = |error| {
            Error::new(ErrorKind::Internal, format!("the text of record {number} cannot be compressed"))
                .caused_by(error)
        };
        let (compressor, level) = match text.len() < SHORT_BYTES {
            true => (&mut self.of_short, LEVEL_OF_SHORT),
            false => (&mut self.of_others, LEVEL),
        };
        let compressor = match compressor {
            Some(compressor) => compressor,
            none => none.insert(Compressor::new(level).map_err(failed)?),
        };
        let mut bytes = vec![VERSION];
        bytes.append(&mut compressor.compress(text.as_bytes()).map_err(failed)?);
        Ok(record::seal(bytes, number))
    }
}

/// Decodes the record of a text.
pub(super) fn decode(number: u64, bytes: &[u8]) -> Result<Text> {
    let damaged = |what: &str| damaged(number, what);
    let (version, packed) = record::unsealed(number, bytes)
        .and_then(<[u8]>::split_first)
        .ok_or_else(|| damaged("its checksum does not fit"))?;
    if *version != VERSION {
        return Err(Error::new(
            ErrorKind::Mismatch,
            format!(
                "the text of record {number} has version {version}, this program reads version {VERSION}; use the program \
                 that wrote it"
            ),
        ));
    }
    let len = zstd::zstd_safe::get_frame_content_size(packed).ok().flatten();
    let len = len.and_then(|len| usize::try_from(len).ok()).ok_or_else(|| damaged("it has no length"))?;
    let bytes = unpack(packed, len).map_err(|error| damaged("it cannot be decompressed").caused_by(error))?;
    let text =
        String::from_utf8(bytes).map_err(|error| damaged("it is not UTF-8").caused_by(error.utf8_error()))?;
    Ok(text.into())
}

/// Decompresses to `len` bytes. The state of Zstandard takes longer to make than a short text to
/// unpack, so each thread keeps one.
fn unpack(packed: &[u8], len: usize) -> io::Result<Vec<u8>> {
    thread_local! {
        static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    }
    DECOMPRESSOR.with_borrow_mut(|decompressor| {
        let decompressor = match decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new()?),
        };
        decompressor.decompress(packed, len)
    })
}

/// Reads the text of a document whose record names one, in the snapshot of `txn`.
pub(super) fn find(opened: &Opened, txn: &RoTxn<'_>, number: u64) -> Result<Text> {
    let found = match opened.texts {
        Some(texts) => texts.get(txn, &number).map_err(explain)?,
        None => None,
    };
    match found {
        Some(bytes) => decode(number, bytes),
        None => Err(damaged(number, "it is missing")),
    }
}

fn damaged(number: u64, what: &str) -> Error {
    Error::corrupt(format!(
        "the text of record {number} is damaged: {what}; `pigeonhole verify` names the document: index it again or remove it"
    ))
}

/// The texts read last, the latest first. A number is given once and its text never changes, so a
/// text read from a commit stays right.
#[derive(Default)]
pub(super) struct Cache(Mutex<VecDeque<(u64, Text)>>);

impl Cache {
    pub(super) fn get(&self, number: u64) -> Option<Text> {
        let mut latest = self.lock();
        let at = latest.iter().position(|(known, _)| *known == number)?;
        let found = latest.remove(at)?;
        let text = found.1.clone();
        latest.push_front(found);
        Some(text)
    }

    pub(super) fn put(&self, number: u64, text: &Text) {
        let mut latest = self.lock();
        latest.push_front((number, text.clone()));
        let mut n_bytes = 0;
        let mut fits = |(_, text): &(u64, Text)| {
            n_bytes += text.len();
            n_bytes <= CACHED_BYTES_MAX
        };
        let n_kept = latest.iter().take(CACHED_MAX).take_while(|entry| fits(entry)).count();
        latest.truncate(n_kept);
    }

    #[cfg(test)]
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(u64, Text)>> {
        // No code in here panics halfway through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Bytes written earlier are read; another Zstandard may write other bytes.
    #[test]
    fn golden_vector() {
        let text = Text::from("é1 é1 é1");
        let golden = "0128b52ffd200b590000c3a93120c3a93120c3a931e4ebc0ac";
        let bytes: Vec<u8> = (0..golden.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&golden[at..at + 2], 16).unwrap())
            .collect();
        let written = || hex(&Packer::default().encode(9, &text).unwrap());
        assert_eq!(decode(9, &bytes).ok(), Some(text.clone()), "{}", written());
        assert_eq!(decode(8, &bytes).unwrap_err().kind(), ErrorKind::Corrupt);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert_eq!(decode(9, &changed).unwrap_err().kind(), ErrorKind::Corrupt);
            assert_eq!(decode(9, &bytes[..at]).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }

    #[test]
    fn texts_come_back() {
        let mut packer = Packer::default();
        for text in ["", "a", "地铁七号线", &"the harbour office closes at noon ".repeat(10_000)] {
            let text = Text::from(text);
            let bytes = packer.encode(7, &text).unwrap();
            assert_eq!(decode(7, &bytes).unwrap(), text);
            assert!(text.len() < 1_000 || bytes.len() < text.len() / 100);
        }
        let later = record::seal(vec![2, 0], 7);
        assert_eq!(decode(7, &later).unwrap_err().kind(), ErrorKind::Mismatch);
    }

    #[test]
    fn the_cache_is_bounded() {
        let cache = Cache::default();
        let text = |n: u64| Text::from("x".repeat(100_000 * (n as usize % 7)) + &n.to_string());
        for n in 0..500 {
            cache.put(n, &text(n));
            assert_eq!(cache.get(n), Some(text(n)));
            let latest = cache.lock();
            let n_bytes: usize = latest.iter().map(|(_, text)| text.len()).sum();
            assert!(latest.len() <= CACHED_MAX && n_bytes <= CACHED_BYTES_MAX);
        }
        assert_eq!(cache.get(3), None);
        let again = [cache.get(498).unwrap(), cache.get(498).unwrap()];
        assert!(again[0].is(&again[1]), "a text that is read again is the same one");
    }
}
