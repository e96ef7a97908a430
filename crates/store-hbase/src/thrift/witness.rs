//! The witness of a call: a `get` of the metadata, behind the call on the same connection. No other
//! call uses `get`.
//!
//! A gateway serves the requests of one connection in their order. The last answer holds for all
//! requests before it, and costs no wait of its own.

use hbase_thrift::hbase::TCell;
use thrift::protocol::TInputProtocol;

use super::calls::Exceptions;
use super::connection::{Connection, Failure};
use crate::layout::{METADATA_COLUMN, METADATA_ROW};
use crate::witness;

/// The last request of a call.
pub(super) struct Witness<'a> {
    /// The table of documents.
    table: &'a [u8],
    heard: witness::Witness<'a>,
}

impl<'a> Witness<'a> {
    pub(super) fn new(table: &'a [u8], heard: witness::Witness<'a>) -> Self {
        Self { table, heard }
    }

    /// Requests the metadata, if there are known ones to compare the answer with.
    pub(super) fn request(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        if !self.heard.ask() {
            return Ok(());
        }
        connection.request("get", |fields| {
            fields.bytes(1, self.table)?;
            fields.bytes(2, METADATA_ROW)?;
            fields.bytes(3, METADATA_COLUMN)?;
            fields.attributes(4, &[])
        })
    }

    /// Reads the answer, if one is due.
    pub(super) fn reply(
        &mut self,
        connection: &mut Connection,
        exceptions: &mut Exceptions,
    ) -> Result<(), Failure> {
        if self.heard.is_asked() {
            self.heard.answer(exceptions.or_none(connection.reply(read_value))?.flatten());
        }
        Ok(())
    }

    /// Fails unless the requests before the answer belonged to the index that was opened.
    pub(super) fn check(&self) -> index::Result<()> {
        self.heard.check()
    }
}

/// Returns the value of the only cell of a list, if there is one.
fn read_value(input: &mut dyn TInputProtocol) -> thrift::Result<Option<Vec<u8>>> {
    let list = input.read_list_begin()?;
    let mut value = None;
    for _ in 0..list.size {
        value = TCell::read_from_in_protocol(input)?.value;
    }
    input.read_list_end()?;
    Ok(value)
}
