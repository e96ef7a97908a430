//! The subcommands, one file each, and how those that need an index open it.

mod biggest;
mod bulk_rows;
mod clusters;
mod collect;
mod decide;
mod dedup;
mod dry_run;
mod findings;
mod fingerprint;
mod groups;
mod idf;
mod idf_merge;
mod index;
mod pending;
mod reporting;
mod results;
mod verdict;

use std::collections::BTreeMap;
use std::path::Path;

use ::index::{Index, Mode};
use anyhow::bail;
use engine::Engine;
use engine::cli::StoreArgs;
use features::Fingerprinter;
use features::cli::RecipeArgs;

use crate::cli::{Cli, Command, InputArgs, JournalArgs, SourceArgs};
use crate::job::Job;
use crate::journal::Description;
use crate::output::REJECTS;
use crate::progress::complain;

/// Says how many records were rejected.
pub(crate) fn run(cli: &Cli) -> anyhow::Result<u64> {
    let report = match &cli.command {
        Command::Fingerprint(args) => fingerprint::run(args)?,
        Command::Index(args) => index::run(args)?,
        Command::BulkRows(args) => bulk_rows::run(args)?,
        Command::Dedup(args) => dedup::run(args)?,
        Command::Collect(args) => collect::run(args)?,
        Command::Idf(args) => idf::run(args)?,
        Command::IdfMerge(args) => return idf_merge::run(args).map(|()| 0),
        Command::Manual(command) => {
            command.run(Cli::command_line(), &mut program::stdout())?;
            return Ok(0);
        }
    };
    Ok(report.n_rejected)
}

/// Opens the index at `uri`, or where the mode allows creates it as the arguments say, and builds the fingerprinter of its
/// recipe. That a new index is made is said unless `is_quiet`: a slip in its name would go unseen, and all that the index
/// that was meant knows be taken for new.
fn open_or_make(
    uri: &str,
    mode: Mode,
    store: &StoreArgs,
    recipe: &RecipeArgs,
    is_quiet: bool,
) -> anyhow::Result<(Index, Fingerprinter)> {
    let engine = Engine::open(uri, &store.options(mode, recipe)?)?;
    if engine.was_made() && !is_quiet {
        complain(format_args!("there was no index at {uri}: a new one is made"));
    }
    Ok(engine.into_parts())
}

/// What changes the result of a job with an index, but for its own outputs, where it has a journal, which is of no other
/// job.
fn describe(
    command: &str,
    input: &InputArgs,
    source: &SourceArgs,
    store: &StoreArgs,
    recipe: &RecipeArgs,
    journal: &JournalArgs,
) -> anyhow::Result<Option<Description>> {
    if journal.journal.is_none() {
        return Ok(None);
    }
    let dictionaries = recipe.dictionaries()?;
    let options =
        store.open_options(Mode::CreateIfMissing, recipe.explicit_fields(&dictionaries), BTreeMap::new());
    let description = Description::new(command)
        .with("--checkpoint-records", journal.checkpoint_records)
        .with("--format", input.records.format)
        .with("--id-field", &input.records.id_field)
        .with("--make-ids", input.make_ids)
        .with("--text-field", &input.records.text_field)
        .with("--record-bytes-max", input.records.record_bytes_max)
        .with("--rejects", &input.rejects)
        .with("the shard", input.shard()?)
        .with("--source", &source.source)
        .with("--source-field", &source.source_field)
        .with("--store", store.uri())
        .with("--scheme", &options.scheme)
        .with("--max-distance", options.max_distance)
        .with("--retain", options.retain)
        .with("the recipe", &options.recipe);
    Ok(Some(description))
}

/// Says why nothing happens, where a journal says that the job is done and its `outputs` and rejects are there.
fn say_done<'a>(
    job: &Job,
    outputs: impl Iterator<Item = (&'static str, &'a Path)>,
    input: &'a InputArgs,
) -> anyhow::Result<()> {
    if let Some(journal) = job.journal() {
        let folder = journal.folder().display();
        let rejects = input.rejects.as_deref().map(|path| (REJECTS, path));
        if let Some((output, what)) = journal.changed_output(outputs.chain(rejects)) {
            bail!(
                "this job was done before, and {} {what}; to do it once more remove its journal {folder}",
                output.display()
            );
        }
        complain(format_args!("this job was done before; to do it once more remove its journal {folder}"));
    }
    Ok(())
}
