//! `indexer dedup`: keeps a document unless an earlier kept one is near.

mod options;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use corpus::Copies;
use engine::clusters::RunTexts;
use engine::dedup::{Kept, KnownIds};
use index::{Index, Key, Mode};
use minhash::Similarity;

pub(crate) use self::options::{DedupFlags, DedupOptions};
use super::say_done;
use crate::clusters::{Clusters, ClustersFile};
use crate::dedup::{
    self, Deduplication, Doubts, Groups, Logs, Results, Rule, Saved, SpilledRun, run_best_first,
};
use crate::job::{Job, JobOptions};
use crate::journal::{Description, Journal, JournalOptions};
use crate::keep;
use crate::kept::KeptOutput;
use crate::memory::{self, OutOfMemory};
use crate::opening::write_image;
use crate::output::{DUPLICATES, OUTPUT, REJECTS, folder_of, is_stdout, print_to_stdout};
use crate::pairs::Pairs;
use crate::pipeline::Wanted;
use crate::progress::complain;
use crate::report::{Counts, Deduplicated, Report};
use crate::report_file::{self, Findings, Reporting};
use crate::short_texts;
use crate::staged::Staged;
use crate::table::Table;

/// The index of the kept documents if no store is named.
const DEFAULT_STORE: &str = "memory:";

pub(super) fn run(options: &DedupOptions) -> anyhow::Result<Report> {
    let journal = options.journal.as_ref().map(|journal| anyhow::Ok((journal, options.description()?)));
    let journal = journal.transpose()?;
    // A journal knows the outputs as they were named.
    let (options, staged) = &mut options.staged()?;
    if options.store.options.keyed == Some(true) && is_in_memory(options) {
        // The index is made anew for each attempt and for each run of a journal.
        ensure!(
            options.journal.is_none(),
            "the key that --keyed draws is gone when this run ends, and a run that goes on with its journal needs it; \
             give one with --key-file, or an index with --store"
        );
        options.store.options.key = Some(Key::draw()?);
    }
    if options.rank_by.is_some() || may_spill(options) {
        options.job.input.copies = Some(Copies::in_folder(&temporary_folder(options)));
    }
    run_here(options, journal, staged)
}

/// Runs with local outputs, and uploads those that are staged. A run that would pass its memory
/// begins again with its documents in files, or goes on so if it has a journal.
fn run_here(
    options: &DedupOptions,
    journal: Option<(&JournalOptions, Description)>,
    staged: &mut Option<Staged>,
) -> anyhow::Result<Report> {
    let mut spilling = Spilling::default();
    loop {
        let ended = attempt(options, journal.clone(), staged, &mut spilling);
        let are_copies_whole = options.job.input.copies.as_ref().is_none_or(Copies::are_whole);
        match ended.as_ref().err().and_then(|error| error.downcast_ref::<OutOfMemory>()) {
            Some(stopped) if spilling.is_possible && !spilling.is_wanted && are_copies_whole => {
                complain(format_args!(
                    "memory is near its limit, at {}: the documents go to files, and the input is read twice",
                    stopped.used
                ));
                spilling.is_wanted = true;
                program::give_memory_back();
            }
            Some(_) if spilling.is_once || (spilling.is_possible && !spilling.is_wanted) => {
                return ended.context(
                    "the input can be read only once, and its copy had no room on a disk, so its documents \
                     cannot go to files; name a folder with room with --temp, or write the input to a file first",
                );
            }
            _ => return ended,
        }
    }
}

/// The place of the documents of a run without a store.
#[derive(Default)]
struct Spilling {
    /// True if the documents can be in files.
    is_possible: bool,
    /// True if they are to be there.
    is_wanted: bool,
    /// True if only the input keeps them from there.
    is_once: bool,
}

/// Returns true if the index of the kept documents ends with the run.
fn is_in_memory(options: &DedupOptions) -> bool {
    options.store.uri().is_none_or(|uri| uri == DEFAULT_STORE)
}

