//! A store that fails at one call.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{
    CellPage, Cursor, Document, DocumentId, Error, ErrorKind, Examined, Insertion, Metadata, Neighbours,
    Page, Result, Rule, Segments, Selection, Sketch, Status, Store, StoredDocument, Text,
};

/// A store that passes every call on to the store below, except for one, which fails with
/// `Unavailable`. `near_documents` is two calls, either of which may fail.
pub struct FailAt {
    store: Box<dyn Store>,
    n_calls: AtomicU64,
    fails_at: u64,
    answer_is_lost: bool,
}

impl FailAt {
    /// The call numbered `fails_at`, from 1, does nothing.
    #[must_use]
    pub fn before(store: Box<dyn Store>, fails_at: u64) -> Self {
        Self { store, n_calls: AtomicU64::new(0), fails_at, answer_is_lost: false }
    }

    /// The call numbered `fails_at`, from 1, does its work, but its answer is lost.
    #[must_use]
    pub(crate) fn after(store: Box<dyn Store>, fails_at: u64) -> Self {
        Self { answer_is_lost: true, ..Self::before(store, fails_at) }
    }

    /// The number of calls so far.
    #[must_use]
    pub(crate) fn n_calls(&self) -> u64 {
        self.n_calls.load(Ordering::SeqCst)
    }

    fn pass<T>(&self, call: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
        if self.n_calls.fetch_add(1, Ordering::SeqCst) + 1 != self.fails_at {
            return call(&*self.store);
        }
        if self.answer_is_lost {
            call(&*self.store)?;
        }
        Err(Error::new(ErrorKind::Unavailable, format!("call {} fails on purpose", self.fails_at)))
    }
}

impl Store for FailAt {
    fn metadata(&self) -> Result<Option<Metadata>> {
        self.pass(|store| store.metadata())
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        self.pass(|store| store.create(metadata))
    }

    fn prepare(&self) -> Result<()> {
        self.pass(|store| store.prepare())
    }

    fn ready(&self) -> Result<()> {
        self.pass(|store| store.ready())
    }

    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>> {
        self.pass(|store| store.insert(documents))
    }

    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        self.pass(|store| store.insert_if_new(documents, rule))
    }

    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
        self.pass(|store| store.remove_if(ids, selection))
    }

    fn examine(&self, mends: bool, report: &mut dyn FnMut(Examined)) -> Result<()> {
        self.pass(|store| store.examine(mends, report))
    }

    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        self.pass(|store| store.get(ids))
    }

    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        self.pass(|store| store.texts(ids))
    }

    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>> {
        self.pass(|store| store.near(queries, rule, limit))
    }

    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        self.pass(|store| store.scan(after, limit))
    }

    fn cells(&self, segments: Segments, after: &Cursor, limit: usize) -> Result<Option<CellPage>> {
        self.pass(|store| store.cells(segments, after, limit))
    }

    fn status(&self) -> Result<Status> {
        self.pass(|store| store.status())
    }
}
