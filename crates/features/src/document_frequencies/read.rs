//! Reading one, term by term, with nothing believed that was changed since it was written.

use std::fmt;
use std::io::{self, BufRead};

use sha2::{Digest as _, Sha256};

use super::Header;
use super::write::last_line;
use crate::{Digest, LineError};

/// Reads a file of document frequencies.
///
/// What it hands out is right only if it comes to the end without an error: the checksum is in the last line.
pub struct Reader<R> {
    header: Header,
    lines: Lines<R>,
    /// The term before the present one.
    previous: String,
    n_terms: u64,
}

/// Why a file of document frequencies cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// The system's reason.
    Io(io::Error),
    /// It is not what was written.
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

    /// What stands above the terms.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The next term, and the number of documents it occurs in; `None` at the end of a whole file.
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

    /// Whether the present line is the last one, as it must be. No term's line is like it: 64 digits are too many for a
    /// count.
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

/// The lines of such a file.
pub(super) struct Lines<R> {
    input: R,
    /// The present one, with its end.
    line: Vec<u8>,
    /// Its number, from 1.
    number: usize,
    /// Over all lines before it.
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

    /// The present line without its end; [`Lines::next`] has seen that it is UTF-8.
    pub(super) fn present(&self) -> &str {
        std::str::from_utf8(&self.line).unwrap_or_default().trim_end_matches('\n')
    }

    /// Refuses whatever follows.
    fn end(&mut self) -> Result<(), ReadError> {
        self.line.clear();
        self.number += 1;
        match self.input.read_until(b'\n', &mut self.line).map_err(ReadError::Io)? {
            0 => Ok(()),
            _ => Err(self.error("something follows the last line")),
        }
    }

    /// Something is wrong with the present line.
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
