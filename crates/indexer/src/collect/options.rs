//! What a collector may be asked.

use std::path::{Path, PathBuf};
use std::time::Duration;

use corpus::{FieldPath, InputOptions, RecordOptions};
use serde::{Serialize, Serializer};

use crate::job::{JobOptions, SourceOptions};
use crate::journal::{Description, JournalOptions, values};
use crate::opening::StoreOptions;
use crate::output::{ResultsFormat, place_of};

/// Records between two checkpoints of a round.
const CHECKPOINT_RECORDS: u64 = 65_536;

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct CollectOptions {
    /// The folder that files are taken from. The journal of a round lies in it, and compares the files that were taken.
    #[serde(skip)]
    pub(crate) watch: PathBuf,
    /// The folder that the items that stay are written to.
    #[serde(serialize_with = "place")]
    pub(crate) results: PathBuf,
    pub(crate) results_format: ResultsFormat,
    /// Holds the time that an item is sorted by.
    pub(crate) time_field: Option<FieldPath>,
    /// Whether what was dropped is written, too.
    pub(crate) duplicates: bool,
    /// The least time between the beginnings of two rounds. What one takes is decided before it has a journal.
    #[serde(skip)]
    pub(crate) every: Duration,
    /// Whether files go once their items are in the results, which is after the round's journal.
    #[serde(skip)]
    pub(crate) delete: bool,
    /// Whether it ends when nothing waits any more, which is after the last round.
    #[serde(skip)]
    pub(crate) once: bool,
    /// In each round's [job](Self::job).
    #[serde(skip)]
    pub(crate) records: RecordOptions,
    /// Likewise.
    #[serde(skip)]
    pub(crate) source: SourceOptions,
    /// None for one thread for each core. Likewise.
    #[serde(skip)]
    pub(crate) n_threads: Option<u16>,
    /// Likewise.
    #[serde(skip)]
    pub(crate) quiet: bool,
    /// To know all that is [asked](StoreOptions::asked) takes files.
    #[serde(skip)]
    pub(crate) store: StoreOptions,
}

impl CollectOptions {
    /// The job of a round, which reads what was `taken`.
    pub(crate) fn job(&self, taken: &Path, rejects: &Path) -> JobOptions {
        let input = InputOptions {
            files: vec![taken.to_owned()],
            files_from: None,
            // They are files of this machine.
            wait: Duration::ZERO,
            records: self.records.clone(),
            make_ids: false,
        };
        JobOptions {
            given: None,
            input,
            source: Some(self.source.clone()),
            rejects: Some(rejects.to_owned()),
            shard: None,
            n_threads: self.n_threads,
            quiet: self.quiet,
        }
    }

    /// The journal of a round.
    pub(crate) fn journal(folder: PathBuf) -> JournalOptions {
        JournalOptions { folder, checkpoint_records: CHECKPOINT_RECORDS }
    }

    /// A round by its job and its journal.
    pub(crate) fn description(
        &self,
        job: &JobOptions,
        journal: &JournalOptions,
    ) -> anyhow::Result<Description> {
        Description::new("collect").with(self)?.with(job)?.with(journal)?.with(&self.store.asked()?)
    }
}

/// The same for one folder, however it is named.
fn place<S: Serializer>(folder: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    values::path(&Some(place_of(folder)), serializer)
}
