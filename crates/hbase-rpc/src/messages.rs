//! The messages of HBase's RPC that are needed here, with the numbers of their fields in `RPC.proto`, `Client.proto`,
//! `HBase.proto`, `Cell.proto`, `Filter.proto` and `Registry.proto` of HBase 2.6. What is left out of a message is a field that
//! neither side needs here; a server sends what it likes, and unknown fields are passed over.

use bytes::Bytes;
use prost::Message;

/// Which region, as a request says it.
#[derive(Clone, PartialEq, Message)]
pub struct RegionSpecifier {
    /// [`REGION_NAME`]: servers do not look at encoded names.
    #[prost(int32, required, tag = "1")]
    pub kind: i32,
    /// `table,start key,time.encoded.`
    #[prost(bytes = "bytes", required, tag = "2")]
    pub value: Bytes,
}

/// The kind of a [`RegionSpecifier`] whose value is a full name.
pub const REGION_NAME: i32 = 1;

/// First message on a connection.
#[derive(Clone, PartialEq, Message)]
pub struct ConnectionHeader {
    /// Who asks.
    #[prost(message, optional, tag = "1")]
    pub user: Option<UserInformation>,
    /// Which service of the server.
    #[prost(string, optional, tag = "2")]
    pub service: Option<String>,
    /// How cells are written.
    #[prost(string, optional, tag = "3")]
    pub codec: Option<String>,
}

/// Who asks.
#[derive(Clone, PartialEq, Message)]
pub struct UserInformation {
    /// The user's name.
    #[prost(string, required, tag = "1")]
    pub effective: String,
}

/// What comes after the message of a request or an answer.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct CellBlockMeta {
    /// Bytes.
    #[prost(uint32, optional, tag = "1")]
    pub length: Option<u32>,
}

/// Before each request.
#[derive(Clone, PartialEq, Message)]
pub struct RequestHeader {
    /// The answer has the same.
    #[prost(uint32, optional, tag = "1")]
    pub call_id: Option<u32>,
    /// What is asked for.
    #[prost(string, optional, tag = "3")]
    pub method: Option<String>,
    /// Whether a message follows.
    #[prost(bool, optional, tag = "4")]
    pub has_param: Option<bool>,
    /// The cells that follow the message.
    #[prost(message, optional, tag = "5")]
    pub cells: Option<CellBlockMeta>,
    /// Milliseconds until the caller gives up.
    #[prost(uint32, optional, tag = "7")]
    pub timeout: Option<u32>,
}

/// Before each answer.
#[derive(Clone, PartialEq, Message)]
pub struct ResponseHeader {
    /// That of the request.
    #[prost(uint32, optional, tag = "1")]
    pub call_id: Option<u32>,
    /// In place of an answer.
    #[prost(message, optional, tag = "2")]
    pub exception: Option<ExceptionResponse>,
    /// The cells that follow the message.
    #[prost(message, optional, tag = "3")]
    pub cells: Option<CellBlockMeta>,
}

/// What went wrong on the server.
#[derive(Clone, PartialEq, Message)]
pub struct ExceptionResponse {
    /// The Java class.
    #[prost(string, optional, tag = "1")]
    pub class: Option<String>,
    /// Begins with the message.
    #[prost(string, optional, tag = "2")]
    pub stack_trace: Option<String>,
    /// Where a region that has moved is now.
    #[prost(string, optional, tag = "3")]
    pub hostname: Option<String>,
    /// With it.
    #[prost(int32, optional, tag = "4")]
    pub port: Option<i32>,
    /// What the server says of trying again.
    #[prost(bool, optional, tag = "5")]
    pub do_not_retry: Option<bool>,
}

/// A family and columns of it; all where none is named.
#[derive(Clone, PartialEq, Message)]
pub struct Column {
    /// Its name.
    #[prost(bytes = "bytes", required, tag = "1")]
    pub family: Bytes,
    /// Columns of it.
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub qualifiers: Vec<Bytes>,
}

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

