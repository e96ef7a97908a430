//! The search tables in memory, which follow the committed changes. Nothing else changes them, so
//! they never differ from the disk. Where there is an image, they hold the later changes alone.

use heed::RoTxn;
use index::SketchKind;
use index::backend::search;
use tables::Tables;

use super::environment::Opened;
use super::errors::Failure;
use super::image::{Image, Imaged, Terms};
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
    /// The image of all changes that the tables do not hold, from the first one on.
    image: Image,
}

impl Ram {
    /// Returns true if the tables are as of the last change in a snapshot, which has their image.
    pub(super) fn is_of(&self, opened: &Opened, txn: &RoTxn<'_>, terms: &Terms) -> Result<bool, Failure> {
        Ok(self.applied == opened.last_change(txn)? && self.image.is_in(opened, txn, terms)?)
    }

    /// All documents as of the change `applied`, which must be the last one in the snapshot.
    pub(super) fn imaged<'a, 'txn>(
        &'a self,
        opened: &'a Opened,
        txn: &'a RoTxn<'txn>,
        kind: &'a SketchKind,
        terms: &'a Terms,
    ) -> Imaged<'a, 'txn> {
        Imaged { image: &self.image, later: &*self.tables, opened, txn, kind, terms }
    }

    /// The bytes of the tables and of the image's filters.
    pub(super) fn heap_bytes(&self) -> u64 {
        (self.tables.heap_bytes() + self.image.heap_bytes()) as u64
    }

    /// Brings the tables up to the snapshot of `txn`, or `n_changes_max` changes nearer to it, and
    /// returns the change reached. Builds them where there are none, and anew where removals they
    /// have not seen are forgotten or the image has changed: in one go, because they are built from
    /// a snapshot. Builds them from the image where there is one.
    ///
    /// After an error the tables are as before, or have some of the changes after `applied`
    /// already; applying those again changes nothing.
    pub(super) fn follow(
        ram: &mut Option<Self>,
        opened: &Opened,
        txn: &RoTxn<'_>,
        kind: &SketchKind,
        terms: &Terms,
        n_changes_max: u64,
    ) -> Result<u64, Failure> {
        let last = opened.last_change(txn)?;
        let floor = removals_floor(opened, txn)?;
        if let Some(ram) = ram
            && ram.applied >= floor
            && ram.image.is_in(opened, txn, terms)?
        {
            ram.apply(opened, txn, kind, last.min(ram.applied.saturating_add(n_changes_max)))?;
            return Ok(ram.applied);
        }
        // The old tables' memory is freed before the new ones need it.
        let image = Image::find(opened, txn, kind, terms, ram.take().map(|ram| ram.image))?;
        let mut tables = search::new_tables();
        let mut decoded = Vec::with_capacity(DECODED_MAX);
        let first = image.up_to().map_or(0, |up_to| up_to + 1);
        for entry in opened.log.range(txn, &(first..))? {
            let (number, bytes) = entry?;
            let facets = record::decode_sketch(number, bytes, kind)?.into_facets();
            decoded.extend(facets.into_iter().map(|(_, facet)| (facet, number)));
            if decoded.len() >= DECODED_MAX {
                tables.insert_all(&decoded);
                decoded.clear();
            }
        }
        tables.insert_all(&decoded);
        *ram = Some(Self { tables, applied: last, image });
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
