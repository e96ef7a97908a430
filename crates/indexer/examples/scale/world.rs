//! Documents as numbers, with known near-duplicates. Each fingerprint follows from the seed and the
//! number: any process knows the truth without a file.

use crate::made::SplitMix64;

/// Documents in a family. The last three are near to three earlier ones, at the distances 1, 2 and
/// 3; all others are random.
pub(crate) const FAMILY: u64 = 100;

pub(crate) const DISTANCE_MAX: u64 = 3;

#[derive(Clone, Copy)]
pub(crate) struct World {
    pub(crate) seed: u64,
}

impl World {
    pub(crate) fn fingerprint(self, n: u64) -> u64 {
        let mut random = self.random(n);
        match distance(n) {
            0 => random.next(),
            distance => {
                let bits = self.fingerprint(original(n));
                bits ^ mask(&mut random, distance)
            }
        }
    }

    /// The other document of the planted pair of `n`.
    pub(crate) fn mate(self, n: u64) -> Option<u64> {
        if distance(n) > 0 {
            return Some(original(n));
        }
        let place = n % FAMILY;
        let is_original = place.is_multiple_of(10) && (1..=DISTANCE_MAX).contains(&(place / 10));
        is_original.then(|| n - place + FAMILY - 1 - DISTANCE_MAX + place / 10)
    }

    fn random(self, n: u64) -> SplitMix64 {
        let mut of_seed = SplitMix64(self.seed);
        SplitMix64(of_seed.next().wrapping_add(n.wrapping_mul(SplitMix64::STEP)))
    }
}

/// Distance in bits between a planted near-duplicate and its original; 0 for all other documents.
pub(crate) fn distance(n: u64) -> u64 {
    (n % FAMILY).saturating_sub(FAMILY - 1 - DISTANCE_MAX)
}

/// The number of planted pairs at each distance among the first `n` documents.
pub(crate) fn n_planted(n: u64) -> [u64; DISTANCE_MAX as usize + 1] {
    let mut planted = [0; DISTANCE_MAX as usize + 1];
    planted[1..].fill(n / FAMILY);
    (n - n % FAMILY..n).for_each(|n| planted[distance(n) as usize] += 1);
    planted[0] = 0;
    planted
}

/// The expected number of pairs near by chance among `n` random fingerprints.
pub(crate) fn n_by_chance(n: u64) -> f64 {
    let n = n as f64;
    // The number of fingerprints within three bits of one, over 2^64.
    n * (n - 1.0) / 2.0 * f64::from(1 + 64 + 64 * 63 / 2 + 64 * 63 * 62 / 6) / 2_f64.powi(64)
}

/// A random mask with exactly `n_bits` bits set.
pub(crate) fn mask(random: &mut SplitMix64, n_bits: u64) -> u64 {
    let mut mask = 0_u64;
    while u64::from(mask.count_ones()) < n_bits {
        mask |= 1 << (random.next() % 64);
    }
    mask
}

fn original(n: u64) -> u64 {
    n - n % FAMILY + 10 * distance(n)
}
