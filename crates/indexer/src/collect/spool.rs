//! The items kept by a round, in the order of its input, before they are sorted into files.
//!
//! Each item takes two lines: its head after a checksum of both, and its line in an output.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use anyhow::{Context, ensure};
use index::Source;
use serde::{Deserialize, Serialize};

use super::shelf::Shelf;
use crate::output::{Lengths, Output};
use crate::pipeline::Item;

/// Hexadecimal digits of a checksum.
const CHECKSUM_BYTES: usize = 8;

pub(super) struct Spool(Output);

/// The attributes of an item.
#[derive(Serialize, Deserialize)]
pub(super) struct Head<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) source: Option<Cow<'a, str>>,
    /// Milliseconds since 1970.
    pub(super) time_ms: i64,
    /// The text; empty unless the results have a column for it.
    pub(super) text: Cow<'a, str>,
}

impl Spool {
    pub(super) fn new(output: Output) -> Self {
        Self(output)
    }

    pub(super) fn add(&mut self, item: &Item, time_ms: i64) -> anyhow::Result<()> {
        let document = &item.document;
        let head = Head {
            id: document.id.as_str().into(),
            source: document.source.as_ref().map(|source| source.as_str().into()),
            time_ms,
            text: (&*document.text).into(),
        };
        let mut write = || -> io::Result<()> {
            let head = serde_json::to_vec(&head)?;
            write!(self.0, "{} ", checksum(&head, &item.line))?;
            for line in [&*head, &*item.line] {
                self.0.write_all(line)?;
                self.0.write_all(b"\n")?;
            }
            Ok(())
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

/// Reads the items of a finished spool.
pub(super) fn read(
    path: &Path,
    mut take: impl FnMut(Shelf, &Head<'_>, &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let failed = || format!("failed to read {}", path.display());
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).with_context(failed)?);
    let (mut head, mut line) = (Vec::new(), Vec::new());
    while read_line(&mut reader, &mut head).with_context(failed)? {
        read_line(&mut reader, &mut line).with_context(failed)?;
        let (checked, head) = head.split_at(head.len().min(CHECKSUM_BYTES));
        let head = head.strip_prefix(b" ").unwrap_or_default();
        ensure!(
            checked == checksum(head, &line).as_bytes(),
            "{} is damaged, and has what the round has decided; put back a copy of it",
            path.display()
        );
        let head: Head<'_> = serde_json::from_slice(head).with_context(failed)?;
        let source = head.source.as_deref().map(Source::new).transpose().with_context(failed)?;
        take(Shelf::new(source, head.time_ms), &head, &line)?;
    }
    Ok(())
}

fn checksum(head: &[u8], line: &[u8]) -> String {
    let mut hasher = crc32fast::Hasher::new();
    [head, line].into_iter().for_each(|part| hasher.update(part));
    format!("{:08x}", hasher.finalize())
}

/// Reads the next line without its end; returns false at the end of the file.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let n_bytes = reader.read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Ok(n_bytes > 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn items(path: &Path) -> anyhow::Result<Vec<(String, i64, Vec<u8>)>> {
        let mut items = Vec::new();
        read(path, |_, head, line| {
            items.push((head.id.clone().into_owned(), head.time_ms, line.to_vec()));
            Ok(())
        })?;
        Ok(items)
    }

    /// Once the index has the items, only the spool tells which items a round has kept.
    #[test]
    fn items_that_are_not_what_was_written_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("kept");
        let mut whole = Vec::new();
        for n in 1..4 {
            let head = format!(r#"{{"id":"{n}","source":null,"time_ms":{n}00,"text":""}}"#);
            let line = format!(r#"{{"id":"{n}","time_ms":7,"text":"a"}}"#);
            let checksum = checksum(head.as_bytes(), line.as_bytes());
            whole.extend(format!("{checksum} {head}\n{line}\n").into_bytes());
        }
        fs::write(path, &whole).unwrap();
        let expected = items(path).unwrap();
        assert_eq!(expected.len(), 3);
        for place in 0..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[place] ^= 1 << bit;
                fs::write(path, &damaged).unwrap();
                let read = items(path);
                assert!(read.is_err() || read.is_ok_and(|read| read == expected), "bit {bit} of {place}");
            }
        }
    }
}
