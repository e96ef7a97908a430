//! Gets and changes of rows: `Client.proto`, `Cell.proto`, `Comparator.proto`.

use bytes::Bytes;
use prost::Message;

use super::NameBytesPair;

/// The name of a region in a request.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RegionSpecifier {
    /// [`REGION_NAME`]: servers do not look at encoded names.
    #[prost(int32, required, tag = "1")]
    pub(crate) kind: i32,
    /// The full name: `table,start key,time.encoded.`
    #[prost(bytes = "bytes", required, tag = "2")]
    pub(crate) value: Bytes,
}

/// The kind of a [`RegionSpecifier`] whose value is a full name.
pub(crate) const REGION_NAME: i32 = 1;

/// A family and some of its columns, all if none is named.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Column {
    /// The name of the family.
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(crate) family: Bytes,
    /// The names of the columns.
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub(crate) qualifiers: Vec<Bytes>,
}

/// A row that was read.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CellResult {
    /// The number of its cells among those that follow the message.
    #[prost(int32, optional, tag = "2")]
    pub(crate) associated_cell_count: Option<i32>,
    /// The answer to a get that only asks for existence.
    #[prost(bool, optional, tag = "3")]
    pub(crate) exists: Option<bool>,
}

/// A request for one row.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Get {
    /// The key of the row.
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(crate) row: Bytes,
    /// The columns to read, all if none is named.
    #[prost(message, repeated, tag = "2")]
    pub(crate) columns: Vec<Column>,
    /// The most versions of each cell.
    #[prost(uint32, optional, tag = "6")]
    pub(crate) max_versions: Option<u32>,
}

/// A change of one row, whose cells follow the message.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Mutation {
    /// The key of the row.
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub(crate) row: Option<Bytes>,
    /// [`PUT`] or [`DELETE`].
    #[prost(int32, optional, tag = "2")]
    pub(crate) kind: Option<i32>,
    /// The attributes, such as [`TIME_TO_LIVE`].
    #[prost(message, repeated, tag = "5")]
    pub(crate) attributes: Vec<NameBytesPair>,
    /// The number of its cells among those that follow the message.
    #[prost(int32, optional, tag = "8")]
    pub(crate) associated_cell_count: Option<i32>,
}

/// The kind of a [`Mutation`] that puts cells.
pub(crate) const PUT: i32 = 2;
/// The kind of a [`Mutation`] that deletes cells.
pub(crate) const DELETE: i32 = 3;
/// The attribute of a [`Mutation`] with the time after which put cells vanish: milliseconds, in
/// eight big-endian bytes.
pub(crate) const TIME_TO_LIVE: &str = "_ttl";

/// A condition on the value of one cell.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Condition {
    /// The row of the cell.
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub(crate) row: Option<Bytes>,
    /// The family of the cell.
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub(crate) family: Option<Bytes>,
    /// The column of the cell.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(crate) qualifier: Option<Bytes>,
    /// The kind of comparison: [`EQUAL`].
    #[prost(int32, optional, tag = "4")]
    pub(crate) compare_type: Option<i32>,
    /// The comparator: [`BINARY_COMPARATOR`].
    #[prost(message, optional, tag = "5")]
    pub(crate) comparator: Option<Comparator>,
}

/// The comparison that holds if the cell has the value of the comparator.
pub(crate) const EQUAL: i32 = 2;
/// The class of [`BinaryComparator`].
pub(crate) const BINARY_COMPARATOR: &str = "org.apache.hadoop.hbase.filter.BinaryComparator";

/// The comparison of values, by a Java class.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Comparator {
    /// The Java class.
    #[prost(string, required, tag = "1")]
    pub(crate) name: String,
    /// The encoded message of the class, as [`BinaryComparator`].
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub(crate) serialized: Option<Bytes>,
}

/// Compares byte by byte. An empty value also stands for no cell at all.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct BinaryComparator {
    /// The value to compare with.
    #[prost(message, required, tag = "1")]
    pub(crate) comparable: ByteArrayComparable,
}

/// A value to compare with.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ByteArrayComparable {
    /// The bytes of the value.
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub(crate) value: Option<Bytes>,
}

/// One action on a region: a change or a get.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Action {
    /// The number of the action, repeated in the result.
    #[prost(uint32, optional, tag = "1")]
    pub(crate) index: Option<u32>,
    /// The change, if the action is one.
    #[prost(message, optional, tag = "2")]
    pub(crate) mutation: Option<Mutation>,
    /// The get, if the action is one.
    #[prost(message, optional, tag = "3")]
    pub(crate) get: Option<Get>,
}

/// The actions on one region, executed in this order, except for changes, which are made together.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RegionAction {
    /// The region.
    #[prost(message, optional, tag = "1")]
    pub(crate) region: Option<RegionSpecifier>,
    /// True if all changes are made at once.
    #[prost(bool, optional, tag = "2")]
    pub(crate) atomic: Option<bool>,
    /// The actions.
    #[prost(message, repeated, tag = "3")]
    pub(crate) actions: Vec<Action>,
    /// The condition on which the actions are executed.
    #[prost(message, optional, tag = "4")]
    pub(crate) condition: Option<Condition>,
}

/// The actions on the regions of one server, executed one region after another.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MultiRequest {
    /// The regions and their actions, in the order of execution.
    #[prost(message, repeated, tag = "1")]
    pub(crate) regions: Vec<RegionAction>,
}

/// The results of a `MultiRequest`, in its order.
#[derive(Clone, PartialEq, Message)]
pub struct MultiResponse {
    /// One result for each region of the request.
    #[prost(message, repeated, tag = "1")]
    pub(crate) regions: Vec<RegionActionResult>,
}

/// The results of the actions on one region.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RegionActionResult {
    /// The results in any order, numbered as the actions.
    #[prost(message, repeated, tag = "1")]
    pub(crate) results: Vec<ResultOrException>,
    /// The exception in place of all results.
    #[prost(message, optional, tag = "2")]
    pub(crate) exception: Option<NameBytesPair>,
    /// True if the condition held.
    #[prost(bool, optional, tag = "3")]
    pub(crate) processed: Option<bool>,
}

/// The result of one action.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ResultOrException {
    /// The number of the action.
    #[prost(uint32, optional, tag = "1")]
    pub(crate) index: Option<u32>,
    /// The row that a get found; empty for a change.
    #[prost(message, optional, tag = "2")]
    pub(crate) result: Option<CellResult>,
    /// The exception: a Java class and its stack trace.
    #[prost(message, optional, tag = "3")]
    pub(crate) exception: Option<NameBytesPair>,
}
