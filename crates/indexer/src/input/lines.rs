//! Files cut into chunks of whole lines: plain or gzip, told apart by their first bytes; `-` is standard input.
//!
//! Memory is bounded whatever the input: a chunk closes at [`CHUNK_BYTES`] or [`CHUNK_LINES`], and a line longer than the limit is
//! skipped and reported, not held.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, ensure};
use flate2::bufread::MultiGzDecoder;
use memchr::memchr;

/// A chunk takes no further line once it holds this much.
const CHUNK_BYTES: usize = 256 << 10;

/// Nor once it holds this many, which bounds chunks of lines without content.
const CHUNK_LINES: usize = 4096;

const READ_BUFFER_BYTES: usize = 64 << 10;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The inputs of a run, all of which could be opened.
pub(crate) struct Inputs {
    sources: Vec<Source>,
    /// Bytes read so far, as they are stored.
    pub(crate) n_bytes_read: Arc<AtomicU64>,
    /// Bytes there are to read, where every source is a regular file.
    pub(crate) n_bytes: Option<u64>,
    record_bytes_max: usize,
}

struct Source {
    /// As the user named it.
    name: Arc<str>,
    path: PathBuf,
    /// What can be opened only once, such as standard input or a pipe. Files are opened when it is their turn: there may
    /// be more of them than a process may have open.
    opened: Option<Box<dyn Read + Send>>,
}

/// Neighbouring lines of one source.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Where they come from, as the user named it.
    pub(crate) source: Arc<str>,
    /// The lines, one after another, without their line ends.
    bytes: Vec<u8>,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    number: u64,
    /// Where it ends in `bytes`; it starts where the one before it ends.
    end: usize,
    error: Option<LineError>,
}

/// Why there is no content where a line should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LineError {
    /// Longer than the limit, in bytes.
    TooLong(usize),
    /// The source could not be read on from here.
    Broken(String),
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(limit) => write!(f, "line is longer than {limit} bytes (raise --record-bytes-max)"),
            Self::Broken(why) => write!(f, "reading stopped here: {why}"),
        }
    }
}

impl Chunk {
    /// Of a source that could not be read at all.
    fn broken(source: Arc<str>, error: &io::Error) -> Self {
        let line = Line { number: 1, end: 0, error: Some(LineError::Broken(error.to_string())) };
        Self { source, bytes: Vec::new(), lines: vec![line] }
    }

    /// The lines with their numbers, counted from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (u64, Result<&[u8], &LineError>)> {
        let mut start = 0;
        self.lines.iter().map(move |line| {
            let bytes = &self.bytes[std::mem::replace(&mut start, line.end)..line.end];
            (line.number, line.error.as_ref().map_or(Ok(bytes), Err))
        })
    }
}

impl Inputs {
    /// Tries to open all of `paths`, so that a run does not find out half-way that the last one is missing.
    pub(crate) fn open(paths: &[PathBuf], record_bytes_max: usize) -> anyhow::Result<Self> {
        let n_stdin = paths.iter().filter(|path| is_stdin(path)).count();
        ensure!(n_stdin <= 1, "standard input (-) can be read only once");
        let mut n_bytes = Some(0);
        let mut sources = Vec::new();
        for path in paths {
            let (source, len) =
                Source::new(path).with_context(|| format!("failed to open {}", path.display()))?;
            n_bytes = n_bytes.zip(len).map(|(sum, len)| sum + len);
            sources.push(source);
        }
        Ok(Self { sources, n_bytes_read: Arc::default(), n_bytes, record_bytes_max })
    }