/// Returns true if the documents of a run may go to files: nothing expires from its own index.
fn may_spill(options: &DedupOptions) -> bool {
    is_in_memory(options) && options.store.options.retain.is_none()
}

fn attempt(
    options: &DedupOptions,
    journal: Option<(&JournalOptions, Description)>,
    staged: &mut Option<Staged>,
    spilling: &mut Spilling,
) -> anyhow::Result<Report> {
    let outputs = options.flags.output.iter().chain(&options.flags.duplicates);
    let outputs = outputs.chain(&options.flags.clusters).chain(&options.flags.pairs);
    let outputs: Vec<&Path> = outputs.map(PathBuf::as_path).collect();
    let reports = options.flags.report.iter().map(|target| target.path.as_path());
    let all_outputs: Vec<&Path> = outputs.iter().copied().chain(reports).collect();
    let for_people = outputs.is_empty();
    let rank_by = options.rank_by.clone();
    let uri = options.store.uri().unwrap_or(DEFAULT_STORE);
    ensure!(
        options.job.shard.is_none() || uri != DEFAULT_STORE,
        "workers that each take a shard meet in an index; name one that all of them can reach with --store"
    );
    let mut job = Job::new(&options.job, &all_outputs, options.store.uri(), journal)?;
    let goes_on = job.journal().is_some_and(Journal::was_begun);
    if let Some(staged) = staged {
        let JobOptions { input, replacing, .. } = &options.job;
        staged.check(job.inputs(), &input.files, replacing.force, goes_on)?;
    }
    if let Some(by) = &rank_by {
        job = job.ranked(by.clone())?;
    }
    if let Some(report) = job.done() {
        see_outputs(options, &job, staged.take())?;
        print_to_stdout(&format_args!("{report}{}", policy(options, &report)))?;
        return Ok(report);
    }
    // A dry run makes and changes no index, except its own one in memory.
    let spares_index = options.flags.dry_run && uri != DEFAULT_STORE;
    if uri != DEFAULT_STORE && !spares_index && options.store.of_new(uri)?.is_some() {
        job.try_first(None)?;
    }
    let output = options.flags.output.as_deref();
    let output = output.map(|path| job.kept_output(path, options.flags.output_bytes_max)).transpose()?;
    let duplicates = options.flags.duplicates.as_deref().map(|path| job.table(path)).transpose()?;
    let lines = output.as_ref().is_some_and(KeptOutput::takes_lines);
    // An index in memory is always new.
    let is_quiet = options.job.work.quiet || uri == DEFAULT_STORE;
    let folder = temporary_folder(options);
    let saved: Saved = job.journal().map(Journal::command).transpose()?.flatten().unwrap_or_default();
    let can_spill = may_spill(options);
    spilling.is_once = can_spill && !job.can_read_twice();
    spilling.is_possible = can_spill && !spilling.is_once;
    spilling.is_wanted |= saved.is_spilled;
    let is_spilled = spilling.is_wanted && job.journal().is_none_or(Journal::is_reading);
    let mut spilled = is_spilled.then(|| SpilledRun::create(&folder, rank_by.is_some())).transpose()?;
    let documents = || spilled.as_ref().map(|run| Arc::clone(run.spilled()));
    let open = |mode| options.store.open_with_files(uri, mode, is_quiet, &folder, documents());
    let engine = match uri {
        DEFAULT_STORE => open(Mode::CreateIfMissing)?,
        _ if spares_index => open(Mode::MustExist)?,
        _ => job.with_index(open)?,
    };
    let engine = engine.containing(options.flags.contained).context("--contained cannot be decided")?;
    let is_in_memory = uri == DEFAULT_STORE;
    // Only a report shows kept texts; exact counts need no more than the reduced ones.
    let counts_only = is_in_memory && options.flags.report.is_empty();
    let engine = if counts_only { engine.with_reduced_texts() } else { engine };
    let engine = if spares_index { engine.overlaid() } else { engine };
    let index = engine.index();
    if !is_in_memory {
        job.hold_to(index)?;
    }
    let mut kept = Kept::new(options.flags.known_ids).with_recipe(index.recipe());
    if is_in_memory {
        kept = kept.of_own_index(index);
    }
    let open_logs = |journal: &Journal| match rank_by {
        _ if is_spilled => Ok(Logs::none()),
        Some(_) => Logs::of_calls(journal, is_in_memory),
        None => Logs::open(journal, &saved, index, is_in_memory, &mut kept),
    };
    let logs = job.journal().filter(|journal| journal.is_reading()).map(open_logs).transpose()?;
    let reporting = Reporting::new(&options.flags.report, &job, reported(options, uri, index))?;
    let with_findings = !options.flags.report.is_empty();
    let findings = with_findings.then(|| Findings::new(index.max_distance()));
    let clusters = options.flags.clusters.as_deref().map(ClustersFile::create).transpose()?;
    let clusters = clusters.map(|file| Clusters::new(file, options.flags.chains, index));
    let pairs = options.flags.pairs.as_deref().map(|path| Table::open(path, None)).transpose()?;
    let pairs = pairs.map(|table| Pairs::new(table, index));
    let counts = index.rule().counter.is_some();
    let reads_texts = counts && (clusters.is_some() || pairs.is_some());
    let texts = reads_texts.then(|| run_texts(&folder)).transpose()?;
    let is_short = short_texts::matter(index);
    let by = index.insertion_rule();
    // Texts wait only where ranks decide the order.
    let waiting = (counts && rank_by.is_some() && !is_spilled).then(|| run_texts(&folder)).transpose()?;
    // A resumed job finds its own documents in the index.
    let asks_known_ids = !is_in_memory && !goes_on && options.flags.known_ids == KnownIds::Keep;
    let excerpt_columns = match (with_findings, for_people) {
        (true, _) => report_file::EXCERPT_COLUMNS,
        (false, true) => dedup::EXCERPT_COLUMNS,
        (false, false) => 0,
    };
    let wanted = Wanted { excerpt_columns, lines, is_short, ..Wanted::default() };
    if let Some(run) = &mut spilled {
        job.survey(engine.extractor(), wanted, run)?;
    }
    let engine = Arc::new(engine);
    let grown = (!is_in_memory && !spares_index).then(|| Arc::clone(&engine));
    let rule =
        Rule { engine: Arc::clone(&engine), dry_run: spares_index, logs, kept, waiting, asks_known_ids };
    let results = Results {
        by,
        output,
        duplicates,
        groups: for_people.then(|| Groups::new(options.flags.groups)),
        findings,
        clusters,
        pairs,
        texts,
        doubts: Doubts::default(),
        counts: Deduplicated { n_unchanged: n_unchanged(options, &saved), ..saved.counts },
    };
    let (report, results) = match rank_by {
        Some(by) => {
            drop(engine);
            run_best_first(job, wanted, rule, results, &by, &saved, spilled)?
        }
        None => {
            let extractor = if is_spilled { None } else { Some(engine.extractor()) };
            let sink = Deduplication::new(rule, results, saved.n_taken, spilling.is_possible, grown.clone());
            let mut sink = match spilled {
                Some(run) => sink.of_spilled(run)?,
                None => sink,
            };
            (job.run(extractor, wanted, &mut sink)?, sink.results)
        }
    };
    grown.iter().for_each(|engine| write_image(engine.index(), options.job.work.quiet));
    if let Some(findings) = &results.findings {
        reporting.write(&report, results.counts, findings, results.doubts.said())?;
    }
    staged.take().map_or(Ok(()), Staged::finish)?;
    let policy = policy(options, &report);
    match &results.groups {
        Some(groups) => print_to_stdout(&format_args!("{groups}\n{report}{policy}"))?,
        None if outputs.iter().any(|path| is_stdout(path)) => {
            program::print_to_stderr(&format_args!("{report}{policy}"));
        }
        None => print_to_stdout(&format_args!("{report}{policy}"))?,
    }
    if options.flags.dry_run {
        program::print_to_stderr(&"a dry run: nothing was dropped, and nothing added to an index\n");
    }
    short_texts::warn(&report, Some(uri).filter(|_| !is_in_memory));
    Ok(report)
}

