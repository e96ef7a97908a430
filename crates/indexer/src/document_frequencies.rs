//! Counts the documents in which each term occurs, in bounded memory.
//!
//! Counts beyond the memory go to temporary files in the format of the result, each the file of a
//! part of the corpus. Thus one merge adds up temporary files and the parts counted by several
//! runs. The crate `features` defines the format.

mod merge;
mod runs;
mod table;

pub(crate) use merge::Part;
pub(crate) use runs::Runs;
pub(crate) use table::TermTable;

use std::path::Path;

use anyhow::Context;
use features::document_frequencies::{Header, Writer};

use crate::output::{Output, Role};
use crate::report::Frequencies;

/// The result file of a command.
pub(crate) struct Target {
    output: Output,
    min_df: u64,
}

impl Target {
    /// Creates a file that leaves out terms of fewer than `min_df` documents.
    pub(crate) fn create(path: &Path, min_df: u64) -> anyhow::Result<Self> {
        Role::Frequencies.of(path).with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(Self { output: Output::create(path)?, min_df })
    }

    /// Writes the sum of parts, at least one.
    pub(crate) fn write_sum(self, parts: Vec<Part>) -> anyhow::Result<Frequencies> {
        let header = merge::header_of_sum(&parts)?;
        self.write(header, |emit| merge::merge(parts, emit))
    }

    /// Writes the pairs that `counts` emits, sorted by term.
    pub(crate) fn write(
        mut self,
        mut header: Header,
        counts: impl FnOnce(&mut dyn FnMut(&str, u64) -> anyhow::Result<()>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Frequencies> {
        let Self { output, min_df } = &mut self;
        header.min_df = *min_df;
        let failed = {
            let path = output.path().to_owned();
            move |error| anyhow::Error::new(error).context(format!("failed to write {}", path.display()))
        };
        let mut n_terms = 0;
        let mut writer = Writer::new(&mut *output, &header).map_err(&failed)?;
        counts(&mut |term, n_documents| {
            n_terms += 1;
            if n_documents >= *min_df { writer.push(term, n_documents).map_err(&failed) } else { Ok(()) }
        })?;
        let n_written = writer.n_terms();
        let (_, digest) = writer.finish().map_err(&failed)?;
        let min_df = *min_df;
        self.output.finish()?;
        let n_documents = header.n_documents;
        Ok(Frequencies { n_documents, n_terms, min_df, n_written, digest: digest.to_string() })
    }
}
