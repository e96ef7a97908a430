//! One connection to a gateway: requests are written ahead of their replies, which come in the same
//! order.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::time::Duration;

use hbase_thrift::hbase::{HbaseSyncClient, IOError, IllegalArgument};
use thrift::protocol::{
    TBinaryOutputProtocol, TFieldIdentifier, TInputProtocol, TMessageIdentifier, TMessageType,
    TOutputProtocol, TStructIdentifier, TType,
};
use thrift::transport::{TBufferedReadTransport, TBufferedWriteTransport};
use thrift::{ApplicationError, ApplicationErrorKind, TThriftClient, TransportErrorKind};

use super::plan::{self, Socket, Timeouts};
use super::protocol::{LimitedInput, protocol_error};
use crate::server::{self, Meaning};

/// The size of the buffer of each direction, in bytes.
const BUFFER: usize = 64 * 1024;

type Input = LimitedInput<TBufferedReadTransport<Socket>>;
type Output = TBinaryOutputProtocol<TBufferedWriteTransport<Socket>>;

/// The reason why a request failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection is of no more use: it closed, timed out, or the other end does not speak the
    /// protocol.
    Connection(thrift::Error),
    /// The gateway answered with an exception; the connection is as good as before.
    Exception(Exception),
}

/// The answer of a gateway in place of a result.
#[derive(Debug)]
pub(super) enum Exception {
    /// HBase's: a Java stack trace, and true if another try can help.
    Io { message: String, can_retry: bool },
    /// For example a scanner that is not open.
    Argument(String),
    /// The gateway's own: an unknown method, or a method that broke down.
    Application(ApplicationError),
}

impl From<thrift::Error> for Failure {
    fn from(error: thrift::Error) -> Self {
        match error {
            thrift::Error::User(error) => match error.downcast::<IOError>() {
                Ok(error) => Self::Exception(Exception::io(*error)),
                Err(error) => Self::Exception(Exception::Argument(error.to_string())),
            },
            error => Self::Connection(error),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Connection(error.into())
    }
}

impl Exception {
    fn io(error: IOError) -> Self {
        Self::Io { message: error.message.unwrap_or_default(), can_retry: error.can_retry.unwrap_or(true) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(thrift::Error::Transport(error)) => match error.kind {
                TransportErrorKind::EndOfFile => f.write_str("it closed the connection"),
                // The end of a read that timed out, on Linux.
                _ if error.message.contains("(os error 11)") => f.write_str("it did not answer in time"),
                _ => f.write_str(&error.message),
            },
            Self::Connection(error) => write!(f, "its answer is not understood: {error}"),
            Self::Exception(Exception::Io { message, .. } | Exception::Argument(message)) => {
                // The rest of a stack trace helps in the gateway's log, and is there.
                f.write_str(message.lines().next().unwrap_or_default())
            }
            Self::Exception(Exception::Application(error)) => f.write_str(&error.message),
        }
    }
}

impl std::error::Error for Failure {}

impl server::Failure for Failure {
    fn means(&self) -> Meaning {
        match self {
            Self::Exception(Exception::Io { message, can_retry }) => {
                Meaning::of_exception(message, *can_retry)
            }
            Self::Exception(Exception::Application(error))
                if error.kind == ApplicationErrorKind::UnknownMethod =>
            {
                Meaning::Foreign
            }
            Self::Exception(Exception::Application(_))
            | Self::Connection(thrift::Error::Protocol(_) | thrift::Error::Application(_)) => {
                Meaning::Strange
            }
            Self::Exception(Exception::Argument(_)) | Self::Connection(_) => Meaning::Passing,
        }
    }
}

/// A connection, and the replies that are still to come on it.
pub(super) struct Connection {
    client: HbaseSyncClient<Input, Output>,
    socket: Socket,
    due: VecDeque<(&'static str, i32)>,
    /// True if a reply was not read to its end.
    is_broken: bool,
    reply_timeout: Duration,
}

impl plan::Connection for Connection {
    /// `HOST:PORT`.
    type Address = String;

    type Failure = Failure;

    /// The gateway closes a connection that was idle for 60 s.
    const IDLE_MAX: Duration = Duration::from_secs(45);

    fn open(gateway: &String, timeouts: Timeouts) -> Result<Self, Failure> {
        let socket = Socket::connect(gateway, timeouts)?;
        let input = TBufferedReadTransport::with_capacity(BUFFER, socket.clone());
        let output = TBufferedWriteTransport::with_capacity(BUFFER, socket.clone());
        let client = HbaseSyncClient::new(LimitedInput::new(input), TBinaryOutputProtocol::new(output, true));
        let (due, reply_timeout) = (VecDeque::new(), timeouts.reply);
        Ok(Self { client, socket, due, is_broken: false, reply_timeout })
    }

    fn is_clean(&self) -> bool {
        self.due.is_empty() && !self.is_broken
    }

    fn is_quiet(&self) -> bool {
        self.socket.is_quiet()
    }

