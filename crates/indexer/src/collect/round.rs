//! Rounds of a collector, one after another, in repeatable steps.
//!
//! ```text
//! .collector/round.json       the current round, and its stage
//! .collector/totals.json      sums over all rounds, and the last round: named here once it is done
//! .collector/last_write.json  the last write to the index at the end of the last round
//! .collector/journal/         progress of the round's decisions
//! .collector/*.jsonl          the decided items
//! ```

mod last_write;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail, ensure};
use chrono::DateTime;
use corpus::{LeftOut, RankBy, RoundIds};
use engine::Engine;
use serde::{Deserialize, Serialize};

use super::options::CollectOptions;
use super::results::{Results, forget, publish};
use super::shelf::half_day_folder;
use super::sink::{Collection, Saved};
use super::spool::Spool;
use super::taken;
use super::watch::WatchFolder;
use super::{POLL, pause, say};
use crate::dedup::Pending;
use crate::durable;
use crate::job::Job;
use crate::journal::Journal;
use crate::opening::write_image;
use crate::output::{DUPLICATES, REJECTS, ResultsFormat};
use crate::pipeline::Wanted;
use crate::progress::complain;
use crate::report::{Counts, Deduplicated, Report};
use crate::stop::Stop;

/// Relative to the state folder.
const JOURNAL: &str = "journal";

/// Role of the spool among the outputs.
const SPOOL: &str = "the items kept";

