//! An existing index, opened for a look at it.

use std::collections::BTreeMap;

use anyhow::Context;
use engine::{Engine, Options};
use index::{Index, Mode, OpenOptions};
use program::flags::ClockArgs;
use program::flags::RecipeArgs;

/// Which index.
#[derive(Debug, clap::Args)]
pub(crate) struct StoredArgs {
    /// The index, for example embedded:./news-index or hbase+rpc://MASTER:16000/news
    #[arg(long, value_name = "URL", env = "PIGEONHOLE_STORE", help_heading = "Index")]
    pub(crate) store: String,
    #[command(flatten)]
    clock: ClockArgs,
}

impl StoredArgs {
    /// The index at a URL, by this machine's clock.
    pub(crate) fn at(store: String) -> Self {
        Self { store, clock: ClockArgs::default() }
    }

    /// Opens the index, which must have the given fields of the recipe.
    pub(crate) fn open(&self, recipe: BTreeMap<String, String>) -> anyhow::Result<Index> {
        let clock_ahead_max = self.clock.clock_ahead_max;
        let options =
            OpenOptions { mode: Mode::MustExist, clock_ahead_max, recipe, ..OpenOptions::default() };
        engine::open_index(&self.store, &options)
            .with_context(|| format!("failed to open index `{}`", engine::shown(&self.store)))
    }

    /// Opens the index and the extractor of its recipe, with dictionaries from the arguments.
    pub(crate) fn open_with_recipe(&self, recipe: &RecipeArgs) -> anyhow::Result<Engine> {
        let dictionaries = recipe.dictionaries()?;
        let insisted = recipe.explicit_fields(&dictionaries);
        let clock_ahead_max = self.clock.clock_ahead_max;
        let options =
            Options { mode: Mode::MustExist, clock_ahead_max, insisted, dictionaries, ..Options::default() };
        Ok(Engine::open(&self.store, &options)?)
    }
}
