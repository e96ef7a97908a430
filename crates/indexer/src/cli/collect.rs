//! The arguments of `indexer collect`.

use clap::Args;
use program::flags::{PageArgs, RecipeArgs, RecordArgs, StoreArgs};

use crate::collect::CollectFlags;
use crate::job::{SourceOptions, WorkOptions};

#[derive(Debug, Args)]
pub(crate) struct CollectArgs {
    #[command(flatten)]
    pub(crate) flags: CollectFlags,
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    #[command(flatten)]
    pub(crate) pages: PageArgs,
    #[command(flatten)]
    pub(crate) work: WorkOptions,
    #[command(flatten)]
    pub(crate) source: SourceOptions,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
}
