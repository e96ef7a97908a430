//! Scans and their filters: `Client.proto`, `Filter.proto`.

use bytes::Bytes;
use prost::Message;

use super::{CellResult, Column, RegionSpecifier};

/// A filter of the server, by its Java class.
#[derive(Clone, PartialEq, Message)]
pub struct Filter {
    /// The Java class.
    #[prost(string, required, tag = "1")]
    pub name: String,
    /// A message of its own.
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub serialized: Option<Bytes>,
}

/// The class of [`MultiRowRange`].
pub const MULTI_ROW_RANGE_FILTER: &str = "org.apache.hadoop.hbase.filter.MultiRowRangeFilter";

/// Lets the rows of some ranges through, and seeks from one to the next: ranges that ascend and do not overlap.
#[derive(Clone, PartialEq, Message)]
pub struct MultiRowRange {
    /// In order.
    #[prost(message, repeated, tag = "1")]
    pub ranges: Vec<RowRange>,
}

/// Rows from one key to another.
#[derive(Clone, PartialEq, Message)]
pub struct RowRange {
    /// Where it starts.
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub start: Option<Bytes>,
    /// Whether that is in it.
    #[prost(bool, optional, tag = "2")]
    pub start_inclusive: Option<bool>,
    /// Where it stops.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub stop: Option<Bytes>,
    /// Whether that is in it.
    #[prost(bool, optional, tag = "4")]
    pub stop_inclusive: Option<bool>,
}

/// The class of [`ColumnRange`].
pub const COLUMN_RANGE_FILTER: &str = "org.apache.hadoop.hbase.filter.ColumnRangeFilter";

/// Lets columns between two names through.
#[derive(Clone, PartialEq, Message)]
pub struct ColumnRange {
    /// The first, or the one before it.
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub min: Option<Bytes>,
    /// Whether that is in it.
    #[prost(bool, optional, tag = "2")]
    pub min_inclusive: Option<bool>,
    /// The last, or the one after it.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub max: Option<Bytes>,
    /// Whether that is in it.
    #[prost(bool, optional, tag = "4")]
    pub max_inclusive: Option<bool>,
}

/// Asks for rows of one region.
#[derive(Clone, PartialEq, Message)]
pub struct ScanRequest {
    /// For the first call of a scan.
    #[prost(message, optional, tag = "1")]
    pub region: Option<RegionSpecifier>,
    /// With it.
    #[prost(message, optional, tag = "2")]
    pub scan: Option<Scan>,
    /// For every later call.
    #[prost(uint64, optional, tag = "3")]
    pub scanner_id: Option<u64>,
    /// At most so many results.
    #[prost(uint32, optional, tag = "4")]
    pub number_of_rows: Option<u32>,
    /// Ends the scan with this call.
    #[prost(bool, optional, tag = "5")]
    pub close_scanner: Option<bool>,
    /// One more than in the call before; a repeated call is refused by it.
    #[prost(uint64, optional, tag = "6")]
    pub next_call_seq: Option<u64>,
    /// Rows may come in pieces.
    #[prost(bool, optional, tag = "7")]
    pub client_handles_partials: Option<bool>,
    /// Answers may be empty where the server needs longer.
    #[prost(bool, optional, tag = "8")]
    pub client_handles_heartbeats: Option<bool>,
    /// Only keeps the scanner alive.
    #[prost(bool, optional, tag = "10")]
    pub renew: Option<bool>,
}

/// What rows.
#[derive(Clone, PartialEq, Message)]
pub struct Scan {
    /// Of these columns.
    #[prost(message, repeated, tag = "1")]
    pub columns: Vec<Column>,
    /// From here on.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub start_row: Option<Bytes>,
    /// Up to here.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub stop_row: Option<Bytes>,
    /// Which of them the server lets through.
    #[prost(message, optional, tag = "5")]
    pub filter: Option<Filter>,
    /// Of each cell.
    #[prost(uint32, optional, tag = "7")]
    pub max_versions: Option<u32>,
    /// Whether blocks that are read stay in the server's cache.
    #[prost(bool, optional, tag = "8")]
    pub cache_blocks: Option<bool>,
    /// At most so many cells of a row in one result; a row with more comes in several.
    #[prost(uint32, optional, tag = "9")]
    pub batch_size: Option<u32>,
    /// Bytes of one answer.
    #[prost(uint64, optional, tag = "10")]
    pub max_result_size: Option<u64>,
    /// [`TIMELINE`] lets replicas answer, which may be behind.
    #[prost(int32, optional, tag = "16")]
    pub consistency: Option<i32>,
    /// At most so many results a call.
    #[prost(uint32, optional, tag = "17")]
    pub caching: Option<u32>,
    /// Whether the row it starts with is in it.
    #[prost(bool, optional, tag = "21")]
    pub include_start_row: Option<bool>,
    /// Whether the row it stops at is in it.
    #[prost(bool, optional, tag = "22")]
    pub include_stop_row: Option<bool>,
    /// [`PREAD`] for short scans.
    #[prost(int32, optional, tag = "23")]
    pub read_type: Option<i32>,
}

/// Reads at places, which does not disturb others that read on.
pub const PREAD: i32 = 2;
/// Replicas may answer.
pub const TIMELINE: i32 = 1;

/// Some rows of a scan, as cells that follow the message.
#[derive(Clone, PartialEq, Message)]
pub struct ScanResponse {
    /// For each result the cells that are its own.
    #[prost(uint32, repeated, packed = "false", tag = "1")]
    pub cells_per_result: Vec<u32>,
    /// For the next call.
    #[prost(uint64, optional, tag = "2")]
    pub scanner_id: Option<u64>,
    /// Whether there is more in this scan, here or in later regions.
    #[prost(bool, optional, tag = "3")]
    pub more_results: Option<bool>,
    /// Milliseconds after which the server forgets the scanner.
    #[prost(uint32, optional, tag = "4")]
    pub ttl: Option<u32>,
    /// Results in the message, from servers that were not told a codec.
    #[prost(message, repeated, tag = "5")]
    pub results: Vec<CellResult>,
    /// For each result whether the row goes on in the next one.
    #[prost(bool, repeated, packed = "false", tag = "7")]
    pub partial_flag_per_result: Vec<bool>,
    /// Whether there is more in this region.
    #[prost(bool, optional, tag = "8")]
    pub more_results_in_region: Option<bool>,
    /// Whether it only says that the server is at work.
    #[prost(bool, optional, tag = "9")]
    pub heartbeat_message: Option<bool>,
}
