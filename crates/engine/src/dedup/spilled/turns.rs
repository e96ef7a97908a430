//! The turns in which the documents of a spilled run are decided, where these have ranks.

use std::borrow::Cow;
use std::io;

use index::backend::search;
use index::{DocumentId, Features, Result, Text};
use runs::StringSorter;

use super::documents::Documents;

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
        let mut order = Self { numbers: Vec::new(), turns: vec![0; n_documents as usize] };
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

/// The documents by their turns.
pub(super) struct InTurns<'a> {
    pub(super) documents: &'a Documents,
    pub(super) order: Option<&'a Order>,
}

impl InTurns<'_> {
    fn number(&self, turn: u64) -> u64 {
        self.order.map_or(turn, |order| order.numbers[turn as usize].into())
    }
}

impl search::Documents for InTurns<'_> {
    fn id(&self, turn: u64) -> Result<DocumentId> {
        self.documents.id(self.number(turn))
    }

    fn features(&self, turn: u64) -> Result<Cow<'_, Features>> {
        self.documents.features(self.number(turn))
    }

    fn text(&self, turn: u64) -> Result<Option<Text>> {
        self.documents.text(self.number(turn))
    }
}
