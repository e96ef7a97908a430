//! What any run over an input may be asked, whatever becomes of the documents.

use std::path::PathBuf;

use index::Source;

use crate::input::{FieldPath, InputOptions};
use crate::shard::Shard;

/// A run over an input.
#[derive(Clone, Debug)]
pub(crate) struct JobOptions {
    pub(crate) input: InputOptions,
    /// None for a command that keeps nothing, which needs no sources.
    pub(crate) source: Option<SourceOptions>,
    /// Where the records that could not be taken are written.
    pub(crate) rejects: Option<PathBuf>,
    /// The part of the documents to take, if it is not all.
    pub(crate) shard: Option<Shard>,
    /// None for one thread for each core.
    pub(crate) n_threads: Option<u16>,
    pub(crate) quiet: bool,
}

/// Where the documents come from.
#[derive(Clone, Debug)]
pub(crate) struct SourceOptions {
    /// Of records that do not say.
    pub(crate) source: Option<Source>,
    pub(crate) source_field: FieldPath,
}

#[cfg(test)]
impl JobOptions {
    /// A run over files as it is where nothing else is asked for, and says nothing.
    pub(crate) fn over(input: InputOptions) -> Self {
        Self { input, source: None, rejects: None, shard: None, n_threads: None, quiet: true }
    }
}
