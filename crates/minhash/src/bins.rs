//! The bins of a sketch: fast similarity sketching (Dahlgaard, Knudsen and Thorup, FOCS 2017,
//! section 3).
//!
//! Elements are thrown in rounds: in round `i` each element goes into one bin, with a value between
//! `i` and `i + 1`. A bin keeps its least value: a later round only matters to bins still empty,
//! and the rounds end when none is. From round `BINS` on, bin `i - BINS` gets a value of every
//! element: `2 · BINS` rounds always suffice. The share of bins in which two sets agree is an
//! unbiased estimate of their Jaccard similarity. For fewer elements than bins its variance is
//! below that of as many independent MinHashes.

use lanes::Landed;

use crate::hash::{GOLDEN, SECRET, fold};
/// The position of the round in a value, above the other bits: values of earlier rounds are less.
const ROUND_SHIFT: u32 = 52;
const VALUE_MASK: u64 = (1 << ROUND_SHIFT) - 1;
pub(crate) const EMPTY: u64 = u64::MAX;

/// A sketch: for each bin the least value of the set's elements there. `BINS` is a power of two
/// from 2 to 256.
///
/// Two sets have the same value in a bin if the least element of both is the same one. The
/// probability of this is their Jaccard similarity. The values depend on the set alone: not on its
/// order, repeats or the machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bins<const BINS: usize> {
    values: [u64; BINS],
}

impl<const BINS: usize> Bins<BINS> {
    /// The shift from an element to its bin of a round.
    const BIN_SHIFT: u32 = {
        assert!(BINS.is_power_of_two() && BINS >= 2 && BINS <= 256, "2 to 256 bins, a power of two");
        u64::BITS - BINS.trailing_zeros()
    };

    /// The number of places of a bin.
    const PLACES: usize = 256 / BINS;

    pub(crate) const NONE: Self = Self { values: [EMPTY; BINS] };

    /// Returns the sketch of a set of elements; `None` for the empty set.
    #[must_use]
    pub fn of(elements: &[u64]) -> Option<Self> {
        let mut bins = Self::NONE;
        bins.first_throws(elements);
        bins.fill(elements, &mut Landed::default());
        (!elements.is_empty()).then_some(bins)
    }

    /// The values, all of them filled.
    #[inline]
    #[must_use]
    pub fn values(&self) -> &[u64; BINS] {
        &self.values
    }

    /// Throws the elements of round 0, where an element is its own hash.
    pub(crate) fn first_throws(&mut self, elements: &[u64]) {
        for &element in elements {
            let bin = &mut self.values[(element >> Self::BIN_SHIFT) as usize];
            *bin = (*bin).min(element & VALUE_MASK);
        }
    }

    /// Returns true if a further round is needed.
    pub(crate) fn has_empty(&self) -> bool {
        self.values.contains(&EMPTY)
    }

    /// Throws all further rounds, after round 0 saw the same set. Repeats cost time only.
    ///
    /// Only the bins that are empty when a round begins get values in it: all others have lesser
    /// ones.
    pub(crate) fn fill(&mut self, elements: &[u64], landed: &mut Landed) {
        let mut empty = self.empty();
        if empty == Places::default() || elements.is_empty() {
            return;
        }
        for round in 1..BINS as u64 {
            empty = self.throw_round(elements, round, empty, landed);
            if empty == Places::default() {
                return;
            }
        }
        for (round, bin) in (BINS as u64..).zip(&mut self.values) {
            if *bin == EMPTY {
                let least = elements.iter().map(|&element| throw(element, round) & VALUE_MASK).min();
                // The number of the bin tells the round.
                *bin = (BINS as u64) << ROUND_SHIFT | least.unwrap_or(0);
            }
        }
    }

    /// Throws a round after the first. Returns the places that are still empty.
    #[inline]
    fn throw_round(&mut self, elements: &[u64], round: u64, empty: Places, landed: &mut Landed) -> Places {
        let mut left = empty;
        for elements in elements.chunks(Landed::ELEMENTS_MAX) {
            for hash in landed.throw(elements, mask(round), SECRET[0], &empty) {
                let bin = (hash >> Self::BIN_SHIFT) as usize;
                for place in bin * Self::PLACES..(bin + 1) * Self::PLACES {
                    left[place / 32] &= !(1 << (place % 32));
                }
                let value = &mut self.values[bin];
                *value = (*value).min(round << ROUND_SHIFT | hash & VALUE_MASK);
            }
        }
        left
    }

    /// Returns the places without a value.
    fn empty(&self) -> Places {
        std::array::from_fn(|word| {
            let bit = |place: usize| u32::from(self.values[place / Self::PLACES] == EMPTY);
            (0..32).rev().fold(0, |bits, at| bits << 1 | bit(32 * word + at))
        })
    }
}

