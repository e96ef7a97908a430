//! Takes files as they appear, drops items near to known ones, and files the rest away.
//!
//! The collector works in rounds. A round takes files ([`watch`]), decides about their items as a
//! job with a journal ([`sink`]), sorts the kept items into files by source and half day
//! ([`results`]), and makes all of these files visible ([`round`]). Each step is durable before the
//! next one begins, and repeating a step changes nothing: a killed collector continues at the same
//! step.

mod options;
mod parquet;
mod results;
mod round;
mod shelf;
mod sink;
mod spool;
mod taken;
mod watch;

use std::io;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use self::options::{CollectFlags, CollectOptions};
pub(crate) use self::round::Rounds;
pub(crate) use self::watch::WatchFolder;
use crate::numbers::Grouped;
use crate::progress::complain;
use crate::report::Report;
use crate::stop::{Stop, Stopped};

/// Time between two looks into the folder.
const POLL: Duration = Duration::from_millis(500);

/// Time between two looks for a signal.
const STOP_POLL: Duration = Duration::from_millis(50);

/// Stored bytes of waiting files that start a round early.
const WAITING_BYTES: u64 = 64 << 20;

/// Pause before a failed round is repeated: the first, and the longest.
const RETRY: Duration = Duration::from_secs(5);
const RETRY_MAX: Duration = Duration::from_secs(300);

/// Runs rounds until stopped; with `once`, until no file waits.
pub(crate) fn collect(
    options: &CollectOptions,
    folder: &mut WatchFolder,
    rounds: &mut Rounds<'_>,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut retry = RETRY;
    let mut next_round = Instant::now();
    loop {
        folder.check()?;
        let is_due = options.flags.once || rounds.is_under_way() || {
            let waiting = folder.waiting(options.records.format)?;
            let n_bytes: u64 = waiting.iter().map(|file| file.n_bytes).sum();
            !waiting.is_empty() && (Instant::now() >= next_round || n_bytes >= WAITING_BYTES)
        };
        if !is_due {
            pause(POLL, stop)?;
            continue;
        }
        next_round = Instant::now() + Duration::from_secs(options.flags.every_seconds);
        match rounds.next(folder, stop) {
            Ok(false) if options.flags.once => return Ok(()),
            Ok(_) => retry = RETRY,
            // An error in the first round is reported to the user, unless it may pass, like a full
            // disk.
            Err(error) if options.flags.once || error.is::<Stopped>() => return Err(error),
            Err(error) if rounds.is_first() && !error.chain().any(|cause| cause.is::<io::Error>()) => {
                return Err(error);
            }
            Err(error) => {
                complain(format_args!(
                    "error: {error:#}; nothing is lost, trying again in {} s",
                    retry.as_secs()
                ));
                pause(retry, stop)?;
                retry = (retry * 2).min(RETRY_MAX);
            }
        }
    }
}

/// Waits for `time`, or returns early if the job is to stop.
fn pause(time: Duration, stop: &Stop) -> Result<(), Stopped> {
    let until = Instant::now() + time;
    while Instant::now() < until {
        stop.check()?;
        thread::sleep(STOP_POLL);
    }
    stop.check()
}

/// Prints a line about a round for the user.
fn say(name: &str, n_files: usize, report: &Report) {
    complain(format_args!(
        "round {name}: {} {}, {} read, {}",
        Grouped(n_files as u64),
        if n_files == 1 { "file" } else { "files" },
        Grouped(report.n_read),
        report.summary()
    ));
}
