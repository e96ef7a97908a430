//! Outputs that are written and closed, and get their names at the end of the run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use tempfile::TempPath;

use super::partial::Reached;
use super::{Lengths, partial_of_job, sum_of, sync_names};
use crate::stop::left_over;

/// An output that is written and closed, under the name of a partial file or its own.
pub(super) struct Whole {
    pub(super) path: PathBuf,
    pub(super) partial: Option<ClosedPartial>,
    pub(super) len: u64,
    pub(super) crc32: Option<u32>,
}

pub(super) enum ClosedPartial {
    Temporary(TempPath),
    Journalled(PathBuf),
}

impl Whole {
    /// A part of a job as of a checkpoint.
    pub(super) fn journalled(
        path: PathBuf,
        job: &str,
        reached: Reached,
        is_written: bool,
    ) -> anyhow::Result<Self> {
        let partial = partial_of_job(&path, job);
        let is_at = |path: &Path| reached.is_at(path).unwrap_or(false);
        let Reached { len, crc32 } = reached;
        if is_at(&partial) {
            left_over::kept_for_the_job(&partial);
            return Ok(Self { path, partial: Some(ClosedPartial::Journalled(partial)), len, crc32 });
        }
        // It was moved into its place before the run broke off.
        ensure!(
            is_written && is_at(&path),
            "{} is not what was written up to the checkpoint",
            partial.display()
        );
        Ok(Self { path, partial: None, len, crc32 })
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.partial.is_none()
    }

    /// Moves the file into its place.
    pub(super) fn put(self) -> anyhow::Result<()> {
        let path = &self.path;
        let put = || match self.partial {
            None => Ok(()),
            Some(ClosedPartial::Temporary(partial)) => partial.persist(path).map_err(|error| error.error),
            Some(ClosedPartial::Journalled(partial)) => {
                fs::rename(&partial, path)?;
                // The journal will say that the file exists.
                sync_names(path)
            }
        };
        put().with_context(|| format!("failed to write {}", path.display()))
    }

    /// Adds the length and the checksum to those of a checkpoint.
    pub(super) fn note(&self, key: &str, lengths: &mut Lengths) {
        lengths.insert(key.to_owned(), self.len);
        lengths.extend(self.crc32.map(|crc32| (sum_of(key), u64::from(crc32))));
    }
}
