//! `indexer bulk-rows`: writes the HBase rows of `indexer index` as files of sorted rows.
//!
//! Documents are sorted by the rows of their ids: all versions of one are adjacent, and the index
//! is asked about them in the order of its rows. Documents unknown to the index go into the files.
//! Known ones are replaced, removed or kept in the index, as by `indexer index`.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use store_hbase::BulkLoad;

use crate::bulk::{RowsFolder, SORTING, Version, Writer, encode};
use crate::given::Needs;
use crate::job::{Job, JobOptions, Sink};
use crate::numbers::Grouped;
use crate::opening::StoreOptions;
use crate::output::print_to_stdout;
use crate::pipeline::{Fingerprinted, Item, Wanted};
use crate::progress::Console;
use crate::rejects::Rejects;
use crate::report::{Counts, Report};
use runs::StringSorter;

/// Memory for the documents, and for their rows of the index. Both are in use for a while.
const DOCUMENTS_BYTES_MAX: usize = 256 << 20;
const INDEX_ROWS_BYTES_MAX: usize = 512 << 20;

#[derive(Debug)]
pub(crate) struct BulkRowsOptions {
    pub(crate) job: JobOptions,
    pub(crate) store: StoreOptions,
    /// The folder for the rows.
    pub(crate) rows: PathBuf,
}

pub(super) fn run(options: &BulkRowsOptions) -> anyhow::Result<Report> {
    let uri = options.store.uri().context("name the index with --store hbase://HOST:PORT/NAME")?;
    let mut job = Job::new(&options.job, &[&options.rows], None, None)?;
    if let Some(metadata) = options.store.of_new(uri)? {
        let needs = options.job.given.as_ref().map(|given| Needs::of(&metadata, given));
        job.try_first(needs.as_ref())?;
    }
    let (load, extractor) = options.store.load(uri)?;
    if let Some(given) = &options.job.given {
        job = job.with_needs(Needs::of(load.metadata(), given));
    }
    let folder = RowsFolder::create(&options.rows)?;
    let console = (!options.job.work.quiet).then(|| job.console());
    let sorter = StringSorter::new(folder.path(), DOCUMENTS_BYTES_MAX);
    let mut sink = Rows { load: &load, sorted: Some((folder, sorter)), n_taken: 0, console };
    let report = job.run(Some(&extractor), Wanted::default(), &mut sink)?;
    print_to_stdout(&report)?;
    Ok(report)
}

struct Rows<'a> {
    load: &'a BulkLoad,
    /// Versions of documents, by the rows of their ids and in the order of the input; `None` once
    /// finished.
    sorted: Option<(RowsFolder, StringSorter)>,
    n_taken: u64,
    /// The console; `None` for a quiet run.
    console: Option<Console>,
}

impl Rows<'_> {
    fn say(&self, what: std::fmt::Arguments<'_>) {
        if let Some(console) = &self.console {
            console.print(what);
        }
    }
}

impl Sink for Rows<'_> {
    fn take(&mut self, item: Item, rejects: &mut Rejects) -> anyhow::Result<()> {
        let Fingerprinted { id, features, source, .. } = item.document;
        if features.is_none() {
            rejects.not_indexed(&item.origin, item.number)?;
        }
        let entry = encode(&id, self.n_taken, &Version { features, source });
        self.n_taken += 1;
        let (_, sorter) = self.sorted.as_mut().ok_or_else(too_late)?;
        sorter.push(&entry).context(SORTING)
    }

    fn finish(&mut self, _: &mut Rejects) -> anyhow::Result<Counts> {
        let (folder, sorter) = self.sorted.take().ok_or_else(too_late)?;
        self.say(format_args!("all are read; sorting the rows of {} documents", Grouped(self.n_taken)));
        let mut writer = Writer::new(self.load, &folder, INDEX_ROWS_BYTES_MAX);
        let mut entries = sorter.finish().context(SORTING)?;
        while let Some(entry) = entries.next_string().context(SORTING)? {
            writer.take(entry)?;
        }
        drop(entries);
        let path = folder.path().display().to_string();
        let (counts, n_documents) = writer.finish(folder)?;
        self.say(format_args!(
            "{path} has the rows of {} documents, which nobody sees before they are loaded: deploy/hbase/hbase \
             bulk-load {path}",
            Grouped(n_documents)
        ));
        Ok(Counts::Indexed(counts))
    }
}

fn too_late() -> anyhow::Error {
    anyhow!("the rows are written already")
}
