//! A filter of numbers: most numbers that were not added are known by one word of memory.

use std::sync::Arc;

use super::ascending::Ascending;

/// A set of numbers, and a filter of their upper bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filtered {
    pub(super) set: Arc<Ascending>,
    /// The number of lower bits that the filter leaves out.
    shift: u32,
    filter: Arc<Filter>,
}

impl Filtered {
    pub(super) fn new(set: Arc<Ascending>, shift: u32) -> Self {
        let n_windows = set.n_blocks() / BLOCKS_PER_WINDOW + 1;
        let mut filter = Filter::new(n_windows, set.len(), u64::BITS - shift);
        for number in set.from(0) {
            let upper = number >> shift;
            filter.add(window_of(&set, upper << shift), upper);
        }
        Self { set, shift, filter: filter.into() }
    }

    /// The numbers with these upper bits.
    pub(super) fn with(&self, upper: u64) -> impl Iterator<Item = u64> + '_ {
        let may_have = self.filter.may_have(window_of(&self.set, upper << self.shift), upper);
        let numbers = may_have.then(|| self.set.from(upper << self.shift)).into_iter().flatten();
        numbers.take_while(move |number| number >> self.shift == upper)
    }

    /// Bytes of memory that both take.
    pub(super) fn n_bytes(&self) -> usize {
        self.set.n_bytes() + self.filter.n_bytes()
    }
}

/// The numbers for each word of a filter.
const PER_WORD: usize = 6;

/// The blocks of a set whose numbers share a window of the filter, of some kilobytes.
const BLOCKS_PER_WINDOW: usize = 64;

/// Returns the window of a number: by its place in the set, so windows have about as many numbers.
fn window_of(set: &Ascending, number: u64) -> usize {
    set.n_blocks_before(number) / BLOCKS_PER_WINDOW
}

/// A filter of numbers: a bit for each possible number where that takes no more, else a Bloom
/// filter whose bits for a number are all in one word.
///
/// The Bloom filter has three of 64 bits, about 11 bits a number. Of the numbers that were not
/// added about one in 40 passes. The words of ascending numbers are in ascending windows, so that
/// it is filled from end to end.
///
/// Source: F. Putze, P. Sanders, J. Singler, "Cache-, Hash- and Space-Efficient Bloom Filters",
/// section 3, with words for blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Filter {
    words: Vec<u64>,
    /// The words of a window; 0 where each possible number has a bit.
    n_window_words: usize,
}

impl Filter {
    /// Creates a filter of so many numbers of `n_bits` bits each.
    fn new(n_windows: usize, n_numbers: usize, n_bits: u32) -> Self {
        let n_window_words = n_numbers.div_ceil(PER_WORD * n_windows);
        let n_words = n_windows * n_window_words;
        let n_possible_words = 1_u64.checked_shl(n_bits).map(|n_possible| n_possible.div_ceil(64) as usize);
        match n_possible_words.filter(|&n_possible_words| n_possible_words <= n_words) {
            Some(n_words) => Self { words: vec![0; n_words], n_window_words: 0 },
            None => Self { words: vec![0; n_words], n_window_words },
        }
    }

    fn add(&mut self, window: usize, number: u64) {
        let (place, bits) = self.bits(window, number);
        self.words[place] |= bits;
    }

    /// Returns true if the number was added, and for a few others.
    fn may_have(&self, window: usize, number: u64) -> bool {
        let (place, bits) = self.bits(window, number);
        self.words.get(place).is_some_and(|word| word & bits == bits)
    }

    /// Returns the place of a number's word, and the number's bits in it.
    fn bits(&self, window: usize, number: u64) -> (usize, u64) {
        if self.n_window_words == 0 {
            return ((number / 64) as usize, 1 << (number % 64));
        }
        // Most of the finalizer of murmur3: neighbours differ in half of the bits.
        let mut hash = number;
        for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
            hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
        }
        let place = ((hash >> 32) * self.n_window_words as u64) >> 32;
        let bits = 1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63);
        (window * self.n_window_words + place as usize, bits)
    }

    fn n_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

#[cfg(test)]
mod tests {
    use index::testsuite::spread;

    use super::super::ascending::Growing;
    use super::*;

    /// Also where numbers are close together.
    #[test]
    fn what_was_added_passes_and_little_else() {
        for n in [0, 1, 7, 100, 50_000_u64] {
            for (shift, narrow) in [(0, 0), (32, 0), (0, 30), (32, 8)] {
                let numbers = |range: std::ops::Range<u64>| range.map(move |n| spread(n) >> narrow);
                let mut growing = Growing::default();
                numbers(0..n).for_each(|number| growing.add(number));
                let filtered = Filtered::new(growing.into_set(), shift);
                let has = |number: u64| filtered.with(number >> shift).any(|stored| stored == number);
                assert!(numbers(0..n).all(has), "{n}");
                let passes = |number: &u64| {
                    let upper = number >> shift;
                    filtered.filter.may_have(window_of(&filtered.set, upper << shift), upper)
                };
                let n_passed = numbers(1 << 40..(1 << 40) + 10_000).filter(passes).count();
                assert!(n_passed < 500, "{n_passed} of 10,000 pass a filter of {n} {shift} {narrow}");
            }
        }
    }

    /// Where numbers are many among the possible ones, each of these has a bit.
    #[test]
    fn a_bit_for_each_number_is_exact() {
        for n in [300, 384, 400, 4_000_u64] {
            let mut growing = Growing::default();
            (0..n).for_each(|n| growing.add(spread(n)));
            let filtered = Filtered::new(growing.into_set(), 52);
            assert_eq!(filtered.filter.n_window_words == 0, n >= 384, "{n}");
            for upper in 0..1 << 12 {
                let stored = (0..n).map(spread).any(|number| number >> 52 == upper);
                assert_eq!(filtered.with(upper).next().is_some(), stored);
                if n >= 384 {
                    assert_eq!(filtered.filter.may_have(0, upper), stored);
                }
            }
        }
    }
}
