//! One run over the input: everything that can be refused is refused before anything is written, then every record goes
//! through the pipeline to a [`Sink`].

use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::ensure;
use features::Fingerprinter;

use crate::cli::{InputArgs, SourceArgs};
use crate::input::{FieldNames, Fields, Inputs, Origin};
use crate::output::is_stdout;
use crate::pipeline::{Features, Pipeline, Wanted};
use crate::progress::Progress;
use crate::rejects::Rejects;
use crate::report::{Counts, Report};

/// One record of the input, on its way through a command.
pub(crate) struct Item {
    pub(crate) origin: Arc<Origin>,
    pub(crate) number: u64,
    /// What stands for it in an output; empty where none was asked for.
    pub(crate) line: Box<[u8]>,
    pub(crate) features: Features,
}

/// What a command does with the records.
pub(crate) trait Sink {
    /// Takes the next record, in the order of the input.
    fn take(&mut self, item: Item, rejects: &mut Rejects) -> anyhow::Result<()>;

    /// Called once after the last record; says what became of those that it took.
    fn finish(&mut self, rejects: &mut Rejects) -> anyhow::Result<Counts>;
}

/// A run that is ready to begin.
pub(crate) struct Job {
    inputs: Inputs,
    fields: Fields,
    n_threads: usize,
    progress: Progress,
    rejects: Rejects,
}

impl Job {
    /// Opens the inputs and checks that they and the command's `outputs` do not get into each other's way.
    ///
    /// No output may go into the directory of the `store`. A command that keeps nothing needs no `sources`.
    pub(crate) fn new(
        args: &InputArgs,
        sources: Option<&SourceArgs>,
        outputs: &[&Path],
        store: Option<&str>,
    ) -> anyhow::Result<Self> {
        let all_outputs: Vec<&Path> = outputs.iter().copied().chain(args.rejects.as_deref()).collect();
        let inputs = Inputs::open(args)?;
        check_paths(inputs.paths(), &all_outputs)?;
        let store = store.and_then(|uri| uri.strip_prefix("embedded:")).map(|path| place_of(Path::new(path)));
        for output in all_outputs.iter().filter(|path| !is_stdout(path)) {
            let inside = store.as_ref().is_some_and(|store| place_of(output).starts_with(store));
            ensure!(!inside, "{} lies in the directory of the index; write elsewhere", output.display());
        }
        // A bar and results in one terminal would be drawn into each other.
        let results_in_terminal = outputs.iter().any(|path| is_stdout(path)) && io::stdout().is_terminal();
        let progress = Progress::new(&inputs, args.quiet || results_in_terminal);
        let rejects = Rejects::new(args.rejects.as_deref(), progress.console())?;
        let fields = Fields::new(FieldNames {
            id: args.id_field.clone(),
            texts: args.text_field.clone(),
            source: sources.map(|sources| sources.source_field.clone()),
            source_default: sources.and_then(|sources| sources.source.clone()),
            make_ids: args.make_ids,
        });
        let n_cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let n_threads = args.threads.map_or_else(n_cores, usize::from);
        Ok(Self { inputs, fields, n_threads, progress, rejects })
    }

    /// The paths that are read.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.inputs.paths()
    }

    /// Runs over all records: those that cannot be read are rejected, the others go to `sink`.
    pub(crate) fn run(
        self,
        fingerprinter: &Fingerprinter,
        wanted: Wanted,
        sink: &mut impl Sink,
    ) -> anyhow::Result<Report> {
        let Self { inputs, fields, n_threads, mut progress, mut rejects } = self;
        progress.start();
        let (mut n_read, mut n_text_bytes) = (0, 0);
        Pipeline { fingerprinter, fields: &fields, n_threads, wanted }.run(inputs, |batch| {
            for record in batch.records {
                n_read += 1;
                match record.outcome {
                    Ok(features) => {
                        n_text_bytes += features.n_text_bytes as u64;
                        let (origin, number) = (Arc::clone(&batch.origin), record.number);
                        sink.take(Item { origin, number, line: record.line, features }, &mut rejects)?;
                    }
                    Err(reason) => rejects.reject(&batch.origin, record.number, &reason)?,
                }
            }
            progress.show(n_read);
            Ok(())
        })?;
        let counts = sink.finish(&mut rejects)?;
        let time = progress.elapsed();
        Ok(Report { counts, n_read, n_rejected: rejects.finish()?, n_text_bytes, time })
    }
}

/// Refuses to write over an input, which would lose what is not written, and two outputs in one place.
fn check_paths<'a>(inputs: impl Iterator<Item = &'a Path>, outputs: &[&Path]) -> anyhow::Result<()> {
    // What is not there yet is nobody's input.
    let inputs: Vec<PathBuf> = inputs.filter_map(|path| path.canonicalize().ok()).collect();
    let mut taken: Vec<PathBuf> = Vec::new();
    for output in outputs {
        let place = if is_stdout(output) { output.to_path_buf() } else { place_of(output) };
        ensure!(
            is_stdout(output) || !inputs.contains(&place),
            "{} is an input; write elsewhere",
            output.display()
        );
        ensure!(!taken.contains(&place), "two outputs go to {}; name a file for each", output.display());
        // Whatever is no file takes any number of writers: /dev/null, a pipe.
        if is_stdout(output) || place.is_file() || !place.exists() {
            taken.push(place);
        }
    }
    Ok(())
}

/// The same path for the same place, whether or not there is a file yet.
fn place_of(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        path.file_name().map_or(folder.clone(), |name| folder.join(name))
    })
}
