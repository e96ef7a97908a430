//! A map by numbers that ascend as they come.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};

/// The numbers of a chunk: a bit each in a word.
const CHUNK_LEN: u64 = u64::BITS as u64;

/// Values by number, in the order of their numbers. A value takes its own size and some bytes more:
/// a tree of single values would keep its leaves half empty.
#[derive(Debug)]
pub(super) struct ByNumber<T> {
    /// The chunks by number / [`CHUNK_LEN`]. None is empty.
    chunks: BTreeMap<u64, Chunk<T>>,
    len: usize,
}

#[derive(Debug)]
struct Chunk<T> {
    /// The numbers of the values, as bits.
    numbers: u64,
    values: Vec<T>,
}

impl<T> Default for ByNumber<T> {
    fn default() -> Self {
        Self { chunks: BTreeMap::new(), len: 0 }
    }
}

impl<T> Chunk<T> {
    /// The place of the first value of this number or a greater one.
    fn place(&self, bit: u32) -> usize {
        (self.numbers & !(u64::MAX << bit)).count_ones() as usize
    }

    fn has(&self, bit: u32) -> bool {
        self.numbers >> bit & 1 == 1
    }
}

fn split(number: u64) -> (u64, u32) {
    (number / CHUNK_LEN, (number % CHUNK_LEN) as u32)
}

impl<T> ByNumber<T> {
    /// The number of values.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, number: u64) -> Option<&T> {
        let (chunk, bit) = split(number);
        let chunk = self.chunks.get(&chunk).filter(|chunk| chunk.has(bit))?;
        chunk.values.get(chunk.place(bit))
    }

    /// Adds a value under a number without one. Costs least where numbers ascend.
    pub(super) fn insert(&mut self, number: u64, value: T) {
        let (chunk, bit) = split(number);
        let new = || Chunk { numbers: 0, values: Vec::new() };
        let chunk = self.chunks.entry(chunk).or_insert_with(new);
        debug_assert!(!chunk.has(bit), "{number} has a value");
        chunk.values.insert(chunk.place(bit), value);
        chunk.numbers |= 1 << bit;
        self.len += 1;
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<T> {
        let (key, bit) = split(number);
        let chunk = self.chunks.get_mut(&key).filter(|chunk| chunk.has(bit))?;
        let value = chunk.values.remove(chunk.place(bit));
        chunk.numbers &= !(1 << bit);
        if chunk.values.is_empty() {
            self.chunks.remove(&key);
        } else if chunk.values.len() * 2 <= chunk.values.capacity() {
            chunk.values.shrink_to_fit();
        }
        self.len -= 1;
        Some(value)
    }

    /// The values of a range of numbers, ascending.
    pub(super) fn range(&self, numbers: impl RangeBounds<u64>) -> impl Iterator<Item = (u64, &T)> {
        let of_chunk = |bound: Bound<&u64>| match bound {
            Bound::Included(&number) | Bound::Excluded(&number) => Bound::Included(number / CHUNK_LEN),
            Bound::Unbounded => Bound::Unbounded,
        };
        let chunks = (of_chunk(numbers.start_bound()), of_chunk(numbers.end_bound()));
        let all = self.chunks.range(chunks).flat_map(|(&chunk, held)| {
            let bits = (0..u64::BITS).filter(|&bit| held.has(bit));
            bits.zip(&held.values).map(move |(bit, value)| (chunk * CHUNK_LEN + u64::from(bit), value))
        });
        all.filter(move |(number, _)| numbers.contains(number))
    }

    /// The value of the greatest number below this one.
    pub(super) fn last_below(&self, number: u64) -> Option<(u64, &T)> {
        let (chunk, bit) = split(number);
        let below = |(&chunk, held): (&u64, &'_ Chunk<T>), numbers: u64| {
            numbers.checked_ilog2().map(|bit| (chunk * CHUNK_LEN + u64::from(bit), held.place(bit)))
        };
        let in_chunk = self.chunks.get_key_value(&chunk).and_then(|(key, held)| {
            below((key, held), held.numbers & !(u64::MAX << bit)).map(|(at, place)| (at, &held.values[place]))
        });
        in_chunk.or_else(|| {
            let (key, held) = self.chunks.range(..chunk).next_back()?;
            below((key, held), held.numbers).map(|(at, place)| (at, &held.values[place]))
        })
    }

    /// The values in the order of their numbers.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.chunks.values().flat_map(|chunk| &chunk.values)
    }

    /// The value of the greatest number.
    pub(super) fn last(&self) -> Option<&T> {
        self.chunks.last_key_value().and_then(|(_, chunk)| chunk.values.last())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compared with the standard map, whatever is put in and taken out.
        #[test]
        fn values_are_a_map(steps in prop::collection::vec((any::<bool>(), 0_u64..400), 0..400), at in 0_u64..400, len in 0_u64..400) {
            let (mut held, mut expected) = (ByNumber::default(), BTreeMap::new());
            for (value, &(puts, number)) in steps.iter().enumerate() {
                if puts && !expected.contains_key(&number) {
                    held.insert(number, value);
                    expected.insert(number, value);
                } else {
                    prop_assert_eq!(held.remove(number), expected.remove(&number));
                }
            }
            prop_assert_eq!(held.len(), expected.len());
            prop_assert!(held.values().eq(expected.values()));
            prop_assert_eq!(held.last(), expected.values().next_back());
            prop_assert_eq!(held.get(at), expected.get(&at));
            let owned = |(&number, value)| (number, value);
            prop_assert!(held.range(at..).eq(expected.range(at..).map(owned)));
            prop_assert!(held.range(at..at + len).eq(expected.range(at..at + len).map(owned)));
            prop_assert!(held.range(at..=at + len).eq(expected.range(at..=at + len).map(owned)));
            prop_assert_eq!(held.last_below(at), expected.range(..at).next_back().map(owned));
        }
    }

    /// Numbers that are never used again leave no room behind.
    #[test]
    fn what_is_taken_out_gives_its_room_back() {
        let mut held = ByNumber::default();
        for number in 0..10_000 {
            held.insert(number, [0_u8; 64]);
            if number >= 100 && number % 50 != 0 {
                held.remove(number - 100);
            }
        }
        let room: usize = held.chunks.values().map(|chunk| chunk.values.capacity()).sum();
        assert!(room <= 3 * held.len() + 64, "{room} for {}", held.len());
    }
}
