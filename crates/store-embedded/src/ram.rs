//! The search tables in memory, which follow the committed changes. Nothing else changes them, so
//! they never differ from the disk.

use heed::RoTxn;
use index::SketchKind;
use index::backend::search;
use tables::Tables;

use super::environment::Opened;
use super::errors::Failure;
use super::record;

/// The key in `meta` of the number of the newest forgotten removal.
pub(super) const REMOVALS_FLOOR_KEY: &str = "removals_floor";

/// The facets decoded before the tables file them together.
const DECODED_MAX: usize = 1024;

/// The tables as of one change.
pub(super) struct Ram {
    pub(super) tables: Box<dyn Tables>,
    /// The tables hold all changes up to this one, and none after it.
    pub(super) applied: u64,
}

impl Ram {
    /// Brings the tables up to the snapshot of `txn`, or `n_changes_max` changes nearer to it, and
    /// returns the change reached. Builds them where there are none, and anew where removals they
    /// have not seen are forgotten: in one go, because they are built from a snapshot.
    ///
    /// After an error the tables are as before, or have some of the changes after `applied`
    /// already; applying those again changes nothing.
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
        // The old tables' memory is freed before the new ones need it.
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

    /// Applies the changes after `applied` up to `until`. Removals come first, because a document
    /// removed meanwhile is no longer in the log: each removal is of a document before `applied`,
    /// or of one no longer in the log.
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

/// The number of the newest forgotten removal, 0 where none is forgotten.
fn removals_floor(opened: &Opened, txn: &RoTxn<'_>) -> Result<u64, Failure> {
    match opened.meta.get(txn, REMOVALS_FLOOR_KEY)? {
        Some(bytes) => Ok(record::decode_number(bytes)?),
        None => Ok(0),
    }
}
