//! A store over a read-only base: writes stay in memory beside the base. With an overlay a dry run
//! takes the same path as any other run, and a job learns the answer of a call before the call.

mod layer;

use std::ops::Deref;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use self::layer::{Layer, Writer, rank};
use crate::backend::{rule, search};
use crate::retention::Horizon;
use crate::store::{check_batch, check_documents, not_created, page_len};
use crate::{
    Clock, Cursor, Document, DocumentId, Error, Insertion, Match, Metadata, Neighbours, Page, Result, Rule,
    Selection, Sketch, Status, Store, StoredDocument, Text,
};

/// The first byte of a cursor: within the base, or within the written documents.
const IN_BASE: u8 = b'b';
const ABOVE: u8 = b'a';

/// A store that answers as its base would after the same writes, and leaves the base unchanged.
///
/// An overlay keeps the contract of [`Store`], except that writes are not durable. Documents of the
/// base that were removed or replaced here are hidden. Writes of other processes to the base are
/// seen, unless they are to hidden documents. A count of matches may then be off by the changes of
/// hidden documents, and also with a clock turned back past an expiry.
///
/// Memory: a `MemoryStore`'s for the written documents, and the hidden documents.
pub(crate) struct Overlay<B> {
    base: B,
    layer: RwLock<Layer>,
    clock: Clock,
}

/// The rule of a write.
#[derive(Clone, Copy)]
enum Way<'a> {
    Insert,
    IfNew(&'a Rule),
    Replace(&'a Rule),
}

impl<B: Deref<Target = dyn Store>> Overlay<B> {
    /// An overlay without writes.
    #[must_use]
    pub(crate) fn new(base: B) -> Self {
        Self::with_clock(base, Clock::system())
    }

    /// An overlay without writes, with the time from `clock`, which should be the base's.
    #[must_use]
    pub(crate) fn with_clock(base: B, clock: Clock) -> Self {
        let layer = Layer::new(&clock);
        Self { base, layer: RwLock::new(layer), clock }
    }

    fn read(&self) -> Result<RwLockReadGuard<'_, Layer>> {
        self.layer.read().map_err(|_| Error::poisoned())
    }

    /// The layer, ready for a write.
    fn write(&self) -> Result<RwLockWriteGuard<'_, Layer>> {
        let layer = self.layer.write().map_err(|_| Error::poisoned())?;
        if layer.above.metadata()?.is_none() {
            layer.above.create(&self.base.metadata()?.ok_or_else(not_created)?)?;
        }
        // A clock that refuses does so before any change.
        layer.above.insert(&[])?;
        Ok(layer)
    }

    /// Carries out `work` on the base's documents with these ids. No other write can come between.
    fn decide<T>(
        &self,
        ids: &[DocumentId],
        work: impl FnOnce(&mut RwLockWriteGuard<'_, Layer>, Vec<Option<StoredDocument>>) -> Result<T>,
    ) -> Result<T> {
        let mut layer = self.write()?;
        let in_base = if layer.has_base { self.in_base(&layer, ids)? } else { vec![None; ids.len()] };
        work(&mut layer, in_base)
    }

    /// The documents of the base, with their texts where it keeps them: hidden documents are
    /// counted by their texts.
    fn in_base(&self, layer: &Layer, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        let mut in_base = self.base.get(ids)?;
        if layer.keeps_texts()? && in_base.iter().any(Option::is_some) {
            for (stored, text) in in_base.iter_mut().zip(self.base.texts(ids)?) {
                if let Some(StoredDocument { document, .. }) = stored {
                    document.sketch = document.sketch.clone().with_text(text);
                }
            }
        }
        Ok(in_base)
    }

    /// Inserts as [`insert_if_new`](Store::insert_if_new) does, except that the stored version
    /// under a document's own id neither counts nor stays, as if it were removed just before.
    ///
    /// # Errors
    /// As [`insert_if_new`](Store::insert_if_new).
    pub(crate) fn replace_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        self.write_documents(documents, Way::Replace(rule))
    }

    fn write_documents(&self, documents: &[Document], way: Way<'_>) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        let ids: Vec<_> = documents.iter().map(|document| document.id.clone()).collect();
        self.decide(&ids, |layer, in_base| {
            let mut near = Vec::new();
            if let Way::IfNew(rule) | Way::Replace(rule) = way
                && layer.has_base
            {
                let queries: Vec<_> = documents.iter().map(|document| document.sketch.clone()).collect();
                // One more than the number of documents hidden by this call, the document's own
                // among them, is enough.
                let hides = |(document, stored): &(&Document, &Option<StoredDocument>)| {
                    let is_other = |stored: &StoredDocument| {
                        let sketch = &stored.document.sketch;
                        *sketch != document.sketch || sketch.text() != document.sketch.text()
                    };
                    stored.as_ref().is_some_and(|stored| matches!(way, Way::Replace(_)) || is_other(stored))
                };
                let limit = 1 + documents.iter().zip(&in_base).filter(hides).count();
                near = self.near_in_base(layer, &queries, rule, limit)?;
            }
            let mut near = near.into_iter();
            let mut insertions = Vec::with_capacity(documents.len());
            for (document, in_base) in documents.iter().zip(in_base) {
                let near = near.next().map(|(found, _)| found.matches).unwrap_or_default();
                let mut writer = Writer { layer, id: &document.id, in_base, near };
                insertions.push(match way {
                    Way::Insert => rule::insert(&mut writer, document, None)?,
                    Way::IfNew(rule) => rule::insert(&mut writer, document, Some(rule))?,
                    Way::Replace(rule) => rule::replace(&mut writer, document, rule)?,
                });
            }
            Ok(insertions)
        })
    }

    /// Finds near documents in the base, at least `limit` of them not hidden, and counts the hidden
    /// ones among all near ones.
    fn near_in_base(
        &self,
        layer: &Layer,
        queries: &[Sketch],
        rule: &Rule,
        limit: usize,
    ) -> Result<Vec<(Neighbours, u64)>> {
        let horizon = self.horizon(layer)?;
        let counts = |number: u64| horizon.is_live(layer.hidden_documents[number as usize].inserted_at);
        let found = search::count(&layer.hidden_tables, queries, rule, &counts, layer)?;
        let n_hidden: Vec<usize> = found.into_iter().map(|n| n as usize).collect();
        let n_hidden_max = n_hidden.iter().copied().max().unwrap_or(0);
        let found = self.base.near(queries, rule, limit.saturating_add(n_hidden_max))?;
        Ok(found.into_iter().zip(n_hidden).map(|(found, n)| (found, n as u64)).collect())
    }

    fn horizon(&self, layer: &Layer) -> Result<Horizon> {
        let metadata = layer.above.metadata()?.ok_or_else(not_created)?;
        Ok(Horizon::new(metadata.retain, self.clock.now()))
    }
}

