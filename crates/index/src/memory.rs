//! `memory:`: documents and tables in this process, gone when it ends. For tests, and for batch jobs that need an index
//! only while they run.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use simhash::Sketch;
use tables::Tables;

use crate::rule::{self, Shelf};
use crate::store::{check_batch, check_documents, not_created, page_len};
use crate::{
    Cursor, Document, DocumentId, Error, Insertion, Match, Metadata, Neighbours, Page, Result, Status, Store,
    search,
};

/// A store in memory.
pub struct MemoryStore {
    contents: RwLock<Contents>,
}

struct Contents {
    metadata: Option<Metadata>,
    documents: BTreeMap<u64, Document>,
    numbers: HashMap<DocumentId, u64>,
    tables: Box<dyn Tables>,
    /// The number of the last document; numbers are never used again.
    last: u64,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store without metadata.
    #[must_use]
    pub fn new() -> Self {
        let contents = Contents {
            metadata: None,
            documents: BTreeMap::new(),
            numbers: HashMap::new(),
            tables: search::new_tables(),
            last: 0,
        };
        Self { contents: RwLock::new(contents) }
    }

    fn read(&self) -> Result<RwLockReadGuard<'_, Contents>> {
        self.contents.read().map_err(|_| Error::poisoned())
    }

    fn read_created(&self) -> Result<RwLockReadGuard<'_, Contents>> {
        let contents = self.read()?;
        if contents.metadata.is_none() { Err(not_created()) } else { Ok(contents) }
    }

    fn write_created(&self) -> Result<RwLockWriteGuard<'_, Contents>> {
        let contents = self.contents.write().map_err(|_| Error::poisoned())?;
        if contents.metadata.is_none() { Err(not_created()) } else { Ok(contents) }
    }
}

impl Contents {
    fn id_of(&self, number: u64) -> Result<DocumentId> {
        self.document(number).map(|document| document.id.clone())
    }

    fn document(&self, number: u64) -> Result<&Document> {
        self.documents
            .get(&number)
            .ok_or_else(|| Error::corrupt(format!("document number {number} is missing")))
    }
}

impl Shelf for Contents {
    type Error = Error;

    fn find(&self, id: &DocumentId) -> Result<Option<(u64, Sketch)>> {
        let Some(&number) = self.numbers.get(id) else { return Ok(None) };
        Ok(Some((number, self.document(number)?.sketch.clone())))
    }

    fn nearest(&self, sketch: &Sketch, max_distance: u32, except: Option<u64>) -> Result<Option<Match>> {
        let counts = |number| Some(number) != except;
        search::nearest(&[&*self.tables], sketch, max_distance, &counts, &|number| self.id_of(number))
    }

    fn put(&mut self, document: &Document) -> Result<()> {
        self.last += 1;
        self.tables.insert(&document.sketch, self.last);
        self.numbers.insert(document.id.clone(), self.last);
        self.documents.insert(self.last, document.clone());
        Ok(())
    }

    fn take(&mut self, id: &DocumentId, number: u64, sketch: &Sketch) -> Result<()> {
        self.tables.remove(sketch, number);
        self.numbers.remove(id);
        self.documents.remove(&number);
        Ok(())
    }
}

impl Store for MemoryStore {
    fn metadata(&self) -> Result<Option<Metadata>> {
        Ok(self.read()?.metadata.clone())
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        let mut contents = self.contents.write().map_err(|_| Error::poisoned())?;
        Ok(contents.metadata.get_or_insert_with(|| metadata.clone()).clone())
    }

    fn prepare(&self) -> Result<()> {
        self.read_created().map(|_| ())
    }

    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        let mut contents = self.write_created()?;
        documents.iter().map(|document| rule::insert(&mut *contents, document, None)).collect()
    }

    fn insert_if_new(&self, documents: &[Document], max_distance: u32) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        let mut contents = self.write_created()?;
        documents.iter().map(|document| rule::insert(&mut *contents, document, Some(max_distance))).collect()
    }

    fn remove(&self, ids: &[DocumentId]) -> Result<Vec<bool>> {
        check_batch(ids.len())?;
        let mut contents = self.write_created()?;
        ids.iter().map(|id| rule::remove(&mut *contents, id)).collect()
    }

    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<Document>>> {
        check_batch(ids.len())?;
        let contents = self.read_created()?;
        let get = |id| contents.numbers.get(id).map(|&number| contents.document(number).cloned()).transpose();
        ids.iter().map(get).collect()
    }

    fn near(&self, queries: &[Sketch], max_distance: u32, limit: usize) -> Result<Vec<Neighbours>> {
        check_batch(queries.len())?;
        let contents = self.read_created()?;
        let id_of = |number| contents.id_of(number);
        search::neighbours(&*contents.tables, queries, max_distance, limit, &id_of)
    }

    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        let len = page_len(limit)?;
        let after = Bound::Excluded(after.number()?);
        let contents = self.read_created()?;
        let mut rest = contents.documents.range((after, Bound::Unbounded)).peekable();
        let mut page = Page::default();
        let mut last = 0;
        while page.documents.len() < len
            && let Some((&number, document)) = rest.next()
        {
            page.documents.push(document.clone());
            last = number;
        }
        page.next = rest.peek().map(|_| Cursor::after(last));
        Ok(page)
    }

    fn status(&self) -> Result<Status> {
        let contents = self.read()?;
        Ok(Status {
            n_documents: Some(contents.documents.len() as u64),
            n_table_bytes: Some(contents.tables.heap_bytes() as u64),
            ..Status::default()
        })
    }
}