    fn set_reply_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        if self.reply_timeout != timeout {
            self.socket.set_reply_timeout(timeout)?;
            self.reply_timeout = timeout;
        }
        Ok(())
    }
}

impl Connection {
    /// Writes a request into the buffer; [`flush`](Self::flush) sends the buffer.
    pub(super) fn request(
        &mut self,
        method: &'static str,
        arguments: impl FnOnce(&mut Fields<'_>) -> thrift::Result<()>,
    ) -> Result<(), Failure> {
        self.client.increment_sequence_number();
        let number = self.client.sequence_number();
        self.due.push_back((method, number));
        let output = self.client.o_prot_mut();
        output.write_message_begin(&TMessageIdentifier::new(method, TMessageType::Call, number))?;
        output.write_struct_begin(&TStructIdentifier::new(method))?;
        arguments(&mut Fields(output))?;
        output.write_field_stop()?;
        output.write_struct_end()?;
        output.write_message_end()?;
        Ok(())
    }

    /// Sends the requests that have been written.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.client.o_prot_mut().flush()?;
        Ok(())
    }

    /// Reads the next due reply; `read` reads its result. Returns `None` for a method without a
    /// result.
    pub(super) fn reply<T>(
        &mut self,
        read: impl FnOnce(&mut dyn TInputProtocol) -> thrift::Result<T>,
    ) -> Result<Option<T>, Failure> {
        let expected = self.due.pop_front();
        self.is_broken = true;
        let answer = read_reply(self.client.i_prot_mut(), expected, read)?;
        self.is_broken = false;
        answer.map_err(Failure::Exception)
    }
}

fn read_reply<T>(
    input: &mut dyn TInputProtocol,
    expected: Option<(&str, i32)>,
    read: impl FnOnce(&mut dyn TInputProtocol) -> thrift::Result<T>,
) -> thrift::Result<Result<Option<T>, Exception>> {
    let message = input.read_message_begin()?;
    if expected != Some((message.name.as_str(), message.sequence_number)) {
        return Err(protocol_error(format!(
            "a reply to request {} {:?} came where one to {expected:?} is due",
            message.sequence_number, message.name
        )));
    }
    match message.message_type {
        TMessageType::Reply => {}
        TMessageType::Exception => {
            let error = thrift::Error::read_application_error_from_in_protocol(input)?;
            input.read_message_end()?;
            return Ok(Err(Exception::Application(error)));
        }
        other => {
            return Err(protocol_error(format!("a message of type {other:?} came where a reply is due")));
        }
    }
    let mut answer = Ok(None);
    let mut read = Some(read);
    input.read_struct_begin()?;
    loop {
        let field = input.read_field_begin()?;
        if field.field_type == TType::Stop {
            break;
        }
        match (field.id, read.take()) {
            (Some(0), Some(read)) => answer = Ok(Some(read(input)?)),
            (Some(1), _) => answer = Err(Exception::io(IOError::read_from_in_protocol(input)?)),
            (Some(2), _) => {
                let error = IllegalArgument::read_from_in_protocol(input)?;
                answer = Err(Exception::Argument(error.message.unwrap_or_default()));
            }
            _ => input.skip(field.field_type)?,
        }
        input.read_field_end()?;
    }
    input.read_struct_end()?;
    input.read_message_end()?;
    Ok(answer)
}

/// Writes the arguments of a request.
pub(super) struct Fields<'a>(&'a mut dyn TOutputProtocol);

impl Fields<'_> {
    /// Writes one argument, by its number in `Hbase.thrift`.
    pub(super) fn field(
        &mut self,
        id: i16,
        kind: TType,
        write: impl FnOnce(&mut dyn TOutputProtocol) -> thrift::Result<()>,
    ) -> thrift::Result<()> {
        self.0.write_field_begin(&TFieldIdentifier::new("", kind, id))?;
        write(self.0)?;
        self.0.write_field_end()
    }

    pub(super) fn bytes(&mut self, id: i16, bytes: &[u8]) -> thrift::Result<()> {
        self.field(id, TType::String, |output| output.write_bytes(bytes))
    }

    pub(super) fn i32(&mut self, id: i16, number: i32) -> thrift::Result<()> {
        self.field(id, TType::I32, |output| output.write_i32(number))
    }

    pub(super) fn i64(&mut self, id: i16, number: i64) -> thrift::Result<()> {
        self.field(id, TType::I64, |output| output.write_i64(number))
    }

    pub(super) fn list<T>(
        &mut self,
        id: i16,
        kind: TType,
        items: &[T],
        mut write: impl FnMut(&mut dyn TOutputProtocol, &T) -> thrift::Result<()>,
    ) -> thrift::Result<()> {
        let len = i32::try_from(items.len()).map_err(|_| protocol_error("a list is too long".into()))?;
        self.field(id, TType::List, |output| {
            output.write_list_begin(&thrift::protocol::TListIdentifier::new(kind, len))?;
            for item in items {
                write(output, item)?;
            }
            output.write_list_end()
        })
    }

    /// Writes the attributes, an argument of every call.
    pub(super) fn attributes(&mut self, id: i16, attributes: &[(&[u8], &[u8])]) -> thrift::Result<()> {
        let len = i32::try_from(attributes.len()).map_err(|_| protocol_error("a map is too long".into()))?;
        self.field(id, TType::Map, |output| {
            let map = thrift::protocol::TMapIdentifier::new(TType::String, TType::String, len);
            output.write_map_begin(&map)?;
            for (name, value) in attributes {
                output.write_bytes(name)?;
                output.write_bytes(value)?;
            }
            output.write_map_end()
        })
    }
}
