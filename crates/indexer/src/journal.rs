//! The progress of a job, in a directory of its own: the same command resumes the job after a
//! crash, a kill or a stop.
//!
//! ```text
//! job.json         description of the job; any other job is refused
//! checkpoint.json  progress: position in the input, counts, and the length of each file
//! kept.log         documents kept by `dedup`; those up to the checkpoint count
//! rows.log         their positions in the input, if the output is made from the input at the end
//! duplicates.log   rows of --duplicates, if the table is made from them at the end
//! lines.log        kept records, if a table is made from them at the end
//! calls.log        decisions of each call of a store since the checkpoint, written before the call
//! outputs/         files of outputs in buckets, until they are uploaded; which these are
//! lock             locked during a run
//! ```
//!
//! The input alone determines the records after which checkpoints are taken, not the time. A
//! resumed run repeats all after the last checkpoint in the same portions, and writes the same
//! bytes as an undisturbed run.
//!
//! All files may be moved meanwhile. The journal knows outputs by their roles, not by their places,
//! and each file has checksums: a job resumes exactly, or is refused because a file is missing or
//! damaged. A missing file never counts as an empty one.

mod calls;
mod checkpoint;
mod description;
mod kept;
mod log;
mod options;
mod rows;
mod table;
pub(crate) mod values;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use index::{Index, WriteMark};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(crate) use calls::{Calls, checksum};
pub(crate) use checkpoint::{Checkpoint, Stage};
pub(crate) use description::Description;
pub(crate) use kept::KeptLog;
pub(crate) use options::JournalOptions;
pub(crate) use rows::{Row, RowsLog};
pub(crate) use table::TableLog;

use crate::durable;
use crate::output::{self, DUPLICATES, Naming, Numbered, OUTPUT, Output, Parts, Reached, Resumed, place_of};
use crate::report::Report;

const JOB: &str = "job.json";
const JOB_NEW: &str = "job.json.new";
const CHECKPOINT: &str = "checkpoint.json";
const KEPT: &str = "kept.log";
const ROWS: &str = "rows.log";
const CALLS: &str = "calls.log";
const LOCK: &str = "lock";
const OUTPUTS: &str = "outputs";

/// Logs of tables made at the end, by the options of the tables.
const TABLES: [(&str, &str); 2] = [(DUPLICATES, "duplicates.log"), (OUTPUT, "lines.log")];

/// Files needed only to resume.
const LOGS: [&str; 5] = [KEPT, ROWS, TABLES[0].1, TABLES[1].1, CALLS];

/// Bytes of text after which a checkpoint is due, however few the records: some seconds of work.
const CHECKPOINT_TEXT_BYTES: u64 = 64 << 20;

/// The journal of one job, locked against other processes.
pub(crate) struct Journal {
    folder: PathBuf,
    job: Job,
    /// True if an earlier run has begun the job.
    was_begun: bool,
    checkpoint: Checkpoint,
    n_records_max: u64,
    /// Holds the lock until dropped.
    _lock: File,
}

#[derive(Serialize, Deserialize)]
struct Job {
    /// Part of the names of partial files, so that two jobs with one output do not share them.
    name: String,
    description: Description,
    /// True if the checkpoint file must exist: a missing one would make the job look new. The file
    /// exists a moment before the flag is set.
    has_checkpoint: bool,
    /// The last write to the index before the job began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_write: Option<WriteMark>,
}

