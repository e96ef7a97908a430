//! The log, on stderr: what is written of it, and how.
//!
//! Neither texts nor the ids and sources that clients give are in it, at any level; only where a stored record is damaged
//! is its id named, because nothing else says which to mend.

use std::io::{self, IsTerminal};

use clap::{Args, ValueEnum};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};

/// How to log.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub struct LogArgs {
    /// How a line of the log is written
    #[arg(long, value_name = "HOW", default_value = "text", env = "PIGEONHOLE_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// The least level that is logged: error, warn, info, debug or trace; also by part, as in `info,query_worker=debug`
    ///
    /// At debug every request has a line; at any level those have that the worker or the store failed.
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "PIGEONHOLE_LOG_LEVEL")]
    pub log_level: Targets,
}

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// A JSON object a line, for programs.
    Json,
}

/// Something that is told of everything that happens, as the log is.
pub(crate) type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts the log of this process, and what else is told.
pub(crate) fn start(args: &LogArgs, more: Option<BoxedLayer>) {
    let written: BoxedLayer = match args.log_format {
        LogFormat::Text => fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal()).boxed(),
        LogFormat::Json => {
            fmt::layer().json().flatten_event(true).with_span_list(false).with_writer(io::stderr).boxed()
        }
    };
    let mut layers = vec![written.with_filter(args.log_level.clone()).boxed()];
    layers.extend(more);
    tracing_subscriber::registry().with(layers).init();
}
