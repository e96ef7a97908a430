//! What is known of an image in memory: filters of its segments, and the fingerprints of its
//! documents. Most buckets that a search asks for are empty, and a filter says so without a look at
//! the blocks; of the others, most documents are strangers, which their fingerprints tell.
//!
//! A section is taken up once it has been asked for often, a few blocks at each further look-up. So
//! a single query pays nothing for it, and no call waits for a whole section.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use index::{Family, SketchKind};
use simhash::{BucketKey, Fingerprint};

use super::block::{Block, FINGERPRINTS};
use super::header::Section;
use super::view::{Fault, View};
use super::{Header, place_of};

/// Bits of a filter for each entry, which sets four: some 2 % of the absent segments pass.
const BITS_PER_ENTRY: u64 = 10;

/// Bytes that a document's simhash may take, and as many again for a number that is not there any
/// more.
const BYTES_PER_SIMHASH: u64 = 2 * size_of::<u64>() as u64;

/// The same for the bits of its signature, which have their family beside them.
const BYTES_PER_SIGNATURE: u64 = 2 * (size_of::<u64>() + size_of::<u8>()) as u64;

/// Divisor of a section's entries: so many look-ups come before it is taken up.
const ENTRIES_PER_LOOK_UP: u64 = 256;

/// Blocks taken up at each look-up.
const BLOCKS_AT_ONCE: usize = 8;

/// The parts of an image in use that are in memory.
#[derive(Debug)]
pub(crate) struct Filters {
    filters: Vec<Held<Filter>>,
    simhashes: Option<Held<Simhashes>>,
    signatures: Option<Held<Signatures>>,
    /// The place of each flag's filter, 255 for none.
    places: [u8; 256],
    /// The bytes that all parts may take together.
    n_bytes_max: u64,
}

impl Filters {
    /// Parts that take at most `n_bytes_max` together: the first of simhashes, the sections'
    /// filters and signatures that fit.
    pub(crate) fn new(header: &Header, kind: &SketchKind, n_bytes_max: u64) -> Self {
        let mut n_bytes_left = n_bytes_max;
        let mut room_for = |n_bytes: u64| {
            let room = if n_bytes <= n_bytes_left { n_bytes } else { 0 };
            n_bytes_left -= room;
            room
        };
        let (of_fingerprints, of_flags): (Vec<_>, Vec<_>) =
            header.sections.iter().partition(|section| section.number == FINGERPRINTS);
        let is_of_simhash = |section: &&&Section| kind.family(section.number) == Family::Simhash;
        let n_simhash_flags = of_flags.iter().filter(is_of_simhash).count();
        let fingerprints = of_fingerprints.first();

        let simhashes = fingerprints
            .filter(|_| n_simhash_flags > 0)
            .map(|section| Held::new(section, room_for(header.n_documents * BYTES_PER_SIMHASH)));
        let mut places = [u8::MAX; 256];
        let filters = of_flags
            .iter()
            .zip(0..)
            .map(|(section, place)| {
                places[usize::from(section.number)] = place;
                Held::new(section, room_for(n_words(section) * size_of::<u64>() as u64))
            })
            .collect();
        let signatures = fingerprints
            .filter(|_| n_simhash_flags < of_flags.len())
            .map(|section| Held::new(section, room_for(header.n_documents * BYTES_PER_SIGNATURE)));
        Self { filters, simhashes, signatures, places, n_bytes_max: n_bytes_max - n_bytes_left }
    }

    /// The bytes that all parts take at most.
    pub(super) fn n_bytes_max(&self) -> u64 {
        self.n_bytes_max
    }

    /// Returns false if a bucket of the image is known to be empty.
    pub(super) fn may_hold(&self, key: BucketKey, image: &View<'_, '_>) -> Result<bool, Fault> {
        let place = self.places[usize::from(key.flag)];
        let Some(held) = self.filters.get(usize::from(place)) else { return Ok(false) };
        Ok(held.get(image)?.is_none_or(|filter| filter.may_hold(key.segment)))
    }

    /// The 64 bits filed under a word of the section of fingerprints, if they are in memory.
    pub(super) fn bits_of(&self, word: u64, image: &View<'_, '_>) -> Result<Option<Fingerprint>, Fault> {
        let bits = if is_simhash(word) {
            held(self.simhashes.as_ref(), image)?.and_then(|simhashes| simhashes.of(word))
        } else {
            held(self.signatures.as_ref(), image)?.and_then(|signatures| signatures.of(word))
        };
        Ok(bits.map(Fingerprint))
    }

