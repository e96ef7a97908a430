//! Counts in memory.

use std::collections::HashMap;

/// In how many documents each term occurs, and about how much memory that takes.
#[derive(Default)]
pub(crate) struct TermTable {
    counts: HashMap<Box<str>, u64>,
    n_bytes: usize,
}

/// What an entry takes beside its term: 24 bytes and a byte of control, in a table that may be 7/16 full and, while it
/// grows, has the smaller one beside it (1.5 times); and what the allocator keeps for the term.
const ENTRY_BYTES: usize = 25 * 16 / 7 * 3 / 2 + 16;

impl TermTable {
    /// Counts one more document for a term.
    pub(crate) fn add(&mut self, term: &str) {
        match self.counts.get_mut(term) {
            Some(n_documents) => *n_documents += 1,
            None => {
                self.n_bytes += ENTRY_BYTES + term.len().max(16);
                self.counts.insert(term.into(), 1);
            }
        }
    }

    /// About how much memory it takes.
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Empties it; gives what was counted, sorted by term.
    pub(crate) fn take(&mut self) -> Vec<(Box<str>, u64)> {
        self.n_bytes = 0;
        let mut counts: Vec<_> = std::mem::take(&mut self.counts).into_iter().collect();
        counts.sort_unstable();
        counts
    }
}
