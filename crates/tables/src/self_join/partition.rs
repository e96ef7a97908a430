//! The partition, which brings fingerprints together that agree in the bits of a mask.

/// The 8-byte fingerprints of a part that lies in the second-level cache, with its counts.
const PART_LEN: usize = 8192;

/// The most bits of the number of a part. The write positions of more parts at once would no longer
/// lie in the caches and page tables near the core.
const COARSE_BITS_MAX: u32 = 11;

/// The most bits of the number of a bin: even the counts of a part that is too large take at most
/// 512 KB.
const FINE_BITS_MAX: u32 = 16;

/// Calls `visit` for bins of two and more fingerprints: any two that agree in all bits of `mask`
/// are in one bin. A bin may hold others too: bins go by a hash of the masked bits, about one
/// fingerprint a bin.
///
/// Two passes of counting sort: into parts that fit a cache, and within each part into bins.
/// `parts` is memory for the first, to be given again.
pub(super) fn for_each_bin(
    fingerprints: &[u64],
    mask: u64,
    parts: &mut Vec<u64>,
    visit: &mut dyn FnMut(&mut [u64]),
) {
    let coarse_bits = (fingerprints.len() / PART_LEN).checked_ilog2().unwrap_or(0).min(COARSE_BITS_MAX);
    let mut bins = Bins::default();
    if coarse_bits == 0 {
        return bins.visit(fingerprints, |bits| hash(bits & mask), visit);
    }
    parts.resize(fingerprints.len(), 0);
    let mut ends = Vec::new();
    let digit = |bits| (hash(bits & mask) >> (u64::BITS - coarse_bits)) as usize;
    counting_sort(fingerprints, parts, &mut ends, 1 << coarse_bits, digit);
    let mut start = 0;
    for end in ends.into_iter().map(|end: u32| end as usize) {
        let part = &parts[start..end];
        bins.visit(part, |bits| hash(bits & mask) << coarse_bits, visit);
        start = end;
    }
}

/// The bins of one part at a time; kept from part to part, since most are of one size.
#[derive(Default)]
struct Bins {
    sorted: Vec<u64>,
    ends: Vec<u32>,
}

impl Bins {
    fn visit(&mut self, part: &[u64], hash: impl Fn(u64) -> u64, visit: &mut dyn FnMut(&mut [u64])) {
        // As many bins as fingerprints, or up to half as many.
        let fine_bits = part.len().checked_ilog2().unwrap_or(0).clamp(1, FINE_BITS_MAX);
        let digit = |bits| (hash(bits) >> (u64::BITS - fine_bits)) as usize;
        self.sorted.clear();
        self.sorted.resize(part.len(), 0);
        counting_sort(part, &mut self.sorted, &mut self.ends, 1 << fine_bits, digit);
        let mut start = 0;
        for end in self.ends.iter().map(|&end| end as usize) {
            if end - start > 1 {
                visit(&mut self.sorted[start..end]);
            }
            start = end;
        }
    }
}

/// Returns a hash that is good in its high bits (Knuth, "Sorting and Searching", section 6.4:
/// multiplication by the golden ratio).
#[inline]
fn hash(bits: u64) -> u64 {
    bits.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Sorts `from` into `to` by `digit`, which is below `n_digits`. Leaves in `ends` the end of each
/// digit's elements.
fn counting_sort(
    from: &[u64],
    to: &mut [u64],
    ends: &mut Vec<u32>,
    n_digits: usize,
    digit: impl Fn(u64) -> usize,
) {
    ends.clear();
    ends.resize(n_digits, 0);
    for &bits in from {
        ends[digit(bits)] += 1;
    }
    let mut start = 0;
    for end in ends.iter_mut() {
        start += std::mem::replace(end, start);
    }
    // Each begins as the start of its elements, and ends as their end.
    for &bits in from {
        let end = &mut ends[digit(bits)];
        to[*end as usize] = bits;
        *end += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn check(fingerprints: &[u64], mask: u64) {
        let mut bin_of = BTreeMap::new();
        let (mut n_bins, mut n_seen) = (0, 0);
        for_each_bin(fingerprints, mask, &mut Vec::new(), &mut |bin| {
            assert!(bin.len() > 1);
            n_bins += 1;
            n_seen += bin.len();
            for bits in bin {
                assert_eq!(*bin_of.entry(*bits & mask).or_insert(n_bins), n_bins);
            }
        });
        let mut n_by_masked = BTreeMap::<u64, usize>::new();
        for bits in fingerprints {
            *n_by_masked.entry(bits & mask).or_default() += 1;
        }
        let n_expected: usize = n_by_masked.values().filter(|&&n| n > 1).sum();
        assert!(n_by_masked.iter().all(|(masked, &n)| n == 1 || bin_of.contains_key(masked)));
        assert!(n_expected <= n_seen && n_seen <= fingerprints.len());
    }

    #[test]
    fn what_agrees_is_in_one_bin() {
        let scattered = |n: u64| n.wrapping_mul(0xd134_2543_de82_ef95).rotate_left(23);
        for n in [0, 1, 2, 3, 100, 3 * PART_LEN as u64, 20 * PART_LEN as u64] {
            let few_values: Vec<u64> = (0..n).map(|i| scattered(i % (n / 3 + 1)) ^ i << 60).collect();
            for mask in [0, 0xff, 0xffff << 20, u64::MAX << 40, u64::MAX >> 4] {
                check(&few_values, mask);
            }
        }
    }
}
