//! The filters known to the fake.

use prost::Message;

use super::Failure;
use super::table::ColumnRange;
use crate::messages::{self, COLUMN_RANGE_FILTER, MULTI_ROW_RANGE_FILTER, MultiRowRange};

/// The filter of a scan.
pub(super) enum Filter {
    All,
    Rows(MultiRowRange),
    Columns(ColumnRange),
}

impl Filter {
    /// Decodes a filter.
    ///
    /// # Errors
    /// If the filter is unknown here or unreadable, or its ranges do not ascend.
    pub(super) fn of(filter: Option<&messages::Filter>) -> Result<Self, Failure> {
        let Some(filter) = filter else { return Ok(Self::All) };
        let bytes = filter.serialized.clone().unwrap_or_default();
        let torn = |_| Failure::last("DoNotRetryIOException", "DeserializationException");
        match &*filter.name {
            MULTI_ROW_RANGE_FILTER => {
                let rows = MultiRowRange::decode(bytes).map_err(torn)?;
                let is_unordered = |pair: &[messages::RowRange]| {
                    let stop = pair[0].stop.clone().unwrap_or_default();
                    stop.is_empty() || stop > pair[1].start.clone().unwrap_or_default()
                };
                if rows.ranges.is_empty() || rows.ranges.windows(2).any(is_unordered) {
                    return Err(Failure::last("DoNotRetryIOException", "ranges that overlap or descend"));
                }
                Ok(Self::Rows(rows))
            }
            COLUMN_RANGE_FILTER => {
                let range = messages::ColumnRange::decode(bytes).map_err(torn)?;
                Ok(Self::Columns(ColumnRange {
                    min: range.min.unwrap_or_default(),
                    includes_min: range.min_inclusive.unwrap_or(true),
                    max: range.max.unwrap_or_default(),
                    includes_max: range.max_inclusive.unwrap_or(false),
                }))
            }
            name => Err(Failure::last("DoNotRetryIOException", &format!("no filter {name}"))),
        }
    }

    pub(super) fn has_row(&self, row: &[u8]) -> bool {
        let Self::Rows(rows) = self else { return true };
        rows.ranges.iter().any(|range| {
            let (start, stop) = (range.start.as_deref(), range.stop.as_deref());
            is_after(row, start, range.start_inclusive) && is_before(row, stop, range.stop_inclusive)
        })
    }

    pub(super) fn has_column(&self, qualifier: &[u8]) -> bool {
        let Self::Columns(columns) = self else { return true };
        columns.has(qualifier)
    }
}

fn is_after(key: &[u8], start: Option<&[u8]>, inclusive: Option<bool>) -> bool {
    start.is_none_or(|start| key > start || key == start && inclusive.unwrap_or(true))
}

fn is_before(key: &[u8], stop: Option<&[u8]>, inclusive: Option<bool>) -> bool {
    let is_in = |stop: &[u8]| stop.is_empty() || key < stop || key == stop && inclusive.unwrap_or(false);
    stop.is_none_or(is_in)
}
