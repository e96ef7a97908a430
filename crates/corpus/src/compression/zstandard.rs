//! Zstandard: frames with windows up to a bound, skippable frames, and the dictionary that a
//! `.warc.zst` file may have in front.

use std::io::{self, BufReader, Cursor, Read};

use super::{READ_BUFFER_BYTES, WINDOW_LOG_MAX};

const MAGIC: [u8; 4] = *b"\x28\xb5\x2f\xfd";

/// Last bytes of the magic number of a frame to be skipped; the first is one of sixteen.
const SKIPPABLE: &[u8] = b"\x2a\x4d\x18";
const SKIPPABLE_FIRST: u8 = 0x50;

/// Magic number of the skippable frame that holds a dictionary, by the specification of
/// `.warc.zst`.
const DICTIONARY_MAGIC: [u8; 4] = *b"\x5d\x2a\x4d\x18";

/// Maximum length in bytes of a dictionary, packed or not; usual ones have some hundred KiB.
const DICTIONARY_BYTES_MAX: usize = 64 << 20;

/// Returns true if `head` begins a frame, of content or to be skipped.
pub(super) fn is_frame(head: &[u8]) -> bool {
    let is_skippable =
        |first: u8, rest: &[u8]| first & 0xf0 == SKIPPABLE_FIRST && rest.starts_with(SKIPPABLE);
    head.starts_with(&MAGIC) || head.split_first().is_some_and(|(first, rest)| is_skippable(*first, rest))
}

/// Returns the content of the frames in `raw`, which [begins](is_frame) with one. Memory for a
/// window, of at most `2^window_log_max` bytes, is taken as far as content fills it.
pub(super) fn open(
    mut raw: impl Read + Send + 'static,
    window_log_max: u32,
) -> io::Result<Box<dyn Read + Send>> {
    let mut head = [0; 4];
    raw.read_exact(&mut head)?;
    let (dictionary, rest) = match head {
        DICTIONARY_MAGIC => (dictionary(&mut raw)?, Cursor::new(&[][..])),
        MAGIC => (Vec::new(), Cursor::new(&MAGIC[..])),
        _ => return decoder(Cursor::new(head).chain(raw), &[], window_log_max),
    };
    decoder(rest.chain(raw), &dictionary, window_log_max)
}

fn decoder(
    raw: impl Read + Send + 'static,
    dictionary: &[u8],
    window_log_max: u32,
) -> io::Result<Box<dyn Read + Send>> {
    let raw = BufReader::with_capacity(READ_BUFFER_BYTES, raw);
    let mut decoder = zstd::Decoder::with_dictionary(raw, dictionary)?;
    decoder.window_log_max(window_log_max)?;
    Ok(Box::new(Explained { inner: decoder, window_log_max }))
}

/// Reads the dictionary behind its magic number: as it is, or packed with zstd itself.
fn dictionary(raw: &mut impl Read) -> io::Result<Vec<u8>> {
    let damaged = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("the dictionary {why}"));
    let mut len = [0; 4];
    raw.read_exact(&mut len).map_err(|_| damaged("in front breaks off"))?;
    let [a, b, c, d] = len.map(u64::from);
    let len = a | b << 8 | c << 16 | d << 24;
    if len > DICTIONARY_BYTES_MAX as u64 {
        return Err(damaged("in front is too long"));
    }
    let mut dictionary = Vec::new();
    let n_read = raw.by_ref().take(len).read_to_end(&mut dictionary)?;
    if (n_read as u64) < len {
        return Err(damaged("in front breaks off"));
    }
    if !dictionary.starts_with(&MAGIC) {
        return Ok(dictionary);
    }
    let mut unpacked = Vec::new();
    let unpacking = zstd::Decoder::with_buffer(&dictionary[..]);
    let unpacking =
        unpacking.and_then(|packed| packed.take(DICTIONARY_BYTES_MAX as u64 + 1).read_to_end(&mut unpacked));
    match unpacking {
        Ok(n) if n <= DICTIONARY_BYTES_MAX => Ok(unpacked),
        Ok(_) => Err(damaged("in front is too long")),
        Err(error) => Err(damaged(&format!("in front cannot be unpacked: {error}"))),
    }
}

/// Content whose errors say what to do.
struct Explained<R> {
    inner: R,
    window_log_max: u32,
}

impl<R: Read> Read for Explained<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| {
            let said = error.to_string();
            let help = if said.contains("too much memory") {
                too_wide(self.window_log_max)
            } else if said.to_ascii_lowercase().contains("dictionary") {
                "it was packed with a dictionary that does not lie in front of it; unpack it with zstd -D"
                    .to_owned()
            } else {
                return error;
            };
            io::Error::new(error.kind(), format!("{said}: {help}"))
        })
    }
}

