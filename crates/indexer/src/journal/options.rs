//! Whether and how a job keeps a journal.

use std::path::PathBuf;

use serde::Serialize;

/// A journal.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct JournalOptions {
    /// It may be moved, and is the same journal.
    #[serde(skip)]
    pub(crate) folder: PathBuf,
    /// Records between two checkpoints. They fall after the same records in every run, so that calls of a store do,
    /// too.
    pub(crate) checkpoint_records: u64,
}
