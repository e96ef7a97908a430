//! The arguments of `indexer pairs`.

use anyhow::Context;
use clap::Args;
use program::flags::PlaceArgs;

use super::options::shard_asked;
use crate::commands::{PairsFlags, PairsOptions};
use crate::shard::Shard;

#[derive(Debug, Args)]
pub(crate) struct PairsArgs {
    #[command(flatten)]
    store: PlaceArgs,
    #[command(flatten)]
    flags: PairsFlags,
    /// Take only every OF-th part: 0/3, 1/3 and 2/3 are all of three workers, which write to one
    /// folder
    #[arg(long, value_name = "N/OF", env = "PIGEONHOLE_SHARD", conflicts_with = "shards")]
    shard: Option<Shard>,
    /// The same as --shard N/OF, with N from JOB_COMPLETION_INDEX, which an Indexed Job of
    /// Kubernetes sets
    #[arg(long, value_name = "OF", env = "PIGEONHOLE_SHARDS")]
    shards: Option<u32>,
}

impl PairsArgs {
    pub(super) fn options(self) -> anyhow::Result<PairsOptions> {
        let Self { store, flags, shard, shards } = self;
        let uri =
            store.uri().context("name the index with --store, for example --store embedded:./my-index")?;
        Ok(PairsOptions { uri: uri.to_owned(), shard: shard_asked(shard, shards)?, flags })
    }
}
