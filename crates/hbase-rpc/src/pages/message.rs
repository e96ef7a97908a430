//! Messages that tell a server which ranges to read.

use std::collections::VecDeque;

use bytes::Bytes;
use prost::Message;

use super::{ANSWER_LEN, LONG, PageOptions, Part};
use crate::messages::{
    self, COLUMN_RANGE_FILTER, Column, ColumnRange, Filter, MULTI_ROW_RANGE_FILTER, MultiRowRange, PREAD,
    RowRange, TimeRange,
};

/// Returns the scan of some parts of a region.
pub(super) fn message(family: &Bytes, parts: &VecDeque<Part>, options: &PageOptions) -> messages::Scan {
    let (first, last) = (parts.front(), parts.back());
    let start = first.map(|part| part.from.clone());
    let filter = match first.and_then(|part| part.range.after.as_ref()) {
        Some(after) => Some(after_column(after)),
        None => (parts.len() > 1).then(|| of_ranges(parts)),
    };
    let n_pieces = u32::try_from(options.pieces_max.max(1)).ok();
    messages::Scan {
        columns: vec![Column { family: family.clone(), qualifiers: Vec::new() }],
        start_row: start,
        stop_row: last.map(|part| match part.range.after {
            Some(_) => [&part.from[..], &[0]].concat().into(),
            None => part.range.stop.clone(),
        }),
        filter,
        time_range: options.since.map(|since| TimeRange { from: u64::try_from(since).ok() }),
        max_versions: Some(1),
        cache_blocks: Some(options.cache_blocks),
        batch_size: u32::try_from(options.cells_max).ok(),
        max_result_size: Some(ANSWER_LEN),
        caching: n_pieces,
        include_start_row: Some(true),
        include_stop_row: Some(false),
        read_type: (options.pieces_max < LONG).then_some(PREAD),
    }
}

fn of_ranges(parts: &VecDeque<Part>) -> Filter {
    let range = |part: &Part| RowRange {
        start: Some(part.from.clone()),
        start_inclusive: Some(true),
        stop: Some(part.range.stop.clone()),
        stop_inclusive: Some(false),
    };
    filter(MULTI_ROW_RANGE_FILTER, &MultiRowRange { ranges: parts.iter().map(range).collect() })
}

fn after_column(column: &Bytes) -> Filter {
    let range = ColumnRange {
        min: Some(column.clone()),
        min_inclusive: Some(false),
        max: None,
        max_inclusive: Some(false),
    };
    filter(COLUMN_RANGE_FILTER, &range)
}

fn filter(name: &str, message: &impl Message) -> Filter {
    Filter { name: name.to_owned(), serialized: Some(message.encode_to_vec().into()) }
}
