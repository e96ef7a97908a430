//! An existing index, opened for looking at.

use std::collections::BTreeMap;

use anyhow::Context;
use features::Fingerprinter;
use features::cli::RecipeArgs;
use index::cli::ClockArgs;
use index::{Index, Mode, OpenOptions};

/// Which index.
#[derive(Debug, clap::Args)]
pub(crate) struct StoredArgs {
    /// The index, for example embedded:./news-index
    #[arg(long, value_name = "URL", env = "PIGEONHOLE_STORE")]
    pub(crate) store: String,
    #[command(flatten)]
    clock: ClockArgs,
}

impl StoredArgs {
    /// Opens it; the caller insists on the given fields of the recipe.
    pub(crate) fn open(&self, recipe: BTreeMap<String, String>) -> anyhow::Result<Index> {
        let clock_ahead_max = self.clock.clock_ahead_max;
        let options =
            OpenOptions { mode: Mode::MustExist, clock_ahead_max, recipe, ..OpenOptions::default() };
        Index::open(&self.store, &options).with_context(|| format!("failed to open index `{}`", self.store))
    }

    /// Opens it together with the fingerprinter of its recipe, whose dictionaries come from the arguments.
    pub(crate) fn open_with_recipe(&self, recipe: &RecipeArgs) -> anyhow::Result<(Index, Fingerprinter)> {
        let dictionaries = recipe.dictionaries()?;
        let index = self.open(recipe.explicit_fields(&dictionaries))?;
        let fingerprinter = RecipeArgs::fingerprinter(index.recipe(), &dictionaries)
            .context("failed to build the index's recipe")?;
        Ok((index, fingerprinter))
    }
}
