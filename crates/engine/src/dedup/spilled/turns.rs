//! The turns in which the documents of a spilled run are decided.

use std::io;
use std::path::Path;

use runs::{SortedWords, StringSorter, WordSorter};

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

/// The upper and the lower half of a word.
pub(super) fn halves(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// The word of two halves.
pub(super) fn word(upper: u32, lower: u32) -> u64 {
    u64::from(upper) << 32 | u64::from(lower)
}

/// Sorts words by the turns of documents, which are in the upper halves.
pub(super) struct TurnSorter<'a> {
    words: WordSorter,
    n_parts: u64,
    n_documents: u32,
    /// `None` where the turn of a document is its number.
    order: Option<&'a Order>,
}

impl<'a> TurnSorter<'a> {
    pub(super) fn new(folder: &Path, n_documents: u32, order: Option<&'a Order>, n_parts: usize) -> Self {
        Self { words: WordSorter::new(folder, n_parts), n_parts: n_parts as u64, n_documents, order }
    }

    fn turn_of(&self, number: u32) -> u32 {
        self.order.map_or(number, |order| order.turns[number as usize])
    }

    /// Takes a document, and the lower half of its word.
    pub(super) fn push(&mut self, number: u32, lower: u32) -> io::Result<()> {
        let turn = self.turn_of(number);
        let part = u64::from(turn) * self.n_parts / u64::from(self.n_documents);
        self.words.push(part as usize, word(turn, lower))
    }

    /// Takes all pairs of some documents, which come by ascending numbers: the later one, and the
    /// earlier one in the lower half. Leaves the documents in the order of their turns.
    pub(super) fn push_pairs(&mut self, numbers: &mut [u32]) -> io::Result<()> {
        if self.order.is_some() {
            numbers.sort_unstable_by_key(|&number| self.turn_of(number));
        }
        for (n, &later) in numbers.iter().enumerate() {
            numbers[..n].iter().try_for_each(|&earlier| self.push(later, earlier))?;
        }
        Ok(())
    }

    /// Ends the taking: see [`WordSorter::finish`].
    pub(super) fn finish(self, n_bytes_max: usize) -> SortedWords {
        self.words.finish(n_bytes_max)
    }
}
