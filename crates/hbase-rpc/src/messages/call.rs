//! Around each request and answer: `RPC.proto`, `HBase.proto`.

use bytes::Bytes;
use prost::Message;

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

/// A name and what it stands for.
#[derive(Clone, PartialEq, Message)]
pub struct NameBytesPair {
    /// The name.
    #[prost(string, required, tag = "1")]
    pub name: String,
    /// What it stands for.
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub value: Option<Bytes>,
}

/// Two values that belong together.
#[derive(Clone, PartialEq, Message)]
pub struct BytesBytesPair {
    /// The name.
    #[prost(bytes = "bytes", required, tag = "1")]
    pub first: Bytes,
    /// What it stands for.
    #[prost(bytes = "bytes", required, tag = "2")]
    pub second: Bytes,
}
