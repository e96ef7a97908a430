//! Store wrapper that times and counts calls, the only place to do so.

use std::sync::Arc;
use std::time::Instant;

use index::{
    Cursor, Document, DocumentId, Examined, Insertion, Metadata, NearDocuments, Neighbours, Page, Result,
    Rule, Selection, Sketch, Status, Store, StoredDocument, Text, WriteMark,
};

use crate::metrics::Metrics;

/// Passes every call on to the wrapped store.
pub(crate) struct Measured {
    pub(crate) store: Box<dyn Store>,
    pub(crate) metrics: Arc<Metrics>,
}

impl Measured {
    fn pass<T>(&self, name: &'static str, call: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
        let begun = Instant::now();
        let answer = call(&*self.store);
        let failed = answer.as_ref().err().map(index::Error::kind);
        self.metrics.store_called(name, begun.elapsed(), failed);
        answer
    }
}

impl Store for Measured {
    fn metadata(&self) -> Result<Option<Metadata>> {
        self.pass("metadata", |store| store.metadata())
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        self.pass("create", |store| store.create(metadata))
    }

    fn has_room_for_texts(&self) -> Result<bool> {
        self.store.has_room_for_texts()
    }

    fn prepare(&self) -> Result<()> {
        self.pass("prepare", |store| store.prepare())
    }

    fn give_memory(&self, n_bytes: u64) {
        self.store.give_memory(n_bytes);
    }

    fn write_image(&self, progress: &mut dyn FnMut(f64)) -> Result<bool> {
        self.pass("write_image", |store| store.write_image(progress))
    }

    fn ready(&self) -> Result<()> {
        self.pass("ready", |store| store.ready())
    }

    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>> {
        self.pass("insert", |store| store.insert(documents))
    }

    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        let insertions = self.pass("insert_if_new", |store| store.insert_if_new(documents, rule))?;
        self.metrics.inserted(&insertions);
        Ok(insertions)
    }

    fn remove(&self, ids: &[DocumentId]) -> Result<Vec<bool>> {
        self.pass("remove", |store| store.remove(ids))
    }

    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
        self.pass("remove_if", |store| store.remove_if(ids, selection))
    }

    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        self.pass("get", |store| store.get(ids))
    }

    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        self.pass("texts", |store| store.texts(ids))
    }

    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>> {
        let found = self.pass("near", |store| store.near(queries, rule, limit))?;
        for Neighbours { matches, n_matches, cost } in &found {
            self.metrics.found(*cost, *n_matches, matches.iter().map(index::Match::similarity));
        }
        Ok(found)
    }

    fn near_documents(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<NearDocuments>> {
        let found = self.pass("near", |store| store.near_documents(queries, rule, limit))?;
        // With a bound on counts, as no query has, this is a search for what is not near.
        if rule.counted_max.is_some() {
            return Ok(found);
        }
        for NearDocuments { documents, n_matches, cost } in &found {
            self.metrics.found(*cost, *n_matches, documents.iter().map(|(nearness, _)| nearness.similarity));
        }
        Ok(found)
    }

    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        self.pass("scan", |store| store.scan(after, limit))
    }

    fn examine(&self, mends: bool, report: &mut dyn FnMut(Examined)) -> Result<()> {
        self.pass("examine", |store| store.examine(mends, report))
    }

    fn last_write(&self) -> Result<Option<WriteMark>> {
        self.pass("last_write", |store| store.last_write())
    }

    fn status(&self) -> Result<Status> {
        self.pass("status", |store| store.status())
    }
}
