//! How far a job has come, in a directory of its own, so that the same command goes on after a crash, a kill or a stop.
//!
//! ```text
//! job.json         what the job is; any other one is refused
//! checkpoint.json  how far it is: where in the input, the counts, and how long each file was
//! kept.log         the documents that `dedup` has kept, of which those up to the checkpoint count
//! rows.log         where in the input they are, if the output is made from that at the end
//! duplicates.log   the rows of --duplicates, if that is made from them at the end
//! calls.log        what was decided about each call of a store since the checkpoint, written before the call is made
//! lock             locked while a run is at it
//! ```
//!
//! Checkpoints are taken after records that the input alone decides, not at moments. So a run that was broken off goes on
//! as if nothing had happened: it does again what came after the last checkpoint, in the same portions, and writes the
//! same bytes.
//!
//! All of it may be moved meanwhile. Outputs are known by what they are for, not by where they are, and each file has
//! checksums: a job goes on as it was, or is refused where something is missing or damaged. What should be known and is not
//! is never taken for nothing.

mod calls;
mod description;
mod kept;
mod log;
mod options;
mod rows;
mod table;
pub(crate) mod values;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use corpus::Position;
use index::{Index, WriteMark};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(crate) use calls::Calls;
pub(crate) use description::Description;
pub(crate) use kept::KeptLog;
pub(crate) use options::JournalOptions;
pub(crate) use rows::{Row, RowsLog};
pub(crate) use table::TableLog;

use crate::durable;
use crate::numbers::is_zero;
use crate::output::{DUPLICATES, Lengths, Output, Reached, Resumed, place_of, sum_of};
use crate::report::Report;

const JOB: &str = "job.json";
const JOB_NEW: &str = "job.json.new";
const CHECKPOINT: &str = "checkpoint.json";
const KEPT: &str = "kept.log";
const ROWS: &str = "rows.log";
const CALLS: &str = "calls.log";
const LOCK: &str = "lock";

/// The logs of tables that are made at the end, by the options that ask for these.
const TABLES: [(&str, &str); 1] = [(DUPLICATES, "duplicates.log")];

/// What only helps to go on.
const LOGS: [&str; 4] = [KEPT, ROWS, TABLES[0].1, CALLS];

/// A checkpoint is due after this much text, however few the records: some seconds of work.
const CHECKPOINT_TEXT_BYTES: u64 = 64 << 20;

/// The journal of one job, which no other process writes meanwhile.
pub(crate) struct Journal {
    folder: PathBuf,
    job: Job,
    /// By an earlier run.
    was_begun: bool,
    checkpoint: Checkpoint,
    n_records_max: u64,
    /// Until this is closed.
    _lock: File,
}

#[derive(Serialize, Deserialize)]
struct Job {
    /// Part of the names of files that are not whole yet, so that two jobs with one output do not share them.
    name: String,
    description: Description,
    /// Without its file the job would be taken for one that has done nothing yet. There may be one a moment before it says so.
    has_checkpoint: bool,
    /// The last write to the index before the job began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_write: Option<WriteMark>,
}

/// All that is needed to go on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) stage: Stage,
    pub(crate) position: Position,
    pub(crate) n_read: u64,
    pub(crate) n_text_bytes: u64,
    /// Of short texts, where these are counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) n_short: u64,
    pub(crate) n_rejected: u64,
    /// Records named on stderr so far.
    pub(crate) n_named: u64,
    pub(crate) time: Duration,
    pub(crate) lengths: Lengths,
    /// The last write to the index, which it must have still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_write: Option<WriteMark>,
    /// What the command itself has to remember.
    pub(crate) command: serde_json::Value,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum Stage {
    #[default]
    Reading,
    /// Everything is written; what is left to do is to move the outputs to their places.
    Written,
    Done(Report),
}

impl Journal {
    /// Opens the journal of a job, or makes one in a folder that is empty or not there yet.
    pub(crate) fn open(options: &JournalOptions, description: Description) -> anyhow::Result<Self> {
        let JournalOptions { folder, checkpoint_records } = options;
        let failed = || format!("failed to open the journal {}", folder.display());
        durable::create_folder(folder).with_context(failed)?;
        let folder = folder.canonicalize().with_context(failed)?;
        read_job(&folder)?;
        let lock = durable::lock(&folder.join(LOCK)).with_context(failed)?.with_context(|| {
            format!("another run is at work with the journal {}; wait for it", folder.display())
        })?;
        // No other process writes to it any more.
        let found = read_job(&folder)?;
        let was_begun = found.is_some();
        let mut job = match found {
            None => {
                for name in LOGS {
                    durable::remove(&folder.join(name)).with_context(failed)?;
                }
                // The same again where a run dies before it has begun.
                let name = format!("{:08x}", crc32fast::hash(folder.as_os_str().as_encoded_bytes()));
                Job { name, description, has_checkpoint: false, last_write: None }
            }
            Some(job) => {
                if let Some(difference) = job.description.difference(&description) {
                    bail!(
                        "the journal {} is of another job: {difference}; give this one a folder of its own, or remove \
                         the journal to begin anew",
                        folder.display()
                    );
                }
                job
            }
        };
        let checkpoint = read_json(&folder, CHECKPOINT, job.description.advice())?;
        if job.has_checkpoint && checkpoint.is_none() {
            bail!("{}: it is not there any more", unreadable(&folder, CHECKPOINT, job.description.advice()));
        }
        job.has_checkpoint = checkpoint.is_some();
        let checkpoint = checkpoint.unwrap_or_default();
        Ok(Self { folder, job, was_begun, checkpoint, n_records_max: *checkpoint_records, _lock: lock })
    }

