//! Options common to all runs over an input.

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
    /// `None` for a command that keeps no documents, and so needs no sources.
    #[serde(flatten)]
    pub(crate) source: Option<SourceOptions>,
    /// The fields of given features; `None` if features are made from texts.
    #[serde(flatten)]
    pub(crate) given: Option<GivenFields>,
    /// The file for rejected records.
    #[serde(serialize_with = "values::path")]
    pub(crate) rejects: Option<PathBuf>,
    /// The part of the documents to take, by `--shard` or `--shards`; `None` for all.
    #[serde(rename = "the shard", serialize_with = "values::shown")]
    pub(crate) shard: Option<Shard>,
    /// `None` for one thread for each core. The order of the documents does not depend on it.
    #[serde(skip)]
    pub(crate) n_threads: Option<u16>,
    /// True to reduce the messages during the run; the results do not depend on it.
    #[serde(skip)]
    pub(crate) quiet: bool,
}

/// Sources of the documents.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct SourceOptions {
    /// The source of records without one.
    #[serde(serialize_with = "values::shown")]
    pub(crate) source: Option<Source>,
    pub(crate) source_field: FieldPath,
}

#[cfg(test)]
impl JobOptions {
    /// A quiet run over files with the default options.
    pub(crate) fn over(input: InputOptions) -> Self {
        Self { input, source: None, given: None, rejects: None, shard: None, n_threads: None, quiet: true }
    }
}
