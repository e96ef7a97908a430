//! The self-join: all pairs of different fingerprints that lie near one another.

mod partition;

use simhash::Distance;

use crate::distance::is_within;

/// The most fingerprints that are compared each with each; of more, only those that agree in some
/// block are compared.
const COMPARE_ALL_MAX: usize = 128;

/// The multiplier of the hash by which fingerprints are cut into shares. The partition uses another
/// one, so that the fingerprints of a share are spread over all bins.
const SHARE_MULTIPLIER: u64 = 0xd6e8_feb8_6659_fd93;

/// Finds each pair of different fingerprints within a distance once, table after table.
///
/// In a table, the join brings the fingerprints together by the bits that must agree, and compares
/// those in one bin. A pair counts only in the first table that catches it. Where very many
/// fingerprints agree, the join brings these together again, by `max_distance + 1` blocks of the
/// bits that do vary: a pair must agree in one of the blocks too.
///
/// Tables are independent of one another, and so are the [shares](Self::share) of a table. Thus
/// several threads can join, and more fingerprints than memory holds.
///
/// Time is O(n) for each table while buckets are small, plus the pairs. Memory is 8 bytes a
/// fingerprint, and up to 16 more for each fingerprint of a crowded bucket, each time it is cut
/// again.
#[derive(Clone, Debug)]
pub struct SelfJoin {
    masks: Vec<u64>,
    max_distance: Distance,
    /// Memory of the partition, kept from table to table.
    parts: Vec<u64>,
}

impl SelfJoin {
    /// The most fingerprints that are joined at a time.
    pub const LEN_MAX: u32 = u32::MAX;

    /// A join in tables with these masks. Any two fingerprints within `max_distance` agree in all
    /// bits of at least one mask.
    #[must_use]
    pub fn new(masks: Vec<u64>, max_distance: Distance) -> Self {
        Self { masks, max_distance, parts: Vec::new() }
    }

    /// The number of tables.
    #[must_use]
    pub fn n_tables(&self) -> usize {
        self.masks.len()
    }

    /// Returns the share of a fingerprint in a table, below `n_shares`. Fingerprints that meet in
    /// the table have the same share.
    #[must_use]
    pub fn share(&self, table: usize, fingerprint: u64, n_shares: usize) -> usize {
        let hash = (fingerprint & self.masks[table]).wrapping_mul(SHARE_MULTIPLIER);
        ((u128::from(hash) * n_shares as u128) >> u64::BITS) as usize
    }

    /// Calls `visit` once, in no particular order, for each pair whose first table is this one,
    /// with the lesser fingerprint first. The fingerprints differ from one another; they are all,
    /// or all of a share.
    ///
    /// # Panics
    /// If there are more than [`LEN_MAX`](Self::LEN_MAX).
    pub fn in_table(&mut self, table: usize, fingerprints: &[u64], visit: &mut dyn FnMut(u64, u64)) {
        assert!(fingerprints.len() <= Self::LEN_MAX as usize, "a share is joined that is too large");
        // Different fingerprints have no pair at distance 0.
        if self.max_distance == Distance::ZERO {
            return;
        }
        let Self { masks, max_distance, parts } = self;
        let mask = masks[table];
        let path = vec![Step { masks: masks.clone(), current: table }];
        let mut join = Join { max_distance: *max_distance, path, visit };
        partition::for_each_bin(fingerprints, mask, parts, &mut |bin| join.bin(bin, mask));
    }
}

struct Join<'a> {
    max_distance: Distance,
    /// The steps by which the fingerprints at hand were brought together: by this table, and within
    /// it by this block, and so on.
    path: Vec<Step>,
    visit: &'a mut dyn FnMut(u64, u64),
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
            (self.visit)(a.min(b), a.max(b));
        }
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
