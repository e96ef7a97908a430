//! Bulk loads under way, which bring cells long before the records of their documents.
//!
//! The loader loads the index table first, so that no search finds a document before its record is
//! there; an interruption can put hours between the two. All cells of a load have one timestamp. A
//! mark with this timestamp stands beside the metadata from before the first cell until after the
//! last record, and cells of this timestamp are no ghosts.

use std::collections::BTreeMap;

use index::Result;

use super::layout::{LOAD_PREFIX, METADATA_FAMILY, METADATA_ROW};
use super::rows::{Rows, Table};

/// Returns the text of the mark of each load that has begun and not ended, by timestamp.
///
/// A caller that judges cells by their records calls this after it has met the cells and before it
/// reads the records: a load ended by then has brought the records.
pub(super) fn under_way(rows: &dyn Rows) -> Result<BTreeMap<i64, String>> {
    let found = rows.get(Table::Documents, &[&[METADATA_FAMILY]], &[METADATA_ROW.to_vec()])?;
    let marks = found.into_iter().flatten().filter_map(|cell| {
        let timestamp = std::str::from_utf8(&cell.qualifier).ok()?.strip_prefix(LOAD_PREFIX)?;
        Some((timestamp.parse().ok()?, String::from_utf8_lossy(&cell.value).into_owned()))
    });
    Ok(marks.collect())
}

/// Returns true if a load under way may still bring cells that a delete up to `timestamp` would
/// hide.
pub(super) fn may_load_beneath(loads: &BTreeMap<i64, String>, timestamp: i64) -> bool {
    loads.range(..=timestamp).next().is_some()
}
