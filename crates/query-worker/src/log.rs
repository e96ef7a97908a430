//! The log, on stderr: its lines, levels and format.
//!
//! At any level the log contains neither texts nor the ids and sources that clients give. The one
//! exception is the id of a damaged record, because nothing else tells the operator which record to
//! repair.

mod queue;

use std::io::Write;
use std::sync::LazyLock;
use std::time::Duration;

use clap::{Args, ValueEnum};
use program::LogLines;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};

use self::queue::Queue;

/// Longest wait at the end of the process for the reader of stderr.
const LAST_WAIT_MAX: Duration = Duration::from_secs(1);

/// Prefixes of the targets of the project's own crates: the service, and all libraries.
const OUR_TARGETS: [&str; 2] = ["query_worker", "pigeonhole_"];

static STDERR: LazyLock<Queue> = LazyLock::new(|| Queue::before(program::stderr_exact()));

/// Format and level of the log.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub struct LogArgs {
    /// Format of a line of the log
    #[arg(long, value_name = "HOW", default_value = "text", env = "PIGEONHOLE_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// The least level that is logged: error, warn, info, debug or trace; also by part, as in
    /// `info,query_worker=debug`
    ///
    /// At debug every request has a line; at any level those have that the worker or the store
    /// failed. Of the libraries that it uses only warnings and errors are logged, unless they are
    /// named, as in `info,rustls=debug`.
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "PIGEONHOLE_LOG_LEVEL")]
    pub log_level: Targets,
}

/// Formats of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// A JSON object a line, for programs.
    Json,
}

/// A layer that receives every event and span, as the log does.
pub(crate) type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts the log of this process, together with another layer if there is one.
pub(crate) fn start(args: &LogArgs, more: Option<BoxedLayer>) {
    let is_coloured = args.log_format == LogFormat::Text && program::stderr().is_terminal();
    let lines = fmt::layer().with_writer(move || LogLines::new(&*STDERR, is_coloured)).with_ansi(is_coloured);
    let written: BoxedLayer = match args.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).boxed(),
    };
    let mut layers = vec![written.with_filter(filter(&args.log_level)).boxed()];
    layers.extend(more);
    tracing_subscriber::registry().with(layers).init();
}

/// Applies a level without a name to the project's own crates only. Messages of other crates below
/// a warning are about their internals, and may reveal the machine that built them.
fn filter(asked: &Targets) -> Targets {
    let level = asked.default_level().unwrap_or(LevelFilter::OFF);
    Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_targets(OUR_TARGETS.map(|target| (target, level)))
        .with_targets(asked.iter().map(|(target, level)| (target.to_owned(), level)))
}

/// Returns the number of lines dropped because stderr was not read.
pub(crate) fn n_dropped() -> u64 {
    STDERR.n_dropped()
}

/// Writes the rest of the log and then `last`. A stalled reader of stderr delays the end of the
/// process by `LAST_WAIT_MAX` at most.
pub(crate) fn end(last: &str) {
    (&*STDERR).write_all(last.as_bytes()).unwrap_or(());
    STDERR.flush(LAST_WAIT_MAX);
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn others_are_logged_below_a_warning_only_by_name() {
        for (asked, target, expected) in [
            ("debug", "query_worker::request", Level::DEBUG),
            ("debug", "pigeonhole_store_redis::server", Level::DEBUG),
            ("debug", "ureq_proto::client", Level::WARN),
            ("error", "ureq_proto::client", Level::ERROR),
            ("info", "query_worker", Level::INFO),
            ("info,query_worker=trace", "query_worker::request", Level::TRACE),
            ("info,query_worker=trace", "pigeonhole_index", Level::INFO),
            ("info,ureq_proto=debug", "ureq_proto::client", Level::DEBUG),
            ("warn,query_worker::request=debug", "query_worker::reload", Level::WARN),
        ] {
            let filter = filter(&asked.parse().unwrap());
            let levels = [Level::TRACE, Level::DEBUG, Level::INFO, Level::WARN, Level::ERROR];
            let least = levels.into_iter().find(|level| filter.would_enable(target, level));
            assert_eq!(least, Some(expected), "{asked} {target}");
        }
        assert!(
            !filter(&"query_worker=debug".parse().unwrap()).would_enable("pigeonhole_index", &Level::ERROR)
        );
    }
}