    /// Whether an earlier run has begun the job: then what it works with is there.
    pub(crate) fn was_begun(&self) -> bool {
        self.was_begun
    }

    /// Holds the job to the index that it began with.
    pub(crate) fn hold_to(&mut self, index: &Index) -> anyhow::Result<()> {
        let is_this = self.job.description.hold_to(&index.metadata().identity.to_string());
        ensure!(
            is_this,
            "the index was made anew since the job of the journal {} began, and does not have what was written into the one \
             before it; remove the journal to begin anew",
            self.folder.display()
        );
        let failed = "failed to ask the index for its last write";
        if let Some(then) = self.checkpoint.last_write.or(self.job.last_write) {
            ensure!(
                index.has_written(&then).context(failed)?,
                "the index was put back to a copy that is older than the last checkpoint of the journal {}, and does not have \
                 all that was written into it by then; put back a copy that was made later{}",
                self.folder.display(),
                if self.job.description.may_begin_anew() {
                    ", or remove the journal to begin anew"
                } else {
                    ""
                }
            );
        } else if !self.was_begun {
            self.job.last_write = index.last_write().context(failed)?;
        }
        Ok(())
    }

    /// How far the job is.
    pub(crate) fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Whether there is anything left to decide.
    pub(crate) fn is_reading(&self) -> bool {
        self.checkpoint.stage == Stage::Reading
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The output for `role` that goes to `path`, as it was at the checkpoint.
    pub(crate) fn output(&self, role: &'static str, path: &Path) -> anyhow::Result<Output> {
        let path = place_of(path);
        let resumed = || Resumed { job: &self.job.name, role, advice: self.advice() };
        Ok(match self.checkpoint.stage {
            Stage::Reading => Output::resume(path, self.reached(role)?, &resumed())?,
            Stage::Written => {
                let reached = self.reached(role)?;
                match Output::resume(path.clone(), reached, &resumed()) {
                    // Moved to its place before the run broke off.
                    Err(_) if reached.is_some_and(|reached| reached.is_at(&path).unwrap_or(false)) => {
                        Output::in_place(path)
                    }
                    resumed => resumed?,
                }
            }
            Stage::Done(_) => Output::in_place(path),
        })
    }

    /// The output for `role` that goes to `path`, which is made at the end of the job, as often as it takes.
    pub(crate) fn output_at_the_end(&self, role: &'static str, path: &Path) -> anyhow::Result<Output> {
        Output::resume(place_of(path), None, &Resumed { job: &self.job.name, role, advice: self.advice() })
    }

    /// How far an output was at the checkpoint, if there has been one.
    fn reached(&self, role: &str) -> anyhow::Result<Option<Reached>> {
        let crc32 = self.checkpoint.lengths.get(&sum_of(role)).and_then(|&crc32| u32::try_from(crc32).ok());
        Ok(self.len_of(role)?.map(|len| Reached { len, crc32 }))
    }

    /// How long a file was at the checkpoint, if there has been one.
    fn len_of(&self, role: &str) -> anyhow::Result<Option<u64>> {
        let len = self.checkpoint.lengths.get(role).copied();
        ensure!(
            len.is_some() || !self.job.has_checkpoint,
            "{}: it does not say how long {role} was",
            self.unreadable(CHECKPOINT)
        );
        Ok(len)
    }

    /// What the command remembered, if it has been at a checkpoint.
    pub(crate) fn command<T: DeserializeOwned>(&self) -> anyhow::Result<Option<T>> {
        if !self.job.has_checkpoint {
            return Ok(None);
        }
        let command = self.checkpoint.command.clone();
        serde_json::from_value(command).map(Some).with_context(|| self.unreadable(CHECKPOINT))
    }

    /// The documents kept up to the checkpoint go to `take`, batch by batch.
    pub(crate) fn kept_log(&self, len: u64, take: impl FnMut(kept::Batch)) -> anyhow::Result<KeptLog> {
        KeptLog::open(&self.folder.join(KEPT), len, take).with_context(|| self.unreadable(KEPT))
    }

    /// The rows kept up to the checkpoint go to `take`.
    pub(crate) fn rows_log(&self, take: impl FnMut(Vec<Row>)) -> anyhow::Result<RowsLog> {
        let len = self.len_of(ROWS)?;
        RowsLog::open(&self.folder.join(ROWS), len, take).with_context(|| self.unreadable(ROWS))
    }

    /// The rows up to the checkpoint of the table that `option` asks for.
    pub(crate) fn table_log(&self, option: &'static str) -> anyhow::Result<TableLog> {
        let log = TABLES.iter().find(|(of, _)| *of == option);
        let (_, name) = *log.with_context(|| format!("{option} goes with no journal"))?;
        TableLog::open(&self.folder.join(name), name, self.len_of(name)?, self.unreadable(name))
    }

    /// The calls since the checkpoint, at which there had been `n_calls`.
    pub(crate) fn calls(&self, n_calls: u64) -> anyhow::Result<Calls> {
        let path = self.folder.join(CALLS);
        let calls = if self.was_begun { Calls::open(&path, n_calls) } else { Calls::create(&path) };
        calls.with_context(|| self.unreadable(CALLS))
    }

    /// The job begins, or goes on: nothing can refuse it any more.
    pub(crate) fn begin(&self) -> anyhow::Result<()> {
        self.write_json(JOB, &self.job)
    }

    /// Whether it is time for the next checkpoint.
    pub(crate) fn is_due(&self, n_read: u64, n_text_bytes: u64) -> bool {
        n_read - self.checkpoint.n_read >= self.n_records_max
            || n_text_bytes - self.checkpoint.n_text_bytes >= CHECKPOINT_TEXT_BYTES
    }

    /// From here on the job goes on from this checkpoint. What it speaks of must be durable.
    pub(crate) fn save(&mut self, checkpoint: Checkpoint) -> anyhow::Result<()> {
        self.write_json(CHECKPOINT, &checkpoint)?;
        self.checkpoint = checkpoint;
        if !self.job.has_checkpoint {
            self.job.has_checkpoint = true;
            self.write_json(JOB, &self.job)?;
        }
        Ok(())
    }

    /// Everything is in its place. What only helped to go on is removed.
    pub(crate) fn finish(&mut self, report: &Report) -> anyhow::Result<()> {
        self.save(Checkpoint { stage: Stage::Done(report.clone()), ..self.checkpoint.clone() })?;
        for name in LOGS {
            let failed = || format!("failed to remove {name} of the journal");
            durable::remove(&self.folder.join(name)).with_context(failed)?;
        }
        Ok(())
    }

    /// The first of the `outputs`, each with its role, that is not what the job has left, and what is wrong with it.
    pub(crate) fn changed_output<'a>(
        &self,
        outputs: impl IntoIterator<Item = (&'static str, &'a Path)>,
    ) -> Option<(&'a Path, &'static str)> {
        outputs.into_iter().find_map(|(role, output)| {
            let expected = self.checkpoint.lengths.get(role);
            match output.metadata() {
                Err(_) => Some((output, "is not there any more")),
                Ok(found) if expected.is_some_and(|len| *len != found.len()) => {
                    Some((output, "is not as it was left"))
                }
                Ok(_) => None,
            }
        })
    }

