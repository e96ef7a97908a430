//! WARC and WET cut into records: their header lines, a blank line, and the server's answer or the
//! document itself. Records without a document ([`kinds`]) are handed on empty, so that each record
//! of a file is counted. A file without documents ends with a complaint.
//!
//! An unreadable record is reported, and reading resumes at the next line that begins a record. In
//! a file packed record by record, as most are, the next member that can be unpacked begins with
//! such a line. A record with an excessive length gives back what it swallowed of the next ones.

mod body;
mod declaration;
mod head;
mod html;
mod http;
mod kinds;
mod main_text;
mod media;
mod title;
mod unread;

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use head::Head;
use kinds::{Holds, Kinds};
use media::Media;
use unread::Unread;

pub(super) use http::Text;

use super::options::PageText;
use super::reader::RecordReader;
use super::records::{Form, RecordError, Records};

/// Beginning of every record; a version follows.
const MAGIC: &[u8] = b"WARC/";

const HEADER_BYTES_MAX: usize = 64 << 10;

/// Maximum number of failures without a record between them; one more ends the source.
const FAILURES_MAX: usize = 1000;

pub(super) struct Warc<R> {
    reader: Unread<R>,
    /// Number of the record read last, of any type.
    number: u64,
    /// True while the beginning of the next record must be searched for.
    lost: bool,
    n_failures: usize,
    /// Error met behind an intact record.
    failure: Option<io::Error>,
    record_bytes_max: usize,
    /// Records without a document, by type.
    kinds: Kinds,
    /// Last record without a document, before the first with one: a complaint may take its place.
    withheld: Option<u64>,
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
            reader: Unread::new(reader),
            number: 0,
            lost: false,
            n_failures: 0,
            failure: None,
            record_bytes_max,
            kinds: Kinds::default(),
            withheld: None,
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
            if !matches!(found, Ok(Found::End | Found::Other)) {
                self.has_any = true;
                self.withheld.take().into_iter().for_each(|number| records.push_passed_over(number));
            }
            match found {
                Ok(Found::End) => {
                    self.ended = true;
                    if self.withheld.take().is_some()
                        && let Some(complaint) = self.kinds.complaint()
                    {
                        records.push_error(self.number, RecordError::Damaged(complaint));
                    }
                }
                Ok(Found::Document) => records.push(self.number),
                Ok(Found::Other) => {
                    records.discard_pending();
                    let next =
                        if self.has_any { Some(self.number) } else { self.withheld.replace(self.number) };
                    next.into_iter().for_each(|number| records.push_passed_over(number));
                }
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
        let content_start = bytes.len();
        let mut content = self.reader.by_ref().take(len);
        let n_read =
            if fits { content.read_to_end(bytes)? as u64 } else { io::copy(&mut content, &mut io::sink())? };
        let why = if n_read < len {
            "the file ends in the middle of it"
        } else if !self.is_at_record_end() {
            "its length is wrong"
        } else {
            self.n_failures = 0;
            return Ok(match (is_document, fits) {
                (true, true) => Found::Document,
                (true, false) => Found::TooLong,
                (false, _) => {
                    bytes.truncate(content_start);
                    Found::Other
                }
            });
        };
        match next_record(&bytes[content_start..]) {
            Some(next) if self.reader.take_back(&bytes[content_start + next..]) => {
                Ok(Found::Damaged("its length is wrong"))
            }
            _ => Ok(Found::Damaged(why)),
        }
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
        let (mut n_feeds, mut skipped) = (0, Vec::new());
        loop {
            let available = match self.reader.peek(MAGIC.len()) {
                Ok(available) => available,
                Err(error) => {
                    // The next member begins behind the failure.
                    self.reader.forget();
                    self.failure = Some(error);
                    return true;
                }
            };
            let n_blank = available.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            if n_blank == 0 {
                let is_end = n_feeds >= 2 || available.is_empty() || available == MAGIC;
                // What follows may be the rest of the next record's first line.
                if !is_end {
                    self.reader.take_back(&skipped);
                }
                return is_end;
            }
            if skipped.len() < HEADER_BYTES_MAX {
                skipped.extend_from_slice(&available[..n_blank]);
            }
            n_feeds += memchr::memchr_iter(b'\n', &available[..n_blank]).count();
            self.reader.consume(n_blank);
        }
    }
}

/// Returns the place in the content of a record where the next one begins, behind an empty line; at
/// the end of the content it may be a part of the beginning.
fn next_record(content: &[u8]) -> Option<usize> {
    let is_next = |place: &usize| {
        let (before, record) = content.split_at(*place);
        let is_version = record.get(MAGIC.len()).is_none_or(u8::is_ascii_digit);
        is_version && [&b"\n\r\n"[..], b"\n\n"].iter().any(|end| before.ends_with(end))
    };
    let cut = (1..MAGIC.len()).filter(|n| content.ends_with(&MAGIC[..*n])).map(|n| content.len() - n);
    memchr::memmem::find_iter(content, MAGIC).chain(cut).find(is_next)
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
pub(super) fn page_text(page: &[u8], html: PageText) -> Result<Text<'_>, String> {
    http::decoded(Cow::Borrowed(page), None, Some(html))
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

    /// Returns the text of the page; `None` if the record holds no page: an error, a redirection,
    /// an image, or no answer at all.
    pub(super) fn text(&self, html: PageText) -> Result<Option<Text<'a>>, String> {
        let field = |name| self.header.get(name).unwrap_or_default().to_ascii_lowercase();
        let content_type = field("Content-Type");
        let is_html = match Holds::of(&self.header) {
            None => return Ok(None),
            Some(Holds::Document { is_html }) => is_html,
            // Some tools store a page alone where an answer should be.
            Some(Holds::Answer) => match Media::of(&content_type) {
                media @ (Media::Html | Media::Text) if !Head::begins(self.body) => media == Media::Html,
                _ => return http::page_text(self.body, &field("WARC-Identified-Payload-Type"), html),
            },
        };
        let html = is_html.then_some(html);
        http::decoded(Cow::Borrowed(self.body), media::charset(&content_type), html).map(Some)
    }
}

#[cfg(test)]
mod tests;
