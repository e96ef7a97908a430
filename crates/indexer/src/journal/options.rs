//! Options of a journal.

use std::path::PathBuf;

use serde::Serialize;

/// Place and intervals of a journal.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct JournalOptions {
    /// Not compared: a moved journal is the same one.
    #[serde(skip)]
    pub(crate) folder: PathBuf,
    /// Records between two checkpoints. Checkpoints, and hence calls of a store, fall after the
    /// same records in every run.
    pub(crate) checkpoint_records: u64,
}
