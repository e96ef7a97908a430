//! What calls of an index would answer, one after another, found out before any of them is made.

use super::{Index, NewDocument};
use crate::{DocumentId, Insertion, Overlay, Result, Rule, Store};

/// The index as it would be after the calls that are made of this; nothing is written. See [`Overlay`].
pub struct Foresight<'a> {
    index: &'a Index,
    overlay: Overlay<&'a (dyn Store + 'static)>,
}

impl<'a> Foresight<'a> {
    pub(super) fn new(index: &'a Index, store: &'a (dyn Store + 'static)) -> Self {
        Self { index, overlay: Overlay::new(store) }
    }

    /// By what insertions are decided, without a bound on candidates.
    fn rule(&self) -> Rule {
        Rule { contained: self.index.contained, ..self.index.rule() }
    }

    /// What [`Index::insert_if_new`] would answer now.
    ///
    /// # Errors
    /// Those of a read.
    pub fn insert_if_new(&self, documents: &[impl Into<NewDocument> + Clone]) -> Result<Vec<Insertion>> {
        self.overlay.insert_if_new(&self.index.documents(documents), &self.rule())
    }

    /// What [`Index::insert_if_new`] would answer if, before each document, what is stored under its id were removed:
    /// that neither counts nor stays, also where the document is a duplicate of another one. What has the same sketch
    /// is `Unchanged` where nothing else is near to it.
    ///
    /// # Errors
    /// Those of a read.
    pub fn replace_if_new(&self, documents: &[impl Into<NewDocument> + Clone]) -> Result<Vec<Insertion>> {
        self.overlay.replace_if_new(&self.index.documents(documents), &self.rule())
    }

    /// What [`Index::remove`] would answer now.
    ///
    /// # Errors
    /// Those of a read.
    pub fn remove(&self, ids: &[DocumentId]) -> Result<Vec<bool>> {
        self.overlay.remove(ids)
    }
}