/// Sees after the outputs of a job that was done before this run: uploads those in buckets, unless
/// they are, and fails if one has changed.
fn see_outputs(options: &DedupOptions, job: &Job, staged: Option<Staged>) -> anyhow::Result<()> {
    let is_uploaded = staged.as_ref().map_or(Ok(false), Staged::is_uploaded)?;
    let is_there = |path: &&PathBuf| !(is_uploaded && staged.as_ref().is_some_and(|staged| staged.has(path)));
    let flags = &options.flags;
    let output = flags.output.iter().map(|path| (OUTPUT, path));
    let outputs = output.chain(flags.duplicates.iter().map(|path| (DUPLICATES, path)));
    let outputs = outputs.chain(options.job.rejects.iter().map(|path| (REJECTS, path)));
    let outputs = outputs.filter(|(_, path)| is_there(path));
    say_done(job, outputs.map(|(role, path)| (role, path.as_path())))?;
    staged.filter(|_| !is_uploaded).map_or(Ok(()), Staged::finish)
}

/// The folder for temporary files: `--temp`, or else the folder of the output, which has room for
/// the kept texts.
fn temporary_folder(options: &DedupOptions) -> PathBuf {
    let beside_output = || {
        let output = options.flags.output.as_deref().filter(|path| !is_stdout(path))?;
        // The folder of a device or of an open file holds no others.
        (output.is_file() || !output.exists()).then(|| folder_of(output).to_owned())
    };
    options.flags.temp.clone().or_else(beside_output).unwrap_or_else(folder_of_system)
}

