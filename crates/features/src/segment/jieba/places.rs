//! The free places of a double array while it is built.

use super::codes::Code;

/// The taken places of an array, which grows as places are taken.
pub(super) struct Places {
    /// A bit for each place, 1 where it is taken.
    taken: Vec<u64>,
    len: usize,
    /// Where the search for one place starts: all before it are taken.
    first_free: usize,
    /// Where the search for several places starts.
    start: usize,
}

/// Free places that a search for several tries before later ones start behind them.
const TRIES_MAX: usize = 64;

impl Places {
    /// Creates the places of an array whose first `len` are taken.
    pub(super) fn new(len: usize) -> Self {
        let mut places = Self { taken: Vec::new(), len: 0, first_free: 0, start: 0 };
        (0..len).for_each(|place| places.set(place));
        places
    }

    /// Returns the number of places up to the last one that is taken.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Takes the places of children with these codes, in ascending order, and returns what is added
    /// to a code for its place, by wrapping addition. Without codes nothing is taken.
    pub(super) fn take(&mut self, codes: &[Code]) -> u32 {
        let Some((&first, others)) = codes.split_first() else { return 0 };
        if others.is_empty() {
            self.first_free = self.free_from(self.first_free);
            let place = self.first_free;
            self.set(place);
            return (place as u32).wrapping_sub(first);
        }
        let mut place = self.free_from(self.start);
        let mut tries = 0;
        while others.iter().any(|code| self.is_taken(place + (code - first) as usize)) {
            place = self.free_from(place + 1);
            tries += 1;
        }
        if tries > TRIES_MAX {
            self.start = place;
        }
        codes.iter().for_each(|code| self.set(place + (code - first) as usize));
        (place as u32).wrapping_sub(first)
    }

    fn is_taken(&self, place: usize) -> bool {
        self.taken.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    fn set(&mut self, place: usize) {
        if self.taken.len() <= place / 64 {
            self.taken.resize(place / 64 + 1, 0);
        }
        self.taken[place / 64] |= 1 << (place % 64);
        self.len = self.len.max(place + 1);
    }

    /// Returns the first free place at or after `from`.
    fn free_from(&self, from: usize) -> usize {
        let mut at = from / 64;
        let mut before = (1_u64 << (from % 64)) - 1;
        while let Some(&word) = self.taken.get(at) {
            let free = !(word | before);
            if free != 0 {
                return at * 64 + free.trailing_zeros() as usize;
            }
            at += 1;
            before = 0;
        }
        from.max(at * 64)
    }
}
