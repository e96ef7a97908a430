//! The batch job: reads a corpus and prints its fingerprints, writes them into an index, or drops
//! near-duplicates.
//!
//! Blocking threads throughout, with a bound on every queue: one thread reads, all cores
//! fingerprint, and one consumes the results in the order of the input.
#![forbid(unsafe_code)]

mod bulk;
mod cli;
mod clusters;
mod collect;
mod commands;
mod dedup;
mod document_frequencies;
mod durable;
mod excerpt;
mod fingerprint_pairs;
mod flag_values;
mod given;
mod job;
mod journal;
mod keep;
mod kept;
mod memory;
mod numbers;
mod opening;
mod output;
mod pairs;
mod parts;
mod pipeline;
mod progress;
mod reasons;
mod rejects;
mod report;
mod report_file;
mod shard;
mod short_texts;
mod staged;
mod stop;
mod string_file;
mod table;
mod top;
mod walk;

use std::io;

use program::LogLines;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::cli::{Cli, Command};
use crate::rejects::AllRejected;
use crate::stop::Stopped;

/// Runs the command line of this process. Exit codes: 0 all done, 1 some records were rejected, 2
/// could not run, above 128 stopped by a signal while there is a journal.
#[must_use]
pub fn main() -> u8 {
    corpus::install_hook();
    let cli = Cli::from_command_line();
    if let Err(error) = program::see_limits() {
        progress::complain(format_args!("{}", program::error(&error)));
        return 2;
    }
    let is_coloured = program::stderr().is_terminal();
    // Reports waits of a store for its server.
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::WARN)
        .with_writer(move || LogLines::new(program::stderr_exact(), is_coloured))
        .with_ansi(is_coloured)
        .finish()
        // Silences the retries of `hdfs_native`: this program retries, too, and reports a final
        // failure once.
        .with(Targets::new().with_default(LevelFilter::WARN).with_target("hdfs_native", LevelFilter::OFF))
        .init();
    let may_break_off = matches!(cli.command, Command::Fingerprint(_) | Command::Manual(_));
    match run(cli) {
        Ok(0) => 0,
        Ok(_) => 1,
        // The reader has seen enough, as in `indexer fingerprint … | head`.
        Err(error) if may_break_off && is_broken_pipe(&error) => 0,
        Err(error) => {
            if let Some(stopped) = error.downcast_ref::<Stopped>() {
                progress::complain(format_args!("{stopped}"));
                return stopped.exit_code();
            }
            progress::complain(format_args!("{}", program::error(&error)));
            // All records were read, and a repetition would not help.
            if error.is::<AllRejected>() { 1 } else { 2 }
        }
    }
}

/// Runs the command and returns the number of rejected records.
fn run(cli: Cli) -> anyhow::Result<u64> {
    if let Command::Manual(command) = &cli.command {
        command.run(Cli::command_line(), &mut program::stdout())?;
    }
    cli.command.task()?.map_or(Ok(0), |task| commands::run(&task))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|e| e.kind() == io::ErrorKind::BrokenPipe)
}
