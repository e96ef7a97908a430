//! One run over the input. All checks precede the first write; then every record goes through the
//! pipeline to a [`Sink`].

mod alike;
mod checkpoint;
mod options;
mod places;
mod survey;
mod trial;

use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use anyhow::Context;
use corpus::{FieldNames, Fields, Inputs, LeftOut, MadeIds, RoundIds, WHAT_TO_DO, WholeRows};
use engine::Extractor;
use index::{Index, Mode, WriteMark};
use serde_json::Value;

use self::checkpoint::take_checkpoint;
use self::places::{check_folders, check_paths, check_repeatable};
use crate::given::Needs;
use crate::journal::{Checkpoint, Description, Journal, JournalOptions, Stage};
use crate::kept::KeptOutput;
use crate::memory::Watch;
use crate::numbers::Grouped;
use crate::opening::make_room;
use crate::output::{Lengths, Output, is_stdout};
use crate::pipeline::{Item, Pipeline, Wanted};
use crate::progress::{Console, Progress};
use crate::rejects::{AllRejected, Rejects};
use crate::report::{Counts, Report};
use crate::shard::Shard;
use crate::stop::Stop;
use crate::table::{Schema, Table};

use self::alike::Alike;
pub(crate) use self::options::{JobOptions, SourceOptions, WorkOptions};
pub(crate) use self::places::refuse_remote;
pub(crate) use self::survey::Survey;
use self::survey::Surveyed;

/// The consumer of the records of a command.
pub(crate) trait Sink {
    /// Takes the next record, in the order of the input.
    fn take(&mut self, item: Item, rejects: &mut Rejects) -> anyhow::Result<()>;

    /// Decides all taken records, and hands results on to a program that reads them meanwhile.
    /// Called where the input waits for its writer.
    fn rest(&mut self, _: &mut Rejects) -> anyhow::Result<()> {
        Ok(())
    }

    /// Decides all taken records, and fails if the run cannot end with these.
    fn check_end(&mut self, _: &mut Rejects) -> anyhow::Result<()> {
        Ok(())
    }

    /// Decides all taken records, makes the files durable and adds their lengths to `lengths`.
    /// Returns the rest of the command's state. Not called for a command without a journal.
    fn checkpoint(&mut self, _: &mut Rejects, _: &mut Lengths) -> anyhow::Result<Value> {
        Ok(Value::Null)
    }

    /// The last write to the index of the command. An index without this write is refused when the
    /// job resumes.
    fn last_write(&self) -> index::Result<Option<WriteMark>> {
        Ok(None)
    }

    /// Returns true if the run is done even if all records were rejected. For most commands such a
    /// run more likely has the wrong field or format, and must not replace good results of an
    /// earlier run by nothing.
    fn may_be_empty(&self) -> bool {
        false
    }

    /// Returns true if a run near its memory limit goes on in another way, and so needs no warning.
    fn has_way_out(&self) -> bool {
        false
    }

    /// Bytes of memory that the next documents may take at once, as a table that doubles does.
    fn leap_bytes(&self) -> u64 {
        0
    }

    /// The index into which the command inserts while it reads, if that can hold less in memory.
    fn index(&self) -> Option<&Index> {
        None
    }

    /// Moves the files into their places and returns the counts. Called once after the last record,
    /// and with a journal after a checkpoint.
    fn finish(&mut self, rejects: &mut Rejects) -> anyhow::Result<Counts>;
}

/// A run ready to begin.
pub(crate) struct Job {
    inputs: Inputs,
    fields: Fields,
    /// The needs of the index, for records with given features.
    needs: Option<Needs>,
    n_threads: usize,
    shard: Option<Shard>,
    /// True if a run goes on whose records are all rejected.
    keeps_going: bool,
    progress: Progress,
    rejects: Rejects,
    journal: Option<Journal>,
    /// The pass before the run, if there was one.
    surveyed: Surveyed,
}

