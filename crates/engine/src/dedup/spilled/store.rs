//! The index over the documents of a spilled run.

use std::sync::Arc;

use index::{
    Cursor, Document, DocumentId, Error, ErrorKind, Insertion, Metadata, Neighbours, Page, Result, Rule,
    Selection, Sketch, Status, Store, StoredDocument, Text,
};

use super::deciding::Inserting;
use super::{Phase, Spilled, State, out_of_order};

/// The index over the documents of a spilled run: of the calls of [`Store`] those that a
/// deduplication makes. It takes the document that [`Spilled::decide`] has opened.
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

    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        let mut state = self.0.state();
        let State { documents: taken, phase, bounded, .. } = &mut *state;
        let Phase::Deciding(deciding) = phase else { return Err(out_of_order()) };
        let Some(Document { id, sketch, .. }) = documents.first() else { return Ok(Vec::new()) };
        let Some(number) = deciding.open.take().filter(|_| documents.len() == 1) else {
            return Err(out_of_order());
        };
        let inserting = Inserting { rule, documents: taken, bounded };
        let nearest = deciding.insert_if_new(number, sketch, inserting)?;
        if nearest.is_none() {
            deciding.again.insert(id.clone(), number);
        }
        Ok(vec![nearest.map_or(Insertion::Inserted, Insertion::Duplicate)])
    }

    fn remove_if(&self, _: &[DocumentId], _: &Selection) -> Result<Vec<bool>> {
        Err(unsupported())
    }

    /// Nothing asks for the kept documents of ids that come again.
    fn get(&self, _: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        Err(unsupported())
    }

    /// Kept documents have their ids in records alone. Unless all of `ids` come again, this reads
    /// all records.
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