    /// What to do where the job cannot go on.
    pub(crate) fn advice(&self) -> &'static str {
        self.job.description.advice()
    }

    fn unreadable(&self, name: &str) -> String {
        unreadable(&self.folder, name, self.advice())
    }

    fn write_json(&self, name: &str, content: &impl Serialize) -> anyhow::Result<()> {
        durable::write_json(&self.folder.join(name), content)
            .with_context(|| format!("failed to write {name} to the journal {}", self.folder.display()))
    }
}

/// The job that a folder is the journal of, if it has begun; refuses what is no journal.
fn read_job(folder: &Path) -> anyhow::Result<Option<Job>> {
    let job = read_json(
        folder,
        JOB,
        "put back a copy of it, finish the job with the version that began it, or name a new folder",
    )?;
    if job.is_none() {
        for entry in fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))? {
            let name = entry?.file_name();
            let is_begun = name == CHECKPOINT || name == CALLS && calls::have_begun(&folder.join(CALLS));
            ensure!(
                !is_begun,
                "the journal {} has no {JOB} any more; put back a copy of it",
                folder.display()
            );
            // What a run has made that died before it began. Nothing was decided by then.
            let is_ours = [LOCK, JOB_NEW].iter().chain(&LOGS).any(|ours| name == **ours);
            ensure!(is_ours, "{} is no journal and not empty; name a new folder", folder.display());
        }
    }
    Ok(job)
}

fn read_json<T: DeserializeOwned>(folder: &Path, name: &str, advice: &str) -> anyhow::Result<Option<T>> {
    durable::read_json(&folder.join(name)).with_context(|| unreadable(folder, name, advice))
}

fn unreadable(folder: &Path, name: &str, advice: &str) -> String {
    format!("failed to read {name} of the journal {}; {advice}", folder.display())
}
