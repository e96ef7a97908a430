//! The turns in which the documents of a spilled run are decided, where these have ranks.

use std::io;

use runs::StringSorter;

/// The order of documents with ranks.
pub(super) struct Order {
    /// The document of each turn.
    pub(super) numbers: Vec<u32>,
    /// The turn of each document.
    pub(super) turns: Vec<u32>,
}

impl Order {
    /// Reads the ranks in their order, each followed by the number of its document.
    pub(super) fn of(ranks: StringSorter, n_documents: u32) -> io::Result<Self> {
        let mut sorted = ranks.finish()?;
        let mut order =
            Self { numbers: Vec::with_capacity(n_documents as usize), turns: vec![0; n_documents as usize] };
        while let Some(entry) = sorted.next_string()? {
            let number = entry.last_chunk().map(|number| u32::from_be_bytes(*number));
            let number = number.filter(|number| *number < n_documents);
            let number = number.ok_or_else(|| io::Error::other("a rank is of no document"))?;
            order.turns[number as usize] = order.numbers.len() as u32;
            order.numbers.push(number);
        }
        Ok(order)
    }
}
