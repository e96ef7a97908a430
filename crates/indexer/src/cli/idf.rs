//! The arguments of `indexer idf` and `indexer idf-merge`.

use std::path::PathBuf;

use clap::{Args, value_parser};
use program::flags::TermArgs;

use super::InputArgs;
use super::values::path_for;
use crate::output::Role;

#[derive(Debug, Args)]
pub(crate) struct IdfArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) terms: TermArgs,
    #[command(flatten)]
    pub(crate) counting: CountingArgs,
    /// Leave out terms of fewer documents; 1 keeps all, as parts need that are to be added up
    /// [default: 2, and 1 with --shard]
    ///
    /// What is left out weighs by the median of what is there, as all unknown terms do.
    #[arg(
        long,
        value_name = "N",
        env = "PIGEONHOLE_MIN_DF",
        value_parser = value_parser!(u64).range(1..),
        help_heading = "Counting"
    )]
    pub(crate) min_df: Option<u64>,
    /// Hold about this many bytes of counts in memory, and more of them in temporary files
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 256 << 20,
        env = "PIGEONHOLE_MEMORY_BYTES_MAX",
        help_heading = "Counting"
    )]
    pub(crate) memory_bytes_max: usize,
}

#[derive(Debug, Args)]
pub(crate) struct IdfMergeArgs {
    /// Files that `indexer idf` wrote, in any order
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) counting: CountingArgs,
    /// Leave out terms of fewer documents; 1 keeps all, so that more can be added
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        env = "PIGEONHOLE_MIN_DF",
        value_parser = value_parser!(u64).range(1..),
        help_heading = "Counting"
    )]
    pub(crate) min_df: u64,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Counting")]
pub(crate) struct CountingArgs {
    /// Write the counts here; - for stdout
    #[arg(long, value_name = "FILE", value_parser = path_for(Role::Frequencies))]
    pub(crate) output: PathBuf,
    /// Where temporary files go: two times the counts of all terms [default: the folder of the
    /// output]
    #[arg(long, value_name = "DIR")]
    pub(crate) temp: Option<PathBuf>,
}
