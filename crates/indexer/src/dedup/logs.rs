//! What a deduplication with a journal writes down as it goes, beside its outputs.

use anyhow::Context;
use engine::dedup::Kept;
use index::{Index, NewDocument};

use super::Saved;
use crate::journal::{Calls, Journal, KeptLog};

pub(crate) struct Logs {
    /// Where the input is gone through once: what is decided of it later goes by these.
    pub(crate) kept: Option<KeptLog>,
    /// Where the index outlives the run.
    pub(crate) calls: Option<Calls>,
}

impl Logs {
    /// Goes on from a checkpoint: what had been kept by then is `kept` again, and in the index, where that `is_in_memory`.
    pub(crate) fn open(
        journal: &Journal,
        saved: &Saved,
        index: &Index,
        is_in_memory: bool,
        kept: &mut Kept,
    ) -> anyhow::Result<Self> {
        let mut filled = Ok(());
        let log = journal.kept_log(saved.n_kept_bytes, |batch| {
            if is_in_memory && filled.is_ok() {
                let documents: Vec<NewDocument> = batch
                    .iter()
                    .filter_map(|(id, features)| Some((id.clone(), features.clone()?).into()))
                    .collect();
                filled = index.insert(&documents).map(|_| ());
            }
            for (id, features) in batch {
                kept.note(id, features.as_ref());
            }
        })?;
        filled.context("failed to fill the index in memory again")?;
        let calls = (!is_in_memory).then(|| journal.calls(saved.n_calls)).transpose()?;
        Ok(Self { kept: Some(log), calls })
    }

    /// For a job that decides everything before its first checkpoint, and all of it again when it goes on: the calls that
    /// were made are all there, and answer as they did.
    pub(crate) fn of_calls(journal: &Journal, is_in_memory: bool) -> anyhow::Result<Self> {
        let calls = (!is_in_memory).then(|| journal.calls(0)).transpose()?;
        Ok(Self { kept: None, calls })
    }
}
