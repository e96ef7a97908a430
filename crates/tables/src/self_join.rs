//! The self-join: all pairs of different fingerprints of a corpus that lie near one another.

mod groups;
mod partition;

use simhash::{Distance, TableScheme};

use crate::distance::is_within;

pub use groups::Groups;

/// Two groups of equal fingerprints that lie near each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The group of the lesser fingerprint.
    pub first: usize,
    /// The group of the greater fingerprint.
    pub second: usize,
    /// The distance between the two, 1 or more.
    pub distance: Distance,
}

/// The most fingerprints that are compared each with each; of more, only those that agree in some
/// block are compared.
const COMPARE_ALL_MAX: usize = 128;

/// The pairs whose groups are looked up together.
const FOUND_MAX: usize = 256;

/// Calls `visit` once, in no particular order, for each pair of groups within the scheme's
/// distance.
///
/// Pairs are of groups, not of documents: a million copies of one text are one group and not
/// 5·10^11 pairs.
///
/// For one table of the scheme at a time, the join brings the fingerprints together by the bits
/// that must agree, and compares those in one bin. A pair counts only in the first table that
/// catches it. Where very many fingerprints agree, the join brings these together again, by
/// `max_distance + 1` blocks of the bits that do vary: a pair must agree in one of the blocks too.
///
/// Time is O(n) for each table while buckets are small, plus the pairs. Memory beside the groups is
/// 8 bytes a fingerprint, and up to 16 more for each fingerprint of a crowded bucket, each time it
/// is cut again.
pub fn self_join(groups: &Groups, scheme: &TableScheme, visit: &mut dyn FnMut(Pair)) {
    let masks = scheme.tables().iter().map(|table| table.mask()).collect();
    let found = Vec::with_capacity(FOUND_MAX);
    let mut join = Join { groups, max_distance: scheme.max_distance(), path: Vec::new(), found, visit };
    // Groups differ: there is nothing at distance 0.
    if scheme.max_distance() > Distance::ZERO {
        join.by_masks(groups.fingerprints(), masks);
        join.report_found();
    }
}

struct Join<'a> {
    groups: &'a Groups,
    max_distance: Distance,
    /// The steps by which the fingerprints at hand were brought together: by this table, and within
    /// it by this block, and so on.
    path: Vec<Step>,
    /// Pairs whose groups are still to be found.
    found: Vec<[u64; 2]>,
    visit: &'a mut dyn FnMut(Pair),
}

/// Masks, with an index for the current one. Any pair within the distance agrees in at least one
/// mask.
struct Step {
    masks: Vec<u64>,
    current: usize,
}

impl Step {
    /// Returns true if all pairs that differ in these bits at most have met at an earlier mask.
    fn has_met(&self, varying: u64) -> bool {
        self.masks[..self.current].iter().any(|mask| mask & varying == 0)
    }

    /// Returns true if two fingerprints that differ in these bits meet here and at no earlier mask.
    fn is_first(&self, differing: u64) -> bool {
        self.masks[self.current] & differing == 0 && !self.has_met(differing)
    }
}

impl Join<'_> {
    /// Joins fingerprints of which any pair within the distance agrees in one of the masks.
    fn by_masks(&mut self, fingerprints: &[u64], masks: Vec<u64>) {
        let depth = self.path.len();
        self.path.push(Step { masks, current: 0 });
        let mut parts = Vec::new();
        for current in 0..self.path[depth].masks.len() {
            self.path[depth].current = current;
            let mask = self.path[depth].masks[current];
            partition::for_each_bin(fingerprints, mask, &mut parts, &mut |bin| self.bin(bin, mask));
        }
        self.path.pop();
    }

    /// Joins a bin: fingerprints that agree in the mask, and now and then some others.
    fn bin(&mut self, bin: &mut [u64], mask: u64) {
        if bin.len() <= COMPARE_ALL_MAX {
            return self.compare_all(bin);
        }
        bin.sort_unstable_by_key(|bits| bits & mask);
        for agreeing in bin.chunk_by(|a, b| (a ^ b) & mask == 0) {
            let ones = agreeing.iter().fold(0, |ones, bits| ones | bits);
            let common = agreeing.iter().fold(u64::MAX, |common, bits| common & bits);
            let varying = ones & !common;
            // If an earlier mask leaves out all varying bits, every pair here has met at that mask.
            if self.path.iter().any(|step| step.has_met(varying)) {
                continue;
            }
            if agreeing.len() <= COMPARE_ALL_MAX || Distance::of_differing(varying) <= self.max_distance {
                self.compare_all(agreeing);
            } else {
                self.by_masks(agreeing, blocks(varying, self.max_distance.as_bits() + 1));
            }
        }
    }

    fn compare_all(&mut self, fingerprints: &[u64]) {
        for (i, &a) in fingerprints.iter().enumerate() {
            for &b in &fingerprints[..i] {
                if is_within(a ^ b, self.max_distance) {
                    self.report(a, b);
                }
            }
        }
    }

    fn report(&mut self, a: u64, b: u64) {
        let differing = a ^ b;
        if self.path.iter().all(|step| step.is_first(differing)) {
            self.found.push([a.min(b), a.max(b)]);
            if self.found.len() == FOUND_MAX {
                self.report_found();
            }
        }
    }

    /// Calls `visit` with the pairs found so far. The groups of all are looked up first, so
    /// that the look-ups wait for memory together.
    fn report_found(&mut self) {
        let found = std::mem::take(&mut self.found);
        let groups: Vec<_> = found.iter().map(|pair| pair.map(|bits| self.groups.near(bits))).collect();
        for (pair, near) in found.iter().zip(groups) {
            let [first, second] = [0, 1].map(|n| self.groups.position(pair[n], near[n].clone()));
            let distance = Distance::of_differing(pair[0] ^ pair[1]);
            (self.visit)(Pair { first, second, distance });
        }
        self.found = found;
        self.found.clear();
    }
}

/// Cuts the bits of `mask`, `n` or more, into `n` blocks of nearly equal size, neighbours together.
fn blocks(mask: u64, n: u32) -> Vec<u64> {
    let mut rest = mask;
    let mut take = |n_bits: u32| {
        let before = rest;
        for _ in 0..n_bits {
            rest &= rest - 1;
        }
        before ^ rest
    };
    let n_bits = mask.count_ones();
    (0..n).map(|i| take(n_bits * (i + 1) / n - n_bits * i / n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_mask_and_do_not_overlap() {
        for mask in [0b1111, 0xf0f0_f0f0_0000_00ff, u64::MAX, 0x8000_0000_0001_0101] {
            for n in 1..=mask.count_ones().min(8) {
                let blocks = blocks(mask, n);
                assert_eq!(blocks.len(), n as usize);
                assert_eq!(blocks.iter().map(|block| block.count_ones()).sum::<u32>(), mask.count_ones());
                assert_eq!(blocks.iter().fold(0, |all, block| all | block), mask);
                let sizes = blocks.iter().map(|block| block.count_ones());
                assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
            }
        }
    }
}
