//! Options common to all runs over an input.

use std::path::PathBuf;

use clap::{Args, value_parser};
use corpus::{FieldPath, GivenFields, InputOptions};
use index::Source;
use serde::Serialize;

use crate::flag_values::bytes;
use crate::journal::values;
use crate::output::Replacing;
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
    /// Without effect on the result.
    #[serde(skip)]
    pub(crate) replacing: Replacing,
    /// True if a run goes on whose records are all rejected; without effect on what it writes.
    #[serde(skip)]
    pub(crate) keeps_going: bool,
    /// The part of the documents to take, by `--shard` or `--shards`; `None` for all.
    #[serde(rename = "the shard", serialize_with = "values::shown")]
    pub(crate) shard: Option<Shard>,
    /// The results do not depend on it.
    #[serde(skip)]
    pub(crate) work: WorkOptions,
}

/// Sources of the documents.
#[derive(Clone, Debug, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Input")]
pub(crate) struct SourceOptions {
    /// Where the documents come from, a name by which `pigeonhole remove --source` removes them all
    ///
    /// A record that has a field for it (--source-field) comes from there. A document that is in
    /// the index already, with the same fingerprint, keeps the source that it has. Example:
    /// --source crawl-2026-01
    #[arg(long, value_name = "NAME")]
    #[serde(serialize_with = "values::shown")]
    pub(crate) source: Option<Source>,
    /// The field that holds a document's source, a string or an integer of 1 to 255 bytes; it may
    /// be missing or null
    #[arg(long, value_name = "FIELD", default_value = "source", env = "PIGEONHOLE_SOURCE_FIELD")]
    pub(crate) source_field: FieldPath,
}

/// The manner of a run, which does not change the result.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct WorkOptions {
    /// Threads that fingerprint [default: one for each core]
    #[arg(long, value_name = "N", env = "PIGEONHOLE_THREADS", value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Take at most this much memory: 1GB, 500MB, 2GiB [default: what the container allows or the
    /// machine has free]
    ///
    /// `dedup` without --store holds what stays in memory. Before that passes the limit, it turns
    /// to files in the folder of --temp, reads the input twice, and keeps, drops and writes the
    /// same; standard input and pipes from a copy there. Where there is no room for a copy, and in
    /// any other command, the run stops in order before it takes more. Pages of files that the
    /// system holds in free memory do not count.
    #[arg(long, value_name = "SIZE", value_parser = bytes(), env = "PIGEONHOLE_MEMORY_MAX")]
    pub(crate) memory_max: Option<u64>,
    /// No progress on stderr, and for `fingerprint` no report
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl WorkOptions {
    /// Limits the memory of this process, where its user asks for that.
    pub(crate) fn limit_memory(&self) {
        self.memory_max.into_iter().for_each(program::limit_memory);
    }
}

#[cfg(test)]
impl JobOptions {
    /// A quiet run over files with the default options.
    pub(crate) fn over(input: InputOptions) -> Self {
        Self {
            input,
            source: None,
            given: None,
            rejects: None,
            replacing: Replacing::default(),
            keeps_going: false,
            shard: None,
            work: WorkOptions { threads: None, memory_max: None, quiet: true },
        }
    }
}
