//! `embedded:PATH`: documents in LMDB in a directory of this machine, search tables in memory.
//!
//! A document costs one durable record and not one for each of its buckets; the tables are built from the records when
//! they are first searched and follow the commits from then on, those of other processes too. Every change has a number,
//! and the record of a document stands under the number of the change that inserted it: so a follower reads what came
//! after the last number it knows.
//!
//! Locks are taken in this order and never the other way: the environment's gate, LMDB's write lock, the tables.

mod batch;
mod directory;
mod environment;
mod examine;
mod expiry;
mod ram;
mod record;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use heed::RoTxn;
use simhash::Sketch;
use tables::Tables;

use self::batch::Batch;
use self::environment::{Environment, Failure, Opened};
use self::expiry::Seen;
use self::ram::Ram;
use crate::retention::{Horizon, SWEPT_MIN};
use crate::store::{check_batch, check_documents, not_created, page_len};
use crate::{
    Clock, Cursor, Document, DocumentId, Error, ErrorKind, Examined, Insertion, Metadata, Mode, Neighbours,
    Page, Result, Selection, Status, Store, StoredDocument, rule, search,
};

/// Under which key of `meta` the metadata is stored.
const METADATA_KEY: &str = "metadata";

/// Changes that the tables follow in one step: some milliseconds, for which searches wait and a snapshot is held.
const FOLLOW_STEP: u64 = 16_384;
/// How often a search lets go of the tables for others to search and catches up, before it keeps them for itself.
const SHARED_ATTEMPTS_MAX: usize = 3;

/// What the tests set smaller.
#[derive(Clone, Copy)]
struct Limits {
    /// The map of a new environment; it doubles when it is full. Address space, not disk or memory.
    map_bytes: usize,
    /// Removals kept for followers: some 40 MB. Fewer where there are fewer documents,
    removals_kept_max: u64,
    /// but at least so many.
    removals_kept_min: u64,
    follow_step: u64,
    /// What a write sweeps at least of what has expired.
    swept_min: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            map_bytes: 64 << 20,
            removals_kept_max: 1_000_000,
            removals_kept_min: 1_000,
            follow_step: FOLLOW_STEP,
            swept_min: SWEPT_MIN,
        }
    }
}

/// A store in a directory. Opening one path several times in one process gives several handles to one store, which
/// share their tables.
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    clock: Clock,
}

struct Shared {
    environment: Environment,
    /// Set once it is there; it never changes.
    metadata: OnceLock<Metadata>,
    /// Where the live documents began.
    seen: Seen,
    /// `None` until the first search.
    ram: RwLock<Option<Ram>>,
    limits: Limits,
}

/// The stores that are open in this process, by canonical path: LMDB must not open one twice.
static OPEN: Mutex<Option<HashMap<PathBuf, Weak<Shared>>>> = Mutex::new(None);

impl EmbeddedStore {
    /// Opens the store in the directory `path`, or makes both where `mode` allows it.
    ///
    /// # Errors
    /// `NotFound` where there is none and none may be made; `InvalidArgument` for a file, or a directory of something
    /// else; `PermissionDenied` for one that this user cannot write to, which readers must as well, to say what they
    /// read.
    pub fn open(path: &Path, mode: Mode) -> Result<Self> {
        Self::open_with(path, mode, Limits::default(), Clock::system())
    }

    /// As [`open`](Self::open), with a clock of its own for this handle.
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
        let environment = Environment::open(directory.clone(), limits.map_bytes)?;
        let shared = Arc::new(Shared {
            environment,
            metadata: OnceLock::new(),
            seen: Seen::default(),
            ram: RwLock::new(None),
            limits,
        });
        open.insert(directory, Arc::downgrade(&shared));
        Ok(Self { shared, clock })
    }
}

impl Shared {
    fn metadata(&self, opened: &Opened, txn: &RoTxn<'_>) -> Result<&Metadata, Failure> {
        if let Some(metadata) = self.metadata.get() {
            return Ok(metadata);
        }
        let metadata = read_metadata(opened, txn)?.ok_or_else(not_created)?;
        Ok(self.metadata.get_or_init(|| metadata))
    }

    /// What is there now, by the clock of a handle.
    fn horizon(&self, opened: &Opened, txn: &RoTxn<'_>, clock: &Clock) -> Result<Horizon, Failure> {
        Ok(Horizon::new(self.metadata(opened, txn)?.retain, clock.now()))
    }

