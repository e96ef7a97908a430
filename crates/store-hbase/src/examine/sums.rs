//! Sums over cells, by which two walks through billions of them are compared in a few megabytes.
//!
//! Each cell that a document should have is added, and each that is there is taken away, in the
//! places that its document has by a hash. A document with a cell too few or too many leaves both
//! of its places other than zero; one that shares a place with such a document is looked at for
//! nothing.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use index::DocumentId;
use simhash::RowKey;

/// The places of each of the two tables: among as many documents with faults, a whole one in a
/// million is a suspect.
const N_PLACES: u64 = 1 << 20;

/// What is there less what should be, by places.
pub(super) struct Sums {
    hasher: RandomState,
    tables: [Vec<AtomicU64>; 2],
}

impl Sums {
    pub(super) fn new() -> Self {
        let table = || (0..N_PLACES).map(|_| AtomicU64::new(0)).collect();
        Self { hasher: RandomState::new(), tables: [table(), table()] }
    }

    /// A document, which should have the cells of these rows.
    pub(super) fn expect(&self, id: &DocumentId, rows: impl Iterator<Item = RowKey>, timestamp: i64) {
        let document = self.hasher.hash_one(id);
        let sum = rows.fold(0, |sum: u64, row| sum.wrapping_add(self.of_cell(document, row, timestamp)));
        self.add(document, sum);
    }

    /// A cell that is there.
    pub(super) fn meet(&self, id: &DocumentId, row: RowKey, timestamp: i64) {
        let document = self.hasher.hash_one(id);
        self.add(document, self.of_cell(document, row, timestamp).wrapping_neg());
    }

    /// Whether each document has its cells, and no other.
    pub(super) fn are_even(&self) -> bool {
        self.tables[0].iter().all(|sum| sum.load(Ordering::Relaxed) == 0)
    }

    /// Whether a document may have other cells than it should.
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

/// Where a document is in each table.
fn places(hash: u64) -> [usize; 2] {
    [hash % N_PLACES, (hash >> 32) % N_PLACES].map(|place| place as usize)
}

#[cfg(test)]
mod tests {
    use index::testsuite::{document, spread};

    use super::*;

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
        // A cell too many; one of another time; one of another document.
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