/// Returns what to do about a window larger than the bound.
fn too_wide(window_log_max: u32) -> String {
    if window_log_max < WINDOW_LOG_MAX {
        format!(
            "its window is larger than 2^{window_log_max} bytes, the bound on memory that \
             --zstd-window-log-max {window_log_max} sets; give a larger one, up to {WINDOW_LOG_MAX}"
        )
    } else {
        format!("its window is larger than 2 GiB; pack it again with zstd --long={WINDOW_LOG_MAX} or less")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::open;
    use super::*;

    fn read(raw: &[u8]) -> io::Result<Vec<u8>> {
        read_within(raw, WINDOW_LOG_MAX)
    }

    fn read_within(raw: &[u8], window_log_max: u32) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        open(Cursor::new(raw.to_vec()), window_log_max)?.content.read_to_end(&mut content)?;
        Ok(content)
    }

    fn skippable(magic: [u8; 4], content: &[u8]) -> Vec<u8> {
        let len = content.len();
        let len = [len as u8, (len >> 8) as u8, (len >> 16) as u8, (len >> 24) as u8];
        [&magic[..], &len, content].concat()
    }

    #[test]
    fn frames_to_be_skipped_may_lie_anywhere() {
        let frame = |text: &[u8]| zstd::encode_all(text, 1).unwrap();
        for first in 0x50..=0x5f {
            let note = skippable([first, 0x2a, 0x4d, 0x18], b"note");
            let whole = [&note[..], &note, &frame(b"a\n"), &note, &frame(b"b\n"), &note].concat();
            // Of the dictionary's frame only the first one is a dictionary.
            assert_eq!(read(&whole).unwrap(), b"a\nb\n", "{first:x}");
            assert!(read(&whole[..whole.len() - 3]).is_err());
        }
        assert_eq!(read(b"P*Mx").unwrap(), b"P*Mx");
    }

    #[test]
    fn the_dictionary_in_front_is_used() {
        let pages: Vec<Vec<u8>> = (0..400)
            .map(|n| {
                format!("WARC/1.0\r\nWARC-Type: response\r\nn: {n}\r\n\r\n<p>page {}", n * 7919).into_bytes()
            })
            .collect();
        let trained = zstd::dict::from_samples(&pages, 4096).unwrap();
        let plain = b"<html><head><title>the same in every page</title></head>".repeat(4);
        for dictionary in [&trained[..], &plain] {
            let frames: Vec<u8> = pages
                .iter()
                .flat_map(|page| {
                    let mut encoder = zstd::Encoder::with_dictionary(Vec::new(), 3, dictionary).unwrap();
                    encoder.write_all(page).unwrap();
                    encoder.finish().unwrap()
                })
                .collect();
            let packed = zstd::encode_all(dictionary, 3).unwrap();
            for stored in [dictionary, &packed] {
                let whole = [&skippable(DICTIONARY_MAGIC, stored)[..], &frames].concat();
                assert_eq!(read(&whole).unwrap(), pages.concat());
            }
        }
        let mut encoder = zstd::Encoder::with_dictionary(Vec::new(), 3, &trained).unwrap();
        encoder.write_all(&pages[0]).unwrap();
        let without = read(&encoder.finish().unwrap()).unwrap_err().to_string();
        assert!(without.contains("dictionary that does not lie in front"), "{without}");
        let cut = read(&skippable(DICTIONARY_MAGIC, &trained)[..100]).unwrap_err().to_string();
        assert!(cut.contains("the dictionary in front breaks off"), "{cut}");
        let huge = [&DICTIONARY_MAGIC[..], b"\xff\xff\xff\xff"].concat();
        assert!(read(&huge).unwrap_err().to_string().contains("too long"));
    }

    /// A frame header with a window and no length of the content, and a block of three bytes.
    fn with_window(exponent: u8) -> Vec<u8> {
        [&MAGIC[..], &[0, exponent << 3], b"\x19\0\0abc"].concat()
    }

    #[test]
    fn windows_are_bounded() {
        for window_log in [17, 27, 28, 31] {
            assert_eq!(read(&with_window(window_log - 10)).unwrap(), b"abc", "{window_log}");
        }
        let wider = read(&with_window(22)).unwrap_err().to_string();
        assert!(wider.contains("its window is larger than 2 GiB"), "{wider}");
        for bound in [10, 20, 27, 30] {
            let window = |log: u32| with_window(log as u8 - 10);
            assert_eq!(read_within(&window(bound), bound).unwrap(), b"abc", "{bound}");
            let wider = read_within(&window(bound + 1), bound).unwrap_err().to_string();
            assert!(wider.contains(&format!("--zstd-window-log-max {bound} sets")), "{wider}");
            // Frames after the first, too.
            let later = [&with_window(0)[..], &window(bound + 1)].concat();
            assert!(read_within(&later, bound).is_err());
        }
    }
}
