//! How far a job has come, in a directory of its own, so that the same command goes on after a crash, a kill or a stop.
//!
//! ```text
//! job.json         what the job is; whoever comes with another one is refused
//! checkpoint.json  how far it is: where in the input, the counts, and how long each file was
//! kept.log         the documents that `dedup` has kept, of which those up to the checkpoint count
//! rows.log         where in the input they are, if the output is made from that at the end
//! calls.log        what was decided about each call of a store since the checkpoint, written before the call is made
//! lock             locked while a run is at it
//! ```
//!
//! Checkpoints are taken after records that the input alone decides, not at moments. So a run that was broken off goes on
//! as if nothing had happened: it does again what came after the last checkpoint, in the same portions, and writes the
//! same bytes.

mod calls;
mod description;
mod kept;
mod log;
mod rows;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(crate) use calls::Calls;
pub(crate) use description::Description;
pub(crate) use kept::KeptLog;
pub(crate) use rows::{Row, RowsLog};

use crate::durable;
use crate::input::Position;
use crate::output::{Output, place_of};
use crate::report::Report;

const JOB: &str = "job.json";
const JOB_NEW: &str = "job.json.new";
const CHECKPOINT: &str = "checkpoint.json";
const KEPT: &str = "kept.log";
const ROWS: &str = "rows.log";
const CALLS: &str = "calls.log";
const LOCK: &str = "lock";

/// A checkpoint is due after this much text, however few the records: some seconds of work.
const CHECKPOINT_TEXT_BYTES: u64 = 64 << 20;

/// The journal of one job, which no other process writes meanwhile.
pub(crate) struct Journal {
    folder: PathBuf,
    job: Job,
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
}

/// All that is needed to go on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) stage: Stage,
    pub(crate) position: Position,
    pub(crate) n_read: u64,
    pub(crate) n_text_bytes: u64,
    pub(crate) n_rejected: u64,
    /// Records named on stderr so far.
    pub(crate) n_named: u64,
    pub(crate) time: Duration,
    pub(crate) lengths: Lengths,
    /// What the command itself has to remember.
    pub(crate) command: serde_json::Value,
}

