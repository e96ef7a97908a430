//! Transactions of an open environment. Each begins with a check of the files, and a writing one
//! ends with another. A file no longer in its place is neither read nor written, and a file shorter
//! than before is not accessed.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use heed::{Env, RoTxn, RwTxn, WithTls};
use index::Result;
use rustix::fs::{FallocateFlags, fallocate};

use super::Opened;
use crate::errors::Failure;
use crate::pages;
use crate::turns::Turn;

/// The most readings of the last transaction's number before it counts as wrong.
const LOOKS_MAX: usize = 1000;

/// A writing transaction. There is no other one until it is dropped.
pub(crate) struct Writing<'a> {
    // Dropped in this order.
    txn: RwTxn<'a>,
    opened: &'a Opened,
    _turn: Turn<'a>,
}

impl Writing<'_> {
    /// Commits, and fails if the files are no longer in their place.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        self.commit_with(|_, txn| Ok(txn.commit()?))
    }

    /// As [`commit`](Self::commit), by `commit`.
    pub(super) fn commit_with<T>(
        self,
        commit: impl FnOnce(&Env, RwTxn<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Self { txn, opened, _turn } = self;
        let done = commit(&opened.env, txn)?;
        let n_bytes = opened.place.check()?;
        opened.lengthen(n_bytes)?;
        Ok(done)
    }
}

impl<'a> Deref for Writing<'a> {
    type Target = RwTxn<'a>;

    fn deref(&self) -> &RwTxn<'a> {
        &self.txn
    }
}

impl DerefMut for Writing<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.txn
    }
}

impl Opened {
    pub(crate) fn read_txn(&self) -> Result<RoTxn<'_, WithTls>, Failure> {
        // Checked before: a transaction begins with a read of the roots.
        let n_bytes = self.place.check()?;
        let txn = self.env.read_txn()?;
        // A writer may be one ahead of the announced number.
        self.check_content(n_bytes, |last| last >= txn.id())?;
        Ok(txn)
    }

    pub(crate) fn write_txn(&self) -> Result<Writing<'_>, Failure> {
        let turn = self.writers.take(self.patience, || self.last_txn_id())?;
        self.write_txn_at(turn)
    }

    /// Returns an error unless a writing transaction, and so a write, can begin within `patience`.
    /// While others go on committing, it would follow them, and the answer is `Ok`.
    pub(crate) fn can_write(&self, patience: Duration) -> Result<(), Failure> {
        let patience = patience.min(self.patience);
        let before = self.last_txn_id()?;
        match self.writers.wait(patience)? {
            Some(turn) => self.write_txn_at(turn).map(drop),
            None if self.last_txn_id()? != before => Ok(()),
            None => Err(self.writers.busy(patience).into()),
        }
    }

    /// Returns the bytes of the file's free pages: the next writes use them before the file grows,
    /// but for those that an older snapshot of any process may read. For a caller without a
    /// transaction.
    pub(crate) fn n_free_bytes(&self) -> Result<u64, Failure> {
        self.place.check()?;
        self.place.n_free_bytes(&self.env)
    }

    fn write_txn_at<'a>(&'a self, turn: Turn<'a>) -> Result<Writing<'a>, Failure> {
        let n_bytes = self.place.check()?;
        // The snapshot of a killed reader keeps all pages freed since then from reuse, so the file
        // would grow with each commit. The check costs a system call for each reading process.
        self.env.clear_stale_readers()?;
        let txn = self.env.write_txn()?;
        self.check_content(n_bytes, |last| last + 1 == txn.id())?;
        Ok(Writing { txn, opened: self, _turn: turn })
    }

    fn last_txn_id(&self) -> Result<usize> {
        self.place.check()?;
        Ok(self.env.info().last_txn_id)
    }

    /// Checks the roots in the file by the number of the last transaction: they must be the roots
    /// written by LMDB's processes, and their pages must exist. A file copied over this one has
    /// other numbers.
    fn check_content(&self, n_bytes: u64, is_last: impl Fn(usize) -> bool) -> Result<()> {
        // A reader may look while a writer writes the number.
        if !(0..LOOKS_MAX).any(|_| is_last(self.env.info().last_txn_id)) {
            return Err(self.place.overwritten());
        }
        if n_bytes < self.numbered_bytes() {
            // Most often another process has made the file longer by now.
            pages::extent(self.place.data())?;
        }
        Ok(())
    }

    /// The end of the last page numbered by LMDB, in bytes.
    fn numbered_bytes(&self) -> u64 {
        (self.env.info().last_page_number as u64 + 1).saturating_mul(self.page_bytes)
    }

    /// Adds the pages that LMDB has numbered at the file's end but not written, because they are
    /// free already. Then later processes see by the length, now `n_bytes`, that nothing is
    /// missing. The caller has the turn to write.
    fn lengthen(&self, n_bytes: u64) -> Result<()> {
        let n_bytes_numbered = self.numbered_bytes();
        if n_bytes < n_bytes_numbered && pages::extent(self.place.data())?.is_some() {
            // `fallocate` never shortens a file. If it fails, later processes look for the pages
            // among the free ones.
            let more = n_bytes_numbered - n_bytes;
            let _ = fallocate(self.place.data(), FallocateFlags::empty(), n_bytes, more);
        }
        Ok(())
    }
}