    /// Reads everything and hands it on chunk by chunk, until `send` says to stop by returning false.
    pub(crate) fn read(self, mut send: impl FnMut(Chunk) -> bool) {
        for source in self.sources {
            let name = Arc::clone(&source.name);
            let reader = match source.reader(&self.n_bytes_read) {
                Ok(reader) => reader,
                Err(error) => {
                    if !send(Chunk::broken(name, &error)) {
                        return;
                    }
                    continue;
                }
            };
            let mut lines = Lines {
                reader: BufReader::with_capacity(READ_BUFFER_BYTES, reader),
                number: 0,
                record_bytes_max: self.record_bytes_max,
                ended: false,
            };
            while let Some(chunk) = lines.next_chunk(&name) {
                if !send(chunk) {
                    return;
                }
            }
        }
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl Source {
    /// A source that can be opened, and its length in bytes where it has one.
    fn new(path: &Path) -> anyhow::Result<(Self, Option<u64>)> {
        if is_stdin(path) {
            let opened: Box<dyn Read + Send> = Box::new(io::stdin());
            return Ok((Self { name: "stdin".into(), path: path.to_owned(), opened: Some(opened) }, None));
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        ensure!(!metadata.is_dir(), "it is a folder; name the files in it");
        let opened: Option<Box<dyn Read + Send>> =
            if metadata.is_file() { None } else { Some(Box::new(file)) };
        let source = Self { name: path.to_string_lossy().into(), path: path.to_owned(), opened };
        Ok((source, metadata.is_file().then_some(metadata.len())))
    }

    /// Its content: gzip of any number of members unpacked, anything else as it is.
    fn reader(self, n_bytes_read: &Arc<AtomicU64>) -> io::Result<Box<dyn Read + Send>> {
        let raw = match self.opened {
            Some(opened) => opened,
            None => Box::new(File::open(&self.path)?),
        };
        let counted = Counted { inner: raw, n_bytes: Arc::clone(n_bytes_read) };
        let mut raw = BufReader::with_capacity(READ_BUFFER_BYTES, counted);
        Ok(if raw.fill_buf()?.starts_with(&GZIP_MAGIC) {
            Box::new(MultiGzDecoder::new(raw))
        } else {
            Box::new(raw)
        })
    }
}

struct Counted {
    inner: Box<dyn Read + Send>,
    n_bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.n_bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

struct Lines<R> {
    reader: R,
    /// Of the last line read.
    number: u64,
    record_bytes_max: usize,
    ended: bool,
}

enum Appended {
    Line,
    TooLong,
    End,
}

impl<R: BufRead> Lines<R> {
    /// The next lines that are not blank; `None` at the end. A source that cannot be read on ends with a line that
    /// says so.
    fn next_chunk(&mut self, source: &Arc<str>) -> Option<Chunk> {
        let mut chunk = Chunk { source: Arc::clone(source), bytes: Vec::new(), lines: Vec::new() };
        while !self.ended && chunk.bytes.len() < CHUNK_BYTES && chunk.lines.len() < CHUNK_LINES {
            let start = chunk.bytes.len();
            let error = match self.append_line(&mut chunk.bytes) {
                Ok(Appended::Line) => None,
                Ok(Appended::TooLong) => Some(LineError::TooLong(self.record_bytes_max)),
                Ok(Appended::End) => {
                    self.ended = true;
                    break;
                }
                Err(error) => {
                    // Whatever the reader would say after an error is not to be trusted.
                    self.ended = true;
                    Some(LineError::Broken(error.to_string()))
                }
            };
            self.number += 1;
            if error.is_some() {
                chunk.bytes.truncate(start);
            } else if self.number == 1 && chunk.bytes[start..].starts_with(BYTE_ORDER_MARK) {
                chunk.bytes.drain(start..start + BYTE_ORDER_MARK.len());
            }
            if error.is_none() && chunk.bytes[start..].iter().all(u8::is_ascii_whitespace) {
                chunk.bytes.truncate(start);
            } else {
                chunk.lines.push(Line { number: self.number, end: chunk.bytes.len(), error });
            }
        }
        (!chunk.lines.is_empty()).then_some(chunk)
    }

    /// Appends one line without its line feed; of one that is too long, at most the limit.
    fn append_line(&mut self, line: &mut Vec<u8>) -> io::Result<Appended> {
        let mut len = 0;
        loop {
            let available = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            if available.is_empty() && len == 0 {
                return Ok(Appended::End);
            }
            let feed = memchr(b'\n', available);
            let content = &available[..feed.unwrap_or(available.len())];
            len += content.len();
            if len <= self.record_bytes_max {
                line.extend_from_slice(content);
            }
            let ended = available.is_empty() || feed.is_some();
            let n_used = feed.map_or(available.len(), |feed| feed + 1);
            self.reader.consume(n_used);
            if ended {
                return Ok(if len > self.record_bytes_max { Appended::TooLong } else { Appended::Line });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// All lines of `content`, with its numbers, as `Ok(text)` or `Err(reason)`.
    fn check(content: &[u8], record_bytes_max: usize, expected: &[(u64, Result<&str, &str>)]) {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().write_all(content).unwrap();
        let inputs = Inputs::open(&[file.path().to_owned()], record_bytes_max).unwrap();
        assert_eq!(inputs.n_bytes, Some(content.len() as u64));
        let n_bytes_read = Arc::clone(&inputs.n_bytes_read);
        let mut read = Vec::new();
        inputs.read(|chunk| {
            for (number, line) in chunk.lines() {
                let line = line.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                read.push((number, line.map_err(|error| error.to_string())));
            }
            true
        });
        assert_eq!(n_bytes_read.load(Ordering::Relaxed), content.len() as u64);
        assert_eq!(read.len(), expected.len(), "{read:?}");
        for ((number, line), (expected_number, expected_line)) in read.iter().zip(expected) {
            assert_eq!(number, expected_number);
            match (line, expected_line) {
                (Ok(line), Ok(expected)) => assert_eq!(line, expected),
                (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason:?} should say {part:?}"),
                _ => panic!("line {number} is {line:?} instead of {expected_line:?}"),
            }
        }
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn lines_keep_their_numbers() {
        check(b"", 9, &[]);
        check(b"\n \n\r\n", 9, &[]);
        check(b"a\nbb", 9, &[(1, Ok("a")), (2, Ok("bb"))]);
        check(b"\xef\xbb\xbfa\r\n\n\nb\n", 9, &[(1, Ok("a\r")), (4, Ok("b"))]);
    }

    #[test]
    fn a_line_too_long_is_skipped_and_named() {
        check(b"1234\n12345\n123", 4, &[(1, Ok("1234")), (2, Err("longer than 4 bytes")), (3, Ok("123"))]);
        let long = [vec![b'x'; 3 * CHUNK_BYTES], b"\nend".to_vec()].concat();
        check(&long, 100, &[(1, Err("longer than 100 bytes")), (2, Ok("end"))]);
    }

    #[test]
    fn gzip_of_several_members_is_one_text() {
        let members = [gzip(b"a\nb"), gzip(b"c\nd\n")].concat();
        check(&members, 9, &[(1, Ok("a")), (2, Ok("bc")), (3, Ok("d"))]);
    }

    #[test]
    fn a_gzip_that_breaks_off_says_so_after_what_could_be_read() {
        let lines: Vec<u8> = (0..50_000_u32)
            .flat_map(|i| format!("{}\n", i.wrapping_mul(2_654_435_761)).into_bytes())
            .collect();
        let whole = gzip(&lines);
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().write_all(&whole[..whole.len() / 2]).unwrap();
        let (mut n_lines, mut n_broken) = (0, 0);
        Inputs::open(&[file.path().to_owned()], 100).unwrap().read(|chunk| {
            for (_, line) in chunk.lines() {
                assert_eq!(n_broken, 0, "nothing may follow the break");
                match line {
                    Ok(_) => n_lines += 1,
                    Err(error) => {
                        assert!(matches!(error, LineError::Broken(_)), "{error}");
                        n_broken += 1;
                    }
                }
            }
            true
        });
        assert!(n_lines > 1_000, "{n_lines}");
        assert_eq!(n_broken, 1);
    }

    #[test]
    fn inputs_that_cannot_be_opened_are_named() {
        for (paths, part) in
            [(vec!["no/such/file"], "no/such/file"), (vec!["."], "folder"), (vec!["-", "-"], "once")]
        {
            let paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
            let error = Inputs::open(&paths, 9).err().unwrap();
            assert!(format!("{error:#}").contains(part), "{error:#}");
        }
    }

    #[test]
    fn a_file_that_is_gone_when_it_is_its_turn_is_named_and_the_rest_goes_on() {
        let files = ["a", "b"].map(|content| {
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().write_all(content.as_bytes()).unwrap();
            file
        });
        let inputs = Inputs::open(&files.each_ref().map(|file| file.path().to_owned()), 9).unwrap();
        let [gone, _kept] = files;
        gone.close().unwrap();
        let mut lines = Vec::new();
        inputs.read(|chunk| {
            lines.extend(
                chunk.lines().map(|(number, line)| (number, line.map(<[u8]>::to_vec).map_err(|e| e.clone()))),
            );
            true
        });
        assert!(
            matches!(&lines[..], [(1, Err(LineError::Broken(_))), (1, Ok(line))] if line == b"b"),
            "{lines:?}"
        );
    }
}
