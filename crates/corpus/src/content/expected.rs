//! Unpacked content that is checked when it is first read. Of content that comes only once, as from
//! a pipe, the name says nothing, and the beginning may.

use std::io::{self, Read};

use super::super::archive_kind::Archive;
use super::super::compression;
use super::super::format::Format;
use super::{Content, HEAD_BYTES, PACKED_PARQUET, PACKED_ZIP};

/// Returns the unpacked content of `raw`. The first read fails if the content plainly is not of
/// `format`.
pub(crate) fn unpacked(
    raw: impl Read + Send + 'static,
    format: Format,
    window_log_max: u32,
) -> io::Result<Expected> {
    let opened = compression::open(raw, window_log_max)?;
    let (inner, is_packed) = (opened.content, opened.is_packed);
    Ok(Expected {
        inner,
        is_packed,
        is_once: false,
        format: Some(format),
        head: Vec::new(),
        at: 0,
        is_looked_at: false,
        failure: None,
    })
}

/// Unpacked content whose first read checks its format.
pub(crate) struct Expected {
    inner: Box<dyn Read + Send>,
    is_packed: bool,
    /// True for content that comes only once.
    is_once: bool,
    /// The expected format, until checked.
    format: Option<Format>,
    /// Bytes at the beginning, of which those from `at` on were not handed on yet.
    head: Vec<u8>,
    at: usize,
    is_looked_at: bool,
    /// Error met behind these bytes.
    failure: Option<io::Error>,
}

impl Expected {
    /// Says that the content comes only once, and so is not read in parts.
    pub(crate) fn of_once(self, is_once: bool) -> Self {
        Self { is_once, ..self }
    }

    /// Returns the format that the content plainly has; it is then expected.
    pub(crate) fn found(&mut self) -> Option<Format> {
        self.look();
        match Content::of(&self.head) {
            Some(Content::Known(format)) if format != Format::Parquet => Some(*self.format.insert(format)),
            _ => None,
        }
    }

    /// Returns true if the content is a tar archive, which is then read without a check.
    pub(crate) fn is_tar(&mut self) -> bool {
        self.look();
        let is_tar = Content::of(&self.head) == Some(Content::Archive(Archive::Tar));
        if is_tar {
            self.format = None;
        }
        is_tar
    }

    /// Reads the bytes to be checked, in one piece: a pipe may deliver them byte by byte.
    fn look(&mut self) {
        if std::mem::replace(&mut self.is_looked_at, true) {
            return;
        }
        let mut n = 0;
        self.head.resize(HEAD_BYTES, 0);
        while n < HEAD_BYTES && !is_line_of_json(&self.head[..n]) {
            match self.inner.read(&mut self.head[n..]) {
                Ok(0) => break,
                Ok(more) => n += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure = Some(error);
                    break;
                }
            }
        }
        self.head.truncate(n);
    }
}

impl Read for Expected {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.look();
        if let Some(format) = self.format.take() {
            let content = match Content::of(&self.head) {
                Some(Content::Known(Format::Parquet)) if self.is_packed => Some(PACKED_PARQUET),
                content => content,
            };
            let complaint = content.and_then(|content| match self.is_once {
                true => complaint_of_once(content, format),
                false => content.complaint(format),
            });
            if let Some(complaint) = complaint {
                self.head.clear();
                return Err(io::Error::other(format!("the file {complaint}")));
            }
        }
        let rest = &self.head[self.at.min(self.head.len())..];
        if !rest.is_empty() {
            let n = rest.len().min(buffer.len());
            buffer[..n].copy_from_slice(&rest[..n]);
            self.at += n;
            return Ok(n);
        }
        self.failure.take().map_or_else(|| self.inner.read(buffer), Err)
    }
}

/// Returns the reason why content that comes only once cannot be read as `format`, if it is
/// something else.
fn complaint_of_once(content: Content, format: Format) -> Option<String> {
    let (what, name) = match content {
        Content::Known(Format::Parquet) | PACKED_PARQUET => ("Parquet", "not packed"),
        Content::Archive(Archive::Zip) | PACKED_ZIP => ("a ZIP archive", "with a name that ends in .zip"),
        content => return content.complaint(format),
    };
    Some(format!(
        "is {what}, which begins with its end and is not read as it comes; write it to a file first, {name}"
    ))
}

/// Returns true for a beginning that only JSON Lines have. A writer may write one line and wait.
fn is_line_of_json(head: &[u8]) -> bool {
    let member = head.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    member.is_some_and(|member| member.starts_with(b"\"")) && head.contains(&b'\n')
}
