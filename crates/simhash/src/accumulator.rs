//! From weighted feature hashes to a fingerprint: the sum of ±weight per bit, in integers.

use crate::Fingerprint;

/// The weight of one feature, in fixed point: the unit is the caller's, and only ratios matter.
///
/// An integer: the sum of weights is the same in any order and on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Weight(pub u32);

/// A sum of ±weight for each of the 64 bits, which becomes a [`Fingerprint`].
///
/// Bit `b` of the result is 1 if `Σ ±w > 0`, with `+w` for a feature whose hash has bit `b` set and
/// `-w` otherwise (Charikar 2002, section 3; Manku, Jain and Das Sarma, WWW 2007, section 2). Only
/// the positive parts are summed: with `ones` the sum of the weights that have the bit set and
/// `mass` the sum of all, `Σ ±w = 2·ones − mass`.
///
/// # Why it cannot overflow
/// Each bit sums in 32 bits for as long as the sum of *all* weights fits in 32 bits; the weight
/// that would not fit first moves the sums into 128 bits. A bit's sum is at most the sum of all
/// weights: no 32-bit sum wraps. The 128-bit sums would need 2^96 additions of the largest weight.
#[derive(Clone, Debug)]
pub struct Accumulator {
    /// Sums since the last spill, each at most `pending_mass`.
    pending: [u32; 64],
    pending_mass: u32,
    ones: [u128; 64],
    mass: u128,
}

/// `NIBBLE_MASKS[n][i]` is all ones if bit `i` of `n` is set. An addition takes 16 loads and adds
/// of four lanes each, which every x86-64 and AArch64 does in one register; shifting each bit into
/// place needs AVX2 to be quick.
const NIBBLE_MASKS: [[u32; 4]; 16] = {
    let mut masks = [[0; 4]; 16];
    let mut nibble = 0;
    while nibble < 16 {
        let mut bit = 0;
        while bit < 4 {
            if nibble >> bit & 1 == 1 {
                masks[nibble][bit] = u32::MAX;
            }
            bit += 1;
        }
        nibble += 1;
    }
    masks
};

impl Default for Accumulator {
    fn default() -> Self {
        Self { pending: [0; 64], pending_mass: 0, ones: [0; 64], mass: 0 }
    }
}

impl Accumulator {
    /// Creates an accumulator with nothing added.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one feature. The order of additions never matters.
    #[inline]
    pub fn add(&mut self, hash: u64, weight: Weight) {
        let mass = match self.pending_mass.checked_add(weight.0) {
            Some(mass) => mass,
            None => {
                self.spill();
                weight.0
            }
        };
        self.pending_mass = mass;
        for (nibble, lanes) in self.pending.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let mask = &NIBBLE_MASKS[(hash >> (4 * nibble)) as usize & 15];
            for (lane, mask) in lanes.iter_mut().zip(mask) {
                *lane += weight.0 & mask;
            }
        }
    }

    /// Returns the fingerprint of the features added; `None` without a weight above zero, which is
    /// not fingerprint 0.
    #[must_use]
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        let mass = self.mass + u128::from(self.pending_mass);
        if mass == 0 {
            return None;
        }
        let bits = (0..64).fold(0, |bits, b| {
            let ones = self.ones[b] + u128::from(self.pending[b]);
            bits | u64::from(2 * ones > mass) << b
        });
        Some(Fingerprint(bits))
    }

    /// Returns `2·ones − mass` for each bit, least significant first: the sign decides the bit, the
    /// size shows how clearly.
    #[must_use]
    pub fn margins(&self) -> [i128; 64] {
        let mass = (self.mass + u128::from(self.pending_mass)).cast_signed();
        std::array::from_fn(|b| 2 * (self.ones[b] + u128::from(self.pending[b])).cast_signed() - mass)
    }

    #[cold]
    fn spill(&mut self) {
        for (total, pending) in self.ones.iter_mut().zip(&mut self.pending) {
            *total += u128::from(std::mem::take(pending));
        }
        self.mass += u128::from(std::mem::take(&mut self.pending_mass));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn accumulate(features: &[(u64, u32)]) -> Accumulator {
        let mut accumulator = Accumulator::new();
        for &(hash, weight) in features {
            accumulator.add(hash, Weight(weight));
        }
        accumulator
    }

    /// The definition, in 128-bit integers and without any trick.
    fn naive(features: &[(u64, u32)]) -> [i128; 64] {
        std::array::from_fn(|b| {
            features
                .iter()
                .map(|&(hash, w)| if hash >> b & 1 == 1 { i128::from(w) } else { -i128::from(w) })
                .sum()
        })
    }

    #[test]
    fn nothing_has_no_fingerprint() {
        assert_eq!(Accumulator::new().fingerprint(), None);
        assert_eq!(accumulate(&[(u64::MAX, 0)]).fingerprint(), None);
    }

    #[test]
    fn one_feature_is_its_hash_and_a_tie_is_zero() {
        assert_eq!(accumulate(&[(0xdead_beef, 7)]).fingerprint(), Some(Fingerprint(0xdead_beef)));
        assert_eq!(accumulate(&[(0b01, 5), (0b10, 5)]).fingerprint(), Some(Fingerprint(0)));
        assert_eq!(accumulate(&[(0b01, 5), (0b10, 5), (0b11, 1)]).fingerprint(), Some(Fingerprint(0b11)));
    }

    #[test]
    fn the_largest_weights_do_not_overflow() {
        let features = vec![(u64::MAX, u32::MAX); 1000];
        let accumulator = accumulate(&features);
        assert_eq!(accumulator.margins(), naive(&features));
        assert_eq!(accumulator.fingerprint(), Some(Fingerprint(u64::MAX)));
        // One step before the 32-bit sums are full, full, and one step after.
        for last in [0, 1, 2] {
            let features = [(1, u32::MAX - 1), (3, last), (7, 1)];
            assert_eq!(accumulate(&features).margins(), naive(&features));
        }
    }

    proptest! {
        #[test]
        fn sums_equal_the_definition(
            features in proptest::collection::vec((any::<u64>(), prop_oneof![0..5_u32, any::<u32>()]), 0..60)
        ) {
            prop_assert_eq!(accumulate(&features).margins(), naive(&features));
            let bits = naive(&features).iter().enumerate().fold(0, |bits, (b, &sum)| bits | u64::from(sum > 0) << b);
            let expected = features.iter().any(|&(_, w)| w > 0).then_some(Fingerprint(bits));
            prop_assert_eq!(accumulate(&features).fingerprint(), expected);
        }

        #[test]
        fn order_never_matters(
            features in proptest::collection::vec(any::<(u64, u32)>(), 0..40), rotation in 0..40_usize
        ) {
            let mut turned = features.clone();
            turned.rotate_left(rotation.min(features.len()));
            turned.reverse();
            prop_assert_eq!(accumulate(&features).margins(), accumulate(&turned).margins());
        }
    }
}
