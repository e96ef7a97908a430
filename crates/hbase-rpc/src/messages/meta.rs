//! Tables, regions and servers: `HBase.proto`, `Registry.proto`, `Master.proto`.

use bytes::Bytes;
use prost::Message;

use super::BytesBytesPair;

/// Which server is the active master: asked of any master.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct GetActiveMasterRequest {}

/// The active master.
#[derive(Clone, PartialEq, Message)]
pub struct GetActiveMasterResponse {
    /// None while there is none.
    #[prost(message, optional, tag = "1")]
    pub server: Option<ServerName>,
}

/// Asks the active master what tables are like.
#[derive(Clone, PartialEq, Message)]
pub struct GetTableDescriptorsRequest {
    /// These tables.
    #[prost(message, repeated, tag = "1")]
    pub tables: Vec<TableName>,
}

/// What tables are like.
#[derive(Clone, PartialEq, Message)]
pub struct GetTableDescriptorsResponse {
    /// Those of them that there are.
    #[prost(message, repeated, tag = "1")]
    pub tables: Vec<TableSchema>,
}

/// What a table is like.
#[derive(Clone, PartialEq, Message)]
pub struct TableSchema {
    /// Its families.
    #[prost(message, repeated, tag = "3")]
    pub families: Vec<FamilySchema>,
}

/// What a family of a table is like.
#[derive(Clone, PartialEq, Message)]
pub struct FamilySchema {
    /// Its name.
    #[prost(bytes = "bytes", required, tag = "1")]
    pub name: Bytes,
    /// As `TTL`, seconds in decimal digits.
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<BytesBytesPair>,
}

/// What the row of a table in `hbase:meta` says of it.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct TableState {
    /// One of [`ENABLED`] and so on.
    #[prost(int32, required, tag = "1")]
    pub state: i32,
}

/// Its regions are served, but for those that are on their way.
pub const ENABLED: i32 = 0;

/// None of its regions is served.
pub const DISABLED: i32 = 1;

/// Its regions are on their way to servers.
pub const ENABLING: i32 = 3;

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
