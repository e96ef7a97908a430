//! Headers of connections, requests and answers: `RPC.proto`, `HBase.proto`.

use bytes::Bytes;
use prost::Message;

/// The first message on a connection.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ConnectionHeader {
    /// The caller.
    #[prost(message, optional, tag = "1")]
    pub(crate) user: Option<UserInformation>,
    /// The service of the server, by name.
    #[prost(string, optional, tag = "2")]
    pub(crate) service: Option<String>,
    /// The encoding of cells, by its Java class.
    #[prost(string, optional, tag = "3")]
    pub(crate) codec: Option<String>,
}

/// The caller, by name.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct UserInformation {
    /// The user's name.
    #[prost(string, required, tag = "1")]
    pub(crate) effective: String,
}

/// The block of cells after the message of a request or an answer.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct CellBlockMeta {
    /// The length of the block in bytes.
    #[prost(uint32, optional, tag = "1")]
    pub length: Option<u32>,
}

/// The header of each request.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RequestHeader {
    /// The number of the call, repeated in the answer.
    #[prost(uint32, optional, tag = "1")]
    pub(crate) call_id: Option<u32>,
    /// The name of the method.
    #[prost(string, optional, tag = "3")]
    pub(crate) method: Option<String>,
    /// True if a message follows.
    #[prost(bool, optional, tag = "4")]
    pub(crate) has_param: Option<bool>,
    /// The cells that follow the message.
    #[prost(message, optional, tag = "5")]
    pub(crate) cells: Option<CellBlockMeta>,
    /// Milliseconds until the caller gives up.
    #[prost(uint32, optional, tag = "7")]
    pub(crate) timeout: Option<u32>,
}

/// The header of each answer.
#[derive(Clone, PartialEq, Message)]
pub struct ResponseHeader {
    /// The number of the request's call.
    #[prost(uint32, optional, tag = "1")]
    pub call_id: Option<u32>,
    /// The exception in place of an answer.
    #[prost(message, optional, tag = "2")]
    pub exception: Option<ExceptionResponse>,
    /// The cells that follow the message.
    #[prost(message, optional, tag = "3")]
    pub cells: Option<CellBlockMeta>,
}

/// An exception of the server.
#[derive(Clone, PartialEq, Message)]
pub struct ExceptionResponse {
    /// The Java class.
    #[prost(string, optional, tag = "1")]
    pub(crate) class: Option<String>,
    /// The stack trace, which begins with the message.
    #[prost(string, optional, tag = "2")]
    pub(crate) stack_trace: Option<String>,
    /// The present host of a region that has moved.
    #[prost(string, optional, tag = "3")]
    pub(crate) hostname: Option<String>,
    /// The port on that host.
    #[prost(int32, optional, tag = "4")]
    pub(crate) port: Option<i32>,
    /// True if the server says not to try again.
    #[prost(bool, optional, tag = "5")]
    pub(crate) do_not_retry: Option<bool>,
}

/// A name and its value.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NameBytesPair {
    /// The name.
    #[prost(string, required, tag = "1")]
    pub(crate) name: String,
    /// The value.
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub(crate) value: Option<Bytes>,
}

/// Two values that belong together.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct BytesBytesPair {
    /// The name.
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(crate) first: Bytes,
    /// The value.
    #[prost(bytes = "bytes", required, tag = "2")]
    pub(crate) second: Bytes,
}
