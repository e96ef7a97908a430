//! `indexer collect`: takes files as they appear, drops items near to known ones, and files the
//! rest away.

use anyhow::{Context, ensure};
use index::Mode;

use crate::collect::{CollectOptions, Rounds, WatchFolder, collect};
use crate::job::refuse_remote;
use crate::output::{Role, place_of, print_to_stdout};
use crate::progress::complain;
use crate::report::Report;
use crate::stop::{Stop, Stopped};

pub(super) fn run(options: &CollectOptions) -> anyhow::Result<Report> {
    options.work.limit_memory();
    let uri =
        options.store.uri().context("name the index with --store, for example --store embedded:./seen")?;
    ensure!(
        engine::outlives_process(uri),
        "an index in memory: is gone when this program ends; use embedded:PATH"
    );
    refuse_remote([&*options.flags.watch, &*options.flags.results].into_iter(), Some(uri))?;
    Role::Results(options.flags.results_format)
        .of(&options.flags.results)
        .with_context(|| format!("the results cannot be in {}", options.flags.results.display()))?;
    check_places(options, uri)?;
    let mut folder = WatchFolder::open(&options.flags.watch)?;
    let engine = options.store.open_or_make(uri, Mode::CreateIfMissing, options.work.quiet)?;
    let stop = Stop::listen().context("failed to listen for signals")?;
    let mut rounds = Rounds::open(options, &folder, &engine)?;
    if !options.work.quiet {
        let how = if options.flags.once { "collecting" } else { "watching" };
        complain(format_args!("{how} {}", options.flags.watch.display()));
    }
    match collect(options, &mut folder, &mut rounds, &stop) {
        // A service is stopped in this way.
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

/// Refuses a missing watched folder, and results or an index inside or around it.
fn check_places(options: &CollectOptions, uri: &str) -> anyhow::Result<()> {
    let watch = place_of(&options.flags.watch);
    ensure!(
        options.flags.watch.is_dir(),
        "there is no folder {} to watch; make it first, on the file system where its files are written",
        options.flags.watch.display()
    );
    let index = engine::local_path(uri);
    for (what, place) in [("the results", Some(&*options.flags.results)), ("the index", index.as_deref())] {
        let Some(place) = place else { continue };
        ensure!(
            !place_of(place).starts_with(&watch),
            "{what} must not lie in {}, where all files are taken; name another folder than {}",
            options.flags.watch.display(),
            place.display()
        );
        ensure!(
            !watch.starts_with(place_of(place)),
            "{} must not lie in {}, where {what} will be; name another folder",
            options.flags.watch.display(),
            place.display()
        );
    }
    Ok(())
}
