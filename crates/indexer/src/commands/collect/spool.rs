//! The items that a round keeps, in the order of its input, before they are sorted into files.
//!
//! Two lines for each: what is known of it, and the line that stands for it in an output.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use anyhow::Context;
use index::Source;
use serde::{Deserialize, Serialize};

use super::shelf::Shelf;
use crate::job::Item;
use crate::journal::Lengths;
use crate::output::Output;

pub(super) struct Spool(Output);

/// What is known of an item.
#[derive(Serialize, Deserialize)]
pub(super) struct Head<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) source: Option<Cow<'a, str>>,
    /// Milliseconds since 1970.
    pub(super) time_ms: i64,
    /// Where the results have a column for it.
    pub(super) text: Cow<'a, str>,
}

impl Spool {
    pub(super) fn new(output: Output) -> Self {
        Self(output)
    }

    pub(super) fn add(&mut self, item: &Item, time_ms: i64) -> anyhow::Result<()> {
        let features = &item.features;
        let head = Head {
            id: features.id.as_str().into(),
            source: features.source.as_ref().map(|source| source.as_str().into()),
            time_ms,
            text: (&*features.text).into(),
        };
        let mut write = || -> io::Result<()> {
            serde_json::to_writer(&mut self.0, &head)?;
            self.0.write_all(b"\n")?;
            self.0.write_all(&item.line)?;
            self.0.write_all(b"\n")
        };
        write().map_err(|error| self.0.failed(error))
    }

    pub(super) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        self.0.checkpoint(lengths)
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.0.finish()
    }
}

/// Goes over the items of a spool that was finished.
pub(super) fn read(
    path: &Path,
    mut take: impl FnMut(Shelf, &Head<'_>, &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let failed = || format!("failed to read {}", path.display());
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).with_context(failed)?);
    let (mut head, mut line) = (Vec::new(), Vec::new());
    while read_line(&mut reader, &mut head).with_context(failed)? {
        read_line(&mut reader, &mut line).with_context(failed)?;
        let head: Head<'_> = serde_json::from_slice(&head).with_context(failed)?;
        let source = head.source.as_deref().map(Source::new).transpose().with_context(failed)?;
        take(Shelf::new(source, head.time_ms), &head, &line)?;
    }
    Ok(())
}

/// The next line without its end; false where there is none.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let n_bytes = reader.read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Ok(n_bytes > 0)
}
