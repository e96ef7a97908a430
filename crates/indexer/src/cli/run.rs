//! Arguments shared by the commands that read inputs.

use std::path::PathBuf;

use clap::{Args, value_parser};
use program::flags::{FileArgs, IdArgs, PageArgs, RecordArgs};

use crate::flag_values::path_for;
use crate::job::WorkOptions;
use crate::output::{Replacing, Role};
use crate::shard::Shard;

#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    #[command(flatten)]
    pub(crate) files: FileArgs,
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    #[command(flatten)]
    pub(crate) pages: PageArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Arguments of a run over an input of any records.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) work: WorkOptions,
    #[command(flatten)]
    pub(crate) ids: IdArgs,
    /// Write every record that was rejected, or not indexed, here: JSON with kind, source, line (or
    /// row) and reason
    #[arg(long, value_name = "FILE", value_parser = path_for(Role::Rejects))]
    pub(crate) rejects: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
    /// Read on where each of the first 1,000 records is rejected, all for the same reason
    ///
    /// Without it such a run stops there, with exit status 2: the field or the format is wrong more
    /// likely than every record.
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Take only one of OF equal parts of the documents, by a hash of their ids: 0/3, 1/3 and 2/3
    /// are all of three workers
    ///
    /// Workers that share a --store (not memory:) keep no near-duplicate of what another one has
    /// kept. Every worker reads everything and fingerprints its part; where reading takes the time,
    /// give each one files of its own. Outputs and journals are each worker's own.
    #[arg(long, value_name = "N/OF", env = "PIGEONHOLE_SHARD", conflicts_with = "shards")]
    pub(crate) shard: Option<Shard>,
    /// The same as --shard N/OF, with N from JOB_COMPLETION_INDEX, which an Indexed Job of
    /// Kubernetes sets
    #[arg(long, value_name = "OF", env = "PIGEONHOLE_SHARDS")]
    pub(crate) shards: Option<u32>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "A run that goes on")]
pub(crate) struct JournalArgs {
    /// Keep a journal in this directory: after a crash, a kill or a stop the same command goes on
    /// where it was
    ///
    /// Nothing is lost or counted twice, and the outputs are those of a run without a stop; until
    /// they are whole they are called `.NAME.….partial`. When the job is done, the same command
    /// says so and does nothing. The first run makes the directory. A job with other inputs or
    /// options is refused; remove the directory to begin anew. Inputs and outputs must not be
    /// pipes; it goes with none of --report, --clusters and --pairs, which are made of what one run
    /// has seen, nor with --dry-run. Ctrl-C and SIGTERM stop it at the next checkpoint, some
    /// seconds on, with exit status 130 and 143; a second one, or one in the first of two readings
    /// (--keep), stops it at once, and what came after the last checkpoint is done again.
    #[arg(long, value_name = "DIR", env = "PIGEONHOLE_JOURNAL", value_parser = path_for(Role::Journal))]
    pub(crate) journal: Option<PathBuf>,
    /// Take a checkpoint after this many records, or 64 MiB of text, whichever comes first
    #[arg(
        long,
        value_name = "N",
        default_value_t = 65_536,
        env = "PIGEONHOLE_CHECKPOINT_RECORDS",
        value_parser = value_parser!(u64).range(1..)
    )]
    pub(crate) checkpoint_records: u64,
}