/// How long each output is, by its path.
pub(crate) type Lengths = BTreeMap<String, u64>;

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
    pub(crate) fn open(folder: &Path, n_records_max: u64, description: Description) -> anyhow::Result<Self> {
        let failed = || format!("failed to open the journal {}", folder.display());
        fs::create_dir_all(folder).with_context(failed)?;
        let folder = folder.canonicalize().with_context(failed)?;
        read_job(&folder)?;
        let lock = durable::lock(&folder.join(LOCK)).with_context(failed)?.with_context(|| {
            format!("another run is at work with the journal {}; wait for it", folder.display())
        })?;
        // Nobody else writes to it any more.
        let job = match read_job(&folder)? {
            None => {
                for name in [KEPT, ROWS, CALLS] {
                    durable::remove(&folder.join(name)).with_context(failed)?;
                }
                // The same again where a run dies before it has begun.
                let name = format!("{:08x}", crc32fast::hash(folder.as_os_str().as_encoded_bytes()));
                Job { name, description }
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
        let checkpoint = read_json(&folder.join(CHECKPOINT))?.unwrap_or_default();
        Ok(Self { folder, job, checkpoint, n_records_max, _lock: lock })
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

    /// The output that goes to `path`, as it was at the checkpoint.
    pub(crate) fn output(&self, path: &Path) -> anyhow::Result<Output> {
        let path = place_of(path);
        let len = self.checkpoint.lengths.get(&*path.to_string_lossy()).copied();
        Ok(match self.checkpoint.stage {
            Stage::Reading => Output::resume(path, &self.job.name, len)?,
            Stage::Written => match Output::resume(path.clone(), &self.job.name, len) {
                // Moved to its place before the run broke off.
                Err(_) if path.metadata().is_ok_and(|metadata| Some(metadata.len()) == len) => {
                    Output::in_place(path)
                }
                resumed => resumed?,
            },
            Stage::Done(_) => Output::in_place(path),
        })
    }

    /// What the command remembered, if it has been at a checkpoint.
    pub(crate) fn command<T: DeserializeOwned>(&self) -> anyhow::Result<Option<T>> {
        let command = self.checkpoint.command.clone();
        serde_json::from_value(command).with_context(|| self.damaged(CHECKPOINT))
    }

    /// The documents kept up to the checkpoint go to `take`, batch by batch.
    pub(crate) fn kept_log(&self, len: u64, take: impl FnMut(kept::Batch)) -> anyhow::Result<KeptLog> {
        KeptLog::open(&self.folder.join(KEPT), len, take).with_context(|| self.damaged(KEPT))
    }

    /// The rows kept up to the checkpoint go to `take`.
    pub(crate) fn rows_log(&self, take: impl FnMut(Vec<Row>)) -> anyhow::Result<RowsLog> {
        let len = self.checkpoint.lengths.get(ROWS).copied().unwrap_or(0);
        RowsLog::open(&self.folder.join(ROWS), len, take).with_context(|| self.damaged(ROWS))
    }

    /// The calls since the checkpoint, at which there had been `n_calls`.
    pub(crate) fn calls(&self, n_calls: u64) -> anyhow::Result<Calls> {
        Calls::open(&self.folder.join(CALLS), n_calls).with_context(|| self.damaged(CALLS))
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
        Ok(())
    }

    /// Everything is in its place. What only helped to go on is removed.
    pub(crate) fn finish(&mut self, report: &Report) -> anyhow::Result<()> {
        self.save(Checkpoint { stage: Stage::Done(report.clone()), ..self.checkpoint.clone() })?;
        for name in [KEPT, ROWS, CALLS] {
            let failed = || format!("failed to remove {name} of the journal");
            durable::remove(&self.folder.join(name)).with_context(failed)?;
        }
        Ok(())
    }

    /// Refuses to call a job done whose outputs are not what it has left.
    pub(crate) fn check_outputs<'a>(&self, outputs: impl Iterator<Item = &'a Path>) -> anyhow::Result<()> {
        for output in outputs {
            let expected = self.checkpoint.lengths.get(&*place_of(output).to_string_lossy());
            let what = match output.metadata() {
                Err(_) => "is not there any more",
                Ok(found) if expected.is_some_and(|len| *len != found.len()) => "is not as it was left",
                Ok(_) => continue,
            };
            bail!(
                "this job was done before, and {} {what}; to do it once more remove its journal {}",
                output.display(),
                self.folder.display()
            );
        }
        Ok(())
    }

    fn damaged(&self, name: &str) -> String {
        format!(
            "failed to read {name} of the journal {}; remove the journal to begin anew",
            self.folder.display()
        )
    }

    fn write_json(&self, name: &str, content: &impl Serialize) -> anyhow::Result<()> {
        durable::write_json(&self.folder.join(name), content)
            .with_context(|| format!("failed to write {name} to the journal {}", self.folder.display()))
    }
}

/// The job that a folder is the journal of, if it has begun; refuses what is no journal.
fn read_job(folder: &Path) -> anyhow::Result<Option<Job>> {
    let job = read_json(&folder.join(JOB))?;
    if job.is_none() {
        for entry in fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))? {
            let name = entry?.file_name();
            // What a run has made that died before it began. Nothing was decided by then.
            let is_ours = [LOCK, JOB_NEW, KEPT, ROWS, CALLS].iter().any(|ours| name == **ours);
            ensure!(is_ours, "{} is no journal and not empty; name a new folder", folder.display());
        }
    }
    Ok(job)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Option<T>> {
    durable::read_json(path)
        .with_context(|| format!("failed to read {}; remove the journal to begin anew", path.display()))
}
