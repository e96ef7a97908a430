//! JSON Lines cut into lines, which are not parsed here.

use std::io::{self, BufRead, BufReader, Read};

use memchr::memchr;

use super::encoding::BYTE_ORDER_MARK;
use super::live::Live;
use super::reader::RecordReader;
use super::records::{Form, RecordError, Records};

pub(super) struct Lines<R> {
    reader: BufReader<R>,
    /// Number of the last line read.
    number: u64,
    record_bytes_max: usize,
    ended: bool,
    /// `None` for a source that never waits for its writer.
    live: Option<Live>,
}

enum Appended {
    Line,
    TooLong,
    End,
}

impl<R> Lines<R> {
    pub(super) fn new(reader: BufReader<R>, record_bytes_max: usize) -> Self {
        Self { reader, number: 0, record_bytes_max, ended: false, live: None }
    }

    /// Hands lines on as they arrive, if the source is standard input.
    pub(super) fn with_stdin(self, is_stdin: bool) -> Self {
        Self { live: is_stdin.then(Live::default), ..self }
    }
}

impl<R: Read> RecordReader for Lines<R> {
    fn form(&self) -> Form {
        Form::Json
    }

    /// Appends the next lines that are not blank.
    fn append_records(&mut self, records: &mut Records) {
        if let Some(live) = &mut self.live {
            live.restart();
        }
        while !self.ended && !records.is_full() {
            let has_line = || memchr(b'\n', self.reader.buffer()).is_some();
            if records.len() > 0 && self.live.as_mut().is_some_and(|live| live.is_due(has_line())) {
                records.rest();
                break;
            }
            let appended = self.append_line(records.bytes_mut());
            if matches!(appended, Ok(Appended::End)) {
                self.ended = true;
                break;
            }
            self.number += 1;
            match appended {
                Ok(Appended::TooLong) => {
                    records.push_error(self.number, RecordError::TooLong(self.record_bytes_max));
                }
                Err(error) => {
                    // Bytes after an error are not to be trusted.
                    self.ended = true;
                    records.push_error(self.number, RecordError::Broken(error.to_string()));
                }
                Ok(Appended::Line | Appended::End) => {
                    // Files joined into one may each begin with a mark.
                    if records.pending().starts_with(BYTE_ORDER_MARK) {
                        records.strip_pending(BYTE_ORDER_MARK.len());
                    }
                    if records.pending().iter().all(u8::is_ascii_whitespace) {
                        records.discard_pending();
                    } else {
                        records.push(self.number);
                    }
                }
            }
        }
    }
}

impl<R: Read> Lines<R> {
    /// Appends one line without its line feed; of one that is too long, at most `record_bytes_max`
    /// bytes.
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
    use std::io::{BufReader, Read};

    use super::super::records::CHUNK_BYTES;
    use super::*;

    /// Reads all lines of `content` with their numbers, as `Ok(text)` or `Err(reason)`.
    fn read(content: impl Read, record_bytes_max: usize) -> Vec<(u64, Result<String, String>)> {
        let mut lines = Lines::new(BufReader::new(content), record_bytes_max);
        let mut read = Vec::new();
        while let Some(records) = lines.next_records() {
            read.extend(records.iter().map(|(number, line)| {
                let line = line.map(|line| String::from_utf8_lossy(line.bytes).into_owned());
                (number, line.map_err(ToString::to_string))
            }));
        }
        read
    }

    #[track_caller]
    fn check(content: &[u8], record_bytes_max: usize, expected: &[(u64, Result<&str, &str>)]) {
        let read = read(content, record_bytes_max);
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

    #[test]
    fn lines_keep_their_numbers() {
        check(b"", 9, &[]);
        check(b"\n \n\r\n", 9, &[]);
        check(b"a\nbb", 9, &[(1, Ok("a")), (2, Ok("bb"))]);
        check(b"\xef\xbb\xbfa\r\n\n\nb\n", 9, &[(1, Ok("a\r")), (4, Ok("b"))]);
        let joined = b"\xef\xbb\xbfa\n\xef\xbb\xbfb\xef\xbb\xbf\n\xef\xbb\xbf\n\xef\xbb";
        check(joined, 9, &[(1, Ok("a")), (2, Ok("b\u{feff}")), (4, Ok("\u{fffd}"))]);
    }

    #[test]
    fn a_line_too_long_is_skipped_and_named() {
        check(b"1234\n12345\n123", 4, &[(1, Ok("1234")), (2, Err("longer than 4 bytes")), (3, Ok("123"))]);
        let long = [vec![b'x'; 3 * CHUNK_BYTES], b"\nend".to_vec()].concat();
        check(&long, 100, &[(1, Err("longer than 100 bytes")), (2, Ok("end"))]);
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }

    #[test]
    fn a_source_that_breaks_off_says_so_after_what_could_be_read() {
        let read = read(b"a\nb\nhalf a li".chain(Broken), 100);
        assert!(
            matches!(&read[..], [(1, Ok(_)), (2, Ok(_)), (3, Err(reason))] if reason.contains("disk is gone")),
            "{read:?}"
        );
    }
}
