//! Filters of the segments in an image. Most buckets that a search asks for are empty, and a filter
//! says so without a look at the blocks.
//!
//! A filter grows out of the blocks once its section has been asked for often, a few blocks at each
//! further look-up. So a single query pays nothing for it, and no call waits for a whole section.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use simhash::BucketKey;

use super::Header;
use super::header::Section;
use super::view::{Fault, View};

/// Bits of a filter for each entry, which sets four: some 2 % of the absent segments pass.
const BITS_PER_ENTRY: u64 = 10;

/// Divisor of a section's entries: so many look-ups come before its filter.
const ENTRIES_PER_LOOK_UP: u64 = 256;

/// Blocks added at each look-up.
const BLOCKS_AT_ONCE: usize = 8;

/// The filters of an image in use.
#[derive(Debug)]
pub(crate) struct Filters {
    of_sections: Vec<OfSection>,
    /// The place of each flag's section, 255 for none.
    places: [u8; 256],
}

#[derive(Debug)]
struct OfSection {
    section: Section,
    /// True if there is memory for the filter.
    has_room: bool,
    /// The look-ups so far, until the filter is whole.
    n_asked: AtomicU64,
    growing: Mutex<Growing>,
    whole: OnceLock<Filter>,
}

/// The filter of a section's first blocks.
#[derive(Debug, Default)]
struct Growing {
    filter: Filter,
    /// The first word that the next block answers for.
    next: u64,
    n_entries: u64,
}

impl Filters {
    /// Filters that take at most `n_bytes_max` together: those of the first sections that fit.
    pub(crate) fn new(header: &Header, n_bytes_max: u64) -> Self {
        let mut n_bytes_left = n_bytes_max;
        let of_section = |section: &Section| {
            let n_bytes = n_words(section) * size_of::<u64>() as u64;
            let has_room = n_bytes <= n_bytes_left;
            n_bytes_left -= if has_room { n_bytes } else { 0 };
            OfSection {
                section: *section,
                has_room,
                n_asked: AtomicU64::new(0),
                growing: Mutex::default(),
                whole: OnceLock::new(),
            }
        };
        let of_sections: Vec<OfSection> = header.sections.iter().map(of_section).collect();
        let mut places = [u8::MAX; 256];
        for (place, of_section) in (0..).zip(&of_sections) {
            places[usize::from(of_section.section.number)] = place;
        }
        Self { of_sections, places }
    }

    /// Returns false if a bucket of the image is known to be empty.
    pub(super) fn may_hold(&self, key: BucketKey, image: &View<'_, '_>) -> Result<bool, Fault> {
        let place = self.places[usize::from(key.flag)];
        let Some(of_section) = self.of_sections.get(usize::from(place)) else { return Ok(false) };
        if of_section.whole.get().is_none() {
            of_section.look_up(image)?;
        }
        Ok(of_section.whole.get().is_none_or(|filter| filter.may_hold(key.segment)))
    }

    /// The bytes in use.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.of_sections.iter().filter_map(|of| of.whole.get()).map(|filter| size_of_val(&*filter.0)).sum()
    }
}

impl OfSection {
    /// Counts a look-up, and adds some blocks to the filter where there were enough before.
    fn look_up(&self, image: &View<'_, '_>) -> Result<(), Fault> {
        let n_asked = self.n_asked.fetch_add(1, Ordering::Relaxed);
        if !self.has_room || n_asked < self.section.n_entries / ENTRIES_PER_LOOK_UP {
            return Ok(());
        }
        // While another thread adds blocks, or after a panic in one, searches go without a filter.
        let Ok(mut growing) = self.growing.try_lock() else { return Ok(()) };
        if self.whole.get().is_some() {
            return Ok(());
        }
        if growing.filter.0.is_empty() {
            growing.filter = Filter::new(&self.section);
        }
        for _ in 0..BLOCKS_AT_ONCE {
            let block = image.block(self.section.number, growing.next)?;
            for word in block.words() {
                growing.filter.add((word >> 32) as u32);
                growing.n_entries += 1;
            }
            if block.until == u64::MAX {
                if growing.n_entries != self.section.n_entries {
                    return Err(Fault::Damaged);
                }
                let _ = self.whole.set(std::mem::take(&mut growing.filter));
                return Ok(());
            }
            growing.next = block.until + 1;
        }
        Ok(())
    }
}

/// A Bloom filter of segments, each in one word of 64 bits.
#[derive(Debug, Default)]
struct Filter(Vec<u64>);

fn n_words(section: &Section) -> u64 {
    (section.n_entries * BITS_PER_ENTRY).div_ceil(u64::BITS.into())
}

impl Filter {
    fn new(section: &Section) -> Self {
        Self(vec![0; n_words(section).max(1) as usize])
    }

    fn add(&mut self, segment: u32) {
        let (at, bits) = self.place(segment);
        self.0[at] |= bits;
    }

    fn may_hold(&self, segment: u32) -> bool {
        let (at, bits) = self.place(segment);
        self.0[at] & bits == bits
    }

    /// The word of a segment, and its bits there.
    fn place(&self, segment: u32) -> (usize, u64) {
        // The finalizer of MurmurHash3.
        let mut hash = u64::from(segment) + 1;
        hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^= hash >> 33;
        let at = ((hash >> 32) * self.0.len() as u64) >> 32;
        let bits = (0..4).fold(0, |bits, n| bits | 1 << (hash >> (6 * n) & 63));
        (at as usize, bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_held_and_little_else() {
        let section = Section { number: 64, n_blocks: 1, n_entries: 20_000 };
        let mut filter = Filter::new(&section);
        let segment = |n: u32| n.wrapping_mul(0x9e37_79b1);
        (0..20_000).for_each(|n| filter.add(segment(n)));
        assert!((0..20_000).all(|n| filter.may_hold(segment(n))));
        let n_passed = (20_000..120_000).filter(|&n| filter.may_hold(segment(n))).count();
        assert!((500..4_000).contains(&n_passed), "{n_passed} of 100,000");
    }
}
