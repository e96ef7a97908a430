//! The kept rows of the input, for an output made from them at the end.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::ROWS;
use super::log::Log;
use crate::output::Lengths;

/// Index of an input, and row in it.
pub(crate) type Row = (usize, u64);

pub(crate) struct RowsLog {
    /// `None` until the job has begun.
    log: Option<Log>,
    path: PathBuf,
    /// Rows not written yet.
    pending: Vec<Row>,
}

impl RowsLog {
    /// Opens the log at a checkpoint, where it had `len` bytes; `None` without a checkpoint.
    pub(super) fn open(path: &Path, len: Option<u64>, take: impl FnMut(Vec<Row>)) -> io::Result<Self> {
        let log = len.map(|len| Log::open(path, len, take)).transpose()?;
        Ok(Self { log, path: path.to_owned(), pending: Vec::new() })
    }

    pub(crate) fn add(&mut self, row: Row) {
        self.pending.push(row);
    }

    /// Makes the added rows durable, and adds the length of the log to `lengths`.
    pub(crate) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        let mut write = || -> io::Result<u64> {
            let log = match &mut self.log {
                Some(log) => log,
                None => self.log.insert(Log::open(&self.path, 0, |_: Vec<Row>| {})?),
            };
            log.append(&self.pending)?;
            self.pending.clear();
            log.sync()
        };
        let len = write().with_context(|| format!("failed to write {}", self.path.display()))?;
        lengths.insert(ROWS.to_owned(), len);
        Ok(())
    }
}
