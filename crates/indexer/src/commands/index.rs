//! `indexer index`: adds every document to an index.

use std::io::{self, Write};
use std::sync::Arc;

use anyhow::Context;
use index::{DocumentId, Index, Insertion};
use simhash::Fingerprint;

use super::{Item, Sink, open, run_over};
use crate::cli::IndexArgs;
use crate::rejects::Rejects;
use crate::report::{Counts, Report};

/// Documents in one call of the store: enough to share the cost of making it durable.
const STORE_BATCH: usize = 2048;

pub(super) fn run(args: &IndexArgs) -> anyhow::Result<Report> {
    let uri =
        args.store.uri().context("name the index with --store, for example --store embedded:./my-index")?;
    anyhow::ensure!(
        uri != "memory:",
        "an index in memory: is gone when this program ends; use embedded:PATH"
    );
    let (index, fingerprinter) = open(uri, &args.store, &args.recipe)?;
    let mut sink = Inserts { index: &index, pending: Vec::new(), n_new: 0, n_unchanged: 0, n_replaced: 0 };
    let report = run_over(&args.input, &fingerprinter, false, &mut sink)?;
    write!(io::stdout(), "{report}").context("failed to write to stdout")?;
    Ok(report)
}

struct Inserts<'a> {
    index: &'a Index,
    pending: Vec<(DocumentId, Fingerprint)>,
    n_new: u64,
    n_unchanged: u64,
    n_replaced: u64,
}

impl Inserts<'_> {
    fn flush(&mut self) -> anyhow::Result<()> {
        let insertions = self.index.insert(&self.pending).context("failed to write to the index")?;
        for insertion in insertions {
            match insertion {
                Insertion::Inserted => self.n_new += 1,
                Insertion::Unchanged => self.n_unchanged += 1,
                Insertion::Replaced => self.n_replaced += 1,
                Insertion::Duplicate(found) => {
                    anyhow::bail!("the store refused a document as duplicate of {}", found.id)
                }
            }
        }
        self.pending.clear();
        Ok(())
    }
}

impl Sink for Inserts<'_> {
    fn take(&mut self, item: Item, rejects: &mut Rejects) -> anyhow::Result<()> {
        let Some(fingerprint) = item.features.fingerprint else {
            return rejects.mention(
                &Arc::clone(&item.source),
                item.line_number,
                "the text has no features; not indexed",
            );
        };
        self.pending.push((item.features.id, fingerprint));
        if self.pending.len() >= STORE_BATCH { self.flush() } else { Ok(()) }
    }

    fn finish(&mut self, _: &mut Rejects) -> anyhow::Result<Counts> {
        self.flush()?;
        Ok(Counts::Indexed { n_new: self.n_new, n_unchanged: self.n_unchanged, n_replaced: self.n_replaced })
    }
}
