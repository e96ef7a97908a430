//! `embedded:PATH`: documents in LMDB in a directory of this machine, search tables in memory.
//!
//! A document costs one durable record, not one for each of its buckets. The tables are built from
//! the records at the first search, and follow the commits of all processes from then on. Every
//! change has a number, and a document's record stands under the number of its insertion: so a
//! follower reads the changes after the last number it knows. In an index with texts, the text of a
//! document stands under the same number, in a database of its own: searches read texts only where
//! they count.
//!
//! Locks are always taken in this order: the environment's gate, LMDB's write lock, the tables.

mod batch;
mod directory;
mod environment;
mod examine;
mod expiry;
mod pages;
mod place;
mod ram;
mod record;
mod shared;
#[cfg(test)]
mod tests;
mod texts;
mod times;
mod turns;
mod uri;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use index::backend::Known;
use index::backend::SWEPT_MIN;
use index::backend::search::{Bounded, Documents};
use index::backend::{check_batch, check_documents, page_len};
use index::backend::{rule, search};
use index::{
    Clock, Cursor, Document, DocumentId, Error, Examined, Insertion, Metadata, Mode, Neighbours, Page,
    Result, Rule, Selection, Sketch, Status, Store, StoredDocument, Text, WriteMark,
};

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use self::uri::EmbeddedUri;

use self::environment::{Environment, Opened};
use self::expiry::Seen;
use self::shared::{METADATA_KEY, Shared};
use self::texts::Cache;

/// The changes applied to the tables in one step: some milliseconds, for which searches wait and a
/// snapshot is held.
const FOLLOW_STEP: u64 = 16_384;

/// The time a call waits for its turn to write while others commit nothing, by default.
const PATIENCE: Duration = Duration::from_secs(120);

/// The greatest file whose pages are all checked when it is opened, which takes a third of a second
/// at most. Of a larger file only pages with keys are checked then, and all pages before a call
/// that reads all records.
const LOOKED_THROUGH_MAX: u64 = 1 << 30;

/// The same time for [`Store::ready`], whose callers want an answer soon.
const READY_PATIENCE: Duration = Duration::from_secs(3);

/// The limits of a store, which the tests set lower.
#[derive(Clone, Copy)]
struct Limits {
    /// The map of a new environment; it doubles when it is full. Address space, not disk or memory.
    map_bytes: usize,
    /// The most removals kept for followers: some 40 MB. Below it there is one for each document,
    removals_kept_max: u64,
    /// or this number where there are fewer documents.
    removals_kept_min: u64,
    follow_step: u64,
    /// The least bound on expired documents swept by one write.
    swept_min: usize,
    /// The time a call waits for its turn.
    patience: Duration,
    /// The file up to which opening looks at every page.
    looked_through_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            map_bytes: 64 << 20,
            removals_kept_max: 1_000_000,
            removals_kept_min: 1_000,
            follow_step: FOLLOW_STEP,
            swept_min: SWEPT_MIN,
            patience: PATIENCE,
            looked_through_max: LOOKED_THROUGH_MAX,
        }
    }
}

/// A store in a directory. Handles from several openings of one path in one process share the store
/// and its tables.
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    clock: Clock,
}

/// The stores that are open in this process, by canonical path: LMDB must not open one twice.
static OPEN: Mutex<Option<HashMap<PathBuf, Weak<Shared>>>> = Mutex::new(None);

impl EmbeddedStore {
    /// Opens the store in the directory `path`, or creates both if `mode` allows.
    ///
    /// # Errors
    /// `NotFound` where there is none and none may be created; `InvalidArgument` for a file, or a
    /// directory with other content; `PermissionDenied` for a directory without write permission,
    /// which readers need too: LMDB notes each reader in a file there.
    pub fn open(path: &Path, mode: Mode) -> Result<Self> {
        Self::open_with(path, mode, Limits::default(), Clock::system())
    }

