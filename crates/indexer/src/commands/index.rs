//! `indexer index`: adds every document to an index.

use std::collections::HashSet;

use anyhow::{Context, ensure};
use index::{DocumentId, Index, Insertion, Mode, NewDocument};

use super::open;
use crate::cli::IndexArgs;
use crate::job::{Item, Job, Sink};
use crate::output::print_to_stdout;
use crate::pipeline::{Features, Wanted};
use crate::rejects::Rejects;
use crate::report::{Counts, Indexed, Report};

/// Documents in one call of the store: enough to share the cost of making it durable.
const STORE_BATCH: usize = 2048;

/// The same command again finds what is written already, and goes on from there.
const FAILED: &str =
    "failed to write to the index; what was written stays, and the same command again does the rest";

pub(super) fn run(args: &IndexArgs) -> anyhow::Result<Report> {
    let uri =
        args.store.uri().context("name the index with --store, for example --store embedded:./my-index")?;
    ensure!(uri != "memory:", "an index in memory: is gone when this program ends; use embedded:PATH");
    let job = Job::new(&args.input, Some(&args.source), &[], Some(uri))?;
    let (index, fingerprinter) = open(uri, Mode::CreateIfMissing, &args.store, &args.recipe)?;
    let mut sink = Inserts {
        index: &index,
        inserts: Vec::new(),
        removals: Vec::new(),
        pending: HashSet::new(),
        counts: Indexed::default(),
    };
    let report = job.run(&fingerprinter, Wanted::default(), &mut sink)?;
    print_to_stdout(&report)?;
    Ok(report)
}

struct Inserts<'a> {
    index: &'a Index,
    inserts: Vec<NewDocument>,
    /// Documents whose text has no features any more: what the index may know of them is of an older text.
    removals: Vec<DocumentId>,
    /// The ids of both.
    pending: HashSet<DocumentId>,
    counts: Indexed,
}

impl Inserts<'_> {
    fn flush(&mut self) -> anyhow::Result<()> {
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
        self.inserts.clear();
        self.removals.clear();
        self.pending.clear();
        Ok(())
    }
}

impl Sink for Inserts<'_> {
    fn take(&mut self, item: Item, rejects: &mut Rejects) -> anyhow::Result<()> {
        // An id that comes again must meet its first use.
        if self.pending.len() >= STORE_BATCH || self.pending.contains(&item.features.id) {
            self.flush()?;
        }
        let Features { id, fingerprint, source, .. } = item.features;
        self.pending.insert(id.clone());
        match fingerprint {
            Some(fingerprint) => self.inserts.push(NewDocument { id, fingerprint, source }),
            None => {
                rejects.not_indexed(&item.origin, item.number)?;
                self.removals.push(id);
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut Rejects) -> anyhow::Result<Counts> {
        self.flush()?;
        Ok(Counts::Indexed(self.counts))
    }
}
