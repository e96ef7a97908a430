//! The n-grams of a text by their positions.

use super::characters::{CJK, Code};
use super::grams::{self, Chunk, Key};

/// Least number of places for each n-gram.
const PLACES_FOR_EACH: usize = 3;

/// The different n-grams of one text: open addressing with linear probing.
///
/// A place holds the position of the first occurrence, and no bits of a hash: with few places
/// taken, the next n-gram is mostly at its own one. Equality of n-grams is decided by the
/// characters themselves, so no collision of hashes changes a count.
#[derive(Debug)]
pub(super) struct Occurrences {
    /// A power of two of places, at most a third of them taken. Each has a position and 1 more; 0
    /// is a free one.
    places: Box<[u32]>,
    /// For each position, the first one that has its n-gram.
    first_of: Box<[u32]>,
    n_distinct: usize,
}

/// Returns the number of positions of a text at which an n-gram starts: the first ones.
fn n_positions(codes: &[Code]) -> usize {
    let ends_with_four = matches!(*codes, [.., a, _, _, _] if a & CJK != 0);
    codes.len().saturating_sub(4) + usize::from(ends_with_four)
}

fn hash_at(codes: &[Code], at: usize, key: Key) -> u64 {
    let window = codes[at..].first_chunk().copied();
    // The last n-gram may be of four.
    let window = window.unwrap_or_else(|| [codes[at], codes[at + 1], codes[at + 2], codes[at + 3], 0]);
    grams::hash(window, key)
}

/// Returns true if the n-grams at a position of each text are equal.
#[inline]
fn are_equal(a: &[Code], at_a: usize, b: &[Code], at_b: usize) -> bool {
    fn begin_alike<const N: usize>(a: &[Code], b: &[Code]) -> bool {
        matches!((a.first_chunk::<N>(), b.first_chunk::<N>()), (Some(a), Some(b)) if a == b)
    }
    let (a, b) = (&a[at_a..], &b[at_b..]);
    if b[0] & CJK == 0 { begin_alike::<5>(a, b) } else { begin_alike::<4>(a, b) }
}

/// Returns the length of the common prefix of two texts.
fn common_prefix(a: &[Code], b: &[Code]) -> usize {
    const BLOCK: usize = 16;
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK));
    let n = BLOCK * blocks.take_while(|(a, b)| a == b).count();
    n + a[n..].iter().zip(&b[n..]).take_while(|(a, b)| a == b).count()
}

fn free_places(n: usize) -> Box<[u32]> {
    vec![0; (PLACES_FOR_EACH * n).max(16).next_power_of_two()].into()
}

impl Occurrences {
    /// Finds the n-grams of a text of fewer than 2^32 characters.
    pub(super) fn of(codes: &[Code], key: Key) -> Self {
        let n = n_positions(codes);
        let mut all = Self::with_room_for(n);
        let mut first_of = Vec::with_capacity(n);
        grams::for_each_chunk(codes, key, &mut Chunk::default(), |hashes| {
            let from = first_of.len();
            first_of.extend((from..).zip(hashes).map(|(at, &hash)| all.insert(codes, at, hash) as u32));
        });
        all.first_of = first_of.into();
        all
    }

    /// Creates an empty set with room for `n` n-grams.
    fn with_room_for(n: usize) -> Self {
        Self { places: free_places(n), first_of: Box::default(), n_distinct: 0 }
    }

    /// The number of different n-grams.
    pub(super) fn n_distinct(&self) -> usize {
        self.n_distinct
    }

    /// The bytes of the places.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.places) + size_of_val(&*self.first_of)
    }

    /// Returns the first position in `own` of the n-gram at a position of `codes`, or the free
    /// place for it.
    #[inline]
    fn first(&self, own: &[Code], codes: &[Code], at: usize, hash: u64) -> Result<usize, usize> {
        let mask = self.places.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let Some(first) = (self.places[place] as usize).checked_sub(1) else { return Err(place) };
            if are_equal(own, first, codes, at) {
                return Ok(first);
            }
            place = (place + 1) & mask;
        }
    }

    /// Adds the n-gram at a position of the own text. Returns its first position.
    #[inline]
    fn insert(&mut self, own: &[Code], at: usize, hash: u64) -> usize {
        self.first(own, own, at, hash).unwrap_or_else(|free| {
            self.places[free] = at as u32 + 1;
            self.n_distinct += 1;
            at
        })
    }

    /// Returns the number of different n-grams of another text that `own` has too, and of all
    /// different ones of the other.
    ///
    /// Near texts agree for long runs, in which the next n-gram of the one is the next of the
    /// other: none is hashed there.
    pub(super) fn met_by(&self, own: &[Code], other: &[Code], key: Key) -> (usize, usize) {
        let mut met = vec![0_u64; self.first_of.len().div_ceil(64)];
        // Near texts have few n-grams that are not met.
        let mut unmet = Self::with_room_for(other.len() / 16);
        let n = n_positions(other);
        let mut at = 0;
        while at < n {
            let hash = hash_at(other, at, key);
            let Ok(own_at) = self.first(own, other, at, hash) else {
                unmet.insert_growing(other, at, hash, key);
                at += 1;
                continue;
            };
            let n_alike = common_prefix(&own[own_at..], &other[at..]);
            let n_met = n_positions(&other[at..at + n_alike]);
            for &first in &self.first_of[own_at..own_at + n_met] {
                met[first as usize / 64] |= 1 << (first % 64);
            }
            at += n_met;
        }
        let n_met = met.iter().map(|word| word.count_ones() as usize).sum();
        (n_met, n_met + unmet.n_distinct)
    }

    fn insert_growing(&mut self, own: &[Code], at: usize, hash: u64, key: Key) {
        if PLACES_FOR_EACH * (self.n_distinct + 1) > self.places.len() {
            // Twice the places, as their number is a power of two.
            let mut larger = Self::with_room_for(self.places.len() / 2);
            for first in self.places.iter().filter_map(|&place| (place as usize).checked_sub(1)) {
                larger.insert(own, first, hash_at(own, first, key));
            }
            *self = larger;
        }
        self.insert(own, at, hash);
    }
}
