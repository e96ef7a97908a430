//! The kept rows of the inputs, as bits.

use std::ops::Range;

/// Rows of several files, counted from 1.
#[derive(Default)]
pub(super) struct RowSet {
    /// The bits of each file, 64 rows to a word.
    files: Vec<Vec<u64>>,
}

impl RowSet {
    pub(super) fn insert(&mut self, n_file: usize, row: u64) {
        if self.files.len() <= n_file {
            self.files.resize_with(n_file + 1, Vec::new);
        }
        let (words, place) = (&mut self.files[n_file], row / 64);
        let place = usize::try_from(place).expect("there is memory for the rows of a file");
        if words.len() <= place {
            words.resize(place + 1, 0);
        }
        words[place] |= 1 << (row % 64);
    }

    pub(super) fn contains(&self, n_file: usize, row: u64) -> bool {
        let word = self.files.get(n_file).and_then(|words| words.get(usize::try_from(row / 64).ok()?));
        word.is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// The number of `rows` in the set.
    pub(super) fn count(&self, n_file: usize, rows: Range<u64>) -> u64 {
        rows.filter(|row| self.contains(n_file, *row)).count() as u64
    }

    /// The last row of a file in the set.
    pub(super) fn last(&self, n_file: usize) -> Option<u64> {
        let words = self.files.get(n_file)?;
        // Not zero: a word is added only for a row in it.
        let last = words.last()?;
        Some(words.len() as u64 * 64 - 1 - u64::from(last.leading_zeros()))
    }

    /// The end of the last of `rows` in the set, exclusive; the start of `rows` if none is.
    pub(super) fn end_in(&self, n_file: usize, rows: Range<u64>) -> u64 {
        let Some(last) = self.last(n_file) else { return rows.start };
        let kept = (rows.start..rows.end.min(last + 1)).rev().find(|row| self.contains(n_file, *row));
        kept.map_or(rows.start, |last| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_in() {
        let mut set = RowSet::default();
        let rows = [1, 2, 63, 64, 65, 127, 128, 1_000];
        for row in rows {
            set.insert(1, row);
        }
        for row in 0..2_000 {
            assert_eq!(set.contains(1, row), rows.contains(&row), "{row}");
            assert!(!set.contains(0, row) && !set.contains(2, row), "{row}");
        }
        assert_eq!((set.count(1, 2..65), set.count(1, 66..127), set.count(3, 0..99)), (3, 0, 0));
        assert_eq!([0, 1, 2].map(|n_file| set.last(n_file)), [None, Some(1_000), None]);
        let ends = [1..100, 66..127, 129..1_000, 1_000..u64::MAX].map(|rows| set.end_in(1, rows));
        assert_eq!(ends, [66, 66, 129, 1_001]);
        for row in rows {
            let mut one = RowSet::default();
            one.insert(0, row);
            assert_eq!(one.last(0), Some(row));
        }
    }
}
