//! Logs of a deduplication with a journal, beside its outputs.

use anyhow::Context;
use engine::dedup::Kept;
use index::{Index, NewDocument};

use super::Saved;
use crate::journal::{Calls, Journal, KeptLog};
use crate::memory::Watch;

pub(crate) struct Logs {
    /// The kept documents, for later decisions; `None` where the input is read twice.
    pub(crate) kept: Option<KeptLog>,
    /// The calls of the store; `None` for an index in memory.
    pub(crate) calls: Option<Calls>,
}

impl Logs {
    /// Opens the logs at a checkpoint. Documents kept by then are noted in `kept`, and inserted
    /// into the index again if it `is_in_memory`.
    pub(crate) fn open(
        journal: &Journal,
        saved: &Saved,
        index: &Index,
        is_in_memory: bool,
        kept: &mut Kept,
    ) -> anyhow::Result<Self> {
        let (memory, mut filled) = (Watch::new(), anyhow::Ok(()));
        let log = journal.kept_log(saved.n_kept_bytes, |batch| {
            if filled.is_ok() {
                filled = memory
                    .check_leap(kept.leap_bytes(batch.len()) + index.leap_bytes(batch.len()), true)
                    .map_err(Into::into);
            }
            if filled.is_err() {
                return;
            }
            if is_in_memory {
                let documents: Vec<NewDocument> = batch
                    .iter()
                    .filter_map(|(id, features)| Some((id.clone(), features.clone()?).into()))
                    .collect();
                filled =
                    index.insert(&documents).map(|_| ()).context("failed to fill the index in memory again");
            }
            for (id, features) in batch {
                kept.note(id, features.as_ref());
            }
        })?;
        filled?;
        let calls = (!is_in_memory).then(|| journal.calls(saved.n_calls)).transpose()?;
        Ok(Self { kept: Some(log), calls })
    }

    /// No logs, for a job whose decisions follow from its input alone: a resumed job makes them
    /// again.
    pub(crate) fn none() -> Self {
        Self { kept: None, calls: None }
    }

    /// Opens the log of calls for a job that decides everything before its first checkpoint. A
    /// resumed job decides all again; the log has all calls and their answers.
    pub(crate) fn of_calls(journal: &Journal, is_in_memory: bool) -> anyhow::Result<Self> {
        let calls = (!is_in_memory).then(|| journal.calls(0)).transpose()?;
        Ok(Self { kept: None, calls })
    }
}
