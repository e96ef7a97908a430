//! The places of a double array while it is built, taken and free.

use super::codes::Code;

/// The places of an array, which grows as places are taken.
pub(super) struct Places {
    /// A bit for each place, 1 where it is taken.
    taken: Vec<u64>,
    len: usize,
    /// The item of `taken` where a search starts, by the binary logarithm of the number of
    /// children. There are many places left for few children where there are none for many.
    starts: [usize; 32],
}

/// Items of `taken` that a search passes before later ones of as many children start where it ends.
const PASSED_MAX: usize = 16;

impl Places {
    /// Creates the places of an array whose first `len` are taken.
    pub(super) fn new(len: usize) -> Self {
        let mut places = Self { taken: Vec::new(), len: 0, starts: [0; 32] };
        (0..len).for_each(|place| places.set(place));
        places
    }

    /// Returns the number of places up to the last one that is taken.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Takes the places of children with these codes, in ascending order, and returns what is added
    /// to a code for its place. Without codes nothing is taken.
    pub(super) fn take(&mut self, codes: &[Code]) -> u32 {
        let Some((&first, others)) = codes.split_first() else { return 0 };
        let of_size = codes.len().ilog2() as usize;
        let start = self.starts[of_size];
        let mut at = start;
        // The places for the first child in this item that have a free one for each other child.
        let mut fit = self.fit(at, first, others);
        while fit == 0 {
            at += 1;
            fit = self.fit(at, first, others);
        }
        // All items that a search for one place passes are full.
        if others.is_empty() || at - start > PASSED_MAX {
            self.starts[of_size] = at;
        }
        let place = at * 64 + fit.trailing_zeros() as usize;
        codes.iter().for_each(|code| self.set(place + (code - first) as usize));
        place as u32 - first
    }

    /// The places of one item where the first child fits and all others do beside it, as bits.
    fn fit(&self, at: usize, first: Code, others: &[Code]) -> u64 {
        let mut fit = self.free_from(at * 64);
        for code in others {
            if fit == 0 {
                break;
            }
            fit &= self.free_from(at * 64 + (code - first) as usize);
        }
        fit
    }

    /// The 64 places from this one on as bits, 1 where a place is free.
    fn free_from(&self, place: usize) -> u64 {
        let item = |at: usize| self.taken.get(at).copied().unwrap_or(0);
        let (at, bit) = (place / 64, place % 64);
        let taken = u128::from(item(at)) | u128::from(item(at + 1)) << 64;
        !((taken >> bit) as u64)
    }

    fn set(&mut self, place: usize) {
        if self.taken.len() <= place / 64 {
            self.taken.resize(place / 64 + 1, 0);
        }
        self.taken[place / 64] |= 1 << (place % 64);
        self.len = self.len.max(place + 1);
    }
}
