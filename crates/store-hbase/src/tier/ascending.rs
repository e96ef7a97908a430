//! A set of numbers in ascending order, in few bytes: the gaps between neighbours.

use std::sync::Arc;

use index::{Error, Result};

/// The number of numbers in a block, which is read from its beginning.
const BLOCK: usize = 64;

/// The most bytes of a gap.
const GAP_BYTES_MAX: usize = 10;

/// The fewest numbers that are merged into a set together.
const MERGED_MIN: usize = 1 << 20;

/// A set of numbers. A gap is written in groups of seven bits, the lowest first; all bytes but its
/// last have the highest bit set (LEB128).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ascending {
    /// The gap before each number, of the first one from 0.
    gaps: Vec<u8>,
    /// The first number of each block, and the place of the gap after it.
    blocks: Vec<(u64, usize)>,
    /// The number of blocks whose first number is less, for each multiple of `1 << shift`. Numbers
    /// that are spread evenly, as hashes are, leave a block or two to choose from.
    directory: Vec<u32>,
    shift: u32,
    n_numbers: usize,
    last: u64,
}

impl Ascending {
    /// Adds a number greater than all others.
    fn push(&mut self, number: u64) {
        let mut gap = number - self.last;
        while gap >= 0x80 {
            self.gaps.push(gap as u8 | 0x80);
            gap >>= 7;
        }
        self.gaps.push(gap as u8);
        if self.n_numbers.is_multiple_of(BLOCK) {
            self.blocks.push((number, self.gaps.len()));
        }
        self.n_numbers += 1;
        self.last = number;
    }

    /// The numbers from `start` on.
    pub(super) fn from(&self, start: u64) -> impl Iterator<Item = u64> + '_ {
        let (low, high) = self.near(start);
        let block = low + self.blocks[low..high].partition_point(|&(first, _)| first <= start);
        let block = block.saturating_sub(1);
        let (first, place) = self.blocks.get(block).copied().unwrap_or_default();
        let mut gaps = Gaps(&self.gaps[place..]);
        let mut number = first;
        let rest = std::iter::from_fn(move || {
            number += gaps.next()?;
            Some(number)
        });
        let numbers = (self.n_numbers > 0).then_some(first).into_iter().chain(rest);
        numbers.skip_while(move |&number| number < start)
    }

    /// Returns a range of blocks: those before it begin before the number, those after it after.
    fn near(&self, number: u64) -> (usize, usize) {
        let cell = number >> self.shift;
        let at = |cell: u64| usize::try_from(cell).ok().and_then(|cell| self.directory.get(cell));
        let or_all = |block: Option<&u32>| block.map_or(self.blocks.len(), |&block| block as usize);
        (or_all(at(cell)), or_all(at(cell.saturating_add(1))))
    }

    /// The set, of which all numbers are there, with its directory.
    fn indexed(mut self) -> Self {
        let Some(n_bits) = self.blocks.len().checked_ilog2() else { return self };
        self.shift = (u64::BITS - self.last.leading_zeros()).saturating_sub(n_bits).min(u64::BITS - 1);
        let mut block = 0;
        let n_before = |cell: u64| {
            let is_before = |(first, _): &&(u64, usize)| first >> self.shift < cell;
            block += self.blocks[block..].iter().take_while(is_before).count();
            block as u32
        };
        self.directory = (0..=self.last >> self.shift).map(n_before).collect();
        self
    }

    pub(super) fn len(&self) -> usize {
        self.n_numbers
    }

    pub(super) fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns about the number of blocks before a number; a greater number has no fewer.
    pub(super) fn n_blocks_before(&self, number: u64) -> usize {
        self.near(number).0
    }

    /// Bytes of memory that the set takes.
    pub(super) fn n_bytes(&self) -> usize {
        self.gaps.len() + size_of_val(&*self.blocks) + size_of_val(&*self.directory)
    }

    /// The stored form: the gaps.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.gaps
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are not those of a set.
    pub(super) fn decode(bytes: Vec<u8>) -> Result<Self> {
        let damaged = || Error::corrupt("a set of numbers is damaged");
        let mut set = Self::default();
        let mut gaps = Gaps(&bytes);
        while let Some(gap) = gaps.next() {
            if gap == 0 && set.n_numbers > 0 {
                return Err(damaged());
            }
            set.last = set.last.checked_add(gap).ok_or_else(damaged)?;
            if set.n_numbers.is_multiple_of(BLOCK) {
                set.blocks.push((set.last, bytes.len() - gaps.0.len()));
            }
            set.n_numbers += 1;
        }
        if !gaps.0.is_empty() {
            return Err(damaged());
        }
        set.blocks.shrink_to_fit();
        Ok(Self { gaps: bytes, ..set }.indexed())
    }

    /// Returns the set with more numbers, which ascend.
    fn merged(&self, more: &[u64]) -> Self {
        // What no gap is written to takes no memory.
        let n_bytes_max = self.gaps.len() + GAP_BYTES_MAX * more.len();
        let mut merged = Self { gaps: Vec::with_capacity(n_bytes_max), ..Self::default() };
        let mut add = |number| {
            if number > merged.last || merged.n_numbers == 0 {
                merged.push(number);
            }
        };
        let mut more = more.iter().copied().peekable();
        for number in self.from(0) {
            while let Some(before) = more.next_if(|&before| before < number) {
                add(before);
            }
            add(number);
        }
        more.for_each(add);
        merged.gaps.shrink_to_fit();
        merged.blocks.shrink_to_fit();
        merged.indexed()
    }
}

