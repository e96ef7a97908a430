//! The mixer: multiplies 64 by 64 bits, and folds the 128 bits of the product into 64.
//!
//! The step and the constants are those of wyhash, final version 4 (Wang Yi, public domain): each
//! constant is odd, prime, and has 32 ones with an even number of zeros between them. Only the step
//! is taken over, not the function.

pub(crate) use lanes::fold;

/// wyhash's default secret.
pub(crate) const SECRET: [u64; 4] =
    [0x2d35_8dcc_aa6c_78a5, 0x8bb8_4b93_962e_acc9, 0x4b33_a62e_d433_d4a3, 0x4d5a_2da5_1de1_aa47];

/// 2^64 divided by the golden ratio, odd: its multiples are far from each other.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns 64 well-mixed bits of two words: an element of a set from the words that it stands for.
///
/// Fixed for good: stored sketches were made with this hash. It is no defence against a search for
/// collisions.
#[inline]
#[must_use]
pub const fn hash_words(a: u64, b: u64) -> u64 {
    fold(fold(a ^ SECRET[0], b ^ SECRET[1]) ^ SECRET[2], SECRET[3])
}

/// Replaces each first word by [`hash_words`] of itself and its second word, in a part of the time
/// that it takes one by one.
pub fn hash_each(firsts: &mut [u64], seconds: &[u64]) {
    lanes::hash_each(firsts, seconds, &SECRET);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fixed: a change here makes stored sketches worthless.
    #[test]
    fn golden_vectors() {
        assert_eq!(fold(u64::MAX, u64::MAX), 0xffff_ffff_ffff_ffff);
        assert_eq!(fold(1 << 63, 6), 3);
        for (a, b, hash) in GOLDEN_HASHES {
            assert_eq!(hash_words(a, b), hash, "{a:x} {b:x}");
            let mut firsts = [a; 9];
            hash_each(&mut firsts, &[b; 9]);
            assert_eq!(firsts, [hash; 9], "{a:x} {b:x}");
        }
    }

    const GOLDEN_HASHES: [(u64, u64, u64); 4] = [
        (0, 0, 0x3419_60db_6678_ebb1),
        (1, 0, 0xa96f_9010_f3b4_af80),
        (0, 1, 0xbda8_a343_ea9a_7217),
        (0x0123_4567_89ab_cdef, u64::MAX, 0xad4f_b689_11ed_0814),
    ];

    /// One changed bit of the input changes each bit of the output half of the time.
    #[test]
    fn avalanche() {
        for bit in 0..128 {
            let mut changed = [0_u32; 64];
            const N: u32 = 4096;
            for i in 0..u64::from(N) {
                // Small and sparse words, as packed characters are.
                let (a, b) = ((i % 64) | ((i / 64) << 21), i.wrapping_mul(0x10001) & 0x1f_ffff);
                let flipped = if bit < 64 { (a ^ 1 << bit, b) } else { (a, b ^ 1 << (bit - 64)) };
                let difference = hash_words(a, b) ^ hash_words(flipped.0, flipped.1);
                (0..64).for_each(|out| changed[out] += (difference >> out & 1) as u32);
            }
            for (out, n) in changed.iter().enumerate() {
                let share = f64::from(*n) / f64::from(N);
                assert!((0.42..0.58).contains(&share), "bit {bit} changes bit {out} in {share:.3}");
            }
        }
    }
}