    /// As [`open`](Self::open), with a clock for this handle alone. A call gives up (`Busy`) after
    /// waiting `patience` for its turn to write while others committed nothing. Of several handles
    /// in one process the first one decides.
    pub(crate) fn opened(path: &Path, mode: Mode, clock: Clock, patience: Option<Duration>) -> Result<Self> {
        let limits = Limits::default();
        Self::open_with(path, mode, Limits { patience: patience.unwrap_or(limits.patience), ..limits }, clock)
    }

    /// As [`open`](Self::open), with a clock for this handle alone.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with_clock(path: &Path, mode: Mode, clock: Clock) -> Result<Self> {
        Self::open_with(path, mode, Limits::default(), clock)
    }

    fn open_with(path: &Path, mode: Mode, limits: Limits, clock: Clock) -> Result<Self> {
        let directory = directory::prepare(path, mode)?;
        // Nothing in here panics halfway through a change of the map.
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        if let Some(shared) = open.get(&directory).and_then(Weak::upgrade) {
            return Ok(Self { shared, clock });
        }
        open.retain(|_, store| store.strong_count() > 0);
        let environment = Environment::open(directory.clone(), limits.map_bytes, limits.patience)?;
        if directory::data_bytes(&directory) <= limits.looked_through_max {
            environment.with(Opened::look_through)?;
        }
        let shared = Arc::new(Shared {
            environment,
            known: Known::new(format!("embedded:{}", directory.display())),
            seen: Seen::default(),
            bounded: Bounded::default(),
            texts: Cache::default(),
            ram: RwLock::new(None),
            limits,
        });
        open.insert(directory, Arc::downgrade(&shared));
        Ok(Self { shared, clock })
    }
}

impl Store for EmbeddedStore {
    fn metadata(&self) -> Result<Option<Metadata>> {
        self.shared.environment.with(|opened| Ok(self.shared.find_metadata(opened)?.cloned()))
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        let environment = &self.shared.environment;
        let stored = environment.with(|opened| {
            let mut txn = opened.write_txn()?;
            if let Some(stored) = self.shared.known.find(opened.meta.get(&txn, METADATA_KEY)?)? {
                return Ok(stored.clone());
            }
            let record = metadata.encode()?;
            opened.meta.put(&mut txn, METADATA_KEY, &record)?;
            txn.commit()?;
            Ok(self.shared.known.check(Some(&record))?.clone())
        })?;
        directory::sync(environment.directory())?;
        Ok(stored)
    }

    fn prepare(&self) -> Result<()> {
        self.shared.catch_up()
    }

