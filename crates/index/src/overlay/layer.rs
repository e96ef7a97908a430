//! The writes over a base, and one write about one document.

use std::borrow::Cow;
use std::collections::HashSet;

use tables::Tables;

use crate::backend::rule::Shelf;
use crate::backend::search::{self, Documents};
use crate::{
    Clock, Document, DocumentId, Error, Features, Match, MemoryStore, Result, Rule, Sketch, Store,
    StoredDocument, Text, TextKeeping, Timestamp,
};

/// The writes over a base.
pub(super) struct Layer {
    /// The written documents. Has metadata from the first write on.
    pub(super) above: MemoryStore,
    /// True if the base had an index when `above` was made; otherwise the base is not read.
    pub(super) has_base: bool,
    /// Ids of the base that this layer hides: removed or overwritten.
    pub(super) hidden: HashSet<DocumentId>,
    /// The documents hidden by `hidden`, by their places in `hidden_documents`: for counting the
    /// hidden ones among the documents found by a search in the base.
    pub(super) hidden_tables: Box<dyn Tables>,
    pub(super) hidden_documents: Vec<StoredDocument>,
}

impl Layer {
    /// A layer without writes, with its own clock.
    pub(super) fn new(clock: &Clock) -> Self {
        Self {
            above: MemoryStore::with_clock(clock.clone()),
            has_base: true,
            hidden: HashSet::new(),
            hidden_tables: search::new_tables(),
            hidden_documents: Vec::new(),
        }
    }

    pub(super) fn keeps_texts(&self) -> Result<bool> {
        Ok(self.above.metadata()?.is_some_and(|metadata| metadata.texts != TextKeeping::None))
    }
}

/// The hidden documents.
impl Documents for Layer {
    fn id(&self, number: u64) -> Result<DocumentId> {
        Ok(self.hidden_documents[number as usize].document.id.clone())
    }

    fn features(&self, number: u64) -> Result<Cow<'_, Features>> {
        Ok(Cow::Borrowed(self.hidden_documents[number as usize].document.sketch.features()))
    }

    fn text(&self, number: u64) -> Result<Option<Text>> {
        Ok(self.hidden_documents[number as usize].document.sketch.text().cloned())
    }
}

/// A write about one document.
pub(super) struct Writer<'a> {
    pub(super) layer: &'a mut Layer,
    pub(super) id: &'a DocumentId,
    /// The base's document under the same id.
    pub(super) in_base: Option<StoredDocument>,
    /// The near documents of the base, with at least one visible one beyond those hidden by this
    /// call, unless there is none.
    pub(super) near: Vec<Match>,
}

impl Shelf for Writer<'_> {
    type Error = Error;

    /// Finds live documents only. The number says nothing, since a writer is about one document.
    fn find(&self, id: &DocumentId) -> Result<Option<(u64, StoredDocument)>> {
        let above = self.layer.above.get(std::slice::from_ref(id))?.pop().flatten();
        let in_base = self.in_base.clone().filter(|_| !self.layer.hidden.contains(id));
        Ok(above.or(in_base).map(|stored| (0, stored)))
    }

    fn is_live(&self, _: Timestamp) -> bool {
        true
    }

    fn nearest(&self, sketch: &Sketch, rule: &Rule, _: Option<u64>) -> Result<Option<Match>> {
        let above = self.layer.above.near(std::slice::from_ref(sketch), rule, 2)?.pop();
        let above = above.map(|above| above.matches).unwrap_or_default();
        let in_base = self.near.iter().filter(|found| !self.layer.hidden.contains(&found.id)).cloned();
        let others = above.into_iter().chain(in_base).filter(|found| found.id != *self.id);
        Ok(others.min_by(rank))
    }

    fn keeps_texts(&self) -> Result<bool> {
        self.layer.keeps_texts()
    }

    fn text(&self, id: &DocumentId, _: u64) -> Result<Option<Text>> {
        if let Some(text) = self.layer.above.texts(std::slice::from_ref(id))?.pop().flatten() {
            return Ok(Some(text));
        }
        let in_base = self.in_base.as_ref().filter(|_| !self.layer.hidden.contains(id));
        Ok(in_base.and_then(|stored| stored.document.sketch.text().cloned()))
    }

    /// An expired document of the base under this id would come back with a clock turned back, so
    /// it is hidden too.
    fn put(&mut self, document: &Document) -> Result<()> {
        self.layer.above.insert(std::slice::from_ref(document))?;
        if self.layer.has_base {
            self.layer.hidden.insert(document.id.clone());
        }
        Ok(())
    }

    fn take(&mut self, id: &DocumentId, _: u64, _: &Sketch) -> Result<()> {
        let layer = &mut *self.layer;
        layer.above.remove(std::slice::from_ref(id))?;
        if let Some(stored) = &self.in_base
            && layer.hidden.insert(id.clone())
        {
            let number = layer.hidden_documents.len() as u64;
            search::file(&mut *layer.hidden_tables, &stored.document.sketch, number);
            layer.hidden_documents.push(stored.clone());
        }
        Ok(())
    }
}

/// Orders matches, the nearest first.
pub(super) fn rank(a: &Match, b: &Match) -> std::cmp::Ordering {
    (a.nearness, &a.id).cmp(&(b.nearness, &b.id))
}
