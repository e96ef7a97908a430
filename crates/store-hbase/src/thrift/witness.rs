//! Whether the tables are still those of the index that was opened: asked behind whatever is read or written.
//!
//! A gateway does what one connection asks for in its order. So what is asked last says of all before it on this connection
//! that it was of this index, and costs no wait of its own: no two indexes have the same metadata, so none can have come and
//! gone in between. It is asked for with the call `get`, and nothing else is.

use hbase_thrift::hbase::TCell;
use index::Result;
use index::backend::Known;
use thrift::protocol::TInputProtocol;

use super::connection::{Connection, Failure};
use super::tasks::Exceptions;
use crate::layout::{METADATA_COLUMN, METADATA_ROW};

/// What a task asks for last. Nothing before there is an index to hold it to.
pub(super) struct Witness<'a> {
    /// The table of documents.
    table: &'a [u8],
    known: &'a Known,
    is_asked: bool,
    record: Option<Vec<u8>>,
}

impl<'a> Witness<'a> {
    pub(super) fn new(table: &'a [u8], known: &'a Known) -> Self {
        Self { table, known, is_asked: false, record: None }
    }

    /// Asks, where there is something to compare the answer with.
    pub(super) fn request(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        self.is_asked = self.known.metadata().is_some();
        if !self.is_asked {
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
        if self.is_asked {
            self.record = exceptions.or_none(connection.reply(read_value))?.flatten();
        }
        Ok(())
    }

    /// Whether what was done before it was done with the index that was opened.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_asked {
            self.known.check(self.record.as_deref())?;
        }
        Ok(())
    }
}

/// The value of the only cell of a list, if there is one.
fn read_value(input: &mut dyn TInputProtocol) -> thrift::Result<Option<Vec<u8>>> {
    let list = input.read_list_begin()?;
    let mut value = None;
    for _ in 0..list.size {
        value = TCell::read_from_in_protocol(input)?.value;
    }
    input.read_list_end()?;
    Ok(value)
}
