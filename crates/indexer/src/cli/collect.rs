//! The arguments of `indexer collect`.

use std::path::PathBuf;

use clap::Args;
use corpus::FieldPath;
use program::flags::{PageArgs, RecipeArgs, RecordArgs, StoreArgs};

use super::{SourceArgs, WorkArgs};
use crate::output::ResultsFormat;

#[derive(Debug, Args)]
pub(crate) struct CollectArgs {
    /// Take files from this folder, and the folders in it, as they appear
    ///
    /// A file counts as whole: its writer writes it under a name that begins with a dot or ends in
    /// .tmp, .part or .partial, or beside the folder, and renames it then. (As far as can be told
    /// from outside, one that is written in place is left alone: until two seconds have passed
    /// since the last write.) Files that have been taken lie in .taken/ROUND/ in that folder, and
    /// what the collector has to remember in .collector/. A file that is not taken, as its name
    /// does not say what it is or it cannot be opened, stays where it is and is named once.
    #[arg(long, value_name = "DIR", help_heading = "Collecting")]
    pub(crate) watch: PathBuf,
    /// Write the items that stay to this folder: source=NAME/date=2026-01-31/half=am/ROUND.jsonl
    ///
    /// Hive-style folders, by source and half day (UTC); items without a source are in
    /// source=__HIVE_DEFAULT_PARTITION__. A file appears when it is whole and never changes; its
    /// name is its round's, which begins with a time, and no other collector's. What was rejected
    /// is in _rejects/date=…/half=…/ROUND.jsonl.
    #[arg(long, value_name = "DIR", help_heading = "Collecting")]
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
    pub(crate) every_seconds: u64,
    /// Delete the files that were taken once their items are in the results, but for those with
    /// rejected items
    #[arg(long, help_heading = "Collecting")]
    pub(crate) delete: bool,
    /// Collect what is there, and end
    #[arg(long, help_heading = "Collecting")]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    #[command(flatten)]
    pub(crate) pages: PageArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
}