/// The system's folder for temporary files: where the usual one is in memory, which files there
/// would take, the one on a disk.
fn folder_of_system() -> PathBuf {
    let (usual, on_disk) = (std::env::temp_dir(), Path::new("/var/tmp"));
    let is_in_memory = |folder: &Path| File::open(folder).is_ok_and(|folder| corpus::is_in_memory(&folder));
    let is_asked_for = std::env::var_os("TMPDIR").is_some();
    if !is_asked_for && is_in_memory(&usual) && on_disk.is_dir() && !is_in_memory(on_disk) {
        return on_disk.to_owned();
    }
    usual
}

/// A file for the texts of this run's documents.
fn run_texts(folder: &Path) -> anyhow::Result<RunTexts> {
    RunTexts::create(folder, memory::cache(0))
        .with_context(|| format!("failed to make a file for texts in {}", folder.display()))
}

/// The number of documents dropped so far for their own earlier versions; `None` unless ids are
/// compared.
fn n_unchanged(options: &DedupOptions, saved: &Saved) -> Option<u64> {
    (options.flags.known_ids == KnownIds::Compare).then(|| saved.counts.n_unchanged.unwrap_or(0))
}

/// The report's rows about the choice of kept documents.
fn policy<'a>(options: &'a DedupOptions, report: &Report) -> keep::Rows<'a> {
    let n_unranked = match report.counts {
        Counts::Deduplicated(counts) => counts.n_unranked,
        _ => None,
    };
    keep::Rows { keep: &options.flags.keep, n_unranked, known_ids: options.flags.known_ids }
}

/// The options shown in reports.
fn reported(options: &DedupOptions, store: &str, index: &Index) -> report_file::Options {
    report_file::Options {
        dry_run: options.flags.dry_run,
        keep: options.flags.keep.to_string(),
        known_ids: (options.flags.known_ids != KnownIds::default()).then(|| options.flags.known_ids.name()),
        time_field: options.flags.time_field.as_ref().map(|field| field.given().to_owned()),
        store: store.to_owned(),
        scheme: index.kind().name().to_owned(),
        profile: index.kind().profile().name(),
        max_distance: index.max_distance().as_bits(),
        min_similarity: index.min_similarity().map(Similarity::get),
        counted: index.rule().counter.is_some(),
        same_numbers: index.rule().same_numbers,
        contained: options.flags.contained.map(Similarity::get),
        recipe: index.recipe().clone(),
    }
}
