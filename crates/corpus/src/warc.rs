//! WARC and WET cut into records. Only records of documents ([`kinds`]) are handed on: their header
//! lines, a blank line, and the server's answer or the document itself. A file without such records
//! ends with a complaint.
//!
//! An unreadable record is reported, and reading resumes at the next line that begins a record. In
//! a file packed record by record, as most are, the next member that can be unpacked begins with
//! such a line. An excessive length swallows the beginning of the next record, and so loses that
//! one, too.

mod html;
mod http;
mod kinds;

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use kinds::{Holds, Kinds};

use super::reader::RecordReader;
use super::records::{Form, RecordError, Records};

/// Beginning of every record; a version follows.
const MAGIC: &[u8] = b"WARC/";

const HEADER_BYTES_MAX: usize = 64 << 10;

/// Maximum number of failures without a record between them; one more ends the source.
const FAILURES_MAX: usize = 1000;

pub(super) struct Warc<R> {
    reader: R,
    /// Number of the record read last, of any type.
    number: u64,
    /// True while the beginning of the next record must be searched for.
    lost: bool,
    n_failures: usize,
    /// Error met behind an intact record.
    failure: Option<io::Error>,
    record_bytes_max: usize,
    /// Skipped records, by type.
    kinds: Kinds,
    /// True after a document, or after a reported fault in place of one.
    has_any: bool,
    ended: bool,
}

enum Found {
    /// A response, or the document itself.
    Document,
    /// Any record without a document, such as a request or metadata.
    Other,
    TooLong,
    Damaged(&'static str),
    End,
}

impl<R> Warc<R> {
    pub(super) fn new(reader: R, record_bytes_max: usize) -> Self {
        Self {
            reader,
            number: 0,
            lost: false,
            n_failures: 0,
            failure: None,
            record_bytes_max,
            kinds: Kinds::default(),
            has_any: false,
            ended: false,
        }
    }
}

impl<R: BufRead> RecordReader for Warc<R> {
    fn form(&self) -> Form {
        Form::Response
    }

    fn append_records(&mut self, records: &mut Records) {
        while !self.ended && !records.is_full() {
            let was_lost = self.lost;
            let found = self.read_record(records.bytes_mut());
            if !matches!(found, Ok(Found::End)) {
                self.number += 1;
            }
            match found {
                Ok(Found::End) => {
                    self.ended = true;
                    self.has_any |= records.len() > 0;
                    if !self.has_any
                        && let Some(complaint) = self.kinds.complaint()
                    {
                        records.push_error(self.number, RecordError::Damaged(complaint));
                    }
                }
                Ok(Found::Document) => records.push(self.number),
                Ok(Found::Other) => records.discard_pending(),
                Ok(Found::TooLong) => {
                    records.push_error(self.number, RecordError::TooLong(self.record_bytes_max));
                }
                Ok(Found::Damaged(why)) => {
                    self.lost = true;
                    records.push_error(self.number, RecordError::Damaged(format!("a damaged record: {why}")));
                }
                Err(error) => {
                    self.lost = true;
                    self.n_failures += 1;
                    let is_damage =
                        matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData);
                    self.ended = !is_damage || self.n_failures > FAILURES_MAX;
                    if self.ended {
                        records.push_error(self.number, RecordError::Broken(error.to_string()));
                    } else if was_lost {
                        // Still on the way from the failure already reported.
                        self.number -= 1;
                        records.discard_pending();
                    } else {
                        let why = format!("a damaged record: {error}");
                        records.push_error(self.number, RecordError::Damaged(why));
                    }
                }
            }
        }
        self.has_any |= records.len() > 0;
    }
}

