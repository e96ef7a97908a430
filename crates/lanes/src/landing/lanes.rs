//! Throws in lanes.

use std::arch::x86_64::*;

use super::Landed;

/// The words in lanes.
const LANES: usize = 4;

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
    let (low, high) = (_mm256_set1_epi64x(factor as i64), _mm256_set1_epi64x((factor >> 32) as i64));
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
