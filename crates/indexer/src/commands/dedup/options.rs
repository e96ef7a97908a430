//! What a deduplication may be asked.

use std::path::PathBuf;

use corpus::{FieldPath, RankBy};
use engine::dedup::KnownIds;
use minhash::Similarity;
use serde::Serialize;

use crate::clusters::Chains;
use crate::job::JobOptions;
use crate::journal::{Description, JournalOptions, values};
use crate::keep::Keep;
use crate::opening::StoreOptions;
use crate::report_file::Target;

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct DedupOptions {
    #[serde(flatten)]
    pub(crate) job: JobOptions,
    /// To know all that is [asked](StoreOptions::asked) takes files.
    #[serde(skip)]
    pub(crate) store: StoreOptions,
    /// It goes neither with reports, clusters nor a dry run, and needs an output.
    #[serde(flatten)]
    pub(crate) journal: Option<JournalOptions>,
    pub(crate) keep: Keep,
    /// Written down where it was asked for, which journals of before do not know.
    #[serde(serialize_with = "values::shown", skip_serializing_if = "Option::is_none")]
    pub(crate) contained: Option<Similarity>,
    pub(crate) time_field: Option<FieldPath>,
    /// Written down where it is not the usual one, which journals of before do not know.
    #[serde(serialize_with = "values::text", skip_serializing_if = "is_usual")]
    pub(crate) known_ids: KnownIds,
    /// What documents are ranked by, which follows from the two above.
    #[serde(skip)]
    pub(crate) rank_by: Option<RankBy>,
    /// The folder for the texts of what is kept, where the index is in memory. Another one changes nothing.
    #[serde(skip)]
    pub(crate) spool: Option<PathBuf>,
    #[serde(serialize_with = "values::path")]
    pub(crate) output: Option<PathBuf>,
    #[serde(serialize_with = "values::path")]
    pub(crate) duplicates: Option<PathBuf>,
    /// Never with a journal.
    #[serde(skip)]
    pub(crate) clusters: Option<PathBuf>,
    /// Never with a journal.
    #[serde(skip)]
    pub(crate) pairs: Option<PathBuf>,
    /// Of the clusters.
    #[serde(skip)]
    pub(crate) chains: Chains,
    /// Never with a journal.
    #[serde(skip)]
    pub(crate) report: Vec<Target>,
    /// Never with a journal.
    #[serde(skip)]
    pub(crate) dry_run: bool,
    /// How many groups are printed where no output file is given, as one is where there is a journal.
    #[serde(skip)]
    pub(crate) groups: usize,
}

fn is_usual(known_ids: &KnownIds) -> bool {
    *known_ids == KnownIds::default()
}

impl DedupOptions {
    /// The job, where it has a journal.
    pub(crate) fn description(&self) -> anyhow::Result<Description> {
        Description::new("dedup").with(self)?.with(&self.store.asked()?)
    }
}
