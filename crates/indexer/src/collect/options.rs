//! Options of a collector.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use corpus::{FieldPath, InputOptions, RecordOptions};
use serde::{Serialize, Serializer};

use crate::job::{JobOptions, SourceOptions, WorkOptions};
use crate::journal::{Description, JournalOptions, values};
use crate::opening::StoreOptions;
use crate::output::{Replacing, ResultsFormat, place_of};

/// Records between two checkpoints of a round.
const CHECKPOINT_RECORDS: u64 = 65_536;

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct CollectOptions {
    #[serde(flatten)]
    pub(crate) flags: CollectFlags,
    /// Described as part of each round's [job](Self::job).
    #[serde(skip)]
    pub(crate) records: RecordOptions,
    /// Described as part of the job.
    #[serde(skip)]
    pub(crate) source: SourceOptions,
    /// Described as part of the job.
    #[serde(skip)]
    pub(crate) work: WorkOptions,
    /// Described by [`StoreOptions::asked`], which reads files.
    #[serde(skip)]
    pub(crate) store: StoreOptions,
}

/// The flags of this command alone.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct CollectFlags {
    /// Take files from this folder, and the folders in it, as they appear
    ///
    /// A file counts as whole: its writer writes it under a name that begins with a dot or ends in
    /// .tmp, .part or .partial, or beside the folder, and renames it then. (As far as can be told
    /// from outside, one that is written in place is left alone: until two seconds have passed
    /// since the last write.) Files that have been taken lie in .taken/ROUND/ in that folder, and
    /// what the collector has to remember in .collector/. A file that is not taken, as its name
    /// does not say what it is or it cannot be opened, stays where it is and is named once.
    #[arg(long, value_name = "DIR", help_heading = "Collecting")]
    // The journal of a round lies in it, and compares the taken files.
    #[serde(skip)]
    pub(crate) watch: PathBuf,
    /// Write the items that stay to this folder: source=NAME/date=2026-01-31/half=am/ROUND.jsonl
    ///
    /// Hive-style folders, by source and half day (UTC); items without a source are in
    /// source=__HIVE_DEFAULT_PARTITION__. A file appears when it is whole and never changes; its
    /// name is its round's, which begins with a time, and no other collector's. What was rejected
    /// is in _rejects/date=…/half=…/ROUND.jsonl.
    #[arg(long, value_name = "DIR", help_heading = "Collecting")]
    #[serde(serialize_with = "place")]
    pub(crate) results: PathBuf,
    /// Format of the items
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", help_heading = "Collecting")]
    pub(crate) results_format: ResultsFormat,
    /// Sort items into half days by the time in this field, not by when they were collected
    ///
    /// A time as RFC 3339 and ISO 8601 have it, in UTC where it has no offset; or seconds or
    /// milliseconds since 1970. An item without one counts as of when it was collected.
    #[arg(long, value_name = "FIELD", help_heading = "Collecting")]
    pub(crate) time_field: Option<FieldPath>,
    /// Also write what was dropped, and for which document: _duplicates/date=…/half=…/ROUND.jsonl
    #[arg(long, help_heading = "Collecting")]
    pub(crate) duplicates: bool,
    /// Begin a round at most so often, or when 64 MiB wait; each writes one file for a source and
    /// half day
    #[arg(long, value_name = "SECONDS", default_value_t = 30, help_heading = "Collecting")]
    // Not in the journal: a round's files are chosen before it has one.
    #[serde(skip)]
    pub(crate) every_seconds: u64,
    /// Delete the files that were taken once their items are in the results, but for those with
    /// rejected items
    #[arg(long, help_heading = "Collecting")]
    // Not in the journal, which has ended by then.
    #[serde(skip)]
    pub(crate) delete: bool,
    /// Collect what is there, and end
    #[arg(long, help_heading = "Collecting")]
    // Not in the journal: it concerns the time after the last round.
    #[serde(skip)]
    pub(crate) once: bool,
}

impl CollectOptions {
    /// The job of a round, which reads the list of files `taken`.
    pub(crate) fn job(&self, taken: &Path, rejects: &Path) -> JobOptions {
        let input = InputOptions {
            files: vec![taken.to_owned()],
            files_from: None,
            // The files are local: they are not waited for.
            wait: Duration::ZERO,
            copies: None,
            records: self.records.clone(),
            make_ids: false,
        };
        JobOptions {
            given: None,
            input,
            source: Some(self.source.clone()),
            rejects: Some(rejects.to_owned()),
            // A round that is begun anew writes its files anew.
            replacing: Replacing { force: true },
            keeps_going: true,
            shard: None,
            work: self.work.clone(),
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
