//! `indexer index`: adds every document to an index. Also `indexer import`, where records carry
//! their features.

use std::collections::HashSet;

use anyhow::Context;
use index::{DocumentId, Index, Insertion, MAX_BATCH, NewDocument, WriteMark};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::say_done;
use crate::dedup::count;
use crate::given::Needs;
use crate::job::{Job, JobOptions, Sink};
use crate::journal::{Calls, Description, Journal, JournalOptions, checksum};
use crate::memory;
use crate::opening::{StoreOptions, check_outlives, write_image};
use crate::output::{Lengths, REJECTS, print_to_stdout};
use crate::pipeline::{Fingerprinted, Item, Wanted};
use crate::rejects::Rejects;
use crate::report::{Counts, Indexed, Report};
use crate::short_texts;

/// The most documents in one call of the store. Their bytes are bounded by [`memory::batch_bytes`].
const STORE_BATCH: usize = MAX_BATCH;

/// A repeated command finds the written documents and continues.
const FAILED: &str =
    "failed to write to the index; what was written stays, and the same command again does the rest";

#[derive(Debug, Serialize)]
pub(crate) struct IndexOptions {
    #[serde(flatten)]
    pub(crate) job: JobOptions,
    /// Described by [`StoreOptions::asked`], which reads files.
    #[serde(skip)]
    pub(crate) store: StoreOptions,
    #[serde(flatten)]
    pub(crate) journal: Option<JournalOptions>,
}

impl IndexOptions {
    /// The description of the job for a journal.
    pub(crate) fn description(&self) -> anyhow::Result<Description> {
        // Records with features make another job.
        let command = if self.job.given.is_some() { "import" } else { "index" };
        Description::new(command).with(self)?.with(&self.store.asked())
    }
}

pub(super) fn run(options: &IndexOptions) -> anyhow::Result<Report> {
    let uri = options
        .store
        .uri()
        .context("name the index with --store, for example --store embedded:./my-index")?;
    check_outlives(uri)?;
    let journal = options.journal.as_ref().map(|journal| anyhow::Ok((journal, options.description()?)));
    let journal = journal.transpose()?;
    let mut job = Job::new(&options.job, &[], Some(uri), journal)?;
    if let Some(report) = job.done() {
        say_done(&job, options.job.rejects.iter().map(|path| (REJECTS, path.as_path())))?;
        print_to_stdout(&report)?;
        return Ok(report);
    }
    let open = |mode| match options.job.given {
        Some(_) => options.store.open_without_texts(uri, mode, options.job.work.quiet),
        None => options.store.open_or_make(uri, mode, options.job.work.quiet),
    };
    if let Some(metadata) = options.store.of_new(uri)? {
        let needs = options.job.given.as_ref().map(|given| Needs::of(&metadata, given));
        job.try_first(needs.as_ref())?;
    }
    let engine = job.with_index(open)?;
    let index = engine.index();
    if let Some(given) = &options.job.given {
        job = job.with_needs(Needs::of(index.metadata(), given));
    }
    job.hold_to(index)?;
    let saved: Saved = job.journal().map(Journal::command).transpose()?.flatten().unwrap_or_default();
    let mut sink = Inserts {
        index,
        calls: job.journal().map(|journal| journal.calls(saved.n_calls)).transpose()?,
        inserts: Vec::new(),
        removals: Vec::new(),
        pending: HashSet::new(),
        n_bytes: 0,
        n_bytes_max: memory::batch_bytes(job.journal().is_some()),
        counts: saved.counts,
    };
    let wanted = Wanted { is_short: short_texts::matter(index), ..Wanted::default() };
    let report = job.run(Some(engine.extractor()), wanted, &mut sink)?;
    write_image(index, options.job.work.quiet);
    print_to_stdout(&report)?;
    short_texts::warn(&report, Some(uri));
    Ok(report)
}

/// The command's part of a checkpoint.
#[derive(Default, Serialize, Deserialize)]
struct Saved {
    counts: Indexed,
    n_calls: u64,
}

struct Inserts<'a> {
    index: &'a Index,
    /// `None` without a journal.
    calls: Option<Calls>,
    inserts: Vec<NewDocument>,
    /// Documents whose new text has no features. The index may know features of an older text.
    removals: Vec<DocumentId>,
    /// The ids of `inserts` and `removals`.
    pending: HashSet<DocumentId>,
    /// The bytes of the texts of `inserts`.
    n_bytes: usize,
    n_bytes_max: usize,
    counts: Indexed,
}

impl Inserts<'_> {
    fn flush(&mut self) -> anyhow::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        // A call repeated after a crash gets other answers than the first one, hence the counts
        // from before it.
        let inserts = self.inserts.iter().map(|document| (&document.id, true));
        let documents = checksum(inserts.chain(self.removals.iter().map(|id| (id, false))));
        let decided = self.calls.as_mut().map(|calls| {
            calls.decide(documents, || {
                count(self.index, &self.inserts, &self.removals).context("failed to ask the index")
            })
        });
        let decided = decided.transpose()?;
        let before = self.counts;
        let insertions = self.index.insert(&self.inserts).context(FAILED)?;
        for insertion in insertions {
            match insertion {
                Insertion::Inserted => self.counts.n_new += 1,
                Insertion::Unchanged => self.counts.n_unchanged += 1,
                Insertion::Replaced => self.counts.n_replaced += 1,
                Insertion::Duplicate(found) => {
                    anyhow::bail!("the store refused a document as duplicate of {}", found.id)
                }
            }
        }
        for was_there in self.index.remove(&self.removals).context(FAILED)? {
            if was_there {
                self.counts.n_removed += 1;
            } else {
                self.counts.n_without_features += 1;
            }
        }
        if let Some(decided) = decided {
            self.counts = before;
            self.counts += decided;
        }
        self.inserts.clear();
        self.removals.clear();
        self.pending.clear();
        self.n_bytes = 0;
        Ok(())
    }
}

impl Sink for Inserts<'_> {
    fn take(&mut self, item: Item, rejects: &mut Rejects) -> anyhow::Result<()> {
        // A repeated id must meet its first use.
        let is_full = self.pending.len() >= STORE_BATCH || self.n_bytes >= self.n_bytes_max;
        if is_full || self.pending.contains(&item.document.id) {
            self.flush()?;
        }
        let Fingerprinted { id, features, source, .. } = item.document;
        self.pending.insert(id.clone());
        match features {
            Some(features) => {
                self.n_bytes += features.text.as_ref().map_or(0, |text| text.len());
                self.inserts.push(NewDocument { id, features, source });
            }
            None => {
                rejects.not_indexed(&item.origin, item.number)?;
                self.removals.push(id);
            }
        }
        Ok(())
    }

    fn rest(&mut self, _: &mut Rejects) -> anyhow::Result<()> {
        self.flush()
    }

    fn checkpoint(&mut self, _: &mut Rejects, _: &mut Lengths) -> anyhow::Result<Value> {
        self.flush()?;
        let n_calls = self.calls.as_mut().map_or(0, Calls::checkpoint);
        Ok(serde_json::to_value(Saved { counts: self.counts, n_calls })?)
    }

    fn last_write(&self) -> index::Result<Option<WriteMark>> {
        self.index.mark(true)
    }

    fn finish(&mut self, _: &mut Rejects) -> anyhow::Result<Counts> {
        self.flush()?;
        Ok(Counts::Indexed(self.counts))
    }
}
