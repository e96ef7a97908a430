//! The index over the documents of a spilled run.

use std::sync::Arc;

use index::{
    Cursor, Document, DocumentId, Error, ErrorKind, Insertion, Metadata, Neighbours, Page, Result, Rule,
    Selection, Sketch, Status, Store, StoredDocument, Text,
};

use super::{Phase, Spilled, out_of_order};

/// The index over the documents of a spilled run: of the calls of [`Store`] those that a
/// deduplication makes. [`Spilled::decide`] keeps documents.
pub(crate) struct SpilledStore(Arc<Spilled>);

impl SpilledStore {
    pub(crate) fn new(spilled: Arc<Spilled>) -> Self {
        Self(spilled)
    }
}

fn unsupported() -> Error {
    Error::new(ErrorKind::Internal, "a spilled run has no such call")
}

impl Store for SpilledStore {
    fn metadata(&self) -> Result<Option<Metadata>> {
        Ok(self.0.state().metadata.clone())
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        Ok(self.0.state().metadata.get_or_insert_with(|| metadata.clone()).clone())
    }

    fn prepare(&self) -> Result<()> {
        Ok(())
    }

    fn insert(&self, _: &[Document]) -> Result<Vec<Insertion>> {
        Err(unsupported())
    }

    fn insert_if_new(&self, _: &[Document], _: &Rule) -> Result<Vec<Insertion>> {
        Err(unsupported())
    }

    fn remove_if(&self, _: &[DocumentId], _: &Selection) -> Result<Vec<bool>> {
        Err(unsupported())
    }

    fn get(&self, _: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        Err(unsupported())
    }

    /// Reads all records: kept documents have their ids there alone.
    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        let state = self.0.state();
        let Phase::Deciding(deciding) = &state.phase else { return Err(out_of_order()) };
        let documents = &state.documents;
        let numbers = deciding.numbers_of(ids, documents).map_err(|error| self.0.failed(error))?;
        let text = |number: Option<u32>| {
            let Some(number) = number else { return Ok(None) };
            documents.text_of(None, number).map_err(|error| self.0.failed(error))
        };
        numbers.into_iter().map(text).collect()
    }

    fn near(&self, _: &[Sketch], _: &Rule, _: usize) -> Result<Vec<Neighbours>> {
        Err(unsupported())
    }

    fn scan(&self, _: Cursor, _: usize) -> Result<Page> {
        Err(unsupported())
    }

    fn status(&self) -> Result<Status> {
        let state = self.0.state();
        let n_documents = match &state.phase {
            Phase::Deciding(deciding) => deciding.n_kept,
            Phase::Taking(_) | Phase::Failed => 0,
        };
        Ok(Status {
            n_documents: Some(n_documents),
            n_bounded: Some(state.bounded.get()),
            ..Status::default()
        })
    }
}