/// Reads gaps; ends at bytes that are none.
struct Gaps<'a>(&'a [u8]);

impl Gaps<'_> {
    #[inline]
    #[expect(clippy::little_endian_bytes, reason = "the lowest group of a gap comes first")]
    fn next(&mut self) -> Option<u64> {
        let Some(word) = self.0.first_chunk() else { return self.next_by_bytes() };
        let word = u64::from_le_bytes(*word);
        let ends = !word & 0x8080_8080_8080_8080;
        let n_bytes = (ends.trailing_zeros() / 8 + 1) as usize;
        if ends == 0 || (n_bytes > 1 && self.0[n_bytes - 1] == 0) {
            return self.next_by_bytes();
        }
        self.0 = &self.0[n_bytes..];
        // The bits up to the end, then two, four and eight groups of seven moved together.
        let groups = word & (u64::MAX >> (64 - 8 * n_bytes)) & 0x7f7f_7f7f_7f7f_7f7f;
        let groups = groups & 0x007f_007f_007f_007f | (groups & 0x7f00_7f00_7f00_7f00) >> 1;
        let groups = groups & 0x0000_3fff_0000_3fff | (groups & 0x3fff_0000_3fff_0000) >> 2;
        Some(groups & 0x0fff_ffff | (groups & 0x0fff_ffff_0000_0000) >> 4)
    }

    #[cold]
    fn next_by_bytes(&mut self) -> Option<u64> {
        let mut gap = 0;
        for (place, &byte) in self.0.iter().enumerate().take(GAP_BYTES_MAX) {
            let bits = u64::from(byte & 0x7f) << (7 * place);
            if bits >> (7 * place) != u64::from(byte & 0x7f) || (byte == 0 && place > 0) {
                return None;
            }
            gap |= bits;
            if byte < 0x80 {
                self.0 = &self.0[place + 1..];
                return Some(gap);
            }
        }
        None
    }
}

/// A set that numbers are added to in any order. A quarter of the set and more waits to be merged
/// into a new one, so each number is moved a few times.
#[derive(Debug, Default)]
pub(super) struct Growing {
    set: Arc<Ascending>,
    waiting: Vec<u64>,
}

impl Growing {
    pub(super) fn of(set: &Arc<Ascending>) -> Self {
        Self { set: Arc::clone(set), waiting: Vec::new() }
    }

    pub(super) fn add(&mut self, number: u64) {
        self.waiting.push(number);
        if self.waiting.len() >= MERGED_MIN.max(self.set.n_numbers / 4) {
            self.merge();
        }
    }

    fn merge(&mut self) {
        self.waiting.sort_unstable();
        self.set = Arc::new(self.set.merged(&self.waiting));
        self.waiting.clear();
    }

    /// Bytes of memory that the set takes without what waits.
    pub(super) fn n_bytes(&self) -> usize {
        self.set.n_bytes()
    }

    pub(super) fn into_set(mut self) -> Arc<Ascending> {
        if !self.waiting.is_empty() {
            self.merge();
        }
        self.set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use index::testsuite::spread;

    use super::*;

    fn set_of(numbers: impl IntoIterator<Item = u64>) -> Arc<Ascending> {
        let mut growing = Growing::default();
        for number in numbers {
            growing.add(number);
            // As often as there is anything.
            if number % 3 == 0 {
                growing.merge();
            }
        }
        growing.into_set()
    }

    #[test]
    fn a_set_is_what_was_added() {
        for n in [0, 1, 2, 63, 64, 65, 128, 1_000] {
            for shift in [0, 20, 58] {
                let numbers: Vec<u64> = (0..n).map(|i| spread(i % (n / 2 + 1)) >> shift).collect();
                let expected: BTreeSet<u64> = numbers.iter().copied().collect();
                let set = set_of(numbers);
                assert!(set.from(0).eq(expected.iter().copied()), "{n} {shift}");
                for &number in expected.iter().chain(&[0, 1, u64::MAX]) {
                    for start in [number.saturating_sub(1), number, number.saturating_add(1)] {
                        assert!(set.from(start).eq(expected.range(start..).copied()), "{start}");
                    }
                }
                assert_eq!(Ascending::decode(set.bytes().to_vec()).unwrap(), *set);
            }
        }
    }

    /// Gaps of each length, amid others and at the end.
    #[test]
    fn gaps_of_all_lengths() {
        let powers = (0..64).map(|bit| 1 << bit);
        let numbers: Vec<u64> = powers.flat_map(|power: u64| [power - 1, power, power + 1]).collect();
        for n in 0..=numbers.len() {
            let set = set_of(numbers[..n].iter().copied());
            let expected: BTreeSet<u64> = numbers[..n].iter().copied().collect();
            assert!(set.from(0).eq(expected.iter().copied()), "{n}");
            assert_eq!(Ascending::decode(set.bytes().to_vec()).unwrap(), *set);
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        let set = set_of([u64::MAX, 0, 1 << 63]);
        assert!(set.from(0).eq([0, 1 << 63, u64::MAX]));
        assert_eq!(Ascending::decode(set.bytes().to_vec()).unwrap(), *set);
    }

    #[test]
    fn what_is_no_set_is_refused() {
        for bytes in [
            &[1, 0][..],
            &[1, 0x80],
            &[0x81, 0x00],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 1],
            &[0x81, 0x00, 1, 1, 1, 1, 1, 1, 1],
            &[1, 1, 1, 1, 1, 1, 1, 1, 0x81],
        ] {
            assert!(Ascending::decode(bytes.to_vec()).is_err(), "{bytes:x?}");
        }
    }
}
