//! Tables, regions and servers: `HBase.proto`, `Registry.proto`, `Master.proto`.

use bytes::Bytes;
use prost::Message;

use super::BytesBytesPair;

/// A request for the active master, to any master.
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct GetActiveMasterRequest {}

/// The active master.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct GetActiveMasterResponse {
    /// The active master, `None` while there is none.
    #[prost(message, optional, tag = "1")]
    pub(crate) server: Option<ServerName>,
}

/// A request for the schemas of tables, to the active master.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct GetTableDescriptorsRequest {
    /// The tables.
    #[prost(message, repeated, tag = "1")]
    pub(crate) tables: Vec<TableName>,
}

/// The schemas of tables.
#[derive(Clone, PartialEq, Message)]
pub struct GetTableDescriptorsResponse {
    /// The schemas of those tables that exist.
    #[prost(message, repeated, tag = "1")]
    pub(crate) tables: Vec<TableSchema>,
}

/// The schema of a table.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TableSchema {
    /// Its families.
    #[prost(message, repeated, tag = "3")]
    pub(crate) families: Vec<FamilySchema>,
}

/// The schema of a family.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FamilySchema {
    /// Its name.
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(crate) name: Bytes,
    /// The attributes, such as `TTL` in seconds, in decimal digits.
    #[prost(message, repeated, tag = "2")]
    pub(crate) attributes: Vec<BytesBytesPair>,
}

/// The state of a table, from the table's row in `hbase:meta`.
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct TableState {
    /// [`ENABLED`], [`DISABLED`], [`ENABLING`] or another state.
    #[prost(int32, required, tag = "1")]
    pub(crate) state: i32,
}

/// The regions are served, except for regions on their way.
pub(crate) const ENABLED: i32 = 0;

/// No region is served.
#[cfg(feature = "testsuite")]
pub(crate) const DISABLED: i32 = 1;

/// The regions are on their way to servers.
pub(crate) const ENABLING: i32 = 3;

/// A request for the location of `hbase:meta`, to any master.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct GetMetaRegionLocationsRequest {}

/// The locations of `hbase:meta`, one for each replica.
#[derive(Clone, PartialEq, Message)]
pub struct GetMetaRegionLocationsResponse {
    /// The first location is that of the primary, which takes writes.
    #[prost(message, repeated, tag = "1")]
    pub(crate) locations: Vec<RegionLocation>,
}

/// A region and its server.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RegionLocation {
    /// The region.
    #[prost(message, optional, tag = "1")]
    pub(crate) region: Option<RegionInfo>,
    /// The server, `None` while the region moves.
    #[prost(message, optional, tag = "2")]
    pub(crate) server: Option<ServerName>,
}

/// A server.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ServerName {
    /// Its host.
    #[prost(string, required, tag = "1")]
    pub(crate) host: String,
    /// Its port.
    #[prost(uint32, optional, tag = "2")]
    pub(crate) port: Option<u32>,
    /// The time of the server's start, which distinguishes this run from earlier ones.
    #[prost(uint64, optional, tag = "3")]
    pub(crate) start_code: Option<u64>,
}

/// A region, as `info:regioninfo` in `hbase:meta` has it after the four bytes `PBUF`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RegionInfo {
    /// The time of the region's creation.
    #[prost(uint64, required, tag = "1")]
    pub(crate) region_id: u64,
    /// The table of the region.
    #[prost(message, required, tag = "2")]
    pub(crate) table: TableName,
    /// The first key, empty for the first region.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(crate) start_key: Option<Bytes>,
    /// The key after the last, empty for the last region.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub(crate) end_key: Option<Bytes>,
    /// True if the region is closed for good.
    #[prost(bool, optional, tag = "5")]
    pub(crate) offline: Option<bool>,
    /// True if two others are in the region's place.
    #[prost(bool, optional, tag = "6")]
    pub(crate) split: Option<bool>,
    /// 0 for the primary, which takes writes.
    #[prost(int32, optional, tag = "7")]
    pub(crate) replica_id: Option<i32>,
}

/// A table's name.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TableName {
    /// The namespace, `default` unless one was given.
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(crate) namespace: Bytes,
    /// The name within the namespace.
    #[prost(bytes = "bytes", required, tag = "2")]
    pub(crate) qualifier: Bytes,
}
