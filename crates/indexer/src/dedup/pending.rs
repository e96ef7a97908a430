//! Items that wait for a call of the store, which takes many at once.

use std::mem;

use hashbrown::HashSet;
use index::DocumentId;

use crate::memory;
use crate::pipeline::Item;

/// The most items in one call of the store. Their bytes are bounded by [`memory::batch_bytes`].
pub(crate) const STORE_BATCH: usize = 2048;

/// The items of the next call.
pub(crate) struct Pending {
    items: Vec<Item>,
    ids: HashSet<DocumentId>,
    n_bytes: usize,
    n_bytes_max: usize,
}

impl Pending {
    /// Creates no items, of a run with or without a journal.
    pub(crate) fn new(has_journal: bool) -> Self {
        let n_bytes_max = memory::batch_bytes(has_journal);
        Self { items: Vec::new(), ids: HashSet::new(), n_bytes: 0, n_bytes_max }
    }

    /// Returns true if a document of this id waits. The meaning of a repeated id is known only
    /// after its first use has been decided.
    pub(crate) fn holds(&self, id: &DocumentId) -> bool {
        self.ids.contains(id)
    }

    /// Adds an item. Returns true if the call is due.
    pub(crate) fn add(&mut self, item: Item) -> bool {
        self.ids.insert(item.document.id.clone());
        let text = item.document.features.as_ref().and_then(|features| features.text.as_ref());
        self.n_bytes += item.line.len() + item.document.text.len() + text.map_or(0, |text| text.len());
        self.items.push(item);
        self.items.len() >= STORE_BATCH || self.n_bytes >= self.n_bytes_max
    }

    /// Removes and returns all items, in their order.
    pub(crate) fn take(&mut self) -> Vec<Item> {
        self.ids.clear();
        self.n_bytes = 0;
        mem::take(&mut self.items)
    }
}
