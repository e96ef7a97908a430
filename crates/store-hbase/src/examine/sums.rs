//! Sums over cells, which compare two walks through billions of cells in a few megabytes.
//!
//! Each expected cell is added, and each cell found is subtracted, in the two places that a hash
//! gives its document. A document with a missing or surplus cell leaves both of its places other
//! than zero. A sound document is examined in vain if both of its places are shared with such
//! documents.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use index::DocumentId;
use simhash::RowKey;

/// The number of places in each of the two tables: with a thousand faulty documents, one sound
/// document in a million is a suspect.
const N_PLACES: u64 = 1 << 20;

/// Expected cells less cells found, by place.
pub(super) struct Sums {
    hasher: RandomState,
    tables: [Vec<AtomicU64>; 2],
}

impl Sums {
    pub(super) fn new() -> Self {
        let table = || (0..N_PLACES).map(|_| AtomicU64::new(0)).collect();
        Self { hasher: RandomState::new(), tables: [table(), table()] }
    }

    /// Adds the cells that a document should have in these rows.
    pub(super) fn expect(&self, id: &DocumentId, rows: impl Iterator<Item = RowKey>, timestamp: i64) {
        let document = self.hasher.hash_one(id);
        let sum = rows.fold(0, |sum: u64, row| sum.wrapping_add(self.of_cell(document, row, timestamp)));
        self.add(document, sum);
    }

    /// Subtracts a cell that was found.
    pub(super) fn meet(&self, id: &DocumentId, row: RowKey, timestamp: i64) {
        let document = self.hasher.hash_one(id);
        self.add(document, self.of_cell(document, row, timestamp).wrapping_neg());
    }

    /// Returns true if each document has its cells and no others. Every cell is counted in both
    /// tables, so one of them tells.
    pub(super) fn are_even(&self) -> bool {
        self.tables[0].iter().all(|sum| sum.load(Ordering::Relaxed) == 0)
    }

    /// Returns true if the cells of a document may differ from the expected ones.
    pub(super) fn suspect(&self, id: &DocumentId) -> bool {
        let places = places(self.hasher.hash_one(id));
        self.tables.iter().zip(places).all(|(table, place)| table[place].load(Ordering::Relaxed) != 0)
    }

    fn of_cell(&self, document: u64, row: RowKey, timestamp: i64) -> u64 {
        self.hasher.hash_one((document, row.flag, row.segment, row.fingerprint.0, timestamp))
    }

    fn add(&self, document: u64, sum: u64) {
        for (table, place) in self.tables.iter().zip(places(document)) {
            table[place].fetch_add(sum, Ordering::Relaxed);
        }
    }
}

/// Returns the place of a document in each table.
fn places(hash: u64) -> [usize; 2] {
    [hash % N_PLACES, (hash >> 32) % N_PLACES].map(|place| place as usize)
}

#[cfg(test)]
mod tests {
    use index::testsuite::{document, spread};

    use super::*;

    #[test]
    fn a_cell_lost_from_any_row_is_told() {
        let document = document("one", spread(1));
        let rows: Vec<_> = document.sketch.rows().collect();
        for lost in &rows {
            let sums = Sums::new();
            sums.expect(&document.id, rows.iter().copied(), 7);
            rows.iter().filter(|row| *row != lost).for_each(|&row| sums.meet(&document.id, row, 7));
            assert!(!sums.are_even() && sums.suspect(&document.id), "{lost:?}");
        }
    }

    #[test]
    fn a_fault_makes_few_suspects() {
        let sums = Sums::new();
        let documents: Vec<_> = (0..2_000).map(|n| document(&format!("{n}"), spread(n))).collect();
        for document in &documents {
            sums.expect(&document.id, document.sketch.rows(), 7);
            document.sketch.rows().for_each(|row| sums.meet(&document.id, row, 7));
        }
        assert!(sums.are_even());
        assert!(!documents.iter().any(|document| sums.suspect(&document.id)));
        let row = documents[5].sketch.rows().next().unwrap();
        // A surplus cell; a cell of another time; a cell of another document.
        sums.meet(&documents[1].id, row, 7);
        sums.expect(&documents[2].id, [row].into_iter(), 7);
        sums.meet(&documents[2].id, row, 8);
        sums.expect(&documents[3].id, [row].into_iter(), 7);
        sums.meet(&documents[4].id, row, 7);
        assert!(!sums.are_even());
        let suspects: Vec<_> =
            documents.iter().filter(|document| sums.suspect(&document.id)).map(|d| d.id.as_str()).collect();
        assert_eq!(suspects, ["1", "2", "3", "4"]);
    }
}