impl Journal {
    /// Opens the journal of a job, or makes one in an empty or missing folder.
    pub(crate) fn open(options: &JournalOptions, description: Description) -> anyhow::Result<Self> {
        let JournalOptions { folder, checkpoint_records } = options;
        let failed = || format!("failed to open the journal {}", folder.display());
        durable::create_folder(folder).with_context(failed)?;
        let folder = folder.canonicalize().with_context(failed)?;
        read_job(&folder)?;
        let lock = durable::lock(&folder.join(LOCK)).with_context(failed)?.with_context(|| {
            format!("another run is at work with the journal {}; wait for it", folder.display())
        })?;
        // Reads again under the lock, which excludes other writers.
        let found = read_job(&folder)?;
        let was_begun = found.is_some();
        let mut job = match found {
            None => {
                for name in LOGS {
                    durable::remove(&folder.join(name)).with_context(failed)?;
                }
                // The name depends only on the folder: a run that dies before it begins is repeated
                // under the same name.
                let name = format!("{:08x}", crc32fast::hash(folder.as_os_str().as_encoded_bytes()));
                Job { name, description, has_checkpoint: false, last_write: None }
            }
            Some(job) => {
                if let Some(difference) = job.description.difference(&description) {
                    let advice = if job.description.may_begin_anew() {
                        "give this one a folder of its own, or remove the journal to begin anew"
                    } else {
                        "put it back, and the job goes on; begun anew, it would drop what it has written to the index"
                    };
                    bail!("the journal {} is of another job: {difference}; {advice}", folder.display());
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

    /// Returns true if an earlier run has begun the job: then its files exist.
    pub(crate) fn was_begun(&self) -> bool {
        self.was_begun
    }

    /// Binds the job to the index with which it began.
    ///
    /// # Errors
    ///
    /// If `index` was made anew or restored from a copy older than the checkpoint.
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
            self.job.last_write = index.mark(true).context(failed)?;
        }
        Ok(())
    }

    /// The last checkpoint.
    pub(crate) fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Returns true while records remain to be decided.
    pub(crate) fn is_reading(&self) -> bool {
        self.checkpoint.stage == Stage::Reading
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The output of `role` at `path`, resumed at the checkpoint.
    pub(crate) fn output(&self, role: &'static str, path: &Path) -> anyhow::Result<Output> {
        let path = place_of(path);
        let resumed = || Resumed { job: &self.job.name, role, advice: self.advice() };
        Ok(match self.checkpoint.stage {
            Stage::Reading => Output::resume(path, self.reached(role)?, &resumed())?,
            Stage::Written => {
                let reached = self.reached(role)?;
                match Output::resume(path.clone(), reached, &resumed()) {
                    // The output was moved into its place before the run broke off.
                    Err(_) if reached.is_some_and(|reached| reached.is_at(&path).unwrap_or(false)) => {
                        Output::in_place(path)
                    }
                    resumed => resumed?,
                }
            }
            Stage::Done(_) => Output::in_place(path),
        })
    }

    /// The output of `role` at `path` that is made at the end of the job, and anew by each resumed
    /// run.
    pub(crate) fn output_at_the_end(&self, role: &'static str, path: &Path) -> anyhow::Result<Output> {
        Output::resume(place_of(path), None, &Resumed { job: &self.job.name, role, advice: self.advice() })
    }

    /// The parts of the output of `role` that are whole at the checkpoint.
    pub(crate) fn parts(&self, role: &'static str, names: Numbered, bytes_max: u64) -> anyhow::Result<Parts> {
        let naming = Naming { job: self.job.name.clone(), role, advice: self.advice() };
        let is_written = self.checkpoint.stage == Stage::Written;
        Parts::resume(names, bytes_max, naming, &self.checkpoint.lengths, is_written)
    }

    /// The state of an output at the checkpoint; `None` without a checkpoint.
    fn reached(&self, role: &str) -> anyhow::Result<Option<Reached>> {
        self.len_of(role)?;
        Ok(output::reached(role, &self.checkpoint.lengths))
    }

    /// The length of a file at the checkpoint; `None` without a checkpoint.
    fn len_of(&self, role: &str) -> anyhow::Result<Option<u64>> {
        let len = self.checkpoint.lengths.get(role).copied();
        ensure!(
            len.is_some() || !self.job.has_checkpoint,
            "{}: it does not say how long {role} was",
            self.unreadable(CHECKPOINT)
        );
        Ok(len)
    }

    /// The command's state at the checkpoint; `None` without a checkpoint.
    pub(crate) fn command<T: DeserializeOwned>(&self) -> anyhow::Result<Option<T>> {
        if !self.job.has_checkpoint {
            return Ok(None);
        }
        let command = self.checkpoint.command.clone();
        serde_json::from_value(command).map(Some).with_context(|| self.unreadable(CHECKPOINT))
    }

    /// Opens the log of kept documents. Passes those up to the checkpoint to `take`, batch by
    /// batch.
    pub(crate) fn kept_log(&self, len: u64, take: impl FnMut(kept::Batch)) -> anyhow::Result<KeptLog> {
        KeptLog::open(&self.folder.join(KEPT), len, take).with_context(|| self.unreadable(KEPT))
    }

    /// Opens the log of kept rows. Passes those up to the checkpoint to `take`.
    pub(crate) fn rows_log(&self, take: impl FnMut(Vec<Row>)) -> anyhow::Result<RowsLog> {
        let len = self.len_of(ROWS)?;
        RowsLog::open(&self.folder.join(ROWS), len, take).with_context(|| self.unreadable(ROWS))
    }

    /// Opens the log of the table of `option`, cut to the checkpoint.
    pub(crate) fn table_log(&self, option: &'static str) -> anyhow::Result<TableLog> {
        let log = TABLES.iter().find(|(of, _)| *of == option);
        let (_, name) = *log.with_context(|| format!("{option} goes with no journal"))?;
        TableLog::open(&self.folder.join(name), name, self.len_of(name)?, self.unreadable(name))
    }

    /// Opens the log of calls at the checkpoint, before which `n_calls` calls were made.
    pub(crate) fn calls(&self, n_calls: u64) -> anyhow::Result<Calls> {
        let path = self.folder.join(CALLS);
        let calls = if self.was_begun { Calls::open(&path, n_calls) } else { Calls::create(&path) };
        calls.with_context(|| self.unreadable(CALLS))
    }

    /// Marks the job as begun, once no check can refuse it any more.
    pub(crate) fn begin(&self) -> anyhow::Result<()> {
        self.write_json(JOB, &self.job)
    }

    /// Returns true if the next checkpoint is due.
    pub(crate) fn is_due(&self, n_read: u64, n_text_bytes: u64) -> bool {
        n_read - self.checkpoint.n_read >= self.n_records_max
            || n_text_bytes - self.checkpoint.n_text_bytes >= CHECKPOINT_TEXT_BYTES
    }

    /// Saves a checkpoint, at which the job resumes from now on. All files in it must be durable.
    pub(crate) fn save(&mut self, checkpoint: Checkpoint) -> anyhow::Result<()> {
        self.write_json(CHECKPOINT, &checkpoint)?;
        self.checkpoint = checkpoint;
        if !self.job.has_checkpoint {
            self.job.has_checkpoint = true;
            self.write_json(JOB, &self.job)?;
        }
        Ok(())
    }

    /// Marks the job as done, with all outputs in their places, and removes the logs.
    pub(crate) fn finish(&mut self, report: &Report) -> anyhow::Result<()> {
        self.save(Checkpoint { stage: Stage::Done(report.clone()), ..self.checkpoint.clone() })?;
        for name in LOGS {
            let failed = || format!("failed to remove {name} of the journal");
            durable::remove(&self.folder.join(name)).with_context(failed)?;
        }
        Ok(())
    }

    /// The first of `outputs`, each with its role, that differs from the result of the job, with
    /// the difference.
    pub(crate) fn changed_output<'a>(
        &self,
        outputs: impl IntoIterator<Item = (&'static str, &'a Path)>,
    ) -> Option<(PathBuf, &'static str)> {
        let lengths = &self.checkpoint.lengths;
        let of = |(role, output): (&'static str, &Path)| match Numbered::of(output) {
            Some(names) if role == OUTPUT => output::finished(&names, role, lengths),
            _ => vec![(output.to_owned(), lengths.get(role).copied())],
        };
        outputs.into_iter().flat_map(of).find_map(|(output, expected)| match output.metadata() {
            Err(_) => Some((output, "is not there any more")),
            Ok(found) if expected.is_some_and(|len| len != found.len()) => {
                Some((output, "is not as it was left"))
            }
            Ok(_) => None,
        })
    }

    /// Advice for a job that cannot resume.
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

/// Makes the folder for the files of outputs in buckets in that of a journal.
pub(crate) fn outputs_folder(journal: &Path) -> anyhow::Result<PathBuf> {
    let failed = || format!("failed to open the journal {}", journal.display());
    durable::create_folder(journal).with_context(failed)?;
    read_job(journal)?;
    let folder = journal.join(OUTPUTS);
    durable::create_folder(&folder).with_context(failed)?;
    Ok(folder)
}

/// Reads the job of a journal, if it has begun. Refuses other folders.
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
            // A run that died before it began has left these files; it had decided nothing.
            let is_ours = [LOCK, JOB_NEW, OUTPUTS].iter().chain(&LOGS).any(|ours| name == **ours);
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