impl<B: Deref<Target = dyn Store> + Send + Sync> Store for Overlay<B> {
    fn metadata(&self) -> Result<Option<Metadata>> {
        match self.read()?.above.metadata()? {
            Some(metadata) => Ok(Some(metadata)),
            None => self.base.metadata(),
        }
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        let mut layer = self.layer.write().map_err(|_| Error::poisoned())?;
        match (layer.above.metadata()?, self.base.metadata()?) {
            (Some(stored), _) | (None, Some(stored)) => Ok(stored),
            (None, None) => {
                layer.has_base = false;
                layer.above.create(metadata)
            }
        }
    }

    fn prepare(&self) -> Result<()> {
        if self.read()?.has_base { self.base.prepare() } else { Ok(()) }
    }

    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>> {
        self.write_documents(documents, Way::Insert)
    }

    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        self.write_documents(documents, Way::IfNew(rule))
    }

    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
        check_batch(ids.len())?;
        self.decide(ids, |layer, in_base| {
            let remove = |(id, in_base)| {
                rule::remove(&mut Writer { layer, id, in_base, near: Vec::new() }, id, selection)
            };
            ids.iter().zip(in_base).map(remove).collect()
        })
    }

    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        check_batch(ids.len())?;
        let layer = self.read()?;
        if layer.above.metadata()?.is_none() {
            return self.base.get(ids);
        }
        let above = layer.above.get(ids)?;
        if !layer.has_base {
            return Ok(above);
        }
        let in_base = ids.iter().zip(self.base.get(ids)?);
        let in_base = in_base.map(|(id, stored)| stored.filter(|_| !layer.hidden.contains(id)));
        Ok(above.into_iter().zip(in_base).map(|(above, in_base)| above.or(in_base)).collect())
    }

    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        check_batch(ids.len())?;
        let layer = self.read()?;
        if layer.above.metadata()?.is_none() {
            return self.base.texts(ids);
        }
        let above = layer.above.texts(ids)?;
        if !layer.has_base {
            return Ok(above);
        }
        let in_base = ids.iter().zip(self.base.texts(ids)?);
        let in_base = in_base.map(|(id, text)| text.filter(|_| !layer.hidden.contains(id)));
        Ok(above.into_iter().zip(in_base).map(|(above, in_base)| above.or(in_base)).collect())
    }

    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>> {
        check_batch(queries.len())?;
        let layer = self.read()?;
        if layer.above.metadata()?.is_none() {
            return self.base.near(queries, rule, limit);
        }
        let above = layer.above.near(queries, rule, limit)?;
        if !layer.has_base {
            return Ok(above);
        }
        let in_base = self.near_in_base(&layer, queries, rule, limit)?;
        let together = |(above, (in_base, n_hidden)): (Neighbours, (Neighbours, u64))| {
            let n_matches = (in_base.n_matches + above.n_matches).saturating_sub(n_hidden);
            let cost = in_base.cost + above.cost;
            let counts = |found: &Match| !layer.hidden.contains(&found.id);
            let mut matches: Vec<Match> = in_base.matches.into_iter().filter(counts).collect();
            matches.extend(above.matches);
            matches.sort_by(rank);
            matches.truncate(limit);
            Neighbours { matches, n_matches, cost }
        };
        Ok(above.into_iter().zip(in_base).map(together).collect())
    }

    /// The visible documents of the base, then the written ones.
    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        let limit = page_len(limit)?;
        let layer = self.read()?;
        if layer.above.metadata()?.is_none() && self.base.metadata()?.is_none() {
            return Err(not_created());
        }
        let after = match after.bytes().split_first() {
            None if layer.has_base => Ok(Cursor::start()),
            Some((&IN_BASE, after)) if layer.has_base => Ok(Cursor::from_bytes(after.to_vec())),
            None => Err(Cursor::start()),
            Some((&ABOVE, after)) => Err(Cursor::from_bytes(after.to_vec())),
            Some(_) => return Err(Error::invalid("the cursor is another store's; start the scan anew")),
        };
        let mut documents = Vec::new();
        let after_above = match after {
            Err(above) => above,
            Ok(mut after) => loop {
                let page = self.base.scan(after, limit)?;
                documents = page.documents;
                documents.retain(|stored| !layer.hidden.contains(&stored.document.id));
                match page.next {
                    None => break Cursor::start(),
                    Some(next) if documents.is_empty() => after = next,
                    Some(next) => return Ok(Page { documents, next: Some(marked(IN_BASE, &next)) }),
                }
            },
        };
        let room = limit - documents.len();
        let n_above = layer.above.status()?.n_documents.unwrap_or(0);
        if n_above == 0 {
            return Ok(Page { documents, next: None });
        }
        if room == 0 {
            return Ok(Page { documents, next: Some(marked(ABOVE, &after_above)) });
        }
        let page = layer.above.scan(after_above, room)?;
        documents.extend(page.documents);
        Ok(Page { documents, next: page.next.map(|next| marked(ABOVE, &next)) })
    }

    fn status(&self) -> Result<Status> {
        let layer = self.read()?;
        if layer.above.metadata()?.is_none() {
            return self.base.status();
        }
        let above = layer.above.status()?;
        if !layer.has_base {
            return Ok(above);
        }
        let base = self.base.status()?;
        let horizon = self.horizon(&layer)?;
        let n_hidden =
            layer.hidden_documents.iter().filter(|stored| horizon.is_live(stored.inserted_at)).count() as u64;
        let n_above = above.n_documents.unwrap_or(0);
        Ok(Status {
            n_documents: base.n_documents.map(|n_documents| (n_documents + n_above).saturating_sub(n_hidden)),
            n_table_bytes: match (base.n_table_bytes, above.n_table_bytes) {
                (None, None) => None,
                (base, above) => Some(base.unwrap_or(0) + above.unwrap_or(0)),
            },
            n_bounded: Some(base.n_bounded.unwrap_or(0) + above.n_bounded.unwrap_or(0)),
            ..base
        })
    }
}

/// Marks the cursor of a layer as a cursor of the whole.
fn marked(layer: u8, cursor: &Cursor) -> Cursor {
    Cursor::from_bytes([&[layer], cursor.bytes()].concat())
}

#[cfg(test)]
mod tests;
