//! Notes of documents that were written long after their timestamp.
//!
//! A tier ([`super::tier`]) knows the documents of before a moment, and relies on later ones to
//! have later timestamps. Where a writer writes documents with an older one, it leaves a note
//! beside the metadata. Each note is another one, and ends all tiers that were filled before.

use index::Result;

use super::drawn::drawn;
use super::layout::{LOAD_PREFIX, METADATA_FAMILY, METADATA_ROW, OLDER_COLUMN, TIME_COLUMN};
use super::rows::{Cell, Rows, Swap, Table};

/// The notes of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Notes {
    /// The last note; `None` before the first.
    pub(super) last: Option<Vec<u8>>,
    /// True while a bulk load is under way. It has left a note when it began, which counts if its
    /// mark is taken away, and leaves another one when it ends.
    pub(super) is_loading: bool,
}

/// Reads the notes.
pub(super) fn notes(rows: &dyn Rows) -> Result<Notes> {
    let cells = rows.get(Table::Documents, &[&[METADATA_FAMILY]], &[METADATA_ROW.to_vec()])?;
    let cells: Vec<Cell> = cells.into_iter().flatten().collect();
    let is_loading = cells.iter().any(|cell| cell.qualifier.starts_with(LOAD_PREFIX.as_bytes()));
    let last = cells.into_iter().find(|cell| cell.qualifier == OLDER_COLUMN[2..]);
    Ok(Notes { last: last.map(|cell| cell.value), is_loading })
}

/// Leaves a note: a time, and a number drawn for it.
pub(super) fn leave(rows: &dyn Rows, now: i64) -> Result<()> {
    set(rows, OLDER_COLUMN, &format!("{now} {:016x}", drawn())).map(drop)
}

/// Returns the time of HBase in milliseconds, or a later time that a server's clock had before.
pub(super) fn time(rows: &dyn Rows) -> Result<i64> {
    set(rows, TIME_COLUMN, &format!("{:016x}", drawn()))
}

/// Sets a cell beside the metadata, and returns its timestamp, which HBase gives.
fn set(rows: &dyn Rows, column: &[u8], to: &str) -> Result<i64> {
    let stored = || -> Result<Option<Cell>> {
        let found = rows.get(Table::Documents, &[column], &[METADATA_ROW.to_vec()])?;
        Ok(found.into_iter().flatten().next())
    };
    loop {
        let from = stored()?.map(|cell| cell.value);
        let (row, column) = (METADATA_ROW.to_vec(), column.to_vec());
        let swap = Swap { row, column, from, to: to.as_bytes().to_vec(), time_to_live: None };
        rows.swap(Table::Documents, &[swap])?;
        // Also where the answer was lost.
        if let Some(cell) = stored()?.filter(|cell| cell.value == to.as_bytes()) {
            return Ok(cell.timestamp);
        }
    }
}
