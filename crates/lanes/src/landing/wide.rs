//! Throws in lanes of 512 bits.

use std::arch::x86_64::*;

use super::{LANES, Landed};

/// Does as [`Landed::throw_plain`].
#[target_feature(enable = "avx512f,avx512dq,popcnt")]
#[inline]
#[expect(unsafe_code, reason = "lanes are stored in room for eight more than there may be")]
pub(super) fn throw(landed: &mut Landed, elements: &[u64], mask: u64, factor: u64, free: &[u32; 8]) {
    let (eights, rest) = elements.as_chunks::<LANES>();
    let masks = _mm512_set1_epi64(mask as i64);
    let (low, high) = (_mm512_set1_epi64(factor as i64), _mm512_set1_epi64((factor >> 32) as i64));
    let free_words = widened(free);
    let mut len = 0;
    for eight in eights {
        let folds = fold(_mm512_xor_si512(load(eight), masks), low, high);
        // The word of the set for the upper 8 bits, and the bit there.
        let words = _mm512_permutexvar_epi64(_mm512_srli_epi64::<61>(folds), free_words);
        let places = _mm512_and_si512(_mm512_srli_epi64::<56>(folds), _mm512_set1_epi64(31));
        let bits = _mm512_sllv_epi64(_mm512_set1_epi64(1), places);
        let lands = _mm512_test_epi64_mask(words, bits);
        let kept = _mm512_maskz_compress_epi64(lands, folds);
        let room = &mut landed.folds[len..len + LANES];
        // SAFETY: `room` has eight words, which need no alignment.
        unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), kept) };
        len += lands.count_ones() as usize;
    }
    landed.len = len;
    landed.throw_rest(rest, mask, factor, free);
}

/// Returns the fold of each word by a factor, of which `low` has the lower half at least and
/// `high` the upper half.
#[target_feature(enable = "avx512f")]
#[inline]
fn fold(words: __m512i, low: __m512i, high: __m512i) -> __m512i {
    let halves = _mm512_set1_epi64(u32::MAX.into());
    let words_high = _mm512_srli_epi64::<32>(words);
    let product = _mm512_mul_epu32(words, low);
    let middle = _mm512_add_epi64(_mm512_mul_epu32(words_high, low), _mm512_srli_epi64::<32>(product));
    let middle_low = _mm512_and_si512(middle, halves);
    let other_middle = _mm512_add_epi64(_mm512_mul_epu32(words, high), middle_low);
    let upper = _mm512_add_epi64(
        _mm512_mul_epu32(words_high, high),
        _mm512_add_epi64(_mm512_srli_epi64::<32>(middle), _mm512_srli_epi64::<32>(other_middle)),
    );
    let lower = _mm512_mask_blend_epi32(0xaaaa, product, _mm512_slli_epi64::<32>(other_middle));
    _mm512_xor_si512(lower, upper)
}

#[target_feature(enable = "avx512f")]
#[inline]
#[expect(unsafe_code, reason = "an array of words is loaded into lanes")]
fn load(words: &[u64; LANES]) -> __m512i {
    // SAFETY: 64 bytes may be read, and need no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// Returns each half of a word as a word.
#[target_feature(enable = "avx512f")]
#[inline]
#[expect(unsafe_code, reason = "an array of halves of words is loaded into lanes")]
fn widened(halves: &[u32; LANES]) -> __m512i {
    // SAFETY: 32 bytes may be read, and need no alignment.
    _mm512_cvtepu32_epi64(unsafe { _mm256_loadu_si256(halves.as_ptr().cast()) })
}
