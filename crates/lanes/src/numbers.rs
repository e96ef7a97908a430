//! Loops over numbers. The code of lanes is plain too: the compiler puts it in lanes by itself.

/// Returns the low half of the product of two words, xor the high half.
#[inline]
#[must_use]
pub const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// Returns [`fold`] by products of 32 by 32 bits, of which lanes have an instruction.
#[inline(always)]
const fn fold_in_parts(a: u64, b: u64) -> u64 {
    const LOW: u64 = u32::MAX as u64;
    let (a_low, a_high, b_low, b_high) = (a & LOW, a >> 32, b & LOW, b >> 32);
    let low = a_low * b_low;
    let middle = a_high * b_low + (low >> 32);
    let other_middle = a_low * b_high + (middle & LOW);
    let high = a_high * b_high + (middle >> 32) + (other_middle >> 32);
    (other_middle << 32 | low & LOW) ^ high
}

in_lanes! {
    /// Replaces each first word by a hash of itself and its second word, of two folds under a
    /// secret of four words.
    pub fn hash_each(firsts: &mut [u64], seconds: &[u64], secret: &[u64; 4])
        = hash_each_plain, hash_each_in_lanes, hash_each_in_lanes;
}

fn hash_each_plain(firsts: &mut [u64], seconds: &[u64], secret: &[u64; 4]) {
    for (first, second) in firsts.iter_mut().zip(seconds) {
        *first = fold(fold(*first ^ secret[0], *second ^ secret[1]) ^ secret[2], secret[3]);
    }
}

#[inline(always)]
fn hash_each_in_lanes(firsts: &mut [u64], seconds: &[u64], secret: &[u64; 4]) {
    for (first, second) in firsts.iter_mut().zip(seconds) {
        let folded = fold_in_parts(*first ^ secret[0], *second ^ secret[1]);
        *first = fold_in_parts(folded ^ secret[2], secret[3]);
    }
}

in_lanes! {
    /// Returns the number of bits set.
    pub fn n_ones(words: &[u64]) -> usize = count_ones, count_ones, count_ones;
}

#[inline(always)]
fn count_ones(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

/// Bits of a code in a packed word, and the flag of a code whose window has four.
const CODE_BITS: u32 = 21;
const CODE_MASK: u64 = (1 << CODE_BITS) - 1;
const IS_OF_FOUR: u32 = 31;

in_lanes! {
    /// Packs each window of five codes of 21 bits in two words, or of four if the first code has
    /// bit 31: three in the first word, and the others in the second word under `mark_of_five` or
    /// `mark_of_four`. There are as many windows as codes, less four; the words beyond stay.
    pub fn pack_windows(codes: &[u32], marks: [u64; 2], firsts: &mut [u64], seconds: &mut [u64])
        = pack_each, pack_each, pack_each;
}

#[inline(always)]
fn pack_each(codes: &[u32], [of_four, of_five]: [u64; 2], firsts: &mut [u64], seconds: &mut [u64]) {
    let n = codes.len().saturating_sub(4).min(firsts.len()).min(seconds.len());
    if n == 0 {
        return;
    }
    let (a, b, c) = (&codes[..n], &codes[1..][..n], &codes[2..][..n]);
    let (d, e) = (&codes[3..][..n], &codes[4..][..n]);
    let (firsts, seconds) = (&mut firsts[..n], &mut seconds[..n]);
    let code = |code: u32| u64::from(code) & CODE_MASK;
    for at in 0..n {
        firsts[at] = code(a[at]) | code(b[at]) << CODE_BITS | code(c[at]) << (2 * CODE_BITS);
        let is_of_four = 0_u64.wrapping_sub(u64::from(a[at] >> IS_OF_FOUR));
        let last = (code(e[at]) << CODE_BITS | of_five) & !is_of_four | of_four & is_of_four;
        seconds[at] = code(d[at]) | last;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dispatch::at_each_level;

    #[test]
    fn folds_of_extremes() {
        let words = [0, 1, u64::MAX, 1 << 32, (1 << 32) - 1, 1 << 63, u64::MAX << 32, 0x2d35_8dcc_aa6c_78a5];
        for (a, b) in words.into_iter().flat_map(|a| words.map(|b| (a, b))) {
            assert_eq!(fold_in_parts(a, b), fold(a, b), "{a:x} {b:x}");
        }
    }

    proptest! {
        /// As it is called on each machine, and the code of lanes on any machine.
        #[test]
        fn hashes_are_the_same_in_lanes(
            words in proptest::collection::vec(any::<(u64, u64)>(), 0..70),
            secret: [u64; 4],
        ) {
            let (firsts, seconds): (Vec<u64>, Vec<u64>) = words.into_iter().unzip();
            let hashes_by = |hash_each: fn(&mut [u64], &[u64], &[u64; 4])| {
                let mut hashes = firsts.clone();
                hash_each(&mut hashes, &seconds, &secret);
                hashes
            };
            let mut hashed = at_each_level(|| hashes_by(hash_each));
            hashed.push(hashes_by(hash_each_in_lanes));
            let plain = hashes_by(hash_each_plain);
            prop_assert!(hashed.iter().all(|hashes| *hashes == plain));
            prop_assert!(at_each_level(|| n_ones(&firsts)).iter().all(|n| *n == count_ones(&firsts)));
        }

        #[test]
        fn windows_are_the_same_in_lanes(
            codes in proptest::collection::vec(any::<u32>(), 0..70), marks: [u64; 2],
        ) {
            let packed = at_each_level(|| {
                let (mut firsts, mut seconds) = (vec![7; codes.len()], vec![7; codes.len()]);
                pack_windows(&codes, marks, &mut firsts, &mut seconds);
                (firsts, seconds)
            });
            prop_assert!(packed.iter().all(|of_level| *of_level == packed[0]));
            for (at, window) in codes.windows(5).enumerate() {
                let code = |at: usize| u64::from(window[at]) & 0x1f_ffff;
                let first = code(0) | code(1) << 21 | code(2) << 42;
                let four = code(3) | marks[0];
                let second = if window[0] >> 31 == 1 { four } else { code(3) | code(4) << 21 | marks[1] };
                prop_assert_eq!((packed[0].0[at], packed[0].1[at]), (first, second));
            }
        }
    }
}
