//! Counting in how many documents each term occurs, in bounded memory.
//!
//! Counts that do not fit into memory are written to temporary files, which are of the format of the result: the file of
//! a part of the corpus. So adding up what was set aside, and adding up the parts that several runs have counted, are one
//! thing. The format is `features`' own.

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

/// The file that a command leaves.
pub(crate) struct Target {
    output: Output,
    min_df: u64,
}

impl Target {
    /// A file without the terms of fewer documents.
    pub(crate) fn create(path: &Path, min_df: u64) -> anyhow::Result<Self> {
        Role::Frequencies.of(path).with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(Self { output: Output::create(path)?, min_df })
    }

    /// Writes the sum of some parts, of which there is one at least.
    pub(crate) fn write_sum(self, parts: Vec<Part>) -> anyhow::Result<Frequencies> {
        let header = merge::header_of_sum(&parts)?;
        self.write(header, |emit| merge::merge(parts, emit))
    }

    /// Writes what `counts` hands out, sorted by term.
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
