//! Rows that are got and changed: `Client.proto`, `Cell.proto`, `Comparator.proto`.

use bytes::Bytes;
use prost::Message;

use super::NameBytesPair;

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
    /// [`TIMELINE`](super::TIMELINE) lets replicas answer, which may be behind.
    #[prost(int32, optional, tag = "12")]
    pub consistency: Option<i32>,
}

/// A change of one row, whose cells follow the message.
#[derive(Clone, PartialEq, Message)]
pub struct Mutation {
    /// Its key.
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub row: Option<Bytes>,
    /// [`PUT`] or [`DELETE`].
    #[prost(int32, optional, tag = "2")]
    pub kind: Option<i32>,
    /// As [`TIME_TO_LIVE`].
    #[prost(message, repeated, tag = "5")]
    pub attributes: Vec<NameBytesPair>,
    /// So many of the cells that follow are its own.
    #[prost(int32, optional, tag = "8")]
    pub associated_cell_count: Option<i32>,
}

/// The kind of a [`Mutation`] that puts cells.
pub const PUT: i32 = 2;
/// The kind of a [`Mutation`] that deletes cells.
pub const DELETE: i32 = 3;
/// The attribute of a [`Mutation`] whose value are milliseconds, eight bytes, after which what is put vanishes.
pub const TIME_TO_LIVE: &str = "_ttl";

/// What a cell has to hold.
#[derive(Clone, PartialEq, Message)]
pub struct Condition {
    /// Of this row.
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub row: Option<Bytes>,
    /// Of this family.
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub family: Option<Bytes>,
    /// Of this column.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub qualifier: Option<Bytes>,
    /// [`EQUAL`].
    #[prost(int32, optional, tag = "4")]
    pub compare_type: Option<i32>,
    /// [`BINARY_COMPARATOR`].
    #[prost(message, optional, tag = "5")]
    pub comparator: Option<Comparator>,
}

/// What is in the cell is what is compared with.
pub const EQUAL: i32 = 2;
/// The class of [`BinaryComparator`].
pub const BINARY_COMPARATOR: &str = "org.apache.hadoop.hbase.filter.BinaryComparator";

/// How a value is compared, by a Java class.
#[derive(Clone, PartialEq, Message)]
pub struct Comparator {
    /// The Java class.
    #[prost(string, required, tag = "1")]
    pub name: String,
    /// A message of its own.
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub serialized: Option<Bytes>,
}

/// Compares byte by byte. An empty value stands for no cell at all.
#[derive(Clone, PartialEq, Message)]
pub struct BinaryComparator {
    /// With what.
    #[prost(message, required, tag = "1")]
    pub comparable: ByteArrayComparable,
}

/// What is compared with.
#[derive(Clone, PartialEq, Message)]
pub struct ByteArrayComparable {
    /// Bytes.
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub value: Option<Bytes>,
}

/// One thing that is asked of a region.
#[derive(Clone, PartialEq, Message)]
pub struct Action {
    /// The result has the same.
    #[prost(uint32, optional, tag = "1")]
    pub index: Option<u32>,
    /// Either a change.
    #[prost(message, optional, tag = "2")]
    pub mutation: Option<Mutation>,
    /// Or a row.
    #[prost(message, optional, tag = "3")]
    pub get: Option<Get>,
}

/// What is asked of one region, in this order but for changes, which are made together.
#[derive(Clone, PartialEq, Message)]
pub struct RegionAction {
    /// Which region.
    #[prost(message, optional, tag = "1")]
    pub region: Option<RegionSpecifier>,
    /// Whether all changes are made at once.
    #[prost(bool, optional, tag = "2")]
    pub atomic: Option<bool>,
    /// What.
    #[prost(message, repeated, tag = "3")]
    pub actions: Vec<Action>,
    /// Only if this is so.
    #[prost(message, optional, tag = "4")]
    pub condition: Option<Condition>,
}

/// What is asked of the regions of one server, one region after another.
#[derive(Clone, PartialEq, Message)]
pub struct MultiRequest {
    /// In this order.
    #[prost(message, repeated, tag = "1")]
    pub regions: Vec<RegionAction>,
}

/// What came of it, in the order of the request.
#[derive(Clone, PartialEq, Message)]
pub struct MultiResponse {
    /// For each region that was named.
    #[prost(message, repeated, tag = "1")]
    pub regions: Vec<RegionActionResult>,
}

/// What came of the actions of one region.
#[derive(Clone, PartialEq, Message)]
pub struct RegionActionResult {
    /// In any order.
    #[prost(message, repeated, tag = "1")]
    pub results: Vec<ResultOrException>,
    /// In place of all results.
    #[prost(message, optional, tag = "2")]
    pub exception: Option<NameBytesPair>,
    /// Whether the condition held.
    #[prost(bool, optional, tag = "3")]
    pub processed: Option<bool>,
}

/// What came of one action.
#[derive(Clone, PartialEq, Message)]
pub struct ResultOrException {
    /// That of the action.
    #[prost(uint32, optional, tag = "1")]
    pub index: Option<u32>,
    /// A row that was got; of a change it is empty.
    #[prost(message, optional, tag = "2")]
    pub result: Option<CellResult>,
    /// A Java class and its stack trace.
    #[prost(message, optional, tag = "3")]
    pub exception: Option<NameBytesPair>,
}
