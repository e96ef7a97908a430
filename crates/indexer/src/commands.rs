//! The subcommands, one file each, and how those that need an index open it.

mod biggest;
mod dedup;
mod dry_run;
mod findings;
mod fingerprint;
mod groups;
mod index;
mod reporting;
mod verdict;

use ::index::cli::StoreArgs;
use ::index::{Index, Mode};
use anyhow::Context;
use features::Fingerprinter;
use features::cli::RecipeArgs;

use crate::cli::{Cli, Command};
use crate::report::Report;

pub(crate) fn run(cli: &Cli) -> anyhow::Result<Report> {
    match &cli.command {
        Command::Fingerprint(args) => fingerprint::run(args),
        Command::Index(args) => index::run(args),
        Command::Dedup(args) => dedup::run(args),
    }
}

/// Opens the index at `uri`, or where the mode allows creates it as the arguments say, and builds the fingerprinter of its
/// recipe.
fn open(
    uri: &str,
    mode: Mode,
    store: &StoreArgs,
    recipe: &RecipeArgs,
) -> anyhow::Result<(Index, Fingerprinter)> {
    let dictionaries = recipe.dictionaries()?;
    let wanted = recipe.recipe(&dictionaries);
    // Before an index is made by it.
    Fingerprinter::check(&wanted, &dictionaries).context("the recipe asked for cannot be followed")?;
    let options = store.open_options(mode, recipe.explicit_fields(&dictionaries), wanted.fields());
    let index = Index::open(uri, &options).with_context(|| format!("failed to open index `{uri}`"))?;
    let fingerprinter = RecipeArgs::fingerprinter(index.recipe(), &dictionaries)
        .with_context(|| format!("failed to build the recipe of `{uri}`"))?;
    Ok((index, fingerprinter))
}
