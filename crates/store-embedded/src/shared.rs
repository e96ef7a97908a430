//! An open store: its environment, and its search tables, which follow the commits. How to read in a snapshot, search, and
//! write; not what.

use std::sync::RwLock;

use heed::RoTxn;
use index::backend::Horizon;
use index::backend::Known;
use index::backend::search::Bounded;
use index::{Clock, Error, ErrorKind, Metadata, Result, TextKeeping};
use tables::Tables;

use super::Limits;
use super::batch::{Batch, Records};
use super::environment::{Environment, Failure, Opened};
use super::expiry::Seen;
use super::ram::Ram;
use super::texts::Cache;

/// Under which key of `meta` the metadata is stored.
pub(super) const METADATA_KEY: &str = "metadata";

/// How often a search lets go of the tables for others to search and catches up, before it keeps them for itself.
const SHARED_ATTEMPTS_MAX: usize = 3;

/// A store that is open, behind all handles to it.
pub(super) struct Shared {
    pub(super) environment: Environment,
    /// Every snapshot is compared with it.
    pub(super) known: Known,
    /// Where the live documents began.
    pub(super) seen: Seen,
    pub(super) bounded: Bounded,
    /// Texts of commits.
    pub(super) texts: Cache,
    /// `None` until the first search.
    pub(super) ram: RwLock<Option<Ram>>,
    pub(super) limits: Limits,
}

impl Shared {
    /// The metadata in a snapshot, which must be those of the index that was seen first.
    pub(super) fn metadata(&self, opened: &Opened, txn: &RoTxn<'_>) -> Result<&Metadata, Failure> {
        Ok(self.known.check(opened.meta.get(txn, METADATA_KEY)?)?)
    }

    /// As [`metadata`](Self::metadata), as of now, where there may be no index yet.
    pub(super) fn find_metadata(&self, opened: &Opened) -> Result<Option<&Metadata>, Failure> {
        self.known.find_in(|| {
            let txn = opened.read_txn()?;
            Result::<_, Failure>::Ok(opened.meta.get(&txn, METADATA_KEY)?.map(<[u8]>::to_vec))
        })
    }

    /// What is there now, by the clock of a handle.
    pub(super) fn horizon(
        &self,
        opened: &Opened,
        txn: &RoTxn<'_>,
        clock: &Clock,
    ) -> Result<Horizon, Failure> {
        Ok(Horizon::new(self.metadata(opened, txn)?.retain, clock.now()))
    }

    /// What a snapshot has of the records.
    pub(super) fn records<'a, 'txn>(
        &'a self,
        opened: &'a Opened,
        txn: &'a RoTxn<'txn>,
        metadata: &Metadata,
    ) -> Records<'a, 'txn> {
        let keeps_texts = metadata.texts != TextKeeping::None;
        Records { opened, txn, texts: keeps_texts.then_some((&self.texts, None)) }
    }

    /// Does `work` in a snapshot.
    pub(super) fn read<T>(
        &self,
        work: impl Fn(&Opened, &RoTxn<'_>, &Metadata) -> Result<T, Failure>,
    ) -> Result<T> {
        self.environment.with(|opened| {
            let txn = opened.read_txn()?;
            work(opened, &txn, self.metadata(opened, &txn)?)
        })
    }

    /// The answer to an empty batch, which waits for no writer.
    pub(super) fn nothing<T>(&self) -> Result<Vec<T>> {
        self.read(|_, _, _| Ok(Vec::new()))
    }

    /// Does `work` in a snapshot with the tables of the same change.
    pub(super) fn search<T>(
        &self,
        work: impl Fn(&Opened, &RoTxn<'_>, &dyn Tables) -> Result<T, Failure>,
    ) -> Result<T> {
        for _ in 0..SHARED_ATTEMPTS_MAX {
            let answer = self.environment.with(|opened| {
                // In this order: the tables are never ahead of a snapshot that is taken after them.
                let ram = self.ram.read().map_err(|_| Error::poisoned())?;
                let txn = opened.read_txn()?;
                self.metadata(opened, &txn)?;
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
            let txn = opened.read_txn()?;
            let kind = &self.metadata(opened, &txn)?.kind;
            Ram::follow(&mut ram, opened, &txn, kind, u64::MAX)?;
            work(opened, &txn, &*built(&ram)?.tables)
        })
    }

    /// Brings the tables up to the last commit before this call, step by step, so that searches get in between.
    pub(super) fn catch_up(&self) -> Result<()> {
        let mut target = None;
        loop {
            let (applied, last) = self.environment.with(|opened| {
                // Mostly there is nothing to do, and nobody has to wait for that.
                let ram = self.ram.read().map_err(|_| Error::poisoned())?;
                if let Some(ram) = &*ram {
                    let txn = opened.read_txn()?;
                    self.metadata(opened, &txn)?;
                    let last = opened.last_change(&txn)?;
                    if ram.applied >= last {
                        return Ok((ram.applied, last));
                    }
                }
                drop(ram);
                opened.look_through()?;
                let mut ram = self.ram.write().map_err(|_| Error::poisoned())?;
                let txn = opened.read_txn()?;
                let kind = &self.metadata(opened, &txn)?.kind;
                let applied = Ram::follow(&mut ram, opened, &txn, kind, self.limits.follow_step)?;
                Ok((applied, opened.last_change(&txn)?))
            })?;
            if applied >= *target.get_or_insert(last) {
                return Ok(());
            }
        }
    }

    /// Does `work` on `n_items` in a write transaction, which no other thread or process can come between, and commits it.
    /// Gives it tables of the last commit if it `searches`.
    pub(super) fn write<T>(
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
            let mut txn = opened.write_txn()?;
            let metadata = self.metadata(opened, &txn)?;
            let ram = if searches {
                let mut ram = self.ram.write().map_err(|_| Error::poisoned())?;
                Ram::follow(&mut ram, opened, &txn, &metadata.kind, u64::MAX)?;
                drop(ram);
                // Still the last commit, because nobody can commit until this transaction ends.
                Some(self.ram.read().map_err(|_| Error::poisoned())?)
            } else {
                None
            };
            let committed = match &ram {
                Some(ram) => Some((&*built(ram)?.tables, &self.bounded)),
                None => None,
            };
            // Its time is read here, where no other writer comes in between.
            let mut batch = Batch::new(opened, &mut txn, metadata, committed, &self.texts, clock)?;
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
