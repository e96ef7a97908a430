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

use index::backend::retry::{Failed, Late, Retry};

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

/// The pauses before a failed round is repeated.
const RETRY: Retry = Retry::new(Duration::from_secs(5), Duration::from_secs(300));

/// A failed round is repeated until it is done, or the collector is stopped.
const FOR_EVER: Duration = Duration::MAX;

/// Runs rounds until stopped; with `once`, until no file waits.
pub(crate) fn collect(
    options: &CollectOptions,
    folder: &mut WatchFolder,
    rounds: &mut Rounds<'_>,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut tries = RETRY.start(FOR_EVER, Instant::now);
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
            Ok(_) => tries.has_gone_on(FOR_EVER),
            Err(error) => {
                // An error in the first round is reported to the user, unless it may pass, like a
                // full disk.
                let may_pass = || error.chain().any(|cause| cause.is::<io::Error>());
                let is_final =
                    options.flags.once || error.is::<Stopped>() || rounds.is_first() && !may_pass();
                let failed = if is_final { Failed::Final(error) } else { Failed::Away(error) };
                let (next, error) = tries.after(failed).map_err(|failed| match failed {
                    Failed::Final(error) | Failed::Away(Late { last: error, .. }) => error,
                })?;
                complain(format_args!(
                    "{}; nothing is lost, trying again in {:.0} s",
                    program::error(&error),
                    next.time.as_secs_f32()
                ));
                pause(next.time, stop)?;
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
