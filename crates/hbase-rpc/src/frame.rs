//! Frames on the wire: a preamble, then requests and answers, each after its length.
//!
//! ```text
//! "HBas"  u8 version 0  u8 authentication  [tokens of a ticket]  u32 length  ConnectionHeader
//! u32 length  varint length  RequestHeader   [varint length  message]  [cells]
//! u32 length  varint length  ResponseHeader  [varint length  message]  [cells]
//! ```

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;

use crate::messages::{CellBlockMeta, ConnectionHeader, RequestHeader, ResponseHeader, UserInformation};
use crate::{Cells, Error, RemoteError};

const MAGIC: &[u8] = b"HBas\0";
/// Authentication by a user's name alone.
const SIMPLE: u8 = 80;
/// Authentication by a ticket, by SASL with the mechanism GSSAPI.
#[cfg(feature = "kerberos")]
const KERBEROS: u8 = 81;
const CODEC: &str = "org.apache.hadoop.hbase.codec.KeyValueCodec";

/// A service of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// Rows, on a region server.
    Client,
    /// The location of `hbase:meta`, on a master or a region server.
    ClientMeta,
    /// Schemas of tables, on the active master.
    Master,
}

impl Service {
    fn name(self) -> &'static str {
        match self {
            Self::Client => "ClientService",
            Self::ClientMeta => "ClientMetaService",
            Self::Master => "MasterService",
        }
    }
}

/// Returns the first bytes of a connection, for a user that the server believes.
pub(crate) fn preamble(user: &str, service: Service) -> Bytes {
    let mut bytes = BytesMut::from(MAGIC);
    bytes.put_u8(SIMPLE);
    bytes.put(header(Some(user), service));
    bytes.freeze()
}

/// Returns the first bytes of a connection that shows a ticket next.
#[cfg(feature = "kerberos")]
pub(crate) fn preamble_of_ticket() -> Bytes {
    [MAGIC, &[KERBEROS]].concat().into()
}

/// Returns the header with the service of a connection. `user` is `None` if a ticket names the
/// user.
pub(crate) fn header(user: Option<&str>, service: Service) -> Bytes {
    let header = ConnectionHeader {
        user: user.map(|user| UserInformation { effective: user.to_owned() }),
        service: Some(service.name().to_owned()),
        codec: Some(CODEC.to_owned()),
    };
    let mut bytes = BytesMut::new();
    bytes.put_u32(header.encoded_len() as u32);
    header.encode_raw(&mut bytes);
    bytes.freeze()
}

/// Encodes a whole request.
pub(crate) fn request(
    call_id: u32,
    method: &str,
    param: &impl Message,
    cells: &[Bytes],
    deadline: Duration,
    len_max: usize,
) -> Result<Bytes, Error> {
    let n_cell_bytes: usize = cells.iter().map(Bytes::len).sum();
    let length = || CellBlockMeta { length: u32::try_from(n_cell_bytes).ok() };
    let header = RequestHeader {
        call_id: Some(call_id),
        method: Some(method.to_owned()),
        has_param: Some(true),
        cells: (n_cell_bytes > 0).then(length),
        timeout: u32::try_from(deadline.as_millis()).ok(),
    };
    let delimited = |len: usize| prost::length_delimiter_len(len) + len;
    let len = delimited(header.encoded_len()) + delimited(param.encoded_len()) + n_cell_bytes;
    if len > len_max || i32::try_from(len).is_err() {
        return Err(Error::TooLong(len));
    }
    let mut bytes = BytesMut::with_capacity(4 + len);
    bytes.put_u32(len as u32);
    for result in [header.encode_length_delimited(&mut bytes), param.encode_length_delimited(&mut bytes)] {
        result.map_err(|_| Error::TooLong(len))?;
    }
    cells.iter().for_each(|cells| bytes.put_slice(cells));
    Ok(bytes.freeze())
}

/// The answer to a call.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The message, still encoded.
    message: Bytes,
    /// The cells after the message.
    pub cells: Cells,
}

impl Answer {
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.message
    }

    /// Decodes the message.
    ///
    /// # Errors
    /// [`Error::Protocol`] if the bytes are no such message.
    pub fn message<M: Message + Default>(&self) -> Result<M, Error> {
        M::decode(self.message.clone()).map_err(|error| Error::Protocol(error.to_string()))
    }
}

/// Decodes an answer, without the length before it, into the id of its call and the outcome.
pub(crate) fn answer(mut bytes: Bytes) -> Result<(u32, Result<Answer, RemoteError>), Error> {
    let torn = |what: &str| Error::Protocol(format!("an answer whose {what} is longer than the whole"));
    let header = take_delimited(&mut bytes).ok_or_else(|| torn("header"))?;
    let header = ResponseHeader::decode(header).map_err(|error| Error::Protocol(error.to_string()))?;
    let call_id = header.call_id.ok_or_else(|| Error::Protocol("an answer to no call".to_owned()))?;
    if let Some(exception) = header.exception {
        let port = exception.port.and_then(|port| u16::try_from(port).ok());
        let remote = RemoteError {
            class: exception.class.unwrap_or_default(),
            stack_trace: exception.stack_trace.unwrap_or_default(),
            do_not_retry: exception.do_not_retry.unwrap_or(false),
            moved_to: exception.hostname.filter(|host| !host.is_empty()).zip(port),
        };
        return Ok((call_id, Err(remote)));
    }
    let n_cell_bytes = header.cells.and_then(|cells| cells.length).unwrap_or(0) as usize;
    let n_message_bytes = bytes.len().checked_sub(n_cell_bytes).ok_or_else(|| torn("cell block"))?;
    let cells = bytes.split_off(n_message_bytes);
    let message = if bytes.is_empty() {
        Bytes::new()
    } else {
        take_delimited(&mut bytes).ok_or_else(|| torn("message"))?
    };
    if !bytes.is_empty() {
        return Err(Error::Protocol("an answer with bytes that nothing accounts for".to_owned()));
    }
    Ok((call_id, Ok(Answer { message, cells: Cells::new(cells) })))
}

/// Takes a message with its length before it.
fn take_delimited(bytes: &mut Bytes) -> Option<Bytes> {
    let len = prost::decode_length_delimiter(&mut *bytes).ok()?;
    (len <= bytes.len()).then(|| bytes.split_to(len))
}

/// Returns the length of the answer that follows these four bytes.
pub(crate) fn answer_len(mut bytes: &[u8], len_max: usize) -> Result<usize, Error> {
    let len = bytes.get_u32() as usize;
    if len > len_max {
        return Err(Error::Protocol(format!("an answer of {len} bytes, where at most {len_max} are taken")));
    }
    Ok(len)
}
