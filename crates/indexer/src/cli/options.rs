//! Conversion of arguments to options. Commands know only options; this module knows both, and
//! refuses bad combinations of arguments.

use std::env::{self, VarError};
use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use corpus::InputOptions;
use engine::dedup::KnownIds;
use features::Weights;
use index::Mode;
use program::flags::{IdArgs, RecipeArgs, StoreArgs};

use super::{
    BulkRowsArgs, CollectArgs, Command, DedupArgs, FingerprintArgs, IdfArgs, IndexArgs, InputArgs,
    JournalArgs, RunArgs,
};
use crate::collect::CollectOptions;
use crate::commands::{
    BulkRowsOptions, DedupFlags, DedupOptions, FingerprintOptions, IdfOptions, IndexOptions, Task,
};
use crate::job::{JobOptions, SourceOptions};
use crate::journal::JournalOptions;
use crate::opening::{RecipeOptions, StoreOptions};
use crate::output::Numbered;
use crate::shard::Shard;

/// Variable in which Kubernetes gives the number of a worker of an Indexed Job, from 0.
const JOB_COMPLETION_INDEX: &str = "JOB_COMPLETION_INDEX";

impl Command {
    /// The task of the command; `None` for a request for a manual.
    pub(crate) fn task(self) -> anyhow::Result<Option<Task>> {
        Ok(Some(match self {
            Self::Fingerprint(args) => Task::Fingerprint(args.options()?),
            Self::Index(args) => Task::Index(args.options()?),
            Self::BulkRows(args) => Task::BulkRows(args.options()?),
            Self::Dedup(args) => Task::Dedup(Box::new(args.options()?)),
            Self::Collect(args) => Task::Collect(Box::new(args.options()?)),
            Self::Export(args) => Task::Export(args.options()?),
            Self::Import(args) => args.task()?,
            Self::Reindex(args) => Task::Reindex(Box::new(args.options()?)),
            Self::Pairs(args) => Task::Pairs(args.options()?),
            Self::Idf(args) => Task::Idf(args.options()?),
            Self::IdfMerge(options) => Task::IdfMerge(options),
            Self::Manual(_) => return Ok(None),
        }))
    }
}

/// The options of an index, with the dictionaries that the arguments name.
pub(super) fn store_options(store: &StoreArgs, recipe: &RecipeArgs) -> anyhow::Result<StoreOptions> {
    let options = store.options(Mode::CreateIfMissing, recipe)?;
    Ok(StoreOptions { uri: store.uri().map(str::to_owned), options })
}

fn recipe_options(recipe: &RecipeArgs) -> anyhow::Result<RecipeOptions> {
    let dictionaries = recipe.dictionaries()?;
    Ok(RecipeOptions { recipe: recipe.recipe(&dictionaries), dictionaries })
}

impl FingerprintArgs {
    fn options(self) -> anyhow::Result<FingerprintOptions> {
        let (job, recipe) = (self.input.job(None)?, recipe_options(&self.recipe)?);
        Ok(FingerprintOptions { job, recipe })
    }
}

impl IndexArgs {
    fn options(self) -> anyhow::Result<IndexOptions> {
        let Self { input, source, store, recipe, journal } = self;
        let job = input.job(Some(source))?;
        Ok(IndexOptions { job, store: store_options(&store, &recipe)?, journal: journal.options() })
    }
}

impl BulkRowsArgs {
    fn options(self) -> anyhow::Result<BulkRowsOptions> {
        let Self { input, source, store, recipe, rows } = self;
        let (job, store) = (input.job(Some(source))?, store_options(&store, &recipe)?);
        Ok(BulkRowsOptions { job, store, rows })
    }
}

