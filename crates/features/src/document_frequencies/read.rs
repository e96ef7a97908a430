//! The reader, term by term, which refuses a file that was changed after it was written.

use std::fmt;
use std::io::{self, BufRead};

use sha2::{Digest as _, Sha256};

use super::Header;
use super::write::last_line;
use crate::{Digest, LineError};

/// A reader of a file of document frequencies.
///
/// The terms handed out are right only if the reader reaches the end without an error: the checksum
/// is in the last line.
pub struct Reader<R> {
    header: Header,
    lines: Lines<R>,
    /// The term before the present one.
    previous: String,
    n_terms: u64,
}

/// The reason why a file of document frequencies cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// The system's reason.
    Io(io::Error),
    /// The file is not as it was written.
    Damaged(LineError),
}

const CUT_SHORT: &str = "the file ends without its last line, `# terms …`: it was cut short";

const CHANGED: &str =
    "the file was changed after it was written: its checksum, in the last line, is of something else";

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn new(input: R) -> Result<Self, ReadError> {
        let mut lines = Lines { input, line: Vec::new(), number: 0, before: Sha256::new() };
        Ok(Self { header: Header::read(&mut lines)?, lines, previous: String::new(), n_terms: 0 })
    }

    /// The header above the terms.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the next term with the number of its documents; `None` at the end of a whole file.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn next_term(&mut self) -> Result<Option<(&str, u64)>, ReadError> {
        self.lines.next()?;
        let line = self.lines.present();
        let Some((term, n_documents)) =
            line.rsplit_once(' ').and_then(|(term, n)| Some((term, n.parse().ok()?)))
        else {
            return self.finish().map(|()| None);
        };
        if self.n_terms > 0 && term <= self.previous.as_str() {
            return Err(self.lines.error("the terms are not in order"));
        }
        if !(self.header.min_df.max(1)..=self.header.n_documents).contains(&n_documents) {
            return Err(self.lines.error("a count that the header does not allow"));
        }
        self.n_terms += 1;
        term.clone_into(&mut self.previous);
        Ok(Some((&self.previous, n_documents)))
    }

    /// Checks that the present line is the last one. No term's line is like it: 64 digits are too
    /// many for a count.
    fn finish(&mut self) -> Result<(), ReadError> {
        let line = self.lines.present();
        if !line.starts_with("# terms ") {
            return Err(self.lines.error("expected a term, a space, and a count"));
        }
        let digest = Digest(self.lines.before.clone().finalize().into());
        if line != last_line(self.n_terms, digest) {
            return Err(self.lines.error(CHANGED));
        }
        self.lines.end()
    }
}

/// The lines of a file of document frequencies.
pub(super) struct Lines<R> {
    input: R,
    /// The present line, with its line end.
    line: Vec<u8>,
    /// The number of the present line, from 1.
    number: usize,
    /// The hash of all lines before the present one.
    before: Sha256,
}

impl<R: BufRead> Lines<R> {
    /// Goes on to the next line, which must be there.
    pub(super) fn next(&mut self) -> Result<&str, ReadError> {
        self.before.update(&self.line);
        self.line.clear();
        self.number += 1;
        self.input.read_until(b'\n', &mut self.line).map_err(ReadError::Io)?;
        if !self.line.ends_with(b"\n") {
            return Err(ReadError::Damaged(LineError::new(0, CUT_SHORT, "")));
        }
        match std::str::from_utf8(&self.line) {
            Ok(_) => Ok(self.present()),
            Err(_) => Err(self.error("it is not UTF-8")),
        }
    }

    /// Returns the present line without its line end; [`Lines::next`] has checked its UTF-8.
    pub(super) fn present(&self) -> &str {
        std::str::from_utf8(&self.line).unwrap_or_default().trim_end_matches('\n')
    }

    /// Refuses any line after the last one.
    fn end(&mut self) -> Result<(), ReadError> {
        self.line.clear();
        self.number += 1;
        match self.input.read_until(b'\n', &mut self.line).map_err(ReadError::Io)? {
            0 => Ok(()),
            _ => Err(self.error("something follows the last line")),
        }
    }

    /// Returns an error about the present line.
    pub(super) fn error(&self, reason: &'static str) -> ReadError {
        ReadError::Damaged(LineError::new(self.number, reason, &String::from_utf8_lossy(&self.line)))
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Damaged(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}