    /// Does `work` in a snapshot.
    fn read<T>(&self, work: impl Fn(&Opened, &RoTxn<'_>, &Metadata) -> Result<T, Failure>) -> Result<T> {
        self.environment.with(|opened| {
            let txn = opened.env.read_txn()?;
            work(opened, &txn, self.metadata(opened, &txn)?)
        })
    }

    /// The answer to an empty batch, which waits for no writer.
    fn nothing<T>(&self) -> Result<Vec<T>> {
        self.read(|_, _, _| Ok(Vec::new()))
    }

    /// Does `work` in a snapshot with the tables of the same change.
    fn search<T>(&self, work: impl Fn(&Opened, &RoTxn<'_>, &dyn Tables) -> Result<T, Failure>) -> Result<T> {
        for _ in 0..SHARED_ATTEMPTS_MAX {
            let answer = self.environment.with(|opened| {
                // In this order: the tables are never ahead of a snapshot that is taken after them.
                let ram = self.ram.read().map_err(|_| Error::poisoned())?;
                let txn = opened.env.read_txn()?;
                match &*ram {
                    Some(ram) if ram.applied == opened.last_change(&txn)? => {
                        work(opened, &txn, &*ram.tables).map(Some)
                    }
                    _ => Ok(None),
                }
            })?;
            match answer {
                Some(answer) => return Ok(answer),
                None => self.catch_up()?,
            }
        }
        // Somebody commits faster than we follow.
        self.environment.with(|opened| {
            let mut ram = self.ram.write().map_err(|_| Error::poisoned())?;
            let txn = opened.env.read_txn()?;
            let scheme = &self.metadata(opened, &txn)?.scheme;
            Ram::follow(&mut ram, opened, &txn, scheme, u64::MAX)?;
            work(opened, &txn, &*built(&ram)?.tables)
        })
    }

    /// Brings the tables up to the last commit before this call, step by step, so that searches get in between.
    fn catch_up(&self) -> Result<()> {
        let mut target = None;
        loop {
            let (applied, last) = self.environment.with(|opened| {
                // Mostly there is nothing to do, and nobody has to wait for that.
                let ram = self.ram.read().map_err(|_| Error::poisoned())?;
                if let Some(ram) = &*ram {
                    let txn = opened.env.read_txn()?;
                    let last = opened.last_change(&txn)?;
                    if ram.applied >= last {
                        return Ok((ram.applied, last));
                    }
                }
                drop(ram);
                let mut ram = self.ram.write().map_err(|_| Error::poisoned())?;
                let txn = opened.env.read_txn()?;
                let scheme = &self.metadata(opened, &txn)?.scheme;
                let applied = Ram::follow(&mut ram, opened, &txn, scheme, self.limits.follow_step)?;
                Ok((applied, opened.last_change(&txn)?))
            })?;
            if applied >= *target.get_or_insert(last) {
                return Ok(());
            }
        }
    }

    /// Does `work` on `n_items` in a write transaction, which no other thread or process can come between, and commits it.
    /// Gives it tables of the last commit if it `searches`.
    fn write<T>(
        &self,
        clock: &Clock,
        n_items: usize,
        searches: bool,
        work: impl Fn(&mut Batch<'_, '_>) -> Result<T, Failure>,
    ) -> Result<T> {
        if searches {
            // Not needed, but what is followed here is not followed while others wait to write.
            self.catch_up()?;
        }
        let answer = self.environment.with(|opened| {
            let mut txn = opened.env.write_txn()?;
            let metadata = self.metadata(opened, &txn)?;
            let ram = if searches {
                let mut ram = self.ram.write().map_err(|_| Error::poisoned())?;
                Ram::follow(&mut ram, opened, &txn, &metadata.scheme, u64::MAX)?;
                drop(ram);
                // Still the last commit, because nobody can commit until this transaction ends.
                Some(self.ram.read().map_err(|_| Error::poisoned())?)
            } else {
                None
            };
            let committed = match &ram {
                Some(ram) => Some(&*built(ram)?.tables),
                None => None,
            };
            // Nobody else writes from here on, so what others have inserted is not of a later time.
            let mut batch = Batch::new(opened, &mut txn, metadata, committed, clock.now())?;
            batch.sweep(n_items, self.limits)?;
            let answer = work(&mut batch)?;
            batch.finish(self.limits)?;
            // Searches go on while the disk works.
            drop(ram);
            txn.commit()?;
            Ok(answer)
        })?;
        // The batch is committed, whatever comes now; a search that finds the tables behind follows by itself.
        if self.is_prepared() {
            let _ = self.catch_up();
        }
        Ok(answer)
    }

    fn is_prepared(&self) -> bool {
        self.ram.read().is_ok_and(|ram| ram.is_some())
    }
}

/// Tables that have just been followed are there.
fn built(ram: &Option<Ram>) -> Result<&Ram> {
    ram.as_ref().ok_or_else(|| {
        Error::new(ErrorKind::Internal, "the search tables were dropped while they were in use")
    })
}

fn read_metadata(opened: &Opened, txn: &RoTxn<'_>) -> Result<Option<Metadata>, Failure> {
    match opened.meta.get(txn, METADATA_KEY)? {
        Some(bytes) => Ok(Some(Metadata::decode(bytes)?)),
        None => Ok(None),
    }
}

impl Store for EmbeddedStore {
    fn metadata(&self) -> Result<Option<Metadata>> {
        self.shared.environment.with(|opened| {
            let txn = opened.env.read_txn()?;
            read_metadata(opened, &txn)
        })
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        let environment = &self.shared.environment;
        let stored = environment.with(|opened| {
            let mut txn = opened.env.write_txn()?;
            if let Some(stored) = read_metadata(opened, &txn)? {
                return Ok(stored);
            }
            opened.meta.put(&mut txn, METADATA_KEY, &metadata.encode()?)?;
            txn.commit()?;
            Ok(metadata.clone())
        })?;
        directory::sync(environment.directory())?;
        Ok(stored)
    }

    fn prepare(&self) -> Result<()> {
        self.shared.catch_up()
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

    fn insert_if_new(&self, documents: &[Document], max_distance: u32) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        if documents.is_empty() {
            return self.shared.nothing();
        }
        self.shared.write(&self.clock, documents.len(), true, |batch| {
            documents.iter().map(|document| rule::insert(batch, document, Some(max_distance))).collect()
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
                let found = batch::find(opened, txn, &metadata.scheme, id)?.map(|(_, stored)| stored);
                Ok(found.filter(|stored| horizon.is_live(stored.inserted_at)))
            };
            ids.iter().map(get).collect()
        })
    }

    fn near(&self, queries: &[Sketch], max_distance: u32, limit: usize) -> Result<Vec<Neighbours>> {
        check_batch(queries.len())?;
        self.shared.search(|opened, txn, tables| {
            let id_of = |number| batch::id_of(opened, txn, number);
            let horizon = self.shared.horizon(opened, txn, &self.clock)?;
            let first = self.shared.seen.first_live(opened, txn, horizon)?;
            Ok(search::neighbours(tables, queries, max_distance, limit, first, &id_of)?)
        })
    }

    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        let (after, len) = (after.number()?, page_len(limit)?);
        self.shared.read(|opened, txn, metadata| {
            let mut page = Page::default();
            let mut last = after;
            let horizon = self.shared.horizon(opened, txn, &self.clock)?;
            let first = self.shared.seen.first_live(opened, txn, horizon)?.max(after.saturating_add(1));
            for entry in opened.log.range(txn, &(first..))? {
                if page.documents.len() == len {
                    page.next = Some(Cursor::after(last));
                    break;
                }
                let (number, bytes) = entry?;
                page.documents.push(record::decode_document(number, bytes, &metadata.scheme)?);
                last = number;
            }
            Ok(page)
        })
    }

    fn examine(&self, mends: bool, report: &mut dyn FnMut(Examined)) -> Result<()> {
        examine::examine(&self.shared, mends, report)
    }

    fn status(&self) -> Result<Status> {
        let n_documents = self.shared.environment.with(|opened| {
            let txn = opened.env.read_txn()?;
            if read_metadata(opened, &txn)?.is_none() {
                return Ok(0);
            }
            let horizon = self.shared.horizon(opened, &txn, &self.clock)?;
            let first_live = self.shared.seen.first_live(opened, &txn, horizon)?;
            let n_stored = opened.log.len(&txn)?;
            Ok(n_stored - expiry::n_expired(opened, &txn, first_live)?)
        })?;
        let ram = self.shared.ram.read().map_err(|_| Error::poisoned())?;
        Ok(Status {
            n_documents: Some(n_documents),
            n_disk_bytes: Some(directory::data_bytes(self.shared.environment.directory())),
            n_table_bytes: ram.as_ref().map(|ram| ram.tables.heap_bytes() as u64),
            claims: None,
        })
    }
}