impl DedupArgs {
    fn options(self) -> anyhow::Result<DedupOptions> {
        let Self { input, source, store, recipe, journal, flags } = self;
        let DedupFlags {
            keep,
            contained,
            time_field,
            known_ids,
            output,
            output_bytes_max,
            duplicates,
            clusters,
            pairs,
            report,
            dry_run,
            ..
        } = &flags;
        let journal = journal.options();
        let has_journal = journal.is_some();
        ensure!(
            !*dry_run || !has_journal,
            "a --dry-run leaves nothing that could be gone on with; leave out --journal"
        );
        ensure!(
            output.is_some() || duplicates.is_some() || clusters.is_some() || pairs.is_some() || !has_journal,
            "the groups on the screen cannot be gone on with; a job with a journal needs --output or --duplicates"
        );
        ensure!(
            report.is_empty() || !has_journal,
            "a --report is made of what one run has seen, and a job with a journal may take several; leave one of \
             them out"
        );
        ensure!(
            clusters.is_none() || !has_journal,
            "--clusters are made of what one run has seen, and a job with a journal may take several; leave one of \
             them out"
        );
        ensure!(
            pairs.is_none() || !has_journal,
            "--pairs are made of what one run has seen, and a job with a journal may take several; leave one of \
             them out"
        );
        check_parts(output.as_deref(), *output_bytes_max)?;
        let store = store_options(&store, &recipe)?;
        ensure!(
            *known_ids == KnownIds::Keep || store.uri().is_some_and(engine::outlives_process),
            "--known-ids {known_ids} is about ids that an index has from an earlier run; name that index with --store, or leave \
             --known-ids out"
        );
        if contained.is_some() {
            ensure!(
                store.uri().is_none_or(engine::decides_contained),
                "--contained is decided in memory: and embedded: alone; name such an index with --store, or none"
            );
            ensure!(
                store.may_count(),
                "--contained is counted over the texts; leave out --verify off and --texts none"
            );
            ensure!(
                clusters.is_none(),
                "--clusters are of documents that are similar, and what is contained in another one hangs together with it in \
                 none of them; leave out --clusters or --contained"
            );
        }
        let rank_by = keep.rank_by(time_field.as_ref())?;
        Ok(DedupOptions { job: input.job(Some(source))?, store, journal, rank_by, flags })
    }
}

/// Refuses parts without a place for their number, and a place without a bound on parts.
fn check_parts(output: Option<&Path>, bytes_max: Option<u64>) -> anyhow::Result<()> {
    let Some(output) = output else { return Ok(()) };
    let is_numbered = Numbered::of(output).is_some();
    ensure!(
        is_numbered || bytes_max.is_none(),
        "--output-bytes-max cuts the output into parts, and their number needs a place in the name: --output \
         'part-{{}}.jsonl'"
    );
    ensure!(
        !is_numbered || bytes_max.is_some(),
        "{} has a place for the number of a part; say with --output-bytes-max how long a part may be, as in 1GB",
        output.display()
    );
    Ok(())
}

impl CollectArgs {
    fn options(self) -> anyhow::Result<CollectOptions> {
        let Self { flags, records, pages, work, source, store, recipe } = self;
        let (records, store) = (pages.options(records), store_options(&store, &recipe)?);
        Ok(CollectOptions { flags, records, source, work, store })
    }
}

impl IdfArgs {
    fn options(self) -> anyhow::Result<IdfOptions> {
        let Self { input, terms, flags } = self;
        // Weights are not used: the counts become the weights.
        let recipe = RecipeArgs { terms, weights: Some(Weights::Uniform), ..RecipeArgs::default() };
        let recipe = recipe_options(&recipe)?;
        Ok(IdfOptions { job: input.job(None)?, recipe, flags })
    }
}

impl InputArgs {
    fn job(self, source: Option<SourceOptions>) -> anyhow::Result<JobOptions> {
        let Self { files, records, pages, run } = self;
        run.job(|ids| files.options(pages.options(records), ids), source)
    }
}

impl RunArgs {
    /// The job, with the input given by the rest of the command line.
    pub(super) fn job(
        self,
        input: impl FnOnce(IdArgs) -> InputOptions,
        source: Option<SourceOptions>,
    ) -> anyhow::Result<JobOptions> {
        let Self { work, ids, rejects, replacing, keep_going: keeps_going, shard, shards } = self;
        let shard = shard_asked(shard, shards)?;
        let input = input(ids);
        Ok(JobOptions { work, input, source, given: None, rejects, replacing, keeps_going, shard })
    }
}

/// The part of this worker, by one of the two flags for it.
pub(super) fn shard_asked(shard: Option<Shard>, shards: Option<u32>) -> anyhow::Result<Option<Shard>> {
    match shards {
        None => Ok(shard),
        Some(n_shards) => shard_of(env::var(JOB_COMPLETION_INDEX), n_shards).map(Some),
    }
}

/// The part of this worker, by its number in the environment.
fn shard_of(n: Result<String, VarError>, n_shards: u32) -> anyhow::Result<Shard> {
    let n =
        n.with_context(|| format!("--shards needs {JOB_COMPLETION_INDEX}; elsewhere say --shard N/OF"))?;
    let shard = format!("{n}/{n_shards}").parse();
    shard.map_err(|why: String| anyhow!("{JOB_COMPLETION_INDEX}={n} of {n_shards} shards: {why}"))
}

impl JournalArgs {
    pub(super) fn options(self) -> Option<JournalOptions> {
        let Self { journal, checkpoint_records } = self;
        journal.map(|folder| JournalOptions { folder, checkpoint_records })
    }
}

#[cfg(test)]
mod tests;
