//! What is known of an image in memory: filters of its segments, and the fingerprints of its
//! simhashes. Most buckets that a search asks for are empty, and a filter says so without a look at
//! the blocks; of the others, most documents are strangers, which their fingerprints tell.
//!
//! A section is taken up once it has been asked for often, a few blocks at each further look-up. So
//! a single query pays nothing for it, and no call waits for a whole section.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use index::Family;
use simhash::{BucketKey, Fingerprint};

use super::Header;
use super::block::{Block, FINGERPRINTS};
use super::header::Section;
use super::view::{Fault, View, word_of};

/// Bits of a filter for each entry, which sets four: some 2 % of the absent segments pass.
const BITS_PER_ENTRY: u64 = 10;

/// Bytes for the fingerprint of a document. Half of them are of numbers that are not there any
/// more.
const BYTES_PER_FINGERPRINT: u64 = 16;

/// Divisor of a section's entries: so many look-ups come before it is taken up.
const ENTRIES_PER_LOOK_UP: u64 = 256;

/// Blocks taken up at each look-up.
const BLOCKS_AT_ONCE: usize = 8;

/// The parts of an image in use that are in memory.
#[derive(Debug)]
pub(crate) struct Filters {
    filters: Vec<Held<Filter>>,
    fingerprints: Option<Held<Fingerprints>>,
    /// The place of each flag's filter, 255 for none.
    places: [u8; 256],
}

impl Filters {
    /// Parts that take at most `n_bytes_max` together: those of the first sections that fit.
    pub(crate) fn new(header: &Header, n_bytes_max: u64) -> Self {
        let mut n_bytes_left = n_bytes_max;
        let mut room_for = |n_bytes: u64| {
            let room = if n_bytes <= n_bytes_left { n_bytes } else { 0 };
            n_bytes_left -= room;
            room
        };
        let mut filters = Vec::new();
        let mut fingerprints = None;
        let mut places = [u8::MAX; 256];
        for section in &header.sections {
            if section.number == FINGERPRINTS {
                fingerprints = Some(Held::new(section, room_for(header.n_documents * BYTES_PER_FINGERPRINT)));
            } else {
                places[usize::from(section.number)] = filters.len() as u8;
                filters.push(Held::new(section, room_for(n_words(section) * size_of::<u64>() as u64)));
            }
        }
        Self { filters, fingerprints, places }
    }

    /// Returns false if a bucket of the image is known to be empty.
    pub(super) fn may_hold(&self, key: BucketKey, image: &View<'_, '_>) -> Result<bool, Fault> {
        let place = self.places[usize::from(key.flag)];
        let Some(held) = self.filters.get(usize::from(place)) else { return Ok(false) };
        Ok(held.get(image)?.is_none_or(|filter| filter.may_hold(key.segment)))
    }

    /// The simhash of a document in the image, by its word in the section of fingerprints, if it is
    /// in memory.
    pub(super) fn simhash(&self, word: u64, image: &View<'_, '_>) -> Result<Option<Fingerprint>, Fault> {
        let Some(held) = self.fingerprints.as_ref().filter(|_| is_simhash(word)) else { return Ok(None) };
        Ok(held.get(image)?.and_then(|fingerprints| fingerprints.of(word >> 8)))
    }

    /// The bytes in use.
    pub(crate) fn heap_bytes(&self) -> usize {
        let filters = self.filters.iter().filter_map(|held| held.whole.get());
        let fingerprints = self.fingerprints.iter().filter_map(|held| held.whole.get());
        filters.map(|filter| size_of_val(&*filter.words)).sum::<usize>()
            + fingerprints.map(|of| size_of_val(&*of.bits)).sum::<usize>()
    }
}

/// The part in memory that a section becomes, block by block in their order.
trait Part: Default {
    /// A part without a block, of a section whose words lie in this stretch. `None` where `n_bytes`
    /// are too few for it.
    fn begin(section: &Section, first: u64, last: u64, n_bytes: u64) -> Option<Self>;

    fn add(&mut self, block: &Block<'_>);
}

/// A section, and the part that it becomes.
#[derive(Debug)]
struct Held<T> {
    section: Section,
    /// The bytes that the part may take.
    room: u64,
    /// The look-ups so far, until the part is whole.
    n_asked: AtomicU64,
    growing: Mutex<Growing<T>>,
    whole: OnceLock<T>,
}

/// A part of a section's first blocks.
#[derive(Debug, Default)]
struct Growing<T> {
    part: Option<T>,
    /// The first word that the next block answers for.
    next: u64,
    n_entries: u64,
    /// True if there is no room for the part.
    is_given_up: bool,
}

impl<T: Part> Held<T> {
    fn new(section: &Section, room: u64) -> Self {
        Self {
            section: *section,
            room,
            n_asked: AtomicU64::new(0),
            growing: Mutex::default(),
            whole: OnceLock::new(),
        }
    }

    /// The part, if it is whole.
    fn get(&self, image: &View<'_, '_>) -> Result<Option<&T>, Fault> {
        if self.whole.get().is_none() {
            self.look_up(image)?;
        }
        Ok(self.whole.get())
    }

