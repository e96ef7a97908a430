//! Options of a collector.

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
    /// The watched folder. The journal of a round lies in it, and compares the taken files.
    #[serde(skip)]
    pub(crate) watch: PathBuf,
    /// The folder for kept items.
    #[serde(serialize_with = "place")]
    pub(crate) results: PathBuf,
    pub(crate) results_format: ResultsFormat,
    /// The field with the time by which an item is sorted.
    pub(crate) time_field: Option<FieldPath>,
    /// True to write dropped items, too.
    pub(crate) duplicates: bool,
    /// The least time between the beginnings of two rounds. Not in the journal: a round's files are
    /// chosen before it has one.
    #[serde(skip)]
    pub(crate) every: Duration,
    /// True to delete files once their items are in the results. Not in the journal, which has
    /// ended by then.
    #[serde(skip)]
    pub(crate) delete: bool,
    /// True to end when no file waits. Not in the journal: it concerns the time after the last
    /// round.
    #[serde(skip)]
    pub(crate) once: bool,
    /// Described as part of each round's [job](Self::job).
    #[serde(skip)]
    pub(crate) records: RecordOptions,
    /// Described as part of the job.
    #[serde(skip)]
    pub(crate) source: SourceOptions,
    /// `None` for one thread for each core. Described as part of the job.
    #[serde(skip)]
    pub(crate) n_threads: Option<u16>,
    /// Described as part of the job.
    #[serde(skip)]
    pub(crate) quiet: bool,
    /// Described by [`StoreOptions::asked`], which reads files.
    #[serde(skip)]
    pub(crate) store: StoreOptions,
}

impl CollectOptions {
    /// The job of a round, which reads the list of files `taken`.
    pub(crate) fn job(&self, taken: &Path, rejects: &Path) -> JobOptions {
        let input = InputOptions {
            files: vec![taken.to_owned()],
            files_from: None,
            // The files are local: they are not waited for.
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

    /// The description of a round: its options, its job and its journal.
    pub(crate) fn description(
        &self,
        job: &JobOptions,
        journal: &JournalOptions,
    ) -> anyhow::Result<Description> {
        Description::new("collect").with(self)?.with(job)?.with(journal)?.with(&self.store.asked())
    }
}

/// Serializes the place of a folder, which is the same under each of its names.
fn place<S: Serializer>(folder: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    values::path(&Some(place_of(folder)), serializer)
}
