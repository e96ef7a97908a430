//! Scans and their filters: `Client.proto`, `Filter.proto`.

use bytes::Bytes;
use prost::Message;

use super::{CellResult, Column, RegionSpecifier};

/// A filter of the server, by its Java class.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Filter {
    /// The Java class.
    #[prost(string, required, tag = "1")]
    pub(crate) name: String,
    /// The encoded message of the class.
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub(crate) serialized: Option<Bytes>,
}

/// The class of [`MultiRowRange`].
pub(crate) const MULTI_ROW_RANGE_FILTER: &str = "org.apache.hadoop.hbase.filter.MultiRowRangeFilter";

/// A filter that lets through the rows of some ranges, and seeks from one range to the next. The
/// ranges ascend and do not overlap.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MultiRowRange {
    /// The ranges, in ascending order.
    #[prost(message, repeated, tag = "1")]
    pub(crate) ranges: Vec<RowRange>,
}

/// Rows from one key to another.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RowRange {
    /// The key where the range starts.
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub(crate) start: Option<Bytes>,
    /// True if the range includes `start`.
    #[prost(bool, optional, tag = "2")]
    pub(crate) start_inclusive: Option<bool>,
    /// The key where the range stops.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(crate) stop: Option<Bytes>,
    /// True if the range includes `stop`.
    #[prost(bool, optional, tag = "4")]
    pub(crate) stop_inclusive: Option<bool>,
}

/// The class of [`ColumnRange`].
pub(crate) const COLUMN_RANGE_FILTER: &str = "org.apache.hadoop.hbase.filter.ColumnRangeFilter";

/// A filter that lets through the columns between two names.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ColumnRange {
    /// The lower bound.
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub(crate) min: Option<Bytes>,
    /// True if the range includes `min`.
    #[prost(bool, optional, tag = "2")]
    pub(crate) min_inclusive: Option<bool>,
    /// The upper bound.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(crate) max: Option<Bytes>,
    /// True if the range includes `max`.
    #[prost(bool, optional, tag = "4")]
    pub(crate) max_inclusive: Option<bool>,
}

/// A request for rows of one region.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ScanRequest {
    /// The region, in the first call of a scan.
    #[prost(message, optional, tag = "1")]
    pub(crate) region: Option<RegionSpecifier>,
    /// The rows to scan, in the first call of a scan.
    #[prost(message, optional, tag = "2")]
    pub(crate) scan: Option<Scan>,
    /// The number of the scan, in every later call.
    #[prost(uint64, optional, tag = "3")]
    pub(crate) scanner_id: Option<u64>,
    /// The most results of this call.
    #[prost(uint32, optional, tag = "4")]
    pub(crate) number_of_rows: Option<u32>,
    /// True if the scan ends with this call.
    #[prost(bool, optional, tag = "5")]
    pub(crate) close_scanner: Option<bool>,
    /// The number of the call, one more than in the call before, by which a repeated call is
    /// refused.
    #[prost(uint64, optional, tag = "6")]
    pub(crate) next_call_seq: Option<u64>,
    /// True if the client takes rows in pieces.
    #[prost(bool, optional, tag = "7")]
    pub(crate) client_handles_partials: Option<bool>,
    /// True if the client takes empty answers while the server needs longer.
    #[prost(bool, optional, tag = "8")]
    pub(crate) client_handles_heartbeats: Option<bool>,
    /// True if this call only keeps the scanner alive.
    #[prost(bool, optional, tag = "10")]
    pub(crate) renew: Option<bool>,
}

/// A half-open range of timestamps, without an end here.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct TimeRange {
    /// The first timestamp, in milliseconds.
    #[prost(uint64, optional, tag = "1")]
    pub(crate) from: Option<u64>,
}

/// The range, the columns and the bounds of a scan.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Scan {
    /// The columns to read, all if none is named.
    #[prost(message, repeated, tag = "1")]
    pub(crate) columns: Vec<Column>,
    /// The row to start at.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(crate) start_row: Option<Bytes>,
    /// The row to stop at.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub(crate) stop_row: Option<Bytes>,
    /// The filter of rows and columns.
    #[prost(message, optional, tag = "5")]
    pub(crate) filter: Option<Filter>,
    /// The times of the cells to read.
    #[prost(message, optional, tag = "6")]
    pub(crate) time_range: Option<TimeRange>,
    /// The most versions of each cell.
    #[prost(uint32, optional, tag = "7")]
    pub(crate) max_versions: Option<u32>,
    /// True if blocks that are read stay in the server's cache.
    #[prost(bool, optional, tag = "8")]
    pub(crate) cache_blocks: Option<bool>,
    /// The most cells of a row in one result; a row with more comes in several results.
    #[prost(uint32, optional, tag = "9")]
    pub(crate) batch_size: Option<u32>,
    /// The most bytes of one answer.
    #[prost(uint64, optional, tag = "10")]
    pub(crate) max_result_size: Option<u64>,
    /// The most results of one call.
    #[prost(uint32, optional, tag = "17")]
    pub(crate) caching: Option<u32>,
    /// True if the range includes `start_row`.
    #[prost(bool, optional, tag = "21")]
    pub(crate) include_start_row: Option<bool>,
    /// True if the range includes `stop_row`.
    #[prost(bool, optional, tag = "22")]
    pub(crate) include_stop_row: Option<bool>,
    /// [`PREAD`] for short scans.
    #[prost(int32, optional, tag = "23")]
    pub(crate) read_type: Option<i32>,
}

/// The read type by position, which does not disturb sequential readers.
pub(crate) const PREAD: i32 = 2;

/// Some rows of a scan, as cells that follow the message.
#[derive(Clone, PartialEq, Message)]
pub struct ScanResponse {
    /// The number of cells of each result.
    #[prost(uint32, repeated, packed = "false", tag = "1")]
    pub cells_per_result: Vec<u32>,
    /// The number of the scan, for the next call.
    #[prost(uint64, optional, tag = "2")]
    pub(crate) scanner_id: Option<u64>,
    /// True if the scan has more rows, in this region or a later one.
    #[prost(bool, optional, tag = "3")]
    pub(crate) more_results: Option<bool>,
    /// Milliseconds after which the server forgets the scanner.
    #[prost(uint32, optional, tag = "4")]
    pub(crate) ttl: Option<u32>,
    /// Results within the message, from servers that were told no codec.
    #[prost(message, repeated, tag = "5")]
    pub(crate) results: Vec<CellResult>,
    /// For each result, true if the row goes on in the next result.
    #[prost(bool, repeated, packed = "false", tag = "7")]
    pub(crate) partial_flag_per_result: Vec<bool>,
    /// True if this region has more rows.
    #[prost(bool, optional, tag = "8")]
    pub(crate) more_results_in_region: Option<bool>,
    /// True if the answer only says that the server is at work.
    #[prost(bool, optional, tag = "9")]
    pub(crate) heartbeat_message: Option<bool>,
}
