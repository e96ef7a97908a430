//! The distinct terms of one text: first the number of occurrences, then the weight of each.

use crate::Weights;
use crate::hash::mix;
use crate::weight::{idf::IdfTable, levels};

/// Counts of occurrences by term hash, with linear probing on the hash itself. Clearing takes time
/// proportional to the terms of the last text, not to the largest text ever seen.
pub(crate) struct TermCounts {
    slots: Vec<Count>,
    /// The taken slots, in order of first occurrence.
    taken: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    hash: u64,
    /// 0 in a free slot.
    count: u32,
}

/// Slots of an empty table.
const SLOTS_MIN: usize = 1 << 10;

/// The most slots kept for the next text; a larger table is given back.
const SLOTS_KEPT_MAX: usize = 1 << 18;

impl Default for TermCounts {
    fn default() -> Self {
        Self { slots: vec![Count::default(); SLOTS_MIN], taken: Vec::new() }
    }
}

impl TermCounts {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        if self.slots.len() > SLOTS_KEPT_MAX {
            *self = Self::default();
        }
        for slot in self.taken.drain(..) {
            self.slots[slot as usize] = Count::default();
        }
    }

    /// Counts one occurrence. Returns true for the first one of a term.
    #[inline]
    pub(crate) fn add(&mut self, hash: u64) -> bool {
        let slot = self.slot(hash);
        let entry = &mut self.slots[slot];
        entry.count = entry.count.saturating_add(1);
        let is_first = entry.count == 1;
        if is_first {
            entry.hash = hash;
            self.taken.push(slot as u32);
            if self.taken.len() * 2 > self.slots.len() {
                self.grow();
            }
        }
        is_first
    }

    /// (hash, occurrences) of each distinct term.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        self.taken.iter().map(|&slot| {
            let Count { hash, count } = self.slots[slot as usize];
            (hash, count)
        })
    }

    /// Returns the slot of `hash`, or the free slot for it.
    #[inline]
    fn slot(&self, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot].count != 0 && self.slots[slot].hash != hash {
            slot = (slot + 1) & mask;
        }
        slot
    }

    #[cold]
    fn grow(&mut self) {
        let empty = vec![Count::default(); self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, empty);
        for i in 0..self.taken.len() {
            let entry = old[self.taken[i] as usize];
            let slot = self.slot(entry.hash);
            self.slots[slot] = entry;
            self.taken[i] = slot as u32;
        }
    }
}

/// A distinct term of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WeighedTerm {
    pub(crate) hash: u64,
    pub(crate) count: u32,
    pub(crate) weight: u32,
}

/// Fills `terms` with the `top` heaviest of the counted terms (all if `top` is 0), unsorted.
/// [`heaviest_first`] chooses among equally heavy ones: the choice is the same on every machine. A
/// term of weight 0 decides nothing and is left out.
pub(crate) fn weigh(
    counts: &TermCounts,
    weights: Weights,
    idf: &IdfTable,
    top: usize,
    terms: &mut Vec<WeighedTerm>,
) {
    terms.clear();
    terms.extend(counts.iter().map(|(hash, count)| {
        let weight = match weights {
            Weights::TfIdf | Weights::Levels => count.saturating_mul(idf.get(hash).unwrap_or(idf.median())),
            Weights::Uniform => 1,
        };
        WeighedTerm { hash, count, weight }
    }));
    terms.retain(|term| term.weight > 0);
    if top > 0 && top < terms.len() {
        terms.select_nth_unstable_by_key(top, heaviest_first);
        terms.truncate(top);
    }
    if weights == Weights::Levels {
        let max = terms.iter().map(|term| term.weight).max().unwrap_or(1);
        terms.iter_mut().for_each(|term| term.weight = levels::level(term.weight, max));
    }
}

/// The sort key by which terms are kept and shown: heaviest first, then by mixed hash.
///
/// Not by the hash itself: a choice of the lowest would leave the top bits of all chosen terms 0,
/// and with them the top bits of the fingerprint. The mix is one to one, which makes the order
/// total.
pub(crate) fn heaviest_first(term: &WeighedTerm) -> (std::cmp::Reverse<u32>, u64) {
    (std::cmp::Reverse(term.weight), mix(term.hash))
}