/// A row that was got.
#[derive(Clone, PartialEq, Message)]
pub struct CellResult {
    /// So many of the cells that follow are its own.
    #[prost(int32, optional, tag = "2")]
    pub associated_cell_count: Option<i32>,
    /// Of a get that only asks whether there is something.
    #[prost(bool, optional, tag = "3")]
    pub exists: Option<bool>,
    /// Whether a replica answered, which may be behind.
    #[prost(bool, optional, tag = "4")]
    pub stale: Option<bool>,
}

/// Asks for one row.
#[derive(Clone, PartialEq, Message)]
pub struct Get {
    /// Its key.
    #[prost(bytes = "bytes", required, tag = "1")]
    pub row: Bytes,
    /// Of these columns.
    #[prost(message, repeated, tag = "2")]
    pub columns: Vec<Column>,
    /// Of each cell.
    #[prost(uint32, optional, tag = "6")]
    pub max_versions: Option<u32>,
}

/// Asks a region for one row.
#[derive(Clone, PartialEq, Message)]
pub struct GetRequest {
    /// Which region.
    #[prost(message, optional, tag = "1")]
    pub region: Option<RegionSpecifier>,
    /// Which row.
    #[prost(message, optional, tag = "2")]
    pub get: Option<Get>,
}

/// The row.
#[derive(Clone, PartialEq, Message)]
pub struct GetResponse {
    /// None where nothing is there.
    #[prost(message, optional, tag = "1")]
    pub result: Option<CellResult>,
}

/// Where `hbase:meta` is: asked of any master.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct GetMetaRegionLocationsRequest {}

/// One for each replica.
#[derive(Clone, PartialEq, Message)]
pub struct GetMetaRegionLocationsResponse {
    /// The first is the one that is written to.
    #[prost(message, repeated, tag = "1")]
    pub locations: Vec<RegionLocation>,
}

/// A region and its server.
#[derive(Clone, PartialEq, Message)]
pub struct RegionLocation {
    /// Which region.
    #[prost(message, optional, tag = "1")]
    pub region: Option<RegionInfo>,
    /// None while it moves.
    #[prost(message, optional, tag = "2")]
    pub server: Option<ServerName>,
}

/// A server.
#[derive(Clone, PartialEq, Message)]
pub struct ServerName {
    /// Its host.
    #[prost(string, required, tag = "1")]
    pub host: String,
    /// Its port.
    #[prost(uint32, optional, tag = "2")]
    pub port: Option<u32>,
    /// When it started, which tells it from one before it.
    #[prost(uint64, optional, tag = "3")]
    pub start_code: Option<u64>,
}

/// A region, as `info:regioninfo` in `hbase:meta` has it, after the four bytes `PBUF`.
#[derive(Clone, PartialEq, Message)]
pub struct RegionInfo {
    /// When it was made.
    #[prost(uint64, required, tag = "1")]
    pub region_id: u64,
    /// Of which table.
    #[prost(message, required, tag = "2")]
    pub table: TableName,
    /// The first key, empty for the first region.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub start_key: Option<Bytes>,
    /// The key after the last, empty for the last region.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub end_key: Option<Bytes>,
    /// Whether it is closed for good.
    #[prost(bool, optional, tag = "5")]
    pub offline: Option<bool>,
    /// Whether two others are in its place.
    #[prost(bool, optional, tag = "6")]
    pub split: Option<bool>,
    /// 0 for the one that is written to.
    #[prost(int32, optional, tag = "7")]
    pub replica_id: Option<i32>,
}

/// A table's name.
#[derive(Clone, PartialEq, Message)]
pub struct TableName {
    /// `default` where none was given.
    #[prost(bytes = "bytes", required, tag = "1")]
    pub namespace: Bytes,
    /// In it.
    #[prost(bytes = "bytes", required, tag = "2")]
    pub qualifier: Bytes,
}
