//! `indexer dedup`: keeps a document unless one kept before it is near.
//!
//! What near means, and what becomes of an id that comes twice, is in [`rule`].

mod best_first;
mod logs;
mod options;
mod rule;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use index::Mode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::logs::Logs;
pub(crate) use self::options::DedupOptions;
use self::rule::Rule;
use super::clusters::Clusters;
use super::dry_run::{Decider, DryRun};
use super::findings::{self, Findings};
use super::groups::{self, Groups};
use super::pending::Pending;
use super::reporting::Reporting;
use super::results::Results;
use super::say_done;
use crate::job::{Item, Job, Sink};
use crate::journal::{Calls, Journal, KeptLog, Lengths};
use crate::keep;
use crate::output::{DUPLICATES, KeptOutput, OUTPUT, is_stdout, print_to_stdout};
use crate::pipeline::Wanted;
use crate::rejects::Rejects;
use crate::report::{Counts, Deduplicated, Report};

/// Where the kept documents are indexed when nobody names a store.
const DEFAULT_STORE: &str = "memory:";

pub(super) fn run(options: &DedupOptions) -> anyhow::Result<Report> {
    let outputs = options.output.iter().chain(&options.duplicates).chain(&options.clusters);
    let outputs: Vec<&Path> = outputs.map(PathBuf::as_path).collect();
    let reports = options.report.iter().map(|target| target.path.as_path());
    let all_outputs: Vec<&Path> = outputs.iter().copied().chain(reports).collect();
    let for_people = outputs.is_empty();
    let rank_by = options.rank_by.clone();
    let uri = options.store.uri().unwrap_or(DEFAULT_STORE);
    ensure!(
        options.job.shard.is_none() || uri != DEFAULT_STORE,
        "workers that each take a shard meet in an index; name one that all of them can reach with --store"
    );
    let journal = options.journal.as_ref().map(|journal| anyhow::Ok((journal, options.description()?)));
    let journal = journal.transpose()?;
    let mut job = Job::new(&options.job, &all_outputs, options.store.uri(), journal)?;
    if let Some(by) = &rank_by {
        job = job.ranked(by.clone())?;
    }
    if let Some(report) = job.done() {
        let output = options.output.iter().map(|path| (OUTPUT, path));
        let outputs = output.chain(options.duplicates.iter().map(|path| (DUPLICATES, path)));
        say_done(&job, outputs.map(|(role, path)| (role, path.as_path())), &options.job)?;
        print_to_stdout(&format_args!("{report}{}", policy(options, &report)))?;
        return Ok(report);
    }
    let output = options.output.as_deref().map(|path| job.kept_output(path)).transpose()?;
    let duplicates = options.duplicates.as_deref().map(|path| job.output(DUPLICATES, path)).transpose()?;
    let lines = output.as_ref().is_some_and(KeptOutput::takes_lines);
    // A dry run makes no index either; in memory there is none to be spared.
    let spares_index = options.dry_run && uri != DEFAULT_STORE;
    // In memory each is a new one.
    let is_quiet = options.job.quiet || uri == DEFAULT_STORE;
    let open = |mode| options.store.open_or_make(uri, mode, is_quiet);
    let (index, fingerprinter) = match uri {
        DEFAULT_STORE => open(Mode::CreateIfMissing)?,
        _ if spares_index => open(Mode::MustExist)?,
        _ => job.with_index(open)?,
    };
    let is_in_memory = uri == DEFAULT_STORE;
    if !is_in_memory {
        job.hold_to(&index)?;
    }
    let saved: Saved = job.journal().map(Journal::command).transpose()?.flatten().unwrap_or_default();
    let mut kept = HashMap::new();
    let open_logs = |journal: &Journal| match rank_by {
        Some(_) => Logs::of_calls(journal, is_in_memory),
        None => Logs::open(journal, &saved, &index, is_in_memory, &mut kept),
    };
    let logs = job.journal().filter(|journal| journal.is_reading()).map(open_logs).transpose()?;
    let reporting = Reporting::new(options, &job, uri, &index)?;
    let with_findings = !options.report.is_empty();
    let findings = with_findings.then(|| Findings::new(index.max_distance()));
    let clusters = options.clusters.as_deref().map(|path| job.output("--clusters", path)).transpose()?;
    let clusters = clusters.map(|output| Clusters::new(output, options.chains, &index));
    let decider = if spares_index { Decider::DryRun(DryRun::new(index)?) } else { Decider::Index(index) };
    let rule = Rule { decider, logs, kept };
    let results = Results {
        output,
        duplicates,
        groups: for_people.then(|| Groups::new(options.groups)),
        findings,
        clusters,
        counts: saved.counts,
    };
    let excerpt_columns = match (with_findings, for_people) {
        (true, _) => findings::EXCERPT_COLUMNS,
        (false, true) => groups::EXCERPT_COLUMNS,
        (false, false) => 0,
    };
    let wanted = Wanted { excerpt_columns, lines, ..Wanted::default() };
    let (report, results) = match rank_by {
        Some(by) => best_first::run(job, &fingerprinter, wanted, rule, results, &by, &saved)?,
        None => {
            let mut sink = Deduplication::new(rule, results);
            (job.run(&fingerprinter, wanted, &mut sink)?, sink.results)
        }
    };
    if let Some(findings) = &results.findings {
        reporting.write(&report, results.counts, findings)?;
    }
    let policy = policy(options, &report);
    match &results.groups {
        Some(groups) => print_to_stdout(&format_args!("{groups}\n{report}{policy}"))?,
        None if outputs.iter().any(|path| is_stdout(path)) => {
            program::print_to_stderr(&format_args!("{report}{policy}"));
        }
        None => print_to_stdout(&format_args!("{report}{policy}"))?,
    }
    if options.dry_run {
        program::print_to_stderr(&"a dry run: nothing was dropped, and nothing added to an index\n");
    }
    Ok(report)
}