pub(crate) struct Rounds<'a> {
    options: &'a CollectOptions,
    engine: &'a Engine,
    /// The folder of the collector's state.
    state: PathBuf,
    under_way: Option<Round>,
    totals: Totals,
    /// Sums over the rounds of this process.
    done: Report,
    n_done: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Round {
    /// The round's time and a random number, distinct from the names of other collectors' rounds.
    name: String,
    /// Begin of the round, in milliseconds since 1970.
    time_ms: u64,
    random: u32,
    stage: Stage,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Stage {
    /// The round's folder holds its files.
    Reading,
    /// All files are written, and are moved to their places.
    Publishing(Box<Published>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Published {
    places: Vec<PathBuf>,
    n_files: usize,
    report: Report,
    /// Taken files modified after the round had read them; paths relative to their folder, which
    /// may be moved.
    changed: Vec<PathBuf>,
    /// Files, and members of archives, with rejected records; paths likewise.
    rejected: BTreeSet<String>,
}

impl Published {
    /// Returns true if the results hold all of a taken file; `file` is relative to the folder.
    fn has_all_of(&self, file: &Path) -> bool {
        // A record of an archive has the path of its member.
        let file_as_text = file.to_string_lossy();
        let is_of_file = |rejected: &String| Path::new(rejected).starts_with(&*file_as_text);
        !self.changed.iter().any(|changed| changed == file) && !self.rejected.iter().any(is_of_file)
    }
}

/// Sums over all rounds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Totals {
    n_rounds: u64,
    n_files: u64,
    n_read: u64,
    n_rejected: u64,
    counts: Deduplicated,
    last_round: String,
    last_time_ms: u64,
}

impl<'a> Rounds<'a> {
    pub(crate) fn open(
        options: &'a CollectOptions,
        folder: &WatchFolder,
        engine: &'a Engine,
    ) -> anyhow::Result<Self> {
        durable::create_folder(&options.flags.results)
            .with_context(|| format!("failed to make the folder {}", options.flags.results.display()))?;
        let state = folder.state();
        let totals = read(&state.join("totals.json"))?.unwrap_or_default();
        last_write::check(&state, engine.index())?;
        let under_way = read(&state.join("round.json"))?;
        Ok(Self { options, engine, state, under_way, totals, done: no_report(), n_done: 0 })
    }

    /// Returns true while a round has begun and is not done.
    pub(crate) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Returns true until this process has done a round.
    pub(crate) fn is_first(&self) -> bool {
        self.n_done == 0
    }

    /// The report of this process; `left_out` counts the files left in the watched folder.
    pub(crate) fn report(&self, left_out: LeftOut) -> Report {
        Report { left_out, ..self.done.clone() }
    }

    /// Continues the current round, or does the next one. Returns false if no file waits.
    pub(crate) fn next(&mut self, folder: &mut WatchFolder, stop: &Stop) -> anyhow::Result<bool> {
        let round = match self.under_way.clone() {
            Some(round) => round,
            None => match self.begin(folder, stop)? {
                Some(round) => round,
                None => return Ok(false),
            },
        };
        if self.totals.last_round != round.name
            && let Some(published) = self.published(&round, folder)?
        {
            publish(&self.options.flags.results, &round.name, &published.places)?;
            self.count(&round, &published, &folder.taken(&round.name))?;
        }
        self.clean_up(&round, folder)?;
        write_image(self.engine.index(), self.options.work.quiet);
        Ok(true)
    }

    /// The files to publish; `None` if the collector was killed before the round took a file.
    fn published(&mut self, round: &Round, folder: &WatchFolder) -> anyhow::Result<Option<Published>> {
        if let Stage::Publishing(published) = &round.stage {
            return Ok(Some((**published).clone()));
        }
        let taken = folder.taken(&round.name);
        if !taken::has_files(&taken)? {
            ensure!(
                !self.state.join(JOURNAL).exists(),
                "the files that round {} has begun to read are not in {} any more; put them back there",
                round.name,
                taken.display()
            );
            return Ok(None);
        }
        let published = self.decide(round, folder)?;
        self.save(Round { stage: Stage::Publishing(Box::new(published.clone())), ..round.clone() })?;
        Ok(Some(published))
    }

    fn begin(&mut self, folder: &mut WatchFolder, stop: &Stop) -> anyhow::Result<Option<Round>> {
        let mut waiting = folder.waiting(self.options.records.format)?;
        while self.options.flags.once && waiting.is_empty() && folder.has_young() {
            pause(POLL, stop)?;
            waiting = folder.waiting(self.options.records.format)?;
        }
        if waiting.is_empty() {
            return Ok(None);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        // Times ascend even where the clock was set back.
        let time_ms = u64::try_from(now).unwrap_or(0).max(self.totals.last_time_ms + 1);
        let random = getrandom::u32().map_err(|error| anyhow!("failed to draw a random number: {error}"))?;
        let time = DateTime::from_timestamp_millis(time_ms as i64).unwrap_or_default();
        let name = format!("{}-{random:08x}", time.format("%Y%m%dT%H%M%S%3fZ"));
        let round = Round { name, time_ms, random, stage: Stage::Reading };
        self.save(round.clone())?;
        folder.take(&round.name, &waiting)?;
        Ok(Some(round))
    }

    /// Decides all items, and writes all files.
    fn decide(&self, round: &Round, folder: &WatchFolder) -> anyhow::Result<Published> {
        let taken = folder.taken(&round.name);
        let [spool, duplicates, rejects] =
            ["kept.jsonl", "duplicates.jsonl", "rejects.jsonl"].map(|name| self.state.join(name));
        let before = taken::identities(&taken)?;
        let report = self.run_job(round, &taken, &spool, &duplicates, &rejects)?;
        let options = self.options;
        let results = Results {
            root: &options.flags.results,
            round: &round.name,
            format: options.flags.results_format,
            columns: self.columns(),
        };
        let mut places = results.write(&spool)?;
        let folder = half_day_folder(round.time_ms as i64);
        places.extend(results.copy(&rejects, &Path::new("_rejects").join(&folder))?);
        places.extend(results.copy(&duplicates, &Path::new("_duplicates").join(&folder))?);
        results.mark(&places)?;
        let n_files = before.len();
        let after = taken::identities(&taken)?;
        let changed = before.into_iter().filter(|file| !after.contains(file));
        let changed = changed.map(|file| taken::below(&taken, &file.path).to_owned());
        let rejected = taken::named_by(&rejects, &taken)?;
        Ok(Published { places, n_files, report, changed: changed.collect(), rejected })
    }

    fn run_job(
        &self,
        round: &Round,
        taken: &Path,
        spool: &Path,
        duplicates: &Path,
        rejects: &Path,
    ) -> anyhow::Result<Report> {
        let options = self.options;
        let job = options.job(taken, rejects);
        let journal = CollectOptions::journal(self.state.join(JOURNAL));
        let description = options.description(&job, &journal)?;
        let outputs: Vec<&Path> =
            [spool].into_iter().chain(options.flags.duplicates.then_some(duplicates)).collect();
        let mut job = Job::new(&job, &outputs, options.store.uri(), Some((&journal, description)))
            .context("failed to go on with a round; it must be ended with the options it began with")?
            .with_whole_rows()
            .with_unique_ids(RoundIds::new(round.time_ms, round.random));
        if let Some(field) = &options.flags.time_field {
            job = job.ranked(RankBy::Time(Some(field.clone())))?;
        }
        if let Some(report) = job.done() {
            let outputs = [(REJECTS, rejects), (SPOOL, spool)].into_iter();
            let outputs = outputs.chain(options.flags.duplicates.then_some((DUPLICATES, duplicates)));
            if let Some((output, what)) = job.journal().and_then(|journal| journal.changed_output(outputs)) {
                bail!(
                    "{} {what}, and has what the round has decided; put back a copy of it",
                    output.display()
                );
            }
            return Ok(report);
        }
        job.hold_to(self.engine.index())?;
        let saved: Saved = job.journal().map(Journal::command).transpose()?.flatten().unwrap_or_default();
        let calls = job.journal().map(|journal| journal.calls(saved.n_calls)).transpose()?;
        let mut sink = Collection {
            index: self.engine.index(),
            calls: calls.context("a round has a journal")?,
            pending: Pending::new(true),
            spool: Some(Spool::new(job.output(SPOOL, spool)?)),
            duplicates: options.flags.duplicates.then(|| job.table(duplicates)).transpose()?,
            counts: saved.counts,
            round_ms: round.time_ms as i64,
        };
        let is_parquet = options.flags.results_format == ResultsFormat::Parquet;
        let wanted = Wanted { lines: true, texts: is_parquet, ..Wanted::default() };
        job.run(Some(self.engine.extractor()), wanted, &mut sink)
    }

    /// Members of items with columns of their own.
    fn columns(&self) -> Vec<&str> {
        let CollectOptions { records, source, .. } = self.options;
        let id = records.id_field.as_ref().map_or(Some("id"), |field| field.as_name());
        let texts = records.text_field.iter().filter_map(|field| field.as_name());
        id.into_iter().chain(texts).chain(source.source_field.as_name()).collect()
    }

    /// Counts the round. From here on it is done.
    fn count(&mut self, round: &Round, published: &Published, taken: &Path) -> anyhow::Result<()> {
        let Published { n_files, report, changed, .. } = published;
        for path in changed {
            complain(format_args!(
                "{} was written to after it had been taken, and what was written then may be missing from the results; \
                 write files under another name and rename them when they are whole",
                taken.join(path).display()
            ));
        }
        let totals = &mut self.totals;
        totals.n_rounds += 1;
        totals.n_files += *n_files as u64;
        totals.n_read += report.n_read;
        totals.n_rejected += report.n_rejected;
        totals.counts += report.counts.deduplicated();
        totals.last_round.clone_from(&round.name);
        totals.last_time_ms = round.time_ms;
        let path = self.state.join("totals.json");
        durable::write_json(&path, totals).with_context(|| format!("failed to write {}", path.display()))?;
        last_write::note(&self.state, self.engine.index())?;
        self.done += report;
        self.n_done += 1;
        if !self.options.work.quiet {
            say(&round.name, *n_files, report);
        }
        Ok(())
    }

    /// Removes the state of the current round.
    fn clean_up(&mut self, round: &Round, folder: &WatchFolder) -> anyhow::Result<()> {
        let clean_up = || -> io::Result<()> {
            let taken = folder.taken(&round.name);
            if self.options.flags.delete && taken.exists() {
                let stage = self.under_way.as_ref().map(|round| &round.stage);
                taken::delete(&taken, |file| match stage {
                    Some(Stage::Publishing(published)) => published.has_all_of(taken::below(&taken, file)),
                    _ => false,
                })?;
            }
            forget(&self.options.flags.results, &round.name)?;
            let journal = self.state.join(JOURNAL);
            if journal.exists() {
                fs::remove_dir_all(journal)?;
            }
            for name in ["kept.jsonl", "duplicates.jsonl", "rejects.jsonl", "round.json"] {
                durable::remove(&self.state.join(name))?;
            }
            durable::sync(&self.state)
        };
        clean_up().with_context(|| format!("failed to clean up after round {}", round.name))?;
        self.under_way = None;
        Ok(())
    }

    fn save(&mut self, round: Round) -> anyhow::Result<()> {
        let path = self.state.join("round.json");
        durable::write_json(&path, &round).with_context(|| format!("failed to write {}", path.display()))?;
        self.under_way = Some(round);
        Ok(())
    }
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> anyhow::Result<Option<T>> {
    durable::read_json(path).with_context(|| {
        format!("failed to read {}, which says how far the collector is; put back a copy", path.display())
    })
}

fn no_report() -> Report {
    Report {
        counts: Counts::Deduplicated(Deduplicated::default()),
        n_read: 0,
        n_rejected: 0,
        n_passed_over: 0,
        n_whole_pages: 0,
        n_text_bytes: 0,
        n_short: 0,
        left_out: LeftOut::default(),
        time: Duration::ZERO,
    }
}
