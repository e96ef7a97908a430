//! The arguments of `indexer pairs`.

use std::path::PathBuf;

use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, value_parser};
use minhash::Similarity;
use program::flags::{PlaceArgs, parse_similarity};
use simhash::Distance;

use super::options::shard_asked;
use super::values::path_for;
use crate::commands::PairsOptions;
use crate::output::{ResultsFormat, Role};
use crate::shard::Shard;

#[derive(Debug, Args)]
pub(crate) struct PairsArgs {
    #[command(flatten)]
    store: PlaceArgs,
    /// Write the pairs to this folder, a file for each part: a new one, or of a run that broke off
    ///
    /// Each pair is a, the lesser of the two ids, b, similarity, the share of n-grams that both
    /// have of those that either has, missing where the index does not verify, exact, whether it
    /// was counted over the texts, share_of_a and share_of_b, what of each is in common, and
    /// distance, in bits. A file appears when it is whole. manifest.json says of what index the
    /// pairs are and how they were asked for; a folder of others is refused.
    #[arg(long, value_name = "DIR", value_parser = path_for(Role::PairParts), help_heading = "Output")]
    output: PathBuf,
    /// Format of the files
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "jsonl",
        value_parser = results_format(),
        help_heading = "Output"
    )]
    results_format: ResultsFormat,
    /// In how many parts the index is gone through [default: 64 in HBase, else 16]
    ///
    /// Each has as many rows as the others, where documents are not all alike. A table of HBase
    /// that was made with as many regions is read region by region. What a part has found is lost
    /// by a kill, so a big index wants many.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=99_999), help_heading = "Output")]
    parts: Option<u32>,
    /// Only pairs that are at least so similar, .5 to 1 [default: the index's own least similarity,
    /// which is also the least]
    #[arg(long, value_name = "SHARE", value_parser = parse_similarity, help_heading = "Near-duplicates")]
    min_similarity: Option<Similarity>,
    /// Bits of simhashes that may differ [default: the index's own max distance, which is also the
    /// most]
    #[arg(long, value_name = "BITS", help_heading = "Near-duplicates")]
    max_distance: Option<Distance>,
    /// Parts that are gone through at a time [default: one for each core, in HBase 8 at least]
    #[arg(long, value_name = "N", env = "PIGEONHOLE_THREADS", value_parser = value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// No progress on stderr
    #[arg(long, short)]
    quiet: bool,
    /// Take only every OF-th part: 0/3, 1/3 and 2/3 are all of three workers, which write to one
    /// folder
    #[arg(long, value_name = "N/OF", env = "PIGEONHOLE_SHARD", conflicts_with = "shards")]
    shard: Option<Shard>,
    /// The same as --shard N/OF, with N from JOB_COMPLETION_INDEX, which an Indexed Job of
    /// Kubernetes sets
    #[arg(long, value_name = "OF", env = "PIGEONHOLE_SHARDS")]
    shards: Option<u32>,
}

fn results_format() -> impl TypedValueParser<Value = ResultsFormat> {
    let possible = |format: ResultsFormat| {
        PossibleValue::new(format.suffix()).help(match format {
            ResultsFormat::Jsonl => "JSON Lines",
            ResultsFormat::JsonlGz => "The same, packed with gzip",
            ResultsFormat::JsonlZst => "The same, packed with zstd",
            ResultsFormat::Parquet => "Parquet: a and b are text, similarity a float, distance an integer",
        })
    };
    let of_name = |name: String| ResultsFormat::ALL.into_iter().find(|format| format.suffix() == name);
    PossibleValuesParser::new(ResultsFormat::ALL.map(possible))
        .try_map(move |name| of_name(name).ok_or("it is one of those that are listed"))
}

impl PairsArgs {
    pub(super) fn options(self) -> anyhow::Result<PairsOptions> {
        let Self {
            store,
            output,
            results_format,
            parts,
            min_similarity,
            max_distance,
            threads,
            quiet,
            shard,
            shards,
        } = self;
        let uri =
            store.uri().context("name the index with --store, for example --store embedded:./my-index")?;
        Ok(PairsOptions {
            uri: uri.to_owned(),
            output,
            results_format,
            n_parts: parts,
            min_similarity,
            max_distance,
            n_threads: threads,
            quiet,
            shard: shard_asked(shard, shards)?,
        })
    }
}
