//! The index over the documents of a spilled run.

use std::sync::Arc;

use index::backend::search::{self, Bounded, Documents as _};
use index::{
    Cursor, Document, DocumentId, Error, ErrorKind, Insertion, Metadata, Neighbours, Page, Result, Rule,
    Selection, Sketch, SketchKind, Status, Store, StoredDocument, Text,
};

use super::documents::Documents;
use super::turns::InTurns;
use super::{Deciding, Phase, Spilled, State, out_of_order};
use crate::dedup::hash;

/// The index over the documents of a spilled run: of the calls of [`Store`] those that a
/// deduplication makes. Documents come in the order in which they were
/// [looked at again](Spilled::next).
pub(crate) struct SpilledStore(Arc<Spilled>);

impl SpilledStore {
    pub(crate) fn new(spilled: Arc<Spilled>) -> Self {
        Self(spilled)
    }
}

fn unsupported() -> Error {
    Error::new(ErrorKind::Internal, "a spilled run has no such call")
}

impl Deciding {
    /// The turn and the number of a document that was looked at again. Documents before it were
    /// decided without this index.
    fn place_of(&mut self, id: &DocumentId) -> Result<(u32, u32)> {
        while let Some((turn, number, open)) = self.open.pop_front() {
            if open == *id {
                return Ok((turn, number));
            }
        }
        Err(out_of_order())
    }

    fn insert_if_new(
        &mut self,
        document: &Document,
        rule: &Rule,
        kind: &SketchKind,
        documents: &Documents,
        bounded: &Bounded,
    ) -> Result<Insertion> {
        let (turn, number) = self.place_of(&document.id)?;
        let proposed = self.proposals.of(turn, &document.sketch, rule, kind, documents)?;
        // An index in memory numbers its documents by their turns, and prefers the first of equals.
        let in_turns = InTurns { documents, order: self.order.as_ref() };
        let turn_of = |number| self.order.as_ref().map_or(number, |order| order.turns[number as usize]);
        let proposed = proposed.into_iter().map(|(number, promise)| (turn_of(number).into(), promise));
        let nearest = search::nearest_among(proposed, &document.sketch, rule, &in_turns, bounded)?;
        if let Some(nearest) = nearest {
            return Ok(Insertion::Duplicate(nearest));
        }
        self.proposals.keep(number);
        self.n_kept += 1;
        if self.ids_again.contains(&hash(&document.id).get()) {
            self.again.insert(document.id.clone(), number);
        }
        Ok(Insertion::Inserted)
    }
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
        let State { metadata, documents: taken, phase, bounded } = &mut *state;
        let (Some(metadata), Phase::Deciding(deciding)) = (metadata, phase) else {
            return Err(out_of_order());
        };
        let insert = |document| deciding.insert_if_new(document, rule, &metadata.kind, taken, bounded);
        documents.iter().map(insert).collect()
    }

    fn remove_if(&self, _: &[DocumentId], _: &Selection) -> Result<Vec<bool>> {
        Err(unsupported())
    }

    /// The kept documents of ids that come again are not read: nothing asks for them.
    fn get(&self, _: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        Err(unsupported())
    }

    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        let state = self.0.state();
        let Phase::Deciding(deciding) = &state.phase else { return Err(out_of_order()) };
        let text = |id| {
            let Some(&number) = deciding.again.get(id) else { return Ok(None) };
            state.documents.text(number.into())
        };
        ids.iter().map(text).collect()
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
