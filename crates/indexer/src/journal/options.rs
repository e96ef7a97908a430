//! Whether and how a job keeps a journal.

use std::path::PathBuf;

/// A journal.
#[derive(Clone, Debug)]
pub(crate) struct JournalOptions {
    pub(crate) folder: PathBuf,
    /// Records between two checkpoints.
    pub(crate) checkpoint_records: u64,
}
