//! A deduplication whose documents do not fit in memory. A first pass takes all documents to files;
//! a second one decides them in the order of the input, as in memory, and writes the results.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use engine::dedup::{Spilled, batch_len};

use super::best_first::CHANGED;
use super::doubts::Doubts;
use super::pending::{STORE_BATCH, STORE_BATCH_BYTES};
use super::rule::Rule;
use crate::job::Survey;
use crate::memory;
use crate::numbers::megabytes;
use crate::pipeline::{Fingerprinted, Item};
use crate::progress::Console;

/// The share of the input from which on the files so far predict the whole.
const SHARE_THAT_TELLS: f64 = 0.02;

/// Bytes of all files, with what is sorted later, for each byte of the first pass.
const GROWTH: f64 = 1.3;

/// The documents of a run in files.
pub(crate) struct SpilledRun {
    spilled: Arc<Spilled>,
    folder: PathBuf,
    /// Documents of the second pass so far.
    n_taken: usize,
    has_told: bool,
}

impl SpilledRun {
    /// Makes files without documents in a folder.
    pub(crate) fn create(folder: &Path) -> anyhow::Result<Self> {
        let spilled = Spilled::create(folder, memory::share());
        let spilled = spilled.with_context(|| {
            format!("failed to make files in {}; name another folder with --temp", folder.display())
        })?;
        Ok(Self { spilled, folder: folder.to_owned(), n_taken: 0, has_told: false })
    }

    pub(crate) fn spilled(&self) -> &Arc<Spilled> {
        &self.spilled
    }

    /// Decides the first `n` documents again, whose results an earlier run has written.
    pub(super) fn decide_again(&mut self, n: usize, rule: &mut Rule) -> anyhow::Result<()> {
        let mut doubts = Doubts::default();
        while self.n_taken < n {
            let (mut documents, mut n_bytes) = (Vec::new(), 0);
            while documents.len() < STORE_BATCH && n_bytes < STORE_BATCH_BYTES && self.n_taken < n {
                let taken = self.spilled.next(self.n_taken as u32)?.context(CHANGED)?;
                self.n_taken += 1;
                n_bytes += taken.n_text_bytes as usize;
                documents.push(Fingerprinted::of_features(taken.id, taken.features));
            }
            let mut rest = &documents[..];
            while !rest.is_empty() {
                let (batch, later) = rest.split_at(batch_len(rest.iter().map(|next| &next.id), rest.len()));
                rule.decide(batch.iter(), &mut doubts)?;
                rest = later;
            }
        }
        Ok(())
    }

    /// Gives the next document of the second pass the features of the first one.
    pub(super) fn fill_in(&mut self, item: &mut Item) -> anyhow::Result<()> {
        let now = &item.document;
        let taken = self.spilled.next(self.n_taken as u32).context("failed to read a spilled document")?;
        let Some(taken) = taken.filter(|then| then.id == now.id && then.n_text_bytes == now.n_text_bytes as u64)
        else {
            bail!("{}:{}: {CHANGED}", item.origin.name(), item.number);
        };
        self.n_taken += 1;
        item.document.features = taken.features;
        Ok(())
    }

    /// Returns true once all documents of the first pass were taken again.
    pub(super) fn is_done(&self) -> bool {
        self.n_taken == self.spilled.len() as usize
    }
}

impl Survey for SpilledRun {
    fn take(&mut self, document: Fingerprinted) -> anyhow::Result<()> {
        let Fingerprinted { id, features, n_text_bytes, .. } = &document;
        Ok(self.spilled.take(id, features.as_ref(), *n_text_bytes as u64)?)
    }

    /// Refuses a folder in which the files of the whole run have no room, once it is foreseen.
    fn check(&mut self, share_read: Option<f64>, console: &Console) -> anyhow::Result<()> {
        let Some(share) = share_read.filter(|share| !self.has_told && *share >= SHARE_THAT_TELLS) else {
            return Ok(());
        };
        self.has_told = true;
        let n_bytes = self.spilled.n_bytes();
        let (foreseen, folder) = ((n_bytes as f64 / share * GROWTH) as u64, self.folder.display());
        let Ok(system) = rustix::fs::statvfs(&self.folder) else { return Ok(()) };
        let free = system.f_bavail * system.f_frsize;
        if foreseen > free + n_bytes {
            bail!(
                "this run needs about {:.0} MB for files in {folder}, where {:.0} MB are free; name a folder with room by \
                 --temp, or give it more memory by --memory-max",
                megabytes(foreseen),
                megabytes(free + n_bytes)
            );
        }
        console.print(format_args!(
            "files in {folder} take about {:.0} MB until the run ends",
            megabytes(foreseen)
        ));
        Ok(())
    }

    fn finish(&mut self, progress: &mut dyn FnMut(&str, f64)) -> anyhow::Result<()> {
        Ok(self.spilled.propose(&mut |share| progress("pairing documents that share a bucket", share))?)
    }
}
