//! An open store: its environment, and its search tables, which follow the commits. Reads in a
//! snapshot, searches and writes, each around the work given by the caller.

use std::sync::{RwLock, RwLockReadGuard};

use heed::RoTxn;
use index::backend::Horizon;
use index::backend::Known;
use index::backend::search::{Bounded, Filed};
use index::{Clock, Error, ErrorKind, Metadata, Result, SketchKind, TextKeeping};

use super::batch::{Batch, Records};
use super::environment::{Environment, Opened};
use super::errors::Failure;
use super::expiry::Seen;
use super::image::{self, HEADER_KEYS, Terms};
use super::limits::Limits;
use super::ram::Ram;
use super::texts::Cache;

/// The attempts of a search to catch up while others may search too, before it keeps the tables for
/// itself.
const SHARED_ATTEMPTS_MAX: usize = 3;

/// An open store, behind all handles of it.
pub(super) struct Shared {
    pub(super) environment: Environment,
    /// The index first seen, to which every snapshot is held.
    pub(super) known: Known,
    /// The first live documents as of the last look.
    pub(super) seen: Seen,
    pub(super) bounded: Bounded,
    /// Committed texts.
    pub(super) texts: Cache,
    /// `None` until the first search.
    pub(super) ram: RwLock<Option<Ram>>,
    pub(super) terms: Terms,
    pub(super) limits: Limits,
}

impl Shared {
    /// Returns the metadata in a snapshot, which must be of the index first seen.
    pub(super) fn metadata(&self, opened: &Opened, txn: &RoTxn<'_>) -> Result<&Metadata, Failure> {
        Ok(self.known.check(opened.metadata(txn)?)?)
    }

    /// As [`metadata`](Self::metadata), as of now; `None` before there is an index.
    pub(super) fn find_metadata(&self, opened: &Opened) -> Result<Option<&Metadata>, Failure> {
        self.known.find_in(|| {
            let txn = opened.read_txn()?;
            Result::<_, Failure>::Ok(opened.metadata(&txn)?.map(<[u8]>::to_vec))
        })
    }

    /// The horizon of live documents, by the clock of a handle.
    pub(super) fn horizon(
        &self,
        opened: &Opened,
        txn: &RoTxn<'_>,
        clock: &Clock,
    ) -> Result<Horizon, Failure> {
        Ok(Horizon::new(self.metadata(opened, txn)?.retain, clock.now()))
    }

    /// The records in a snapshot.
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

    /// Answers an empty batch, and waits for no writer.
    pub(super) fn nothing<T>(&self) -> Result<Vec<T>> {
        self.read(|_, _, _| Ok(Vec::new()))
    }

