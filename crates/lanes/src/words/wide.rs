//! Words of ASCII in lanes of 512 bits.

use std::arch::x86_64::*;

use super::{Run, Words};

/// The bytes of a block.
const BLOCK_LEN: usize = 64;

/// The codes that a store of lanes has.
const STORED: usize = 16;

/// Does as [`Words::read_plain`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
#[inline]
pub(super) fn read(
    words: &Words,
    bytes: &[u8],
    digits_len: usize,
    after_gap: bool,
    out: &mut Vec<u32>,
) -> Run {
    let sets = &words.sets;
    let (letters, digits) = (four_times(&sets.letters), four_times(&sets.digits));
    let gaps = four_times(&sets.gaps);
    let high_bits = four_times(&[1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0]);
    let (half, space) = (_mm512_set1_epi8(0x0f), _mm512_set1_epi8(0x20));
    let (mut at, mut in_gap) = (0, u64::from(after_gap));
    for part in bytes.chunks(BLOCK_LEN) {
        let there = low_bits(part.len());
        let block = load(part);
        let high = _mm512_and_si512(_mm512_srli_epi16::<4>(block), half);
        let high = _mm512_shuffle_epi8(high_bits, high);
        // The low half of a byte beyond ASCII has a high bit, and is in no set.
        let low = _mm512_and_si512(block, _mm512_set1_epi8(0x8f_u8 as i8));
        let inside = |set| _mm512_test_epi8_mask(_mm512_shuffle_epi8(set, low), high);
        let (letter, digit, gap) = (inside(letters), inside(digits), inside(gaps));
        let read_digits = digit & low_bits(digits_len.saturating_sub(at).min(BLOCK_LEN));
        let n_read = ((letter | gap | read_digits) & there).trailing_ones() as usize;
        let codes = _mm512_mask_blend_epi8(gap, _mm512_or_si512(block, space), space);
        let kept = !(gap & (gap << 1 | in_gap)) & low_bits(n_read);
        append(_mm512_maskz_compress_epi8(kept, codes), kept.count_ones() as usize, out);
        at += n_read;
        if n_read > 0 {
            in_gap = gap >> (n_read - 1) & 1;
        }
        if n_read < BLOCK_LEN {
            break;
        }
    }
    (at, in_gap == 1)
}

#[target_feature(enable = "bmi2")]
#[inline]
fn low_bits(n: usize) -> u64 {
    _bzhi_u64(u64::MAX, n as u32)
}

#[target_feature(enable = "avx512f")]
#[inline]
#[expect(unsafe_code, reason = "an array of bytes is loaded into lanes")]
fn four_times(set: &[u8; 16]) -> __m512i {
    // SAFETY: 16 bytes may be read, and need no alignment.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(set.as_ptr().cast()) })
}

/// Loads at most 64 bytes; zeros follow.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
#[expect(unsafe_code, reason = "as many bytes as there are, are loaded into lanes")]
fn load(bytes: &[u8]) -> __m512i {
    // SAFETY: the mask has a bit for each byte of the slice, and no others are read.
    unsafe { _mm512_maskz_loadu_epi8(low_bits(bytes.len()), bytes.as_ptr().cast()) }
}

/// Appends the first `n` bytes of a block as codes.
#[target_feature(enable = "avx512f")]
#[inline]
#[expect(unsafe_code, reason = "lanes are stored in room beyond the length, which then grows")]
fn append(block: __m512i, n: usize, out: &mut Vec<u32>) {
    // `reserve` is not inlined: a call for each block would take longer than the rest.
    if out.capacity() - out.len() < BLOCK_LEN {
        out.reserve(BLOCK_LEN);
    }
    let quarters = [
        _mm512_castsi512_si128(block),
        _mm512_extracti32x4_epi32::<1>(block),
        _mm512_extracti32x4_epi32::<2>(block),
        _mm512_extracti32x4_epi32::<3>(block),
    ];
    let end = out.as_mut_ptr().wrapping_add(out.len());
    for (at, quarter) in quarters.into_iter().enumerate() {
        let to = end.wrapping_add(at * STORED);
        // SAFETY: 4 × 16 codes are within the reserved 64, and need no alignment.
        unsafe { _mm512_storeu_si512(to.cast(), _mm512_cvtepu8_epi32(quarter)) };
    }
    // SAFETY: 64 codes were stored there, of which `n` are at most all.
    unsafe { out.set_len(out.len() + n) };
}
