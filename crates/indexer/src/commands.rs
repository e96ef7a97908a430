//! The subcommands, one file each.

mod bulk_rows;
mod collect;
mod dedup;
mod export;
mod fingerprint;
mod idf;
mod idf_merge;
mod index;
mod pairs;
mod reindex;

use std::path::Path;

use anyhow::bail;

pub(crate) use self::bulk_rows::BulkRowsOptions;
pub(crate) use self::dedup::{DedupFlags, DedupOptions};
pub(crate) use self::export::{ExportFlags, ExportOptions};
pub(crate) use self::fingerprint::FingerprintOptions;
pub(crate) use self::idf::{IdfFlags, IdfOptions};
pub(crate) use self::idf_merge::IdfMergeOptions;
pub(crate) use self::index::IndexOptions;
pub(crate) use self::pairs::{PairsFlags, PairsOptions};
pub(crate) use self::reindex::ReindexOptions;
use crate::collect::CollectOptions;
use crate::job::Job;
use crate::progress::complain;

/// A command and its options.
#[derive(Debug)]
pub(crate) enum Task {
    Fingerprint(FingerprintOptions),
    Index(IndexOptions),
    BulkRows(BulkRowsOptions),
    Dedup(Box<DedupOptions>),
    Collect(Box<CollectOptions>),
    Export(ExportOptions),
    Reindex(Box<ReindexOptions>),
    Pairs(PairsOptions),
    Idf(IdfOptions),
    IdfMerge(IdfMergeOptions),
}

/// Runs a command and returns the number of rejected records.
pub(crate) fn run(task: &Task) -> anyhow::Result<u64> {
    let report = match task {
        Task::Fingerprint(options) => fingerprint::run(options)?,
        Task::Index(options) => index::run(options)?,
        Task::BulkRows(options) => bulk_rows::run(options)?,
        Task::Dedup(options) => dedup::run(options)?,
        Task::Collect(options) => collect::run(options)?,
        Task::Export(options) => return export::run(options).map(|()| 0),
        Task::Reindex(options) => return reindex::run(options),
        Task::Pairs(options) => return pairs::run(options).map(|()| 0),
        Task::Idf(options) => idf::run(options)?,
        Task::IdfMerge(options) => return idf_merge::run(options).map(|()| 0),
    };
    Ok(report.n_rejected)
}

/// Reports that the journal marks the job as done. Fails if `outputs`, each with its role, have
/// changed.
fn say_done<'a>(job: &Job, outputs: impl Iterator<Item = (&'static str, &'a Path)>) -> anyhow::Result<()> {
    if let Some(journal) = job.journal() {
        let folder = journal.folder().display();
        if let Some((output, what)) = journal.changed_output(outputs) {
            bail!(
                "this job was done before, and {} {what}; to do it once more remove its journal {folder}",
                output.display()
            );
        }
        complain(format_args!("this job was done before; to do it once more remove its journal {folder}"));
    }
    Ok(())
}