/// A set of places: values of the upper 8 bits of a hash.
type Places = [u32; 8];

/// Returns the hash of an element in a round. One step suffices: an element is well mixed already.
#[inline]
fn throw(element: u64, round: u64) -> u64 {
    fold(element ^ mask(round), SECRET[0])
}

#[inline]
fn mask(round: u64) -> u64 {
    round.wrapping_mul(GOLDEN)
}

impl<const BINS: usize> std::fmt::Debug for Bins<BINS> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bins<{BINS}>({:016x}…)", self.values[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_words;
    use proptest::prelude::*;

    fn set(from: u64, to: u64) -> Vec<u64> {
        (from..to).map(|i| hash_words(i, 7)).collect()
    }

    /// Fixed: stored keys and signatures are made of these values.
    #[test]
    fn golden_vectors() {
        let shown = |bins: &[u64]| {
            let all = bins.iter().fold(0, |all, value| hash_words(all, *value));
            format!("{:x} {:x} {:x} {all:016x}", bins[0], bins[1], bins[bins.len() - 1])
        };
        let got: Vec<String> = [1, 2, 40, 1000, 5000]
            .into_iter()
            .flat_map(|n| {
                let elements = set(0, n);
                [
                    format!("{n} {}", shown(Bins::<256>::of(&elements).unwrap().values())),
                    format!("{n} {}", shown(Bins::<128>::of(&elements).unwrap().values())),
                ]
            })
            .collect();
        assert_eq!(got.join("\n") + "\n", include_str!("golden_bins.txt"));
    }

    #[test]
    fn nothing_has_no_sketch_and_one_element_fills_all() {
        assert_eq!(Bins::<256>::of(&[]), None);
        for element in [0, 1, u64::MAX, GOLDEN, SECRET[0]] {
            let bins = Bins::<256>::of(&[element]).unwrap();
            assert!(bins.values().iter().all(|&value| value != EMPTY));
        }
    }

    /// The share of equal bins is unbiased, and its variance about that of independent MinHashes at
    /// most.
    #[test]
    fn bias_and_variance() {
        for (n, shared) in
            [(2, 1), (4, 3), (9, 8), (20, 16), (45, 40), (200, 160), (1000, 500), (3000, 2400_u64)]
        {
            let similarity = shared as f64 / n as f64;
            const SEEDS: u64 = 400;
            let estimates: Vec<f64> = (0..SEEDS)
                .map(|seed| {
                    // The union has n elements; the unshared ones are halved between the two.
                    let union: Vec<u64> = (0..n).map(|i| hash_words(i, seed + 1000)).collect();
                    let (common, rest) = union.split_at(shared as usize);
                    let (a, b) = rest.split_at(rest.len() / 2);
                    let [a, b] = [a, b].map(|own| Bins::<256>::of(&[common, own].concat()).unwrap());
                    let equal = a.values().iter().zip(b.values()).filter(|(a, b)| a == b).count();
                    equal as f64 / 256.0
                })
                .collect();
            let mean = estimates.iter().sum::<f64>() / SEEDS as f64;
            let variance = estimates.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (SEEDS - 1) as f64;
            let binomial = similarity * (1.0 - similarity) / 256.0;
            assert!(
                (mean - similarity).abs() < 4.0 * (binomial / SEEDS as f64).sqrt(),
                "{n}: {mean} {similarity}"
            );
            assert!(
                variance < 1.25 * binomial,
                "{n} {shared}: {:.4} {:.4}",
                variance.sqrt(),
                binomial.sqrt()
            );
        }
    }

    proptest! {
        #[test]
        fn order_and_repeats_do_not_matter(mut elements in proptest::collection::vec(any::<u64>(), 1..400)) {
            let bins = Bins::<256>::of(&elements);
            elements.extend_from_within(..elements.len() / 3);
            elements.reverse();
            prop_assert_eq!(Bins::<256>::of(&elements), bins);
        }

        /// The least value of a union is the lesser of both: bins merge.
        #[test]
        fn a_union_is_the_lesser_of_both(a in proptest::collection::vec(any::<u64>(), 1..300),
            b in proptest::collection::vec(any::<u64>(), 1..300)) {
            let [of_a, of_b, of_both] = [&a[..], &b[..], &[&a[..], &b[..]].concat()]
                .map(|elements| Bins::<256>::of(elements).unwrap());
            for bin in 0..256 {
                prop_assert_eq!(of_both.values()[bin], of_a.values()[bin].min(of_b.values()[bin]));
            }
        }
    }
}
