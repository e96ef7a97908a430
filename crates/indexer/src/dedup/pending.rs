//! Items that wait for a call of the store, which is made for many at once.

use std::collections::HashSet;

use index::DocumentId;

use crate::pipeline::Item;

/// Items in one call of the store, by number and by the bytes of their lines and texts: enough to share the cost of making
/// it durable, and a bound on memory.
pub(crate) const STORE_BATCH: usize = 2048;
pub(crate) const STORE_BATCH_BYTES: usize = 32 << 20;

#[derive(Default)]
pub(crate) struct Pending {
    items: Vec<Item>,
    ids: HashSet<DocumentId>,
    n_bytes: usize,
}

impl Pending {
    /// Whether a document of this id waits. What an id that comes twice stands for is known only once its first use has
    /// been decided.
    pub(crate) fn holds(&self, id: &DocumentId) -> bool {
        self.ids.contains(id)
    }

    /// Adds an item and says whether it is time for the call.
    pub(crate) fn add(&mut self, item: Item) -> bool {
        self.ids.insert(item.document.id.clone());
        let text = item.document.features.as_ref().and_then(|features| features.text.as_ref());
        self.n_bytes += item.line.len() + item.document.text.len() + text.map_or(0, |text| text.len());
        self.items.push(item);
        self.items.len() >= STORE_BATCH || self.n_bytes >= STORE_BATCH_BYTES
    }

    /// All that wait, in their order; none do afterwards.
    pub(crate) fn take(&mut self) -> Vec<Item> {
        std::mem::take(self).items
    }
}
