//! Texts whose reads look at signals: counting the pairs of a corpus takes minutes.

use std::cell::{Cell, RefCell};

use ::index::{Error, ErrorKind, Result, Text};
use engine::clusters::Texts;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::interrupt::Progress;

/// Texts that end the work where a signal has come.
pub(crate) struct Watched<'a> {
    texts: &'a dyn Texts,
    progress: RefCell<Progress>,
    /// The exception that ended the work.
    raised: Cell<Option<PyErr>>,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(texts: &'a dyn Texts) -> Self {
        Self { texts, progress: Progress::to(None).into(), raised: Cell::new(None) }
    }

    /// The failure of work that ended with `failure`: the exception, if it ended the work.
    pub(crate) fn failure(&self, failure: impl Into<Failure>) -> Failure {
        self.raised.take().map_or_else(|| failure.into(), Failure::Python)
    }
}

impl Texts for Watched<'_> {
    fn text(&self, document: u32) -> Result<Option<Text>> {
        if let Err(raised) = self.progress.borrow_mut().add(0) {
            self.raised.set(Some(raised));
            return Err(Error::new(ErrorKind::Internal, "a signal has ended the work"));
        }
        self.texts.text(document)
    }

    fn digest(&self, document: u32) -> Option<u64> {
        self.texts.digest(document)
    }
}
