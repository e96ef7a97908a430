//! Counts in memory.

use std::collections::HashMap;

/// The number of documents for each term, and the approximate size of the table.
#[derive(Default)]
pub(crate) struct TermTable {
    counts: HashMap<Box<str>, u64>,
    n_bytes: usize,
}

/// Bytes of an entry beside its term: 24 bytes and a control byte, in a table at least 7/16 full
/// and, while it grows, beside the smaller one (1.5 times); plus the overhead of the allocator.
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

    /// The approximate size of the table in bytes.
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Empties the table; returns the counts, sorted by term.
    pub(crate) fn take(&mut self) -> Vec<(Box<str>, u64)> {
        self.n_bytes = 0;
        let mut counts: Vec<_> = std::mem::take(&mut self.counts).into_iter().collect();
        counts.sort_unstable();
        counts
    }
}
