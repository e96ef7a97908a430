//! What a collector may be asked.

use std::path::PathBuf;
use std::time::Duration;

use crate::input::{FieldPath, RecordOptions};
use crate::job::SourceOptions;
use crate::opening::StoreOptions;
use crate::output::ResultsFormat;

#[derive(Debug)]
pub(crate) struct CollectOptions {
    /// The folder that files are taken from.
    pub(crate) watch: PathBuf,
    /// The folder that the items that stay are written to.
    pub(crate) results: PathBuf,
    pub(crate) results_format: ResultsFormat,
    /// Holds the time that an item is sorted by.
    pub(crate) time_field: Option<FieldPath>,
    /// Whether what was dropped is written, too.
    pub(crate) duplicates: bool,
    /// The least time between the beginnings of two rounds.
    pub(crate) every: Duration,
    /// Whether files go once their items are in the results.
    pub(crate) delete: bool,
    /// Whether it ends when nothing waits any more.
    pub(crate) once: bool,
    pub(crate) records: RecordOptions,
    pub(crate) source: SourceOptions,
    /// None for one thread for each core.
    pub(crate) n_threads: Option<u16>,
    pub(crate) quiet: bool,
    pub(crate) store: StoreOptions,
}
