//! The rows of a table that is made from all of them at the end of the job.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::log::Log;
use crate::output::Lengths;

/// Frames of rows. The writer of the table defines the content of a row.
pub(crate) struct TableLog {
    /// `None` until the job has begun.
    log: Option<Log>,
    path: PathBuf,
    name: &'static str,
    /// Length at the checkpoint.
    len: u64,
    /// Context of an error while reading, with advice.
    unreadable: String,
}

impl TableLog {
    /// Opens the log at a checkpoint, where it had `len` bytes; `None` without a checkpoint.
    pub(super) fn open(
        path: &Path,
        name: &'static str,
        len: Option<u64>,
        unreadable: String,
    ) -> anyhow::Result<Self> {
        let log = len.map(|len| Log::open(path, len, |_: IgnoredAny| {})).transpose();
        let log = log.with_context(|| unreadable.clone())?;
        Ok(Self { log, path: path.to_owned(), name, len: len.unwrap_or(0), unreadable })
    }

    /// Adds a frame of `rows`, unless there are none.
    pub(crate) fn append(&mut self, rows: &[impl Serialize]) -> anyhow::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let append = |log: &mut Log| log.append(&rows);
        self.log().and_then(append).with_context(|| format!("failed to write {}", self.path.display()))
    }

    /// Makes the added rows durable, and adds the length of the log to `lengths`.
    pub(crate) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        let len = self.log().and_then(Log::sync);
        self.len = len.with_context(|| format!("failed to write {}", self.path.display()))?;
        lengths.insert(self.name.to_owned(), self.len);
        Ok(())
    }

    /// Passes all rows up to the checkpoint to `take`, frame by frame.
    pub(crate) fn read<Rows: DeserializeOwned>(
        &self,
        mut take: impl FnMut(Rows) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut taken = Ok(());
        let log = Log::open(&self.path, self.len, |rows| {
            if taken.is_ok() {
                taken = take(rows);
            }
        });
        taken.and(log.map(|_| ()).with_context(|| self.unreadable.clone()))
    }

    fn log(&mut self) -> io::Result<&mut Log> {
        let log = match self.log.take() {
            Some(log) => log,
            None => Log::open(&self.path, 0, |_: IgnoredAny| {})?,
        };
        Ok(self.log.insert(log))
    }
}