    /// Counts a look-up, and adds some blocks to the part where there were enough before.
    fn look_up(&self, image: &View<'_, '_>) -> Result<(), Fault> {
        let n_asked = self.n_asked.fetch_add(1, Ordering::Relaxed);
        if self.room == 0 || n_asked < self.section.n_entries / ENTRIES_PER_LOOK_UP {
            return Ok(());
        }
        // While another thread adds blocks, or after a panic in one, searches read the blocks.
        let Ok(mut growing) = self.growing.try_lock() else { return Ok(()) };
        let Growing { part, next, n_entries, is_given_up } = &mut *growing;
        if *is_given_up || self.whole.get().is_some() {
            return Ok(());
        }
        let number = self.section.number;
        let part = match part {
            Some(part) => part,
            none => {
                let first = image.block(number, 0)?.words().next();
                let last = image.block(number, u64::MAX)?.words().last();
                let (first, last) = first.zip(last).ok_or(Fault::Damaged)?;
                let Some(part) = T::begin(&self.section, first, last, self.room) else {
                    *is_given_up = true;
                    return Ok(());
                };
                none.insert(part)
            }
        };
        for _ in 0..BLOCKS_AT_ONCE {
            let block = image.block(number, *next)?;
            part.add(&block);
            *n_entries += block.words().count() as u64;
            if block.until == u64::MAX {
                if *n_entries != self.section.n_entries {
                    return Err(Fault::Damaged);
                }
                let _ = self.whole.set(std::mem::take(part));
                return Ok(());
            }
            *next = block.until + 1;
        }
        Ok(())
    }
}

/// A Bloom filter of segments, each in one word of 64 bits. Ascending segments have ascending
/// words, so a filter is filled from one end to the other.
#[derive(Debug, Default)]
struct Filter {
    words: Vec<u64>,
    /// The greatest segment.
    last: u32,
    /// Words for each segment, in parts of 2^32.
    scale: u64,
}

fn n_words(section: &Section) -> u64 {
    (section.n_entries * BITS_PER_ENTRY).div_ceil(u64::BITS.into())
}

impl Part for Filter {
    fn begin(section: &Section, _: u64, last: u64, _: u64) -> Option<Self> {
        let n_words = n_words(section).max(1);
        let last = (last >> 32) as u32;
        Some(Self { words: vec![0; n_words as usize], last, scale: (n_words << 32) / (u64::from(last) + 1) })
    }

    fn add(&mut self, block: &Block<'_>) {
        block.words().for_each(|word| self.add_segment((word >> 32) as u32));
    }
}

impl Filter {
    fn add_segment(&mut self, segment: u32) {
        let (at, bits) = self.place(segment);
        if let Some(word) = self.words.get_mut(at) {
            *word |= bits;
        }
    }

    fn may_hold(&self, segment: u32) -> bool {
        let (at, bits) = self.place(segment);
        segment <= self.last && self.words.get(at).is_some_and(|word| word & bits == bits)
    }

    /// The word of a segment, and its bits there.
    fn place(&self, segment: u32) -> (usize, u64) {
        let at = (u128::from(segment) * u128::from(self.scale)) >> 32;
        // The multiplication brings all bits of the segment into the high ones.
        let hash = u64::from(segment).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (at as usize, (0..4).fold(0, |bits, n| bits | 1 << (hash >> (6 * n) & 63)))
    }
}

/// The simhashes of an image by number, from the first one on.
#[derive(Debug, Default)]
struct Fingerprints {
    first: u64,
    /// 0 for numbers that are not there.
    bits: Vec<u64>,
}

fn is_simhash(word: u64) -> bool {
    word == word_of(word >> 8, Family::Simhash)
}

impl Part for Fingerprints {
    fn begin(_: &Section, first: u64, last: u64, n_bytes: u64) -> Option<Self> {
        let (first, last) = (first >> 8, last >> 8);
        let n = last - first + 1;
        (n * size_of::<u64>() as u64 <= n_bytes).then(|| Self { first, bits: vec![0; n as usize] })
    }

    fn add(&mut self, block: &Block<'_>) {
        for (word, bits) in block.fingerprints().filter(|&(word, _)| is_simhash(word)) {
            let place = (word >> 8).checked_sub(self.first);
            if let Some(held) = place.and_then(|place| self.bits.get_mut(place as usize)) {
                *held = bits;
            }
        }
    }
}

impl Fingerprints {
    fn of(&self, number: u64) -> Option<Fingerprint> {
        let place = number.checked_sub(self.first)?;
        self.bits.get(place as usize).copied().map(Fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_held_and_little_else() {
        for bits in [20, 26, 32] {
            let section = Section { number: 64, n_blocks: 1, n_entries: 20_000 };
            let segment = |n: u32| n.wrapping_mul(0x9e37_79b1) >> (32 - bits);
            let last = (0..20_000).map(segment).max().unwrap();
            let mut filter = Filter::begin(&section, 0, u64::from(last) << 32, 0).unwrap();
            (0..20_000).for_each(|n| filter.add_segment(segment(n)));
            assert!((0..20_000).all(|n| filter.may_hold(segment(n))));
            let held: std::collections::HashSet<u32> = (0..20_000).map(segment).collect();
            let others = (20_000..120_000).map(segment).filter(|segment| !held.contains(segment));
            let (n_passed, n) = others.fold((0, 0), |(n_passed, n), segment| {
                (n_passed + usize::from(filter.may_hold(segment)), n + 1)
            });
            assert!(n_passed * 25 < n, "{n_passed} of {n} with {bits} bits");
            assert!(!filter.may_hold(u32::MAX) || bits == 32);
        }
    }
}
