//! What any run over an input may be asked, whatever becomes of the documents.

use std::path::PathBuf;

use corpus::{FieldPath, GivenFields, InputOptions};
use index::Source;
use serde::Serialize;

use crate::journal::values;
use crate::shard::Shard;

/// A run over an input.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct JobOptions {
    #[serde(flatten)]
    pub(crate) input: InputOptions,
    /// None for a command that keeps nothing, which needs no sources.
    #[serde(flatten)]
    pub(crate) source: Option<SourceOptions>,
    /// Where the records have their features, where these are not made of texts.
    #[serde(flatten)]
    pub(crate) given: Option<GivenFields>,
    /// Where the records that could not be taken are written.
    #[serde(serialize_with = "values::path")]
    pub(crate) rejects: Option<PathBuf>,
    /// The part of the documents to take, if it is not all; of `--shard` or `--shards`.
    #[serde(rename = "the shard", serialize_with = "values::shown")]
    pub(crate) shard: Option<Shard>,
    /// None for one thread for each core. Documents come in the order of the input, however many there are.
    #[serde(skip)]
    pub(crate) n_threads: Option<u16>,
    /// Only what is said on the way is less.
    #[serde(skip)]
    pub(crate) quiet: bool,
}

/// Where the documents come from.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct SourceOptions {
    /// Of records that do not say.
    #[serde(serialize_with = "values::shown")]
    pub(crate) source: Option<Source>,
    pub(crate) source_field: FieldPath,
}

#[cfg(test)]
impl JobOptions {
    /// A run over files as it is where nothing else is asked for, and says nothing.
    pub(crate) fn over(input: InputOptions) -> Self {
        Self { input, source: None, given: None, rejects: None, shard: None, n_threads: None, quiet: true }
    }
}