    /// Does `work` in a snapshot, with the tables as of the same change.
    pub(super) fn search<T>(
        &self,
        work: impl Fn(&Opened, &RoTxn<'_>, &dyn Filed) -> Result<T, Failure>,
    ) -> Result<T> {
        self.without_damage(|| self.try_search(&work))
    }

    fn try_search<T>(
        &self,
        work: &impl Fn(&Opened, &RoTxn<'_>, &dyn Filed) -> Result<T, Failure>,
    ) -> Result<T> {
        for _ in 0..SHARED_ATTEMPTS_MAX {
            let answer = self.environment.with(|opened| {
                // In this order: the tables are never ahead of a snapshot taken after them.
                let ram = self.ram.read().map_err(|_| Error::poisoned())?;
                let txn = opened.read_txn()?;
                let kind = &self.metadata(opened, &txn)?.kind;
                match &*ram {
                    Some(ram) if ram.is_of(opened, &txn, &self.terms)? => {
                        work(opened, &txn, &ram.imaged(opened, &txn, kind, &self.terms)).map(Some)
                    }
                    _ => Ok(None),
                }
            })?;
            match answer {
                Some(answer) => return Ok(answer),
                None => self.catch_up()?,
            }
        }
        // Others commit faster than the tables follow.
        self.environment.with(|opened| {
            let mut ram = self.ram.write().map_err(|_| Error::poisoned())?;
            let txn = opened.read_txn()?;
            let kind = &self.metadata(opened, &txn)?.kind;
            Ram::follow(&mut ram, opened, &txn, kind, &self.terms, u64::MAX)?;
            work(opened, &txn, &built(&ram)?.imaged(opened, &txn, kind, &self.terms))
        })
    }

    /// Does `work`, and again for each layer of the image that it finds damaged: without that layer
    /// then. The work has changed nothing where it fails.
    fn without_damage<T>(&self, work: impl Fn() -> Result<T>) -> Result<T> {
        for _ in HEADER_KEYS {
            let refused = self.terms.refused();
            match work() {
                Err(_) if self.terms.refused() != refused => {}
                answer => return answer,
            }
        }
        work()
    }

    /// Brings the tables up to the last commit before this call, step by step, so searches get in
    /// between.
    pub(super) fn catch_up(&self) -> Result<()> {
        let mut target = None;
        loop {
            let (applied, last) = self.environment.with(|opened| {
                // Most often there is nothing to do, for which no thread needs to wait.
                let ram = self.ram.read().map_err(|_| Error::poisoned())?;
                if let Some(ram) = &*ram {
                    let txn = opened.read_txn()?;
                    self.metadata(opened, &txn)?;
                    if ram.is_of(opened, &txn, &self.terms)? {
                        return Ok((ram.applied, ram.applied));
                    }
                }
                drop(ram);
                if !self.has_image(opened)? {
                    opened.look_through()?;
                }
                let mut ram = self.ram.write().map_err(|_| Error::poisoned())?;
                let txn = opened.read_txn()?;
                let kind = &self.metadata(opened, &txn)?.kind;
                let applied =
                    Ram::follow(&mut ram, opened, &txn, kind, &self.terms, self.limits.follow_step)?;
                Ok((applied, opened.last_change(&txn)?))
            })?;
            if applied >= *target.get_or_insert(last) {
                return Ok(());
            }
        }
    }

    /// Returns true if there is an image for use, so that not all records are about to be read.
    fn has_image(&self, opened: &Opened) -> Result<bool, Failure> {
        opened.look_for_image()?;
        let txn = opened.read_txn()?;
        self.metadata(opened, &txn)?;
        Ok(!image::find(opened, &txn, &self.terms)?.sound.is_empty())
    }

    /// Does `work` on `n_items` in a write transaction, alone among all threads and processes, and
    /// commits it. The batch has tables of the last commit if `searches`.
    pub(super) fn write<T>(
        &self,
        clock: &Clock,
        n_items: usize,
        searches: bool,
        work: impl Fn(&mut Batch<'_, '_>) -> Result<T, Failure>,
    ) -> Result<T> {
        let answer = self.without_damage(|| {
            if searches {
                // Not needed, but changes followed here need not be followed while others wait to
                // write.
                self.catch_up()?;
            }
            self.try_write(clock, n_items, searches, &work)
        })?;
        // The batch is committed, whatever happens now; a search follows by itself if the tables
        // are behind.
        if self.is_prepared() {
            let _ = self.catch_up();
        }
        Ok(answer)
    }

    fn try_write<T>(
        &self,
        clock: &Clock,
        n_items: usize,
        searches: bool,
        work: &impl Fn(&mut Batch<'_, '_>) -> Result<T, Failure>,
    ) -> Result<T> {
        self.environment.with(|opened| {
            let mut txn = opened.write_txn()?;
            let metadata = self.metadata(opened, &txn)?;
            let ram = match searches {
                true => Some(self.follow_last(opened, &txn, &metadata.kind)?),
                false => None,
            };
            let committed = match &ram {
                Some(ram) => Some((built(ram)?, &self.terms, &self.bounded)),
                None => None,
            };
            // The batch reads its time here, where no other writer comes in between.
            let mut batch = Batch::new(opened, &mut txn, metadata, committed, &self.texts, clock)?;
            batch.sweep(n_items, self.limits)?;
            let answer = work(&mut batch)?;
            batch.finish(self.limits)?;
            // Searches go on while the disk works.
            drop(ram);
            txn.commit()?;
            Ok(answer)
        })
    }

    /// Brings the tables up to the last commit, which is what a write transaction starts from. They
    /// stay there while the transaction is open, because no other writer commits meanwhile.
    fn follow_last(
        &self,
        opened: &Opened,
        txn: &RoTxn<'_>,
        kind: &SketchKind,
    ) -> Result<RwLockReadGuard<'_, Option<Ram>>, Failure> {
        loop {
            let mut ram = self.ram.write().map_err(|_| Error::poisoned())?;
            Ram::follow(&mut ram, opened, txn, kind, &self.terms, u64::MAX)?;
            drop(ram);
            let ram = self.ram.read().map_err(|_| Error::poisoned())?;
            // Another thread may have dropped the tables between the two locks: it began to build
            // them anew without the image, and failed.
            if ram.is_some() {
                return Ok(ram);
            }
        }
    }

    fn is_prepared(&self) -> bool {
        self.ram.read().is_ok_and(|ram| ram.is_some())
    }
}

/// Returns the tables, which the caller has just made follow.
fn built(ram: &Option<Ram>) -> Result<&Ram> {
    ram.as_ref().ok_or_else(|| {
        Error::new(ErrorKind::Internal, "the search tables were dropped while they were in use")
    })
}
