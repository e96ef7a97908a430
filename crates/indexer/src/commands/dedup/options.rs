//! Options of a deduplication.

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
    /// Described by [`StoreOptions::asked`], which reads files.
    #[serde(skip)]
    pub(crate) store: StoreOptions,
    /// Excludes reports, clusters and dry runs, and requires an output.
    #[serde(flatten)]
    pub(crate) journal: Option<JournalOptions>,
    pub(crate) keep: Keep,
    /// Serialized only where given, because older journals lack it.
    #[serde(serialize_with = "values::shown", skip_serializing_if = "Option::is_none")]
    pub(crate) contained: Option<Similarity>,
    pub(crate) time_field: Option<FieldPath>,
    /// Serialized only where not the default, because older journals lack it.
    #[serde(serialize_with = "values::text", skip_serializing_if = "is_usual")]
    pub(crate) known_ids: KnownIds,
    /// The ranking of documents, derived from the two above.
    #[serde(skip)]
    pub(crate) rank_by: Option<RankBy>,
    /// The folder for kept texts, for an index in memory. The results do not depend on it.
    #[serde(skip)]
    pub(crate) spool: Option<PathBuf>,
    #[serde(serialize_with = "values::path")]
    pub(crate) output: Option<PathBuf>,
    #[serde(serialize_with = "values::path")]
    pub(crate) duplicates: Option<PathBuf>,
    /// `None` with a journal.
    #[serde(skip)]
    pub(crate) clusters: Option<PathBuf>,
    /// `None` with a journal.
    #[serde(skip)]
    pub(crate) pairs: Option<PathBuf>,
    /// Treatment of chained clusters.
    #[serde(skip)]
    pub(crate) chains: Chains,
    /// Empty with a journal.
    #[serde(skip)]
    pub(crate) report: Vec<Target>,
    /// False with a journal.
    #[serde(skip)]
    pub(crate) dry_run: bool,
    /// Groups to print without an output file; a journal requires an output.
    #[serde(skip)]
    pub(crate) groups: usize,
}

fn is_usual(known_ids: &KnownIds) -> bool {
    *known_ids == KnownIds::default()
}

impl DedupOptions {
    /// The description of the job for a journal.
    pub(crate) fn description(&self) -> anyhow::Result<Description> {
        Description::new("dedup").with(self)?.with(&self.store.asked())
    }
}
