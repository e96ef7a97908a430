//! Sorted counts in temporary files.

use std::fs::File;
use std::io::{BufReader, BufWriter, IntoInnerError, Seek};
use std::path::PathBuf;

use anyhow::Context;
use features::document_frequencies::{Header, Writer};

use super::merge::{Part, header_of_sum, merge};

/// Runs of one size before they are merged into one of the next size, which also bounds the open
/// files of a size. Each term is written once more for every size; 32 runs of 256 MiB are 8 GiB of
/// terms, and three sizes hold a few hundred TiB of text.
const RUNS_MAX: usize = 32;

/// Sorted runs in nameless files, which vanish when the process ends in any way.
pub(crate) struct Runs {
    folder: PathBuf,
    /// Runs by size: a run of one level merges [`RUNS_MAX`] of the level before.
    levels: Vec<Vec<Part>>,
    /// The number of tables written.
    pub(crate) n: u64,
}

impl Runs {
    /// Makes temporary files in `folder`.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, levels: Vec::new(), n: 0 }
    }

    /// Writes counts, sorted by term, as a run.
    pub(crate) fn add(&mut self, header: &Header, counts: &[(Box<str>, u64)]) -> anyhow::Result<()> {
        self.n += 1;
        let part = self.write(header, |emit| counts.iter().try_for_each(|(term, n)| emit(term, *n)))?;
        self.add_part(part)
    }

    /// Adds a part without a copy.
    pub(crate) fn add_part(&mut self, mut part: Part) -> anyhow::Result<()> {
        for level in 0.. {
            if level == self.levels.len() {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(part);
            if self.levels[level].len() < RUNS_MAX {
                break;
            }
            let parts = std::mem::take(&mut self.levels[level]);
            let header = header_of_sum(&parts)?;
            part = self.write(&header, |emit| merge(parts, emit))?;
        }
        Ok(())
    }

    /// Removes and returns all runs, few enough to be read at once.
    pub(crate) fn take_parts(&mut self) -> Vec<Part> {
        std::mem::take(&mut self.levels).into_iter().flatten().collect()
    }

    fn write(
        &self,
        header: &Header,
        counts: impl FnOnce(&mut dyn FnMut(&str, u64) -> anyhow::Result<()>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Part> {
        let failed = || format!("failed to write a temporary file in {} (--temp)", self.folder.display());
        let file = tempfile::tempfile_in(&self.folder).with_context(failed)?;
        let mut writer = Writer::new(BufWriter::new(file), header).with_context(failed)?;
        counts(&mut |term, n| writer.push(term, n).with_context(failed))?;
        let (file, _) = writer.finish().with_context(failed)?;
        let mut file: File = file.into_inner().map_err(IntoInnerError::into_error).with_context(failed)?;
        file.rewind().with_context(failed)?;
        Part::new(format!("a temporary file in {}", self.folder.display()), Box::new(BufReader::new(file)))
    }
}
