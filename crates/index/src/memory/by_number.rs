//! Byte strings by numbers that ascend.

use std::collections::VecDeque;
use std::ops::{Bound, RangeBounds};

/// The numbers of a chunk: a bit each in a word.
const CHUNK_LEN: u64 = u64::BITS as u64;

/// Byte strings by number, in the order of their numbers. A string takes its own length and about
/// 6 bytes more.
#[derive(Debug, Default)]
pub(super) struct ByNumber {
    /// The chunks, ascending by number / [`CHUNK_LEN`]. None is empty.
    chunks: VecDeque<(u64, Chunk)>,
    len: usize,
}

#[derive(Debug, Default)]
struct Chunk {
    /// The numbers of the strings, as bits.
    numbers: u64,
    /// The end of each string in `bytes`.
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl Chunk {
    fn has(&self, bit: u32) -> bool {
        self.numbers >> bit & 1 == 1
    }

    /// The place of the first string of this number or a greater one.
    fn place(&self, bit: u32) -> usize {
        (self.numbers & !(u64::MAX << bit)).count_ones() as usize
    }

    fn start(&self, place: usize) -> usize {
        if place == 0 { 0 } else { self.ends[place - 1] as usize }
    }

    fn at(&self, place: usize) -> &[u8] {
        &self.bytes[self.start(place)..self.ends[place] as usize]
    }

    fn push(&mut self, bit: u32, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(u32::try_from(self.bytes.len()).expect("64 short strings are below 4 GiB"));
        self.numbers |= 1 << bit;
        if u64::from(bit) == CHUNK_LEN - 1 {
            self.shrink();
        }
    }

    fn remove(&mut self, bit: u32) {
        let place = self.place(bit);
        let (start, end) = (self.start(place), self.ends[place]);
        self.bytes.drain(start..end as usize);
        self.ends.remove(place);
        self.ends[place..].iter_mut().for_each(|other| *other -= end - start as u32);
        self.numbers &= !(1 << bit);
        if self.bytes.len() * 2 <= self.bytes.capacity() {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

fn split(number: u64) -> (u64, u32) {
    (number / CHUNK_LEN, (number % CHUNK_LEN) as u32)
}

impl ByNumber {
    /// The number of strings.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The place of the chunk of this key, or else where it would be: its distance to the first
    /// chunk, less the chunks that are missing between the two.
    fn find(&self, key: u64) -> Result<usize, usize> {
        let Some(&(first, _)) = self.chunks.front() else { return Err(0) };
        let at_most = usize::try_from(key.saturating_sub(first)).unwrap_or(usize::MAX);
        match self.chunks.get(at_most) {
            Some(&(at, _)) if at == key => Ok(at_most),
            _ => self.chunks.binary_search_by_key(&key, |&(at, _)| at),
        }
    }

    pub(super) fn get(&self, number: u64) -> Option<&[u8]> {
        let (key, bit) = split(number);
        let chunk = &self.chunks[self.find(key).ok()?].1;
        chunk.has(bit).then(|| chunk.at(chunk.place(bit)))
    }

    /// Adds a string under a number above all that were ever used.
    pub(super) fn push(&mut self, number: u64, bytes: &[u8]) {
        debug_assert!(self.last().is_none_or(|(last, _)| last < number), "{number} does not ascend");
        let (key, bit) = split(number);
        match self.chunks.back_mut() {
            Some((last, chunk)) if *last == key => chunk.push(bit, bytes),
            _ => {
                let mut chunk = Chunk::default();
                chunk.push(bit, bytes);
                self.chunks.push_back((key, chunk));
            }
        }
        self.len += 1;
    }

    /// Removes a string. Returns false if there is none under this number.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        let (key, bit) = split(number);
        let Ok(at) = self.find(key) else { return false };
        let chunk = &mut self.chunks[at].1;
        if !chunk.has(bit) {
            return false;
        }
        chunk.remove(bit);
        if chunk.numbers == 0 {
            self.chunks.remove(at);
        }
        self.len -= 1;
        true
    }

    /// The strings of a range of numbers, ascending.
    pub(super) fn range(&self, numbers: impl RangeBounds<u64>) -> impl Iterator<Item = (u64, &[u8])> {
        let place = |number: u64| self.find(number / CHUNK_LEN);
        let start = match numbers.start_bound() {
            Bound::Included(&number) | Bound::Excluded(&number) => place(number).unwrap_or_else(|at| at),
            Bound::Unbounded => 0,
        };
        let end = match numbers.end_bound() {
            Bound::Included(&number) | Bound::Excluded(&number) => {
                place(number).map_or_else(|at| at, |at| at + 1)
            }
            Bound::Unbounded => self.chunks.len(),
        };
        let all = self.chunks.range(start..end.max(start)).flat_map(|(key, held)| {
            let bits = (0..u64::BITS).filter(|&bit| held.has(bit));
            bits.enumerate().map(move |(place, bit)| (key * CHUNK_LEN + u64::from(bit), held.at(place)))
        });
        all.filter(move |(number, _)| numbers.contains(number))
    }

    /// The string of the greatest number below this one.
    pub(super) fn last_below(&self, number: u64) -> Option<(u64, &[u8])> {
        let (key, bit) = split(number);
        let end = self.find(key).map_or_else(|at| at, |at| at + 1);
        self.chunks.range(..end).rev().find_map(|(chunk, held)| {
            let numbers = if *chunk == key { held.numbers & !(u64::MAX << bit) } else { held.numbers };
            let bit = numbers.checked_ilog2()?;
            Some((chunk * CHUNK_LEN + u64::from(bit), held.at(held.place(bit))))
        })
    }

    /// The string of the greatest number.
    pub(super) fn last(&self) -> Option<(u64, &[u8])> {
        let (chunk, held) = self.chunks.back()?;
        let number = chunk * CHUNK_LEN + u64::from(held.numbers.checked_ilog2()?);
        Some((number, held.at(held.ends.len() - 1)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compared with the standard map, with gaps between the numbers and any of them removed.
        #[test]
        fn strings_are_a_map(
            gaps in prop::collection::vec(1_u64..90, 0..300),
            removed in prop::collection::vec(any::<prop::sample::Index>(), 0..300),
            at in 0_u64..3_000,
            len in 0_u64..3_000,
        ) {
            let (mut held, mut expected, mut number) = (ByNumber::default(), BTreeMap::new(), 0);
            for gap in &gaps {
                number += if gap % 3 == 0 { *gap } else { 1 };
                let string = vec![number as u8; number as usize % 7];
                held.push(number, &string);
                expected.insert(number, string);
            }
            for index in removed {
                let number = index.index(number as usize + 2) as u64;
                prop_assert_eq!(held.remove(number), expected.remove(&number).is_some());
            }
            let borrowed = |(&number, string): (&u64, &'_ Vec<u8>)| (number, string.clone());
            let owned = |(number, string): (u64, &[u8])| (number, string.to_vec());
            prop_assert_eq!(held.len(), expected.len());
            prop_assert_eq!(held.last().map(owned), expected.last_key_value().map(borrowed));
            prop_assert_eq!(held.get(at), expected.get(&at).map(Vec::as_slice));
            prop_assert!(held.range(at..).map(owned).eq(expected.range(at..).map(borrowed)));
            let (some, up_to) = (at..at + len, at..=at + len);
            prop_assert!(held.range(some.clone()).map(owned).eq(expected.range(some).map(borrowed)));
            prop_assert!(held.range(up_to.clone()).map(owned).eq(expected.range(up_to).map(borrowed)));
            prop_assert_eq!(held.last_below(at).map(owned), expected.range(..at).next_back().map(borrowed));
        }
    }

    /// Numbers that are never used again leave no room behind.
    #[test]
    fn what_is_taken_out_gives_its_room_back() {
        let mut held = ByNumber::default();
        for number in 0..10_000 {
            held.push(number, &[0; 64]);
            if number >= 100 && number % 50 != 0 {
                held.remove(number - 100);
            }
        }
        let room: usize = held.chunks.iter().map(|(_, chunk)| chunk.bytes.capacity()).sum();
        assert!(room <= 3 * 64 * held.len(), "{room} for {}", held.len());
    }
}
