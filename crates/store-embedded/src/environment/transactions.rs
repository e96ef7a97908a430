//! Transactions of an open environment. Each begins with a look at the files, and one that writes ends with another: what is
//! not in its place any more is neither read nor written, and what is shorter than it was is not touched.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use heed::{RoTxn, RwTxn, WithTls};
use index::Result;
use rustix::fs::{FallocateFlags, fallocate};

use super::{Failure, Opened};
use crate::pages;
use crate::turns::Turn;

/// How often the number of the last transaction is read before it counts as wrong.
const LOOKS_MAX: usize = 1000;

/// A transaction that writes: no other one does until it is dropped.
pub(crate) struct Writing<'a> {
    // Dropped in this order.
    txn: RwTxn<'a>,
    opened: &'a Opened,
    _turn: Turn<'a>,
}

impl Writing<'_> {
    /// What is committed into files that are not in their place any more is no success.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        let Self { txn, opened, _turn } = self;
        txn.commit()?;
        let n_bytes = opened.place.check()?;
        opened.lengthen(n_bytes)?;
        Ok(())
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
        // Before: a transaction begins by reading the roots.
        let n_bytes = self.place.check()?;
        let txn = self.env.read_txn()?;
        // A writer may be one ahead of what it has announced.
        self.check_content(n_bytes, |last| last >= txn.id())?;
        Ok(txn)
    }

    pub(crate) fn write_txn(&self) -> Result<Writing<'_>, Failure> {
        let turn = self.writers.take(self.patience, || self.last_txn_id())?;
        self.write_txn_at(turn)
    }

    /// Whether a transaction that writes can be had within `patience`, and so a write succeed. While others go on
    /// committing it would come after them.
    pub(crate) fn can_write(&self, patience: Duration) -> Result<(), Failure> {
        let patience = patience.min(self.patience);
        let before = self.last_txn_id()?;
        match self.writers.wait(patience)? {
            Some(turn) => self.write_txn_at(turn).map(drop),
            None if self.last_txn_id()? != before => Ok(()),
            None => Err(self.writers.busy(patience).into()),
        }
    }

    fn write_txn_at<'a>(&'a self, turn: Turn<'a>) -> Result<Writing<'a>, Failure> {
        let n_bytes = self.place.check()?;
        // The snapshot of a reader that was killed keeps every page that is freed since from being used again, and
        // so the file would grow with each commit. A look takes a system call for each process that reads.
        self.env.clear_stale_readers()?;
        let txn = self.env.write_txn()?;
        self.check_content(n_bytes, |last| last + 1 == txn.id())?;
        Ok(Writing { txn, opened: self, _turn: turn })
    }

    fn last_txn_id(&self) -> Result<usize> {
        self.place.check()?;
        Ok(self.env.info().last_txn_id)
    }

    /// Whether the roots in the file are those that LMDB's processes have written, by the number of the last transaction,
    /// and the pages are there that they name. Another file that was copied over this one has other numbers.
    fn check_content(&self, n_bytes: u64, is_last: impl Fn(usize) -> bool) -> Result<()> {
        // A reader may look in the middle of a number that a writer writes.
        if !(0..LOOKS_MAX).any(|_| is_last(self.env.info().last_txn_id)) {
            return Err(self.place.overwritten());
        }
        if n_bytes < self.numbered_bytes() {
            // Mostly another process has made it longer by now.
            pages::extent(self.place.data())?;
        }
        Ok(())
    }

    /// The end of the last page that LMDB has numbered.
    fn numbered_bytes(&self) -> u64 {
        (self.env.info().last_page_number as u64 + 1).saturating_mul(self.page_bytes)
    }

    /// Gives the file the pages at its end that LMDB has numbered and, because they are free already, not written: so that
    /// those who come later see by its length, now `n_bytes`, that nothing is missing. For who has the turn.
    fn lengthen(&self, n_bytes: u64) -> Result<()> {
        let n_bytes_numbered = self.numbered_bytes();
        if n_bytes < n_bytes_numbered && pages::extent(self.place.data())?.is_some() {
            // In a way that never makes a file shorter. Where it fails, those who come later look for the pages among the
            // free ones.
            let more = n_bytes_numbered - n_bytes;
            let _ = fallocate(self.place.data(), FallocateFlags::empty(), n_bytes, more);
        }
        Ok(())
    }
}