impl Job {
    /// Opens the inputs, and checks them and the command's `outputs` for conflicts.
    ///
    /// No output may lie in the directory of the `store`. The description of a journal comes
    /// without the inputs, which are added here.
    pub(crate) fn new(
        options: &JobOptions,
        outputs: &[&Path],
        store: Option<&str>,
        journal: Option<(&JournalOptions, Description)>,
    ) -> anyhow::Result<Self> {
        let JobOptions { input, source, given, rejects, replacing, keeps_going, shard, work } = options;
        work.limit_memory();
        let all_outputs: Vec<&Path> = outputs.iter().copied().chain(rejects.as_deref()).collect();
        let folders = journal.iter().map(|(journal, _)| &*journal.folder);
        let all_places: Vec<&Path> = all_outputs.iter().copied().chain(folders).collect();
        refuse_remote(all_places.iter().copied(), store)?;
        let inputs = Inputs::open(input)?;
        check_paths(inputs.paths(), &all_outputs)?;
        check_folders(input, &all_places, store)?;
        let journal = journal.map(|(journal, mut job)| {
            check_repeatable(input, &all_outputs)?;
            inputs.locations().try_for_each(|location| job.add_input(location))?;
            Journal::open(journal, job)
        });
        let journal = journal.transpose()?;
        // A job that was begun knows its outputs.
        if !journal.as_ref().is_some_and(Journal::was_begun) {
            replacing.check(&all_outputs)?;
        }
        // A progress bar and results would overwrite each other in one terminal.
        let results_in_terminal =
            outputs.iter().any(|path| is_stdout(path)) && program::stdout().is_terminal();
        let progress = Progress::new(&inputs, work.quiet || results_in_terminal);
        if !inputs.left_out.is_empty() {
            let left_out = &inputs.left_out;
            let why = reason(left_out, "which say how a folder was written, or hold no records");
            progress.console().print(format_args!("left out: {left_out}, {why}"));
        }
        let rejects = Rejects::new(rejects.as_deref(), progress.console(), journal.as_ref())?;
        let fields = Fields::new(FieldNames {
            given: given.clone(),
            source: source.as_ref().map(|source| source.source_field.clone()),
            source_default: source.as_ref().and_then(|source| source.source.clone()),
            ..FieldNames::of(input)
        });
        let n_cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let n_threads = work.threads.map_or_else(n_cores, usize::from);
        let (shard, keeps_going, needs, surveyed) = (*shard, *keeps_going, None, Surveyed::default());
        Ok(Self {
            inputs,
            fields,
            needs,
            n_threads,
            shard,
            keeps_going,
            progress,
            rejects,
            journal,
            surveyed,
        })
    }

    /// Gives a record without an id a unique one.
    pub(crate) fn with_unique_ids(mut self, ids: RoundIds) -> Self {
        self.fields = self.fields.with_made_ids(MadeIds::Unique(ids));
        self
    }

    /// Makes the line of a row one of JSON with all columns.
    pub(crate) fn with_whole_rows(mut self) -> Self {
        self.inputs.whole_rows = WholeRows::JsonOfAll;
        self
    }

    /// Takes the features given in records, as far as an index needs them.
    pub(crate) fn with_needs(self, needs: Needs) -> Self {
        Self { needs: Some(needs), ..self }
    }

    /// The console for messages during the run.
    pub(crate) fn console(&self) -> Console {
        self.progress.console()
    }

    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// Opens an index on disk or behind a server. A resumed job requires the index with which it
    /// began.
    pub(crate) fn with_index<T>(&self, open: impl FnOnce(Mode) -> anyhow::Result<T>) -> anyhow::Result<T> {
        if !self.journal.as_ref().is_some_and(Journal::was_begun) {
            return open(Mode::CreateIfMissing);
        }
        open(Mode::MustExist)
            .context("a job goes on with the index that it was begun with; where that was moved, put it back")
    }

    /// Refuses another index than the one with which the job began.
    pub(crate) fn hold_to(&mut self, index: &Index) -> anyhow::Result<()> {
        self.journal.as_mut().map_or(Ok(()), |journal| journal.hold_to(index))
    }

    /// Returns true if the run takes only one part of the documents.
    pub(crate) fn has_part(&self) -> bool {
        self.shard.is_some()
    }

    /// The report of a job that was done before this run.
    pub(crate) fn done(&self) -> Option<Report> {
        match &self.journal.as_ref()?.checkpoint().stage {
            Stage::Done(report) => Some(report.clone()),
            _ => None,
        }
    }

    /// The output file of `role`, resumed at the checkpoint.
    pub(crate) fn output(&self, role: &'static str, path: &Path) -> anyhow::Result<Output> {
        self.journal.as_ref().map_or_else(|| Output::create(path), |journal| journal.output(role, path))
    }

    /// The table at `path` in the format of its name, resumed at the checkpoint.
    pub(crate) fn table<S: Schema>(&self, path: &Path) -> anyhow::Result<Table<S>> {
        Table::open(path, self.journal.as_ref())
    }

    /// The file for kept documents, in the format of its name.
    pub(crate) fn kept_output(&mut self, path: &Path, bytes_max: Option<u64>) -> anyhow::Result<KeptOutput> {
        let own = self.fields.own_names().map(str::to_owned).collect();
        KeptOutput::new(path, bytes_max, &mut self.inputs, own, self.journal.as_ref())
    }

    /// Files found while looking for inputs, and not read.
    pub(crate) fn left_out(&self) -> &LeftOut {
        &self.inputs.left_out
    }

