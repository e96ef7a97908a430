//! `indexer collect`: takes files as they appear, drops what is near to what is known, and files the rest away.
//!
//! It goes in rounds. A round takes files ([`watch`]), decides about their items as a job with a journal ([`sink`]), sorts
//! those that stay into files by source and half day ([`results`]), and makes all of these visible ([`round`]). Each step
//! is durable before the next one begins, and doing it again changes nothing; so whoever is killed goes on where it was.

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
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use index::Mode;

pub(crate) use self::options::CollectOptions;
use self::round::Rounds;
use self::watch::WatchFolder;
use crate::job::refuse_remote;
use crate::numbers::Grouped;
use crate::output::{Role, place_of, print_to_stdout};
use crate::progress::complain;
use crate::report::Report;
use crate::stop::{Stop, Stopped};

/// Time between two looks into the folder.
const POLL: Duration = Duration::from_millis(500);

/// Time between two looks for a signal.
const STOP_POLL: Duration = Duration::from_millis(50);

/// A round begins before its time when this much waits, as it is stored.
const WAITING_BYTES: u64 = 64 << 20;

/// How long to wait before a round that failed is tried again, at first and at most.
const RETRY: Duration = Duration::from_secs(5);
const RETRY_MAX: Duration = Duration::from_secs(300);

pub(super) fn run(options: &CollectOptions) -> anyhow::Result<Report> {
    let uri =
        options.store.uri().context("name the index with --store, for example --store embedded:./seen")?;
    ensure!(uri != "memory:", "an index in memory: is gone when this program ends; use embedded:PATH");
    refuse_remote([&*options.watch, &*options.results].into_iter(), Some(uri))?;
    Role::Results(options.results_format)
        .of(&options.results)
        .with_context(|| format!("the results cannot be in {}", options.results.display()))?;
    check_places(options, uri)?;
    let mut folder = WatchFolder::open(&options.watch)?;
    let (index, fingerprinter) = options.store.open_or_make(uri, Mode::CreateIfMissing, options.quiet)?;
    let stop = Stop::listen().context("failed to listen for signals")?;
    let mut rounds = Rounds::open(options, &folder, &index, &fingerprinter)?;
    if !options.quiet {
        let how = if options.once { "collecting" } else { "watching" };
        complain(format_args!("{how} {}", options.watch.display()));
    }
    match collect(options, &mut folder, &mut rounds, &stop) {
        // Whoever runs a service stops it this way.
        Err(error) if !error.is::<Stopped>() && rounds.is_under_way() => {
            return Err(
                error.context("a round is not done; nothing is lost, and the same command goes on with it")
            );
        }
        Err(error) if !error.is::<Stopped>() => return Err(error),
        Err(_) if rounds.is_under_way() => {
            complain(format_args!("stopped in the middle of a round; the same command goes on with it"));
        }
        _ => {}
    }
    let report = rounds.report(folder.left_out().clone());
    print_to_stdout(&report)?;
    Ok(report)
}

/// One round after another, until told to stop, or until nothing waits if that is asked for.
fn collect(
    options: &CollectOptions,
    folder: &mut WatchFolder,
    rounds: &mut Rounds<'_>,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut retry = RETRY;
    let mut next_round = Instant::now();
    loop {
        folder.check()?;
        let is_due = options.once || rounds.is_under_way() || {
            let waiting = folder.waiting(options.records.format)?;
            let n_bytes: u64 = waiting.iter().map(|file| file.n_bytes).sum();
            !waiting.is_empty() && (Instant::now() >= next_round || n_bytes >= WAITING_BYTES)
        };
        if !is_due {
            pause(POLL, stop)?;
            continue;
        }
        next_round = Instant::now() + options.every;
        match rounds.next(folder, stop) {
            Ok(false) if options.once => return Ok(()),
            Ok(_) => retry = RETRY,
            // What is wrong from the beginning is for a person to see, unless it may pass, as a full disk does.
            Err(error) if options.once || error.is::<Stopped>() => return Err(error),
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

/// Waits, or is told to stop.
fn pause(time: Duration, stop: &Stop) -> Result<(), Stopped> {
    let until = Instant::now() + time;
    while Instant::now() < until {
        stop.check()?;
        thread::sleep(STOP_POLL);
    }
    stop.check()
}

/// Refuses places that would be taken for what they are not.
fn check_places(options: &CollectOptions, uri: &str) -> anyhow::Result<()> {
    let watch = place_of(&options.watch);
    ensure!(
        options.watch.is_dir(),
        "there is no folder {} to watch; make it first, on the file system where its files are written",
        options.watch.display()
    );
    let index = uri.strip_prefix("embedded:").map(Path::new);
    for (what, place) in [("the results", Some(&*options.results)), ("the index", index)] {
        let Some(place) = place else { continue };
        ensure!(
            !place_of(place).starts_with(&watch),
            "{what} must not lie in {}, where all files are taken; name another folder than {}",
            options.watch.display(),
            place.display()
        );
        ensure!(
            !watch.starts_with(place_of(place)),
            "{} must not lie in {}, where {what} will be; name another folder",
            options.watch.display(),
            place.display()
        );
    }
    Ok(())
}

/// A line about a round, for a person.
fn say(name: &str, n_files: usize, report: &Report) {
    complain(format_args!(
        "round {name}: {} {}, {} read, {}",
        Grouped(n_files as u64),
        if n_files == 1 { "file" } else { "files" },
        Grouped(report.n_read),
        report.summary()
    ));
}
