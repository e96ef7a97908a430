//! Confirms, by a request behind each read or write, that the tables still belong to the opened
//! index.
//!
//! The metadata are read last, and hold for all requests before: no two indexes have the same
//! metadata, and none can have come and gone in between. Each transport orders the read in its own
//! way: behind the call on the same connection where the server keeps the order of requests, after
//! the last reply where it does not.

use index::Result;
use index::backend::Known;

/// The metadata at the end of a call.
pub(crate) struct Witness<'a> {
    known: &'a Known,
    is_asked: bool,
    record: Option<Vec<u8>>,
}

impl<'a> Witness<'a> {
    pub(crate) fn new(known: &'a Known) -> Self {
        Self { known, is_asked: false, record: None }
    }

    /// Returns true if the metadata are to be read now: before there is an index, there is nothing
    /// to compare them with.
    pub(crate) fn ask(&mut self) -> bool {
        self.is_asked = self.known.metadata().is_some();
        self.is_asked
    }

    /// Returns true if an answer is due.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Notes the stored metadata, `None` where there are none.
    pub(crate) fn answer(&mut self, record: Option<Vec<u8>>) {
        self.record = record;
    }

    /// Fails unless the requests before the answer belonged to the opened index.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_asked {
            self.known.check(self.record.as_deref())?;
        }
        Ok(())
    }
}