    fn ready(&self) -> Result<()> {
        self.shared.catch_up()?;
        self.shared.environment.with(|opened| {
            opened.can_write(READY_PATIENCE)?;
            Ok(opened.can_grow()?)
        })
    }

    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        if documents.is_empty() {
            return self.shared.nothing();
        }
        self.shared.write(&self.clock, documents.len(), false, |batch| {
            documents.iter().map(|document| rule::insert(batch, document, None)).collect()
        })
    }

    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        if documents.is_empty() {
            return self.shared.nothing();
        }
        self.shared.write(&self.clock, documents.len(), true, |batch| {
            documents.iter().map(|document| rule::insert(batch, document, Some(rule))).collect()
        })
    }

    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
        check_batch(ids.len())?;
        if ids.is_empty() {
            return self.shared.nothing();
        }
        self.shared.write(&self.clock, ids.len(), false, |batch| {
            ids.iter().map(|id| rule::remove(batch, id, selection)).collect()
        })
    }

    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        check_batch(ids.len())?;
        self.shared.read(|opened, txn, metadata| {
            let horizon = self.shared.horizon(opened, txn, &self.clock)?;
            let get = |id| {
                let found = batch::find(opened, txn, &metadata.kind, id)?.map(|(_, stored)| stored);
                Ok(found.filter(|stored| horizon.is_live(stored.inserted_at)))
            };
            ids.iter().map(get).collect()
        })
    }

    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        check_batch(ids.len())?;
        self.shared.read(|opened, txn, metadata| {
            let horizon = self.shared.horizon(opened, txn, &self.clock)?;
            let records = self.shared.records(opened, txn, metadata);
            let text = |id| match batch::find(opened, txn, &metadata.kind, id)? {
                Some((number, stored)) if horizon.is_live(stored.inserted_at) => Ok(records.text(number)?),
                _ => Ok(None),
            };
            ids.iter().map(text).collect()
        })
    }

    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>> {
        check_batch(queries.len())?;
        self.shared.search(|opened, txn, tables| {
            let records = self.shared.records(opened, txn, self.shared.metadata(opened, txn)?);
            let horizon = self.shared.horizon(opened, txn, &self.clock)?;
            let live = self.shared.seen.live(opened, txn, horizon)?;
            Ok(search::neighbours(tables, queries, rule, limit, &live, &records, &self.shared.bounded)?)
        })
    }

    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        let (after, len) = (after.number()?, page_len(limit)?);
        self.shared.environment.with(Opened::look_through)?;
        self.shared.read(|opened, txn, metadata| {
            let mut page = Page::default();
            let mut last = after;
            let horizon = self.shared.horizon(opened, txn, &self.clock)?;
            let live = self.shared.seen.live(opened, txn, horizon)?;
            for stretch in live.stretches(after.saturating_add(1)) {
                for entry in opened.log.range(txn, &stretch)? {
                    if page.documents.len() == len {
                        page.next = Some(Cursor::after(last));
                        return Ok(page);
                    }
                    let (number, bytes) = entry?;
                    page.documents.push(record::decode_document(number, bytes, &metadata.kind)?);
                    last = number;
                }
            }
            Ok(page)
        })
    }

    fn examine(&self, mends: bool, report: &mut dyn FnMut(Examined)) -> Result<()> {
        examine::examine(&self.shared, &self.clock, mends, report)
    }

    fn last_write(&self) -> Result<Option<WriteMark>> {
        self.shared.read(|opened, txn, _| {
            let number = opened.last_change(txn)?;
            Ok(Some(WriteMark { number, checksum: opened.checksum_of_change(txn, number)? }))
        })
    }

    fn has_written(&self, mark: &WriteMark) -> Result<bool> {
        self.shared.read(|opened, txn, _| {
            let there = opened.checksum_of_change(txn, mark.number)?;
            // A document inserted by this change may have been removed since.
            let is_same = there.zip(mark.checksum).is_none_or(|(there, then)| there == then);
            Ok(opened.last_change(txn)? >= mark.number && is_same)
        })
    }

    fn status(&self) -> Result<Status> {
        let n_documents = self.shared.environment.with(|opened| {
            if self.shared.find_metadata(opened)?.is_none() {
                return Ok(0);
            }
            let txn = opened.read_txn()?;
            let horizon = self.shared.horizon(opened, &txn, &self.clock)?;
            let live = self.shared.seen.live(opened, &txn, horizon)?;
            let n_stored = opened.log.len(&txn)?;
            Ok(n_stored - expiry::n_expired(opened, &txn, &live)?)
        })?;
        // Without this figure the others hold as well.
        let n_free_bytes = self.shared.environment.with(Opened::n_free_bytes).ok();
        let ram = self.shared.ram.read().map_err(|_| Error::poisoned())?;
        Ok(Status {
            n_documents: Some(n_documents),
            n_disk_bytes: Some(directory::data_bytes(self.shared.environment.directory())),
            n_free_bytes,
            n_table_bytes: ram.as_ref().map(|ram| ram.tables.heap_bytes() as u64),
            n_bounded: Some(self.shared.bounded.get()),
            ..Status::default()
        })
    }
}
