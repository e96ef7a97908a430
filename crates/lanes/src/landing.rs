//! Throws at places of which some are free.

use crate::fold;

/// The most elements that are thrown together.
const ELEMENTS_MAX: usize = 256;

/// Room for what lands: a store of lanes is of four.
const LANES: usize = 4;

/// The folds that landed.
#[derive(Clone, Debug)]
pub struct Landed {
    folds: [u64; ELEMENTS_MAX + LANES],
    len: usize,
}

impl Default for Landed {
    fn default() -> Self {
        Self { folds: [0; ELEMENTS_MAX + LANES], len: 0 }
    }
}

impl Landed {
    /// The most elements of one throw.
    pub const ELEMENTS_MAX: usize = ELEMENTS_MAX;

    /// Takes the [`fold`] of each element, with `mask` over it, by a factor, and keeps those
    /// whose upper 8 bits are in the set `free`, in the order of the elements.
    ///
    /// # Panics
    /// Panics for more than [`ELEMENTS_MAX`](Self::ELEMENTS_MAX) elements.
    #[inline]
    pub fn throw(&mut self, elements: &[u64], mask: u64, factor: u64, free: &[u32; 8]) -> &[u64] {
        assert!(elements.len() <= ELEMENTS_MAX, "{} elements", elements.len());
        throw(self, elements, mask, factor, free);
        &self.folds[..self.len]
    }

    fn throw_plain(&mut self, elements: &[u64], mask: u64, factor: u64, free: &[u32; 8]) {
        self.len = 0;
        self.throw_rest(elements, mask, factor, free);
    }

    #[inline(always)]
    fn throw_rest(&mut self, elements: &[u64], mask: u64, factor: u64, free: &[u32; 8]) {
        // What lands cannot be foreseen: it is kept without a jump.
        let mut len = self.len;
        for element in elements {
            let fold = fold(element ^ mask, factor);
            self.folds[len] = fold;
            len += (free[(fold >> 61) as usize] >> (fold >> 56 & 31)) as usize & 1;
        }
        self.len = len;
    }
}

in_lanes! {
    fn throw(landed: &mut Landed, elements: &[u64], mask: u64, factor: u64, free: &[u32; 8])
        = Landed::throw_plain, lanes::throw;
}

#[cfg(target_arch = "x86_64")]
mod lanes {
    use std::arch::x86_64::*;

    use super::{LANES, Landed};

    /// For each set of four words to keep, the halves of those.
    static KEPT: [[u32; 8]; 16] = {
        let mut kept = [[0; 8]; 16];
        let mut set = 0;
        while set < 16 {
            let (mut at, mut n) = (0, 0);
            while at < 4 {
                if set >> at & 1 == 1 {
                    kept[set][n] = 2 * at;
                    kept[set][n + 1] = 2 * at + 1;
                    n += 2;
                }
                at += 1;
            }
            set += 1;
        }
        kept
    };

    /// Does as [`Landed::throw_plain`].
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    #[inline]
    #[expect(unsafe_code, reason = "lanes are stored in room for four more than there may be")]
    pub(super) fn throw(landed: &mut Landed, elements: &[u64], mask: u64, factor: u64, free: &[u32; 8]) {
        let (fours, rest) = elements.as_chunks::<LANES>();
        let masks = _mm256_set1_epi64x(mask as i64);
        let factors = [factor, factor >> 32].map(|factor| factor as i64);
        let (low, high) = (_mm256_set1_epi64x(factors[0]), _mm256_set1_epi64x(factors[1]));
        let free_lanes = load_halves(free);
        let mut len = 0;
        for four in fours {
            let folds = fold(_mm256_xor_si256(load(four), masks), low, high);
            // The word of the set for the upper 8 bits, and the bit there on top.
            let words = _mm256_permutevar8x32_epi32(free_lanes, _mm256_srli_epi64::<61>(folds));
            let bits = _mm256_and_si256(_mm256_srli_epi64::<56>(folds), _mm256_set1_epi64x(31));
            let on_top = _mm256_slli_epi64::<63>(_mm256_srlv_epi64(words, bits));
            let lands = _mm256_movemask_pd(_mm256_castsi256_pd(on_top)) as usize;
            let kept = _mm256_permutevar8x32_epi32(folds, load_halves(&KEPT[lands]));
            let room = &mut landed.folds[len..len + LANES];
            // SAFETY: `room` has four words, which need no alignment.
            unsafe { _mm256_storeu_si256(room.as_mut_ptr().cast(), kept) };
            len += lands.count_ones() as usize;
        }
        landed.len = len;
        landed.throw_rest(rest, mask, factor, free);
    }

    /// Returns the fold of each word by a factor, of which `low` has the lower half at least and
    /// `high` the upper half.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn fold(words: __m256i, low: __m256i, high: __m256i) -> __m256i {
        let words_high = _mm256_srli_epi64::<32>(words);
        let product = _mm256_mul_epu32(words, low);
        let middle = _mm256_add_epi64(_mm256_mul_epu32(words_high, low), _mm256_srli_epi64::<32>(product));
        let middle_low = _mm256_blend_epi32::<0b1010_1010>(middle, _mm256_setzero_si256());
        let other_middle = _mm256_add_epi64(_mm256_mul_epu32(words, high), middle_low);
        let upper = _mm256_add_epi64(
            _mm256_mul_epu32(words_high, high),
            _mm256_add_epi64(_mm256_srli_epi64::<32>(middle), _mm256_srli_epi64::<32>(other_middle)),
        );
        let lower = _mm256_blend_epi32::<0b1010_1010>(product, _mm256_slli_epi64::<32>(other_middle));
        _mm256_xor_si256(lower, upper)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    #[expect(unsafe_code, reason = "an array of words is loaded into lanes")]
    fn load(words: &[u64; LANES]) -> __m256i {
        // SAFETY: 32 bytes may be read, and need no alignment.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    #[expect(unsafe_code, reason = "an array of halves of words is loaded into lanes")]
    fn load_halves(halves: &[u32; 8]) -> __m256i {
        // SAFETY: 32 bytes may be read, and need no alignment.
        unsafe { _mm256_loadu_si256(halves.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn what_lands_is_the_same_in_lanes(
            elements in proptest::collection::vec(any::<u64>(), 0..ELEMENTS_MAX),
            mask: u64,
            factor: u64,
            sparse: [u32; 8],
            dense: bool,
        ) {
            let free = sparse.map(|word| if dense { word | word >> 3 } else { word & word >> 3 & word << 5 });
            let expected: Vec<u64> = elements
                .iter()
                .map(|element| fold(element ^ mask, factor))
                .filter(|fold| free[(fold >> 61) as usize] >> (fold >> 56 & 31) & 1 == 1)
                .collect();
            let (mut plain, mut in_lanes) = (Landed::default(), Landed::default());
            plain.throw_plain(&elements, mask, factor, &free);
            prop_assert_eq!(&plain.folds[..plain.len], &expected);
            prop_assert_eq!(in_lanes.throw(&elements, mask, factor, &free), &expected);
        }
    }

    #[test]
    fn all_may_land() {
        let elements = [u64::MAX; ELEMENTS_MAX];
        assert_eq!(Landed::default().throw(&elements, 0, 1, &[u32::MAX; 8]), elements);
    }
}
