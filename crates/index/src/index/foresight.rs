//! The preview of calls: their answers, one after another, before any of them is made.

use super::{Index, NewDocument};
use crate::overlay::Overlay;
use crate::{DocumentId, Insertion, Result, Rule, Store};

/// The index as after the calls made on this preview; nothing is written.
/// Insertions are decided without a bound on candidates.
pub struct Foresight<'a> {
    index: &'a Index,
    overlay: Overlay<&'a (dyn Store + 'static)>,
}

impl<'a> Foresight<'a> {
    pub(super) fn new(index: &'a Index, store: &'a (dyn Store + 'static)) -> Self {
        Self { index, overlay: Overlay::new(store) }
    }

    /// The rule of insertions, without a bound on candidates.
    fn rule(&self) -> Rule {
        Rule { contained: self.index.contained, ..self.index.rule() }
    }

    /// Returns the answer that [`Index::insert_if_new`] would give now.
    ///
    /// # Errors
    /// Those of a read.
    pub fn insert_if_new(&self, documents: &[impl Into<NewDocument> + Clone]) -> Result<Vec<Insertion>> {
        self.overlay.insert_if_new(&self.index.documents(documents), &self.rule())
    }

    /// Returns the answer that [`Index::insert_if_new`] would give if, before each document, the
    /// stored version under its id were removed. The stored version neither counts nor stays, also
    /// where the document is a duplicate of another one. A document with the stored version's
    /// sketch is `Unchanged` if no other document is near.
    ///
    /// # Errors
    /// Those of a read.
    pub fn replace_if_new(&self, documents: &[impl Into<NewDocument> + Clone]) -> Result<Vec<Insertion>> {
        self.overlay.replace_if_new(&self.index.documents(documents), &self.rule())
    }

    /// Returns the answer that [`Index::remove`] would give now.
    ///
    /// # Errors
    /// Those of a read.
    pub fn remove(&self, ids: &[DocumentId]) -> Result<Vec<bool>> {
        self.overlay.remove(ids)
    }
}
