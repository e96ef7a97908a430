//! What the subcommands share: opening the inputs and the index, and the run over all records.

mod dedup;
mod fingerprint;
mod groups;
mod index;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use ::index::cli::StoreArgs;
use ::index::{Index, Mode};
use anyhow::Context;
use features::cli::RecipeArgs;
use features::{Fingerprinter, Recipe};

use crate::cli::{Cli, Command, InputArgs};
use crate::input::{Fields, Inputs};
use crate::pipeline::{Features, Pipeline};
use crate::progress::Progress;
use crate::rejects::Rejects;
use crate::report::{Counts, Report};

pub(crate) fn run(cli: &Cli) -> anyhow::Result<Report> {
    match &cli.command {
        Command::Fingerprint(args) => fingerprint::run(args),
        Command::Index(args) => index::run(args),
        Command::Dedup(args) => dedup::run(args),
    }
}

/// One record of the input, on its way through a command.
struct Item {
    source: Arc<str>,
    line_number: u64,
    /// As it was read.
    line: Box<[u8]>,
    features: Features,
}

/// Opens the index at `uri`, or creates it as the arguments say, and builds the fingerprinter of its recipe.
fn open(uri: &str, store: &StoreArgs, recipe: &RecipeArgs) -> anyhow::Result<(Index, Fingerprinter)> {
    let dictionaries = recipe.dictionaries()?;
    let options = store.open_options(
        Mode::CreateIfMissing,
        recipe.explicit_fields(&dictionaries),
        recipe.recipe(&dictionaries).fields(),
    );
    let index = Index::open(uri, &options).with_context(|| format!("failed to open index {uri}"))?;
    let recipe =
        Recipe::from_fields(index.recipe()).with_context(|| format!("failed to read the recipe of {uri}"))?;
    let fingerprinter = Fingerprinter::new(recipe, &dictionaries)
        .with_context(|| format!("failed to build the recipe of {uri}"))?;
    Ok((index, fingerprinter))
}

/// What a command does with the records.
trait Sink {
    /// Takes the next record, in the order of the input.
    fn take(&mut self, item: Item, rejects: &mut Rejects) -> anyhow::Result<()>;

    /// Called once after the last record; says what became of those that have a fingerprint.
    fn finish(&mut self, rejects: &mut Rejects) -> anyhow::Result<Counts>;
}

/// Runs over all records: those that cannot be read are rejected, the others go to `sink`.
fn run_over(
    args: &InputArgs,
    fingerprinter: &Fingerprinter,
    excerpts: bool,
    sink: &mut impl Sink,
) -> anyhow::Result<Report> {
    let inputs = Inputs::open(&args.files, args.record_bytes_max)?;
    let mut progress = Progress::new(&inputs, args.quiet);
    let mut rejects = Rejects::new(args.rejects.as_deref())?;
    let fields = Fields { id: args.id_field.clone(), text: args.text_field.clone() };
    let n_threads =
        args.threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let (mut n_read, mut n_without_features, mut n_text_bytes) = (0, 0, 0);
    Pipeline { fingerprinter, fields: &fields, n_threads, excerpts }.run(inputs, |batch| {
        for record in batch.records {
            n_read += 1;
            match record.outcome {
                Ok(features) => {
                    n_text_bytes += features.n_text_bytes as u64;
                    n_without_features += u64::from(features.fingerprint.is_none());
                    let (source, line_number) = (Arc::clone(&batch.source), record.line_number);
                    sink.take(Item { source, line_number, line: record.line, features }, &mut rejects)?;
                }
                Err(reason) => rejects.reject(&batch.source, record.line_number, &reason)?,
            }
        }
        progress.show(n_read);
        Ok(())
    })?;
    let counts = sink.finish(&mut rejects)?;
    let time = progress.elapsed();
    Ok(Report { counts, n_without_features, n_rejected: rejects.finish()?, n_text_bytes, time })
}