impl<R: BufRead> Warc<R> {
    /// Reads the next record, and appends it to `bytes` if it holds a document.
    fn read_record(&mut self, bytes: &mut Vec<u8>) -> io::Result<Found> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let start = bytes.len();
        loop {
            bytes.truncate(start);
            match self.append_line(bytes)? {
                0 => return Ok(Found::End),
                _ if bytes[start..].starts_with(MAGIC) => break,
                _ if self.lost || bytes[start..].trim_ascii().is_empty() => {}
                _ => return Ok(Found::Damaged("no record begins where one should")),
            }
        }
        self.lost = false;
        loop {
            let line_start = bytes.len();
            let ended = self.append_line(bytes)? == 0;
            if ended || bytes.len() - start > HEADER_BYTES_MAX {
                return Ok(Found::Damaged("its header does not end"));
            }
            if &bytes[line_start..] == b"\n" {
                break;
            }
        }
        let header = Header(&bytes[start..]);
        let Some(len) = header.get("Content-Length").and_then(|len| len.parse::<u64>().ok()) else {
            return Ok(Found::Damaged("its header names no length"));
        };
        let is_document = Holds::of(&header).is_some();
        if !is_document {
            self.kinds.add(&header);
        }
        let fits = len <= self.record_bytes_max as u64;
        let mut content = self.reader.by_ref().take(len);
        let n_read = if is_document && fits {
            content.read_to_end(bytes)? as u64
        } else {
            io::copy(&mut content, &mut io::sink())?
        };
        if n_read < len {
            return Ok(Found::Damaged("the file ends in the middle of it"));
        }
        if !self.is_at_record_end() {
            return Ok(Found::Damaged("its length is wrong"));
        }
        self.n_failures = 0;
        Ok(match (is_document, fits) {
            (false, _) => Found::Other,
            (true, true) => Found::Document,
            (true, false) => Found::TooLong,
        })
    }

    /// Appends a line, with a bare line feed as its end, and returns the number of bytes read; a
    /// long line comes in parts.
    fn append_line(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let start = bytes.len();
        let n_read = self.reader.by_ref().take(HEADER_BYTES_MAX as u64).read_until(b'\n', bytes)?;
        // Checks only the bytes read now: those before belong to another record, which may well end
        // so.
        if bytes[start..].ends_with(b"\r\n") {
            bytes.truncate(bytes.len() - 2);
            bytes.push(b'\n');
        }
        Ok(n_read)
    }

    /// Skips the line ends after a record. Returns true if there are two, or at least another
    /// record or the end of the file follows. A failure to read is kept for the next record.
    fn is_at_record_end(&mut self) -> bool {
        let mut n_feeds = 0;
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) => {
                    self.failure = Some(error);
                    return true;
                }
            };
            let n_blank = available.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            if n_blank == 0 {
                return n_feeds >= 2 || available.iter().zip(MAGIC).all(|(byte, magic)| byte == magic);
            }
            n_feeds += memchr::memchr_iter(b'\n', &available[..n_blank]).count();
            self.reader.consume(n_blank);
        }
    }
}

/// The header lines of a record.
struct Header<'a>(&'a [u8]);

impl<'a> Header<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.split(|byte| *byte == b'\n').find_map(|line| {
            let (found, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Returns the text of an HTML file.
pub(super) fn page_text(page: &[u8]) -> Result<Cow<'_, str>, String> {
    http::decoded(Cow::Borrowed(page), "", true)
}

/// A response, or another record with a document, as cut out of its file.
pub(super) struct Response<'a> {
    header: Header<'a>,
    body: &'a [u8],
}