/// What the report says of how it was chosen what stays.
fn policy<'a>(options: &'a DedupOptions, report: &Report) -> keep::Row<'a> {
    let n_unranked = match report.counts {
        Counts::Deduplicated(counts) => counts.n_unranked,
        _ => None,
    };
    keep::Row { keep: &options.keep, n_unranked }
}

/// What a checkpoint has to hold.
#[derive(Default, Serialize, Deserialize)]
struct Saved {
    counts: Deduplicated,
    n_kept_bytes: u64,
    n_calls: u64,
    /// Where everything is decided beforehand: how many documents have been written or rejected since, and how many not.
    n_taken: usize,
    n_left: usize,
}

/// Decides about one document after another.
struct Deduplication {
    rule: Rule,
    pending: Pending,
    results: Results,
}

impl Sink for Deduplication {
    fn take(&mut self, item: Item, rejects: &mut Rejects) -> anyhow::Result<()> {
        if self.pending.holds(&item.features.id) {
            self.flush(rejects)?;
        }
        if self.pending.add(item) {
            self.flush(rejects)?;
        }
        Ok(())
    }

    fn checkpoint(&mut self, rejects: &mut Rejects, lengths: &mut Lengths) -> anyhow::Result<Value> {
        self.flush(rejects)?;
        self.results.checkpoint(lengths)?;
        let mut saved = Saved { counts: self.results.counts, ..Saved::default() };
        if let Some(logs) = &mut self.rule.logs {
            saved.n_kept_bytes = logs.kept.as_mut().map_or(Ok(0), KeptLog::checkpoint)?;
            saved.n_calls = logs.calls.as_mut().map_or(0, Calls::checkpoint);
        }
        Ok(serde_json::to_value(saved)?)
    }

    fn finish(&mut self, rejects: &mut Rejects) -> anyhow::Result<Counts> {
        self.flush(rejects)?;
        self.results.finish(rejects)
    }
}

impl Deduplication {
    fn new(rule: Rule, results: Results) -> Self {
        Self { rule, pending: Pending::default(), results }
    }

    /// Decides what is pending, in the order of the input.
    fn flush(&mut self, rejects: &mut Rejects) -> anyhow::Result<()> {
        let items = self.pending.take();
        if items.is_empty() {
            return Ok(());
        }
        let verdicts = self.rule.decide(items.iter().map(|item| &item.features))?;
        for (item, verdict) in items.iter().zip(verdicts) {
            match verdict {
                Some(verdict) => self.results.add(item, &verdict)?,
                None => {
                    let id = item.features.id.as_str();
                    let reason = format!("id {id:?} was used by an earlier record of the input");
                    rejects.reject(&item.origin, item.number, &reason)?;
                }
            }
        }
        Ok(())
    }
}
