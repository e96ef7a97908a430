//! Words of ASCII in lanes.

use std::arch::x86_64::*;

use super::{BLOCK_LEN, DIGIT, GAP, LETTER, Run, Words};

/// For each set of bytes of ASCII and each low half of a byte, a bit for each high half that
/// is in the set with it.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    pub(super) letters: [u8; 16],
    pub(super) digits: [u8; 16],
    pub(super) gaps: [u8; 16],
}

impl Sets {
    pub(super) fn new(kinds: &[u8; 256]) -> Self {
        let of = |kind: u8| {
            let mut set = [0; 16];
            for byte in (0..0x80).filter(|&byte| kinds[byte] == kind) {
                set[byte % 16] |= 1 << (byte / 16);
            }
            set
        };
        Self { letters: of(LETTER), digits: of(DIGIT), gaps: of(GAP) }
    }
}

/// For each set of eight bytes to keep, the places of those.
static KEPT: [u64; 256] = {
    let mut kept = [0; 256];
    let mut set = 0;
    while set < 256 {
        let (mut at, mut n) = (0, 0);
        while at < 8 {
            if set >> at & 1 == 1 {
                kept[set] |= at << (8 * n);
                n += 1;
            }
            at += 1;
        }
        set += 1;
    }
    kept
};

#[target_feature(enable = "avx2")]
#[inline]
#[expect(unsafe_code, reason = "an array of bytes is loaded into lanes")]
fn both_halves(set: &[u8; 16]) -> __m256i {
    // SAFETY: 16 bytes may be read, and need no alignment.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(set.as_ptr().cast()) })
}

/// Does as [`Words::read_plain`].
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
#[inline]
pub(super) fn read(
    words: &Words,
    bytes: &[u8],
    digits_len: usize,
    after_gap: bool,
    out: &mut Vec<u32>,
) -> Run {
    let sets = &words.sets;
    let (letters, digits) = (both_halves(&sets.letters), both_halves(&sets.digits));
    let gaps = both_halves(&sets.gaps);
    let high_bits = both_halves(&[1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0]);
    let (half, space) = (_mm256_set1_epi8(0x0f), _mm256_set1_epi8(0x20));
    let (mut at, mut in_gap) = (0, u32::from(after_gap));
    let (blocks, _) = bytes.as_chunks::<BLOCK_LEN>();
    for block in blocks {
        let block = load(block);
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(block), half);
        let high = _mm256_shuffle_epi8(high_bits, high);
        // The low half of a byte beyond ASCII has a high bit, and is in no set.
        let low = _mm256_and_si256(block, _mm256_set1_epi8(0x8f_u8 as i8));
        let outside = |set| {
            let bits = _mm256_and_si256(_mm256_shuffle_epi8(set, low), high);
            _mm256_cmpeq_epi8(bits, _mm256_setzero_si256())
        };
        let (no_gap, no_digit) = (outside(gaps), outside(digits));
        let gap = !(_mm256_movemask_epi8(no_gap) as u32);
        let digit = !(_mm256_movemask_epi8(no_digit) as u32);
        let letter = !(_mm256_movemask_epi8(outside(letters)) as u32);
        let n_digits = digits_len.saturating_sub(at).min(BLOCK_LEN);
        let read_digits = digit & low_bits(n_digits as u32);
        let n_read = (letter | gap | read_digits).trailing_ones();
        let small = _mm256_or_si256(block, space);
        let codes = _mm256_blendv_epi8(space, small, no_gap);
        let kept = !(gap & (gap << 1 | in_gap)) & low_bits(n_read);
        append(codes, kept, out);
        at += n_read as usize;
        if n_read > 0 {
            in_gap = gap >> (n_read - 1) & 1;
        }
        if n_read < BLOCK_LEN as u32 {
            return (at, in_gap == 1);
        }
    }
    let (rest, in_gap) = words.read_plain(&bytes[at..], digits_len.saturating_sub(at), in_gap == 1, out);
    (at + rest, in_gap)
}

#[inline(always)]
fn low_bits(n: u32) -> u32 {
    ((1_u64 << n) - 1) as u32
}

#[target_feature(enable = "avx2")]
#[inline]
#[expect(unsafe_code, reason = "an array of bytes is loaded into lanes")]
fn load(block: &[u8; BLOCK_LEN]) -> __m256i {
    // SAFETY: 32 bytes may be read, and need no alignment.
    unsafe { _mm256_loadu_si256(block.as_ptr().cast()) }
}

/// Appends the kept bytes of a block as codes.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
#[expect(unsafe_code, reason = "lanes are stored in room beyond the length, which then grows")]
fn append(block: __m256i, kept: u32, out: &mut Vec<u32>) {
    out.reserve(BLOCK_LEN);
    let mut len = out.len();
    let words = [
        _mm256_extract_epi64::<0>(block),
        _mm256_extract_epi64::<1>(block),
        _mm256_extract_epi64::<2>(block),
        _mm256_extract_epi64::<3>(block),
    ];
    for (at, word) in words.into_iter().enumerate() {
        let kept = (kept >> (8 * at)) as u8;
        let places = _mm_cvtsi64_si128(KEPT[usize::from(kept)] as i64);
        let bytes = _mm_shuffle_epi8(_mm_cvtsi64_si128(word), places);
        // SAFETY: `len` has grown by at most eight for each word before, of four in all: eight
        // codes more are within the reserved 32. They need no alignment.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(len).cast(), _mm256_cvtepu8_epi32(bytes)) };
        len += kept.count_ones() as usize;
    }
    // SAFETY: all codes up to `len` were stored, and `len` is within the reserved room.
    unsafe { out.set_len(len) };
}