    /// The paths of the inputs.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.inputs.paths()
    }

    /// Runs over all records: rejects the unreadable ones, passes the others to `sink`. Without an
    /// `extractor` the documents have no features: the command knows those.
    pub(crate) fn run(
        self,
        extractor: Option<&Extractor>,
        wanted: Wanted,
        sink: &mut impl Sink,
    ) -> anyhow::Result<Report> {
        let Self {
            inputs,
            fields,
            needs,
            n_threads,
            shard,
            keeps_going,
            mut progress,
            mut rejects,
            mut journal,
            mut surveyed,
        } = self;
        let stop = journal.as_ref().map(|_| Stop::listen()).transpose()?;
        journal.as_ref().map_or(Ok(()), Journal::begin)?;
        let (mut left_out, notes) = (inputs.left_out.clone(), inputs.notes.clone());
        let mut so_far = journal.as_ref().map(|journal| journal.checkpoint().clone()).unwrap_or_default();
        progress.start(so_far.time + surveyed.elapsed());
        let mut memory = Watch::new();
        let has_read = so_far.n_rejected < so_far.n_read;
        let mut alike = if keeps_going || has_read || sink.may_be_empty() {
            Alike::off()
        } else {
            Alike::after(so_far.n_read)
        };
        if so_far.stage == Stage::Reading {
            let pipeline =
                Pipeline { extractor, fields: &fields, n_threads, wanted, needs: needs.as_ref(), shard };
            pipeline.run(inputs, so_far.position, |batch| {
                for record in batch.records {
                    so_far.position = record.position;
                    if let Some(ending) = record.left_out {
                        so_far.left_out.add_kind(&ending);
                        continue;
                    }
                    let Some(item) = record.item.transpose() else {
                        so_far.n_passed_over += 1;
                        continue;
                    };
                    so_far.n_read += 1;
                    let item = surveyed.refused(record.position).map_or(item, Err);
                    match item {
                        Ok(item) => {
                            alike.read();
                            so_far.n_whole_pages += u64::from(item.document.is_whole_page);
                            if let Some(encoding) = item.guessed {
                                notes.add(item.origin.name(), format!("read as in {encoding}"));
                            }
                            so_far.n_text_bytes += item.document.n_text_bytes as u64;
                            so_far.n_short += u64::from(item.document.is_short);
                            sink.take(item, &mut rejects)?;
                        }
                        Err(reason) => {
                            rejects.reject(&batch.origin, record.number, &reason)?;
                            alike.rejected(&reason, &fields)?;
                        }
                    }
                    if let Some(journal) = &mut journal
                        && journal.is_due(so_far.n_read, so_far.n_text_bytes)
                    {
                        so_far.time = progress.elapsed();
                        take_checkpoint(journal, &mut so_far, sink, &mut rejects)?;
                        stop.as_ref().map_or(Ok(()), Stop::check)?;
                    }
                }
                if batch.is_at_rest {
                    sink.rest(&mut rejects)?;
                }
                progress.show(so_far.n_read);
                if let Some(warning) = progress.share_read().and_then(|share| memory.foresee(share))
                    && !sink.has_way_out()
                {
                    progress.console().print(format_args!("{warning}"));
                }
                make_room(sink.index(), &mut memory, &progress.console());
                // Without a checkpoint: it would fall after other records than that of a run with
                // more memory, and a job that is killed meanwhile would find another call in its
                // log.
                Ok(memory.check_leap(sink.leap_bytes(), journal.is_some())?)
            })?;
            sink.check_end(&mut rejects)?;
            if let Some(journal) = &mut journal {
                so_far.stage = Stage::Written;
                so_far.time = progress.elapsed();
                take_checkpoint(journal, &mut so_far, sink, &mut rejects)?;
            }
        }
        for field in fields.unseen_texts() {
            progress.console().print(format_args!("no record has the field {field}; it counts as empty"));
        }
        for note in notes.lines() {
            progress.console().print(format_args!("{note}"));
        }
        if !so_far.left_out.is_empty() {
            let (members, why) = (&so_far.left_out, reason(&so_far.left_out, "which hold no records"));
            progress.console().print(format_args!("left out of archives: {members}, {why}"));
        }
        if so_far.n_read == 0 && so_far.n_passed_over > 0 {
            progress.console().print(format_args!(
                "no document was found: {} records are no pages (no answers, their status is not 200, or they are \
                 neither HTML nor text)",
                Grouped(so_far.n_passed_over)
            ));
        }
        if so_far.n_read > 0 && rejects.n_rejected() == so_far.n_read && !sink.may_be_empty() {
            rejects.finish()?;
            return Err(AllRejected::new(so_far.n_read, &fields).into());
        }
        left_out.merge(&so_far.left_out);
        let (counts, time) = (sink.finish(&mut rejects)?, progress.elapsed());
        let Checkpoint { n_read, n_passed_over, n_whole_pages, n_text_bytes, n_short, .. } = so_far;
        let n_rejected = rejects.finish()?;
        let report = Report {
            counts,
            n_read,
            n_rejected,
            n_passed_over,
            n_whole_pages,
            n_text_bytes,
            n_short,
            left_out,
            time,
        };
        journal.as_mut().map_or(Ok(()), |journal| journal.finish(&report))?;
        Ok(report)
    }
}

/// Formats the reason why files are left out; `side_files` is that of files beside the data.
fn reason(left_out: &LeftOut, side_files: &str) -> String {
    match left_out.is_side_files() {
        true => side_files.to_owned(),
        false => format!("whose names do not say a known format; {WHAT_TO_DO}{}", left_out.advice()),
    }
}
