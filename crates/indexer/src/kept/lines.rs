//! Kept documents as lines, in one file or in parts with a header each.

use std::io::Write;
use std::path::Path;

use crate::journal::Journal;
use crate::output::{Lengths, OUTPUT, Output, Parts};

/// The key of the lines in the part that is being written, among the lengths.
const LINES_IN_PART: &str = "lines in the last part of --output";

pub(crate) struct LinesOutput {
    output: Output,
    /// The line of names in front of each file; empty for none.
    header: Vec<u8>,
    parts: Option<Parts>,
    /// Lines in the file, without the header.
    n_lines: u64,
}

impl LinesOutput {
    pub(super) fn open(
        path: &Path,
        bytes_max: Option<u64>,
        header: Vec<u8>,
        journal: Option<&Journal>,
    ) -> anyhow::Result<Self> {
        let mut parts = super::parts_of(path, bytes_max, journal)?;
        let output = match (&mut parts, journal) {
            (Some(parts), None) => parts.next()?,
            (Some(parts), Some(journal)) => journal.output(OUTPUT, &parts.path())?,
            (None, Some(journal)) => journal.output(OUTPUT, path)?,
            (None, None) => Output::create(path)?,
        };
        let n_lines = journal.and_then(|journal| journal.checkpoint().lengths.get(LINES_IN_PART).copied());
        let mut lines = Self { output, header, parts, n_lines: n_lines.unwrap_or(0) };
        if lines.output.is_new() {
            lines.begin()?;
        }
        Ok(lines)
    }

    pub(super) fn add(&mut self, line: &[u8]) -> anyhow::Result<()> {
        if let Some(parts) = &mut self.parts
            && self.n_lines > 0
            && !self.output.fits(line.len() as u64 + 1, parts.bytes_max())?
        {
            // In this order, because the next part has a number of its own.
            let whole = std::mem::replace(&mut self.output, Output::in_place(parts.path()));
            parts.add(whole)?;
            self.output = parts.next()?;
            self.begin()?;
        }
        self.n_lines += 1;
        self.write(line)
    }

    pub(super) fn hand_on(&mut self) -> anyhow::Result<()> {
        self.output.hand_on()
    }

    pub(super) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        if let Some(parts) = &self.parts {
            parts.checkpoint(lengths);
            lengths.insert(LINES_IN_PART.to_owned(), self.n_lines);
        }
        self.output.checkpoint(lengths)
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self.parts {
            None => self.output.finish(),
            Some(mut parts) => {
                parts.add(self.output)?;
                parts.finish()
            }
        }
    }

    /// Begins a file.
    fn begin(&mut self) -> anyhow::Result<()> {
        self.n_lines = 0;
        let header = std::mem::take(&mut self.header);
        let written = if header.is_empty() { Ok(()) } else { self.write(&header) };
        self.header = header;
        written
    }

    fn write(&mut self, line: &[u8]) -> anyhow::Result<()> {
        let written = self.output.write_all(line).and_then(|()| self.output.write_all(b"\n"));
        written.map_err(|error| self.output.failed(error))
    }
}
