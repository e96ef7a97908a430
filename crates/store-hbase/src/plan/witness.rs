//! Whether the tables are still those of the index that was opened: asked behind what is read or written.
//!
//! The metadata are asked for last, so what they say holds for all before: no two indexes have the same, so none can have
//! come and gone in between. How a transport asks last is its own affair: behind the call on the same connection where the
//! server keeps the order of requests, after the last reply where it does not.

use index::Result;
use index::backend::Known;

/// What the metadata were when a call was done.
pub(crate) struct Witness<'a> {
    known: &'a Known,
    is_asked: bool,
    record: Option<Vec<u8>>,
}

impl<'a> Witness<'a> {
    pub(crate) fn new(known: &'a Known) -> Self {
        Self { known, is_asked: false, record: None }
    }

    /// Whether to ask now: there is nothing to compare the answer with before there is an index.
    pub(crate) fn ask(&mut self) -> bool {
        self.is_asked = self.known.metadata().is_some();
        self.is_asked
    }

    /// Whether an answer is due.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// The metadata as they are stored, `None` where there are none.
    pub(crate) fn answer(&mut self, record: Option<Vec<u8>>) {
        self.record = record;
    }

    /// Whether what was done before it was done with the index that was opened.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_asked {
            self.known.check(self.record.as_deref())?;
        }
        Ok(())
    }
}
