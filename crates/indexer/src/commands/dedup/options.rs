//! What a deduplication may be asked.

use std::path::PathBuf;

use crate::commands::clusters::Chains;
use crate::input::{FieldPath, RankBy};
use crate::job::JobOptions;
use crate::journal::JournalOptions;
use crate::keep::Keep;
use crate::opening::StoreOptions;
use crate::report_file::Target;

#[derive(Debug)]
pub(crate) struct DedupOptions {
    pub(crate) job: JobOptions,
    pub(crate) store: StoreOptions,
    /// It goes neither with reports, clusters nor a dry run, and needs an output.
    pub(crate) journal: Option<JournalOptions>,
    pub(crate) keep: Keep,
    pub(crate) time_field: Option<FieldPath>,
    /// What documents are ranked by, which follows from the two above.
    pub(crate) rank_by: Option<RankBy>,
    pub(crate) output: Option<PathBuf>,
    pub(crate) duplicates: Option<PathBuf>,
    pub(crate) clusters: Option<PathBuf>,
    pub(crate) chains: Chains,
    pub(crate) report: Vec<Target>,
    pub(crate) dry_run: bool,
    /// How many groups are printed where no output file is given.
    pub(crate) groups: usize,
}
