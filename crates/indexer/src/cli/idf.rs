//! The arguments of `indexer idf`.

use clap::Args;
use program::flags::TermArgs;

use super::InputArgs;
use crate::commands::IdfFlags;

#[derive(Debug, Args)]
pub(crate) struct IdfArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) terms: TermArgs,
    #[command(flatten)]
    pub(crate) flags: IdfFlags,
}