    /// The bytes in use.
    pub(crate) fn heap_bytes(&self) -> usize {
        let of_filters = self.filters.iter().filter_map(|held| held.whole.get());
        let of_simhashes = self.simhashes.iter().filter_map(|held| held.whole.get());
        let of_signatures = self.signatures.iter().filter_map(|held| held.whole.get());
        of_filters.map(|filter| size_of_val(&*filter.words)).sum::<usize>()
            + of_simhashes.map(|of| size_of_val(&*of.bits)).sum::<usize>()
            + of_signatures.map(|of| size_of_val(&*of.bits) + size_of_val(&*of.families)).sum::<usize>()
    }
}

fn held<'a, T: Part>(part: Option<&'a Held<T>>, image: &View<'_, '_>) -> Result<Option<&'a T>, Fault> {
    part.map_or(Ok(None), |held| held.get(image))
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
        let mut n_taken_up = 0;
        for block in image.blocks_from(number, *next)?.take(BLOCKS_AT_ONCE) {
            let block = block?;
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
            n_taken_up += 1;
        }
        // The last block ends above.
        if n_taken_up == 0 { Err(Fault::Damaged) } else { Ok(()) }
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

fn is_simhash(word: u64) -> bool {
    family_of(word) == place_of(Family::Simhash)
}

/// The place of a word's family among all.
fn family_of(word: u64) -> u8 {
    word as u8
}

/// The numbers of the documents in an image.
struct Stretch {
    first: u64,
    len: usize,
}

impl Stretch {
    /// The numbers from one word of the section of fingerprints to another. `None` where `n_bytes`
    /// are too few for `n_item_bytes` each.
    fn of(first: u64, last: u64, n_item_bytes: usize, n_bytes: u64) -> Option<Self> {
        let (first, last) = (first >> 8, last >> 8);
        let len = last - first + 1;
        (len * n_item_bytes as u64 <= n_bytes).then_some(Self { first, len: len as usize })
    }
}

/// The place of a word in a part that begins with the number `first`.
fn place_from(first: u64, word: u64) -> Option<usize> {
    (word >> 8).checked_sub(first).map(|place| place as usize)
}

/// The simhashes of an image by number, from the first one on.
#[derive(Debug, Default)]
struct Simhashes {
    first: u64,
    /// 0 for numbers that are not there.
    bits: Vec<u64>,
}

impl Part for Simhashes {
    fn begin(_: &Section, first: u64, last: u64, n_bytes: u64) -> Option<Self> {
        let Stretch { first, len } = Stretch::of(first, last, size_of::<u64>(), n_bytes)?;
        Some(Self { first, bits: vec![0; len] })
    }

    fn add(&mut self, block: &Block<'_>) {
        for (word, bits) in block.fingerprints().filter(|&(word, _)| is_simhash(word)) {
            let place = place_from(self.first, word);
            if let Some(held) = place.and_then(|place| self.bits.get_mut(place)) {
                *held = bits;
            }
        }
    }
}

impl Simhashes {
    fn of(&self, word: u64) -> Option<u64> {
        self.bits.get(place_from(self.first, word)?).copied()
    }
}

/// The bits of the signatures of an image by number, from the first one on. Of a document with
/// several signatures it holds the last one.
#[derive(Debug, Default)]
struct Signatures {
    first: u64,
    bits: Vec<u64>,
    /// The family of each signature, that of simhashes where there is none.
    families: Vec<u8>,
}

impl Part for Signatures {
    fn begin(_: &Section, first: u64, last: u64, n_bytes: u64) -> Option<Self> {
        let Stretch { first, len } = Stretch::of(first, last, size_of::<u64>() + size_of::<u8>(), n_bytes)?;
        Some(Self { first, bits: vec![0; len], families: vec![place_of(Family::Simhash); len] })
    }

    fn add(&mut self, block: &Block<'_>) {
        for (word, bits) in block.fingerprints().filter(|&(word, _)| !is_simhash(word)) {
            let Some(place) = place_from(self.first, word) else { continue };
            if let (Some(held), Some(family)) = (self.bits.get_mut(place), self.families.get_mut(place)) {
                (*held, *family) = (bits, family_of(word));
            }
        }
    }
}

impl Signatures {
    /// `None` where the document's signature of that family is not held.
    fn of(&self, word: u64) -> Option<u64> {
        let place = place_from(self.first, word)?;
        self.bits.get(place).copied().filter(|_| self.families.get(place) == Some(&family_of(word)))
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
