//! A trial of the records of a job before its index is made.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::bail;
use corpus::{Origin, Place, Position, caught};

use super::Job;
use super::alike::Alike;
use crate::given::Needs;
use crate::rejects::{AllRejected, Rejects};

impl Job {
    /// Refuses inputs without a single usable record, before the index is made: all are unreadable,
    /// or lack given features that the index `needs`. Reads up to the first usable record. Skips
    /// inputs that can be read only once.
    pub(crate) fn try_first(&mut self, needs: Option<&Needs>) -> anyhow::Result<()> {
        let (mut n_refused, mut lacks, mut alike) = (0_u64, None, self.alike());
        let is_taken = self.try_records(needs, |origin, number, refused| {
            let Err((is_read, reason)) = refused else { return ControlFlow::Break(Ok(())) };
            n_refused += 1;
            if let Err(stopped) = alike.rejected(&reason, &self.fields) {
                return ControlFlow::Break(Err(stopped.into()));
            }
            if is_read {
                lacks.get_or_insert_with(|| format!("{}:{number}: {reason}", origin.name()));
            }
            ControlFlow::Continue(())
        })?;
        if is_taken || n_refused == 0 {
            return Ok(());
        }
        if let Some(lacks) = lacks {
            bail!(lacks);
        }
        let nowhere = Rejects::new(None, self.console(), None)?;
        let mut rejects = std::mem::replace(&mut self.rejects, nowhere);
        self.try_records(needs, |origin, number, refused| match refused {
            Ok(()) => ControlFlow::Break(Ok(())),
            Err((_, reason)) => match rejects.reject(origin, number, &reason) {
                Ok(()) => ControlFlow::Continue(()),
                failed => ControlFlow::Break(failed),
            },
        })?;
        rejects.finish()?;
        Err(AllRejected::new(n_refused, &self.fields).into())
    }

    /// A count of rejections from the first record on.
    pub(super) fn alike(&self) -> Alike {
        if self.keeps_going { Alike::off() } else { Alike::after(0) }
    }

    /// Passes records to `each` until it breaks. The result for a record is an error if it cannot
    /// be used: true if the record is readable, and the reason. Returns true if `each` broke.
    fn try_records(
        &self,
        needs: Option<&Needs>,
        mut each: impl FnMut(&Origin, u64, Result<(), (bool, String)>) -> ControlFlow<anyhow::Result<()>>,
    ) -> anyhow::Result<bool> {
        let Ok(inputs) = self.inputs.again() else { return Ok(false) };
        let n_bytes_read = Arc::clone(&inputs.n_bytes_read);
        let mut ended = None;
        'chunks: for chunk in inputs.chunks(Position::default(), &self.fields.columns()) {
            for (position, (number, raw)) in chunk.records() {
                let place = Place { origin: &chunk.origin, number, position };
                let read = caught(|| self.fields.parse(raw.map_err(|error| error.to_string())?, place));
                let tried = match read.and_then(|read| read) {
                    // Not a document, so not counted.
                    Ok(None) => continue,
                    Ok(Some(record)) => needs.zip(record.given).map_or(Ok(()), |(needs, given)| {
                        needs.features(&given).map(drop).map_err(|reason| (true, reason))
                    }),
                    Err(reason) => Err((false, reason)),
                };
                if let ControlFlow::Break(end) = each(&chunk.origin, number, tried) {
                    ended = Some(end);
                    break 'chunks;
                }
            }
        }
        n_bytes_read.store(0, Ordering::Relaxed);
        ended.transpose().map(|ended| ended.is_some())
    }
}
