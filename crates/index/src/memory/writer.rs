//! A write under way to the store in memory.

use super::Contents;
use crate::backend::rule::Shelf;
use crate::backend::{Oldest, search};
use crate::retention::Horizon;
use crate::store::not_created;
use crate::{Document, DocumentId, Error, Match, Result, Rule, Sketch, StoredDocument, Text, Timestamp};

/// A write under way.
pub(super) struct Writer<'a> {
    contents: &'a mut Contents,
    horizon: Horizon,
    now: Timestamp,
    /// The time of the inserted documents, once there is one.
    inserted_at: Option<Timestamp>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(contents: &'a mut Contents, horizon: Horizon, now: Timestamp) -> Self {
        Self { contents, horizon, now, inserted_at: None }
    }

    /// Removes documents expired by `swept` too, the oldest `n_max` of them.
    pub(super) fn sweep(&mut self, n_max: usize, swept: Horizon) -> Result<()> {
        let mut oldest = Oldest::default();
        for expired in self.contents.live(self.horizon)?.expired() {
            oldest.push(self.contents.first_from(expired.start), expired.end);
        }
        for _ in 0..n_max {
            let Some((number, end)) = oldest.pop() else { break };
            let held = self.contents.document(number)?;
            if swept.is_live(held.inserted_at) {
                break;
            }
            let Document { id, sketch, .. } = held.stored(self.contents.kind()?)?.document;
            self.take(&id, number, &sketch)?;
            oldest.push(self.contents.first_from(number + 1), end);
        }
        Ok(())
    }

    /// The time of an insertion: now, but along a run never before the last document.
    fn inserted_at(&mut self, number: u64) -> Result<Timestamp> {
        if let Some(inserted_at) = self.inserted_at {
            return Ok(inserted_at);
        }
        let contents = &mut *self.contents;
        let mut inserted_at = self.now;
        if self.horizon.expired_until_ms().is_some() {
            let last = contents.documents.last().map(|last| last.inserted_at);
            let (at, begins) = contents.runs.turn(last, self.now)?;
            if begins {
                contents.runs.begin(number);
            }
            inserted_at = at;
        }
        self.inserted_at = Some(inserted_at);
        Ok(inserted_at)
    }
}

impl Shelf for Writer<'_> {
    type Error = Error;

    fn find(&self, id: &DocumentId) -> Result<Option<(u64, StoredDocument)>> {
        let Some(number) = self.contents.documents.number_of(id) else { return Ok(None) };
        Ok(Some((number, self.contents.document(number)?.stored(self.contents.kind()?)?)))
    }

    fn is_live(&self, inserted_at: Timestamp) -> bool {
        self.horizon.is_live(inserted_at)
    }

    fn nearest(&self, sketch: &Sketch, rule: &Rule, except: Option<u64>) -> Result<Option<Match>> {
        let contents = &*self.contents;
        let live = contents.live(self.horizon)?;
        let counts = |number| live.contains(number) && Some(number) != except;
        search::nearest(&[&contents.tables], sketch, rule, &counts, contents, &contents.bounded)
    }

    fn keeps_texts(&self) -> Result<bool> {
        Ok(self.contents.keeps_texts())
    }

    fn text(&self, _: &DocumentId, number: u64) -> Result<Option<Text>> {
        self.contents.texts.get(number)
    }

    fn put(&mut self, document: &Document) -> Result<()> {
        let inserted_at = self.inserted_at(self.contents.last + 1)?;
        let contents = &mut *self.contents;
        contents.last += 1;
        search::file(&mut *contents.tables, &document.sketch, contents.last);
        if let Some(text) = document.sketch.text().filter(|_| contents.keeps_texts()) {
            contents.texts.put(contents.last, text)?;
        }
        let kind = &contents.metadata.as_ref().ok_or_else(not_created)?.kind;
        contents.documents.push(contents.last, document, inserted_at, kind);
        Ok(())
    }

    fn take(&mut self, _: &DocumentId, number: u64, sketch: &Sketch) -> Result<()> {
        search::unfile(&mut *self.contents.tables, sketch, number);
        self.contents.documents.remove(number);
        self.contents.texts.remove(number);
        Ok(())
    }
}
