//! Bulk loads under way, which bring cells in long before the records of their documents.
//!
//! The loader loads the index table first, so that nothing is found before the documents are there too, and hours may lie
//! between where it is interrupted. All that it loads has one timestamp. From before the first cell until after the last
//! record a mark with that timestamp stands beside the metadata, and cells of that timestamp are nobody's ghosts.

use std::collections::BTreeMap;

use index::Result;

use super::layout::{LOAD_PREFIX, METADATA_FAMILY, METADATA_ROW};
use super::rows::{Rows, Table};

/// The loads that have begun and not ended: what their marks say, by timestamp.
///
/// Whoever judges cells by their records asks after it has met the cells and before it reads the records: a load that is
/// not there any more by then has brought them.
pub(super) fn under_way(rows: &dyn Rows) -> Result<BTreeMap<i64, String>> {
    let found = rows.get(Table::Documents, &[&[METADATA_FAMILY]], &[METADATA_ROW.to_vec()])?;
    let marks = found.into_iter().flatten().filter_map(|cell| {
        let timestamp = std::str::from_utf8(&cell.qualifier).ok()?.strip_prefix(LOAD_PREFIX)?;
        Some((timestamp.parse().ok()?, String::from_utf8_lossy(&cell.value).into_owned()))
    });
    Ok(marks.collect())
}

/// Whether a load under way may still bring cells that a delete up to this timestamp would hide.
pub(super) fn may_load_beneath(loads: &BTreeMap<i64, String>, timestamp: i64) -> bool {
    loads.range(..=timestamp).next().is_some()
}