impl<'a> Response<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let end = memchr::memmem::find(bytes, b"\n\n").map_or(bytes.len(), |blank| blank + 2);
        Self { header: Header(&bytes[..end]), body: &bytes[end..] }
    }

    /// Returns a field of the WARC header, without the angle brackets of ids and of some addresses.
    pub(super) fn field(&self, name: &str) -> Option<&'a str> {
        let value = self.header.get(name)?;
        Some(value.strip_prefix('<').and_then(|value| value.strip_suffix('>')).unwrap_or(value))
    }

    /// Returns the text of the page; `None` if the answer is no page: an error, a redirection, an
    /// image.
    pub(super) fn text(&self) -> Result<Option<Cow<'a, str>>, String> {
        match Holds::of(&self.header) {
            Some(Holds::Document { is_html }) => {
                let content_type = self.header.get("Content-Type").unwrap_or_default().to_ascii_lowercase();
                http::decoded(Cow::Borrowed(self.body), &content_type, is_html).map(Some)
            }
            _ => http::page_text(self.body),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use super::super::compression::open;
    use super::super::fields::testing::{names, rows};
    use super::*;

    fn record(kind: &str, id: u32, content: &str) -> Vec<u8> {
        let len = content.len();
        format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:n:{id}>\r\ncontent-length: {len}\r\n\r\n{content}\r\n\r\n"
        )
        .into_bytes()
    }

    fn page(id: u32) -> Vec<u8> {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";
        record("response", id, &format!("{head}<p>page {id}<script>no</script>"))
    }

    fn sample() -> Vec<Vec<u8>> {
        vec![
            record("warcinfo", 0, "software: a test"),
            page(1),
            record("request", 2, "GET / HTTP/1.1\r\n\r\n"),
            record("response", 3, "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<p>not here"),
            page(4),
            page(5),
        ]
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    /// Reads all records: ids and texts of the pages, or the reasons, with their numbers.
    fn read(content: Vec<u8>, record_bytes_max: usize) -> Vec<String> {
        let content = BufReader::with_capacity(7, open(io::Cursor::new(content)).unwrap().content);
        let rows = rows(&mut Warc::new(content, record_bytes_max), names(&["text"], false));
        rows.into_iter().map(|(number, row)| format!("{number} {}", row.unwrap_or_else(|why| why))).collect()
    }

    const WHOLE: [&str; 3] = ["2 urn:n:1 page 1", "5 urn:n:4 page 4", "6 urn:n:5 page 5"];

    #[test]
    fn pages_come_out_of_plain_and_packed_files() {
        assert_eq!(read(sample().concat(), 999), WHOLE);
        assert_eq!(read(gzip(&sample().concat()), 999), WHOLE);
        assert_eq!(read(sample().iter().flat_map(|record| gzip(record)).collect(), 999), WHOLE);
        assert_eq!(read(Vec::new(), 999), [""; 0]);
    }

    /// The end of the file once took the last line end away from a response that ends in one, as a
    /// body in chunks does.
    #[test]
    fn a_response_may_end_in_a_line_end() {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunked = record("response", 9, &format!("{head}9\r\n<p>page 9\r\n0\r\n\r\n"));
        let open = record("response", 8, &format!("{head}a\r\n<p>page 8\r\r\n0\r\n\r\n"));
        for ending in ["", "\r\n", "\r\n\r\n", "\n\n"] {
            let whole = [&chunked[..], &open, &chunked[..chunked.len() - 4], ending.as_bytes()].concat();
            let expected = ["1 urn:n:9 page 9", "2 urn:n:8 page 8", "3 urn:n:9 page 9"];
            assert_eq!(read(whole.clone(), 999), expected, "{ending:?}");
            assert_eq!(read(gzip(&whole), 999), expected, "{ending:?}");
        }
        let members: Vec<u8> = [&chunked, &open, &chunked].iter().flat_map(|record| gzip(record)).collect();
        assert_eq!(read(members, 999).len(), 3);
    }

    #[test]
    fn reading_goes_on_after_a_damaged_record() {
        let check = |damaged: Vec<u8>, reason: &str| {
            let mut records = sample();
            records[4] = damaged;
            let read = read(records.concat(), 999);
            assert!(read[1].contains(reason), "{read:?} should say {reason}");
            assert_eq!([&read[0], read.last().unwrap()], [WHOLE[0], WHOLE[2]]);
            assert_eq!(read.len(), 3, "{read:?}");
        };
        let text = String::from_utf8(page(4)).unwrap();
        check(text.replace("content-length", "content-width").into_bytes(), "names no length");
        check(text.replace("<p>", "<p>more than it says").into_bytes(), "length is wrong");
        check(text.replace("WARC/1.0", "WORC/1.0").into_bytes(), "no record begins");
        check(record("response", 4, "HELLO"), "no HTTP response");
        let long = record("response", 4, &"x".repeat(2_000));
        check(long, "longer than 999 bytes");
    }

    #[test]
    fn a_member_that_is_damaged_costs_itself() {
        let mut members: Vec<Vec<u8>> = sample().iter().map(|record| gzip(record)).collect();
        let middle = members[4].len() / 2;
        members[4][middle] ^= 0x55;
        let read = read(members.concat(), 999);
        assert_eq!([&read[0], read.last().unwrap()], [WHOLE[0], WHOLE[2]], "{read:?}");
        assert!(read[1].contains("a damaged record"), "{read:?}");
    }

    #[test]
    fn a_file_cut_or_changed_anywhere_is_read_to_its_end() {
        let plain = sample().concat();
        let packed: Vec<u8> = sample().iter().flat_map(|record| gzip(record)).collect();
        for whole in [plain, packed] {
            for place in 0..whole.len() {
                for row in read(whole[..place].to_vec(), 999) {
                    assert!(
                        WHOLE.contains(&&*row)
                            || ["damaged", "stopped", "left out"].iter().any(|part| row.contains(part)),
                        "{row}"
                    );
                }
                let mut changed = whole.clone();
                changed[place] ^= 1 << (place % 8);
                read(changed, 999);
            }
        }
    }
}
