//! The comparison that every candidate goes through.

use simhash::{Distance, Fingerprint};

/// Returns true if at most `max_distance` bits are set.
///
/// A plain x86-64 build has no instruction that counts bits. Clearing the lowest set bit a few
/// times takes half as many steps as counting, and most candidates are far away.
#[inline]
pub(crate) fn is_within(differing: u64, max_distance: Distance) -> bool {
    let without_lowest = |bits: u64| bits & bits.wrapping_sub(1);
    if max_distance.as_bits() == 3 {
        return without_lowest(without_lowest(without_lowest(differing))) == 0;
    }
    differing.count_ones() <= max_distance.as_bits()
}

/// Returns the distance of two fingerprints, if it is at most `max_distance`.
#[inline]
pub(crate) fn within(a: Fingerprint, b: Fingerprint, max_distance: Distance) -> Option<Distance> {
    if max_distance.as_bits() == 3 && !is_within(a.0 ^ b.0, max_distance) {
        return None;
    }
    Some(a.distance(b)).filter(|&distance| distance <= max_distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_counts_bits() {
        for bits in [0, 1, 0b11, 0b1011, 0x8000_0000_0000_0001, 0x8001_0000_0000_0101, u64::MAX] {
            for max_distance in 0..=64 {
                assert_eq!(
                    is_within(bits, Distance::new(max_distance).unwrap()),
                    bits.count_ones() <= max_distance
                );
            }
        }
    }
}
