//! The set of page numbers that a walk has met.

use std::collections::BTreeSet;

/// Numbers of pages: one bit for each page of the file, and the numbers beyond its end, which are
/// of the few free pages that were never written.
pub(super) struct Marks {
    words: Vec<u64>,
    beyond: BTreeSet<u64>,
}

impl Marks {
    /// Returns an empty set for a file of `n_pages` pages.
    pub(super) fn of(n_pages: u64) -> Self {
        Self { words: vec![0; n_pages.div_ceil(u64::BITS.into()) as usize], beyond: BTreeSet::new() }
    }

    /// Adds a number. Returns true if it was not there.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let (place, bit) = (number / u64::from(u64::BITS), 1 << (number % u64::from(u64::BITS)));
        match usize::try_from(place).ok().and_then(|place| self.words.get_mut(place)) {
            Some(word) => {
                let is_new = *word & bit == 0;
                *word |= bit;
                is_new
            }
            None => self.beyond.insert(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_new_once() {
        let mut marks = Marks::of(100);
        for number in [0, 1, 63, 64, 99, 127, 128, 1 << 40, u64::MAX] {
            assert!(marks.insert(number) && !marks.insert(number), "{number}");
        }
    }
}
