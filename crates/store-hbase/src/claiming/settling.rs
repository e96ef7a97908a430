//! Cleans up after claimants that are done.

use index::{Insertion, Result};

use super::{Claimed, Claiming};
use crate::claims::Step;
use crate::rows::Table;
use crate::write::{OldCells, Writes};

impl Claiming<'_> {
    /// Cleans up after replaced documents, after withdrawn claims, and after cells that lead
    /// nowhere.
    pub(super) fn settle(&mut self) -> Result<()> {
        let mut old_cells = OldCells::default();
        for claimed in self.claimed.iter().flatten() {
            claimed.withdrawn(&mut self.ghosts);
            let Claimed { document, claimant, replaced, .. } = claimed;
            if let (Step::Done(Insertion::Replaced), Some(claim), Some(old)) =
                (claimant.step(), claimant.claim(), replaced)
            {
                old_cells.replaced(&document.id, old, &document.sketch, claim.timestamp);
            }
        }
        old_cells.apply(self.access)?;
        if let Err(error) = self.old_texts().apply(self.access) {
            tracing::warn!(%error, "failed to delete texts that are of no document any more");
        }
        if let Err(error) = self.ghosts.sweep(self.access) {
            // The next search that meets these cells tries again.
            tracing::warn!(%error, "failed to sweep cells that lead nowhere");
        }
        Ok(())
    }

    fn old_texts(&self) -> Writes {
        let mut deletes = Writes::new(Table::Documents);
        if self.access.keeps_texts {
            self.claimed.iter().flatten().for_each(|claimed| claimed.old_texts(&mut deletes));
        }
        deletes
    }
}
