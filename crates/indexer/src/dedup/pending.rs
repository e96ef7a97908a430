//! Items that wait for a call of the store, which takes many at once.

use std::mem;

use hashbrown::HashSet;
use index::DocumentId;

use crate::pipeline::Item;

/// Bounds of one call of the store: the number of items, and the bytes of their lines and texts.
/// Large enough to share the cost of durability, small enough to bound the memory.
pub(crate) const STORE_BATCH: usize = 2048;
pub(crate) const STORE_BATCH_BYTES: usize = 32 << 20;

#[derive(Default)]
pub(crate) struct Pending {
    items: Vec<Item>,
    ids: HashSet<DocumentId>,
    n_bytes: usize,
}

impl Pending {
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
        self.items.len() >= STORE_BATCH || self.n_bytes >= STORE_BATCH_BYTES
    }

    /// Removes and returns all items, in their order.
    pub(crate) fn take(&mut self) -> Vec<Item> {
        self.ids.clear();
        self.n_bytes = 0;
        mem::take(&mut self.items)
    }
}
