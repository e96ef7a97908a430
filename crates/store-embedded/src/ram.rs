//! The search tables in memory, and how they follow the changes that are committed: nothing else ever changes them, so
//! they cannot say what the disk does not.

use heed::RoTxn;
use index::SketchKind;
use index::backend::search;
use tables::Tables;

use super::environment::{Failure, Opened};
use super::record;

/// Under which key of `meta` the number of the newest removal that is no longer kept is stored.
pub(super) const REMOVALS_FLOOR_KEY: &str = "removals_floor";

/// Facets that are decoded before the tables file them together.
const DECODED_MAX: usize = 1024;

/// The tables as of one change.
pub(super) struct Ram {
    pub(super) tables: Box<dyn Tables>,
    /// All changes up to this one are in, and none after it.
    pub(super) applied: u64,
}

impl Ram {
    /// Brings the tables up to the snapshot of `txn`, or `n_changes_max` changes nearer to it, and returns the change
    /// that they have reached. Builds them where there are none, and anew where removals that they have not seen are no
    /// longer kept: in one go, because a snapshot is what they are built of.
    ///
    /// After an error they are as before, or have some of the changes after `applied` already; doing those again changes
    /// nothing.
    pub(super) fn follow(
        ram: &mut Option<Self>,
        opened: &Opened,
        txn: &RoTxn<'_>,
        kind: &SketchKind,
        n_changes_max: u64,
    ) -> Result<u64, Failure> {
        let last = opened.last_change(txn)?;
        let floor = removals_floor(opened, txn)?;
        if let Some(ram) = ram
            && ram.applied >= floor
        {
            ram.apply(opened, txn, kind, last.min(ram.applied.saturating_add(n_changes_max)))?;
            return Ok(ram.applied);
        }
        // The memory of the old ones is given back before the new ones need it.
        *ram = None;
        let mut tables = search::new_tables();
        let mut decoded = Vec::with_capacity(DECODED_MAX);
        for entry in opened.log.iter(txn)? {
            let (number, bytes) = entry?;
            let facets = record::decode_sketch(number, bytes, kind)?.into_facets();
            decoded.extend(facets.into_iter().map(|(_, facet)| (facet, number)));
            if decoded.len() >= DECODED_MAX {
                tables.insert_all(&decoded);
                decoded.clear();
            }
        }
        tables.insert_all(&decoded);
        *ram = Some(Self { tables, applied: last });
        Ok(last)
    }

    /// Applies the changes after `applied` up to `until`. A document that has been removed since is in the log no more,
    /// so removals come first: they are all of documents before `applied`, or of none that the log still has.
    fn apply(
        &mut self,
        opened: &Opened,
        txn: &RoTxn<'_>,
        kind: &SketchKind,
        until: u64,
    ) -> Result<(), Failure> {
        let changes = self.applied.saturating_add(1)..=until;
        if changes.is_empty() {
            return Ok(());
        }
        for entry in opened.removals.range(txn, &changes)? {
            let (number, bytes) = entry?;
            let removal = record::decode_removal(number, bytes, kind)?;
            search::unfile(&mut *self.tables, &removal.sketch, removal.number);
        }
        for entry in opened.log.range(txn, &changes)? {
            let (number, bytes) = entry?;
            search::file(&mut *self.tables, &record::decode_sketch(number, bytes, kind)?, number);
        }
        self.applied = until;
        Ok(())
    }
}

/// The number of the newest removal that is no longer kept, 0 where all are.
fn removals_floor(opened: &Opened, txn: &RoTxn<'_>) -> Result<u64, Failure> {
    match opened.meta.get(txn, REMOVALS_FLOOR_KEY)? {
        Some(bytes) => Ok(record::decode_number(bytes)?),
        None => Ok(0),
    }
}
