//! The binary protocol, read with limits: the reader of the crate `thrift` believes every length,
//! and panics or asks for gigabytes where another kind of server answers.

use thrift::ProtocolErrorKind;
use thrift::protocol::{
    TBinaryInputProtocol, TFieldIdentifier, TInputProtocol, TListIdentifier, TMapIdentifier,
    TMessageIdentifier, TMessageType, TSetIdentifier, TStructIdentifier,
};
use thrift::transport::TReadTransport;

/// The longest name, key, value or message. Ids are 4 KiB, and a stack trace of HBase's may be
/// long.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// The most items of a list, a set or a map; a page has a few hundred.
const ITEMS_MAX: i32 = 100_000;

/// The upper half of the first word of a message with a version; the lowest byte is the type.
const VERSION: u32 = 0x8001_0000;

pub(super) fn protocol_error(message: String) -> thrift::Error {
    thrift::new_protocol_error(ProtocolErrorKind::InvalidData, message)
}

/// A reader that believes no length.
pub(super) struct LimitedInput<T: TReadTransport>(TBinaryInputProtocol<T>);

impl<T: TReadTransport> LimitedInput<T> {
    pub(super) fn new(transport: T) -> Self {
        Self(TBinaryInputProtocol::new(transport, true))
    }
}

fn check_items(size: i32) -> thrift::Result<()> {
    if (0..=ITEMS_MAX).contains(&size) {
        return Ok(());
    }
    Err(protocol_error(format!("a list of {size} items came")))
}

impl<T: TReadTransport> TInputProtocol for LimitedInput<T> {
    fn read_message_begin(&mut self) -> thrift::Result<TMessageIdentifier> {
        let begin = self.0.read_i32()? as u32;
        if begin & 0xffff_0000 != VERSION {
            return Err(protocol_error(format!(
                "a message began with {:?}",
                begin.to_be_bytes().escape_ascii().to_string()
            )));
        }
        let message_type = TMessageType::try_from(begin as u8)?;
        let name = self.read_string()?;
        Ok(TMessageIdentifier::new(name, message_type, self.read_i32()?))
    }

    fn read_bytes(&mut self) -> thrift::Result<Vec<u8>> {
        let len = self.0.read_i32()?;
        let len = usize::try_from(len).ok().filter(|&len| len <= BYTES_MAX);
        let len = len.ok_or_else(|| protocol_error("a string of an impossible length came".into()))?;
        let mut bytes = vec![0; len];
        self.0.transport.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn read_string(&mut self) -> thrift::Result<String> {
        Ok(String::from_utf8(self.read_bytes()?)?)
    }

    fn read_list_begin(&mut self) -> thrift::Result<TListIdentifier> {
        let list = self.0.read_list_begin()?;
        check_items(list.size)?;
        Ok(list)
    }

    fn read_set_begin(&mut self) -> thrift::Result<TSetIdentifier> {
        let set = self.0.read_set_begin()?;
        check_items(set.size)?;
        Ok(set)
    }

    fn read_map_begin(&mut self) -> thrift::Result<TMapIdentifier> {
        let map = self.0.read_map_begin()?;
        check_items(map.size)?;
        Ok(map)
    }

    fn read_message_end(&mut self) -> thrift::Result<()> {
        self.0.read_message_end()
    }

    fn read_struct_begin(&mut self) -> thrift::Result<Option<TStructIdentifier>> {
        self.0.read_struct_begin()
    }

    fn read_struct_end(&mut self) -> thrift::Result<()> {
        self.0.read_struct_end()
    }

    fn read_field_begin(&mut self) -> thrift::Result<TFieldIdentifier> {
        self.0.read_field_begin()
    }

    fn read_field_end(&mut self) -> thrift::Result<()> {
        self.0.read_field_end()
    }

    fn read_bool(&mut self) -> thrift::Result<bool> {
        self.0.read_bool()
    }

    fn read_i8(&mut self) -> thrift::Result<i8> {
        self.0.read_i8()
    }

    fn read_i16(&mut self) -> thrift::Result<i16> {
        self.0.read_i16()
    }

    fn read_i32(&mut self) -> thrift::Result<i32> {
        self.0.read_i32()
    }

    fn read_i64(&mut self) -> thrift::Result<i64> {
        self.0.read_i64()
    }

    fn read_double(&mut self) -> thrift::Result<f64> {
        self.0.read_double()
    }

    fn read_list_end(&mut self) -> thrift::Result<()> {
        self.0.read_list_end()
    }

    fn read_set_end(&mut self) -> thrift::Result<()> {
        self.0.read_set_end()
    }

    fn read_map_end(&mut self) -> thrift::Result<()> {
        self.0.read_map_end()
    }

    fn read_byte(&mut self) -> thrift::Result<u8> {
        self.0.read_byte()
    }
}
