//! Term → 64 bits: murmur3 x64_128 (Austin Appleby, public domain), the low 64 bits.

/// Longest term that is hashed here; the murmur3 crate hashes longer ones.
const SHORT_MAX: usize = 15;

/// Returns the hash of one term.
///
/// Two different terms with an equal hash are one feature: among the 10^6 distinct terms of a large
/// corpus the chance of any collision is about 10^12 / 2^65 = 3·10^-8.
#[inline]
pub(crate) fn term_hash(term: &[u8], seed: u32) -> u64 {
    if term.len() <= SHORT_MAX { short(term, seed) } else { long(term, seed) }
}

/// Hashes a term of any length with the crate's reader.
fn long(mut term: &[u8], seed: u32) -> u64 {
    let hash = murmur3::murmur3_x64_128(&mut term, seed).expect("reading from memory cannot fail");
    hash as u64
}

/// Hashes a term that fits in murmur3's tail block, as most words do. Without the reader this takes
/// a third of the time. The names are the reference implementation's.
#[inline]
fn short(term: &[u8], seed: u32) -> u64 {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let (k1, k2) = tail(term);
    let len = term.len() as u64;
    let mut h1 = u64::from(seed) ^ k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mut h2 = u64::from(seed) ^ k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    h1 ^= len;
    h2 ^= len;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    mix(h1).wrapping_add(mix(h2))
}

/// Returns at most 15 bytes as two little-endian words, zeros after the end, without a copy of
/// unknown length.
#[inline]
fn tail(term: &[u8]) -> (u64, u64) {
    let word = |at: usize| match term[at..].first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes).swap_bytes(),
        None => unreachable!("a word lies inside the term"),
    };
    let half = |at: usize| match term[at..].first_chunk::<4>() {
        Some(bytes) => u64::from(u32::from_be_bytes(*bytes).swap_bytes()),
        None => unreachable!("half a word lies inside the term"),
    };
    let len = term.len();
    match len {
        0 => (0, 0),
        1..=3 => {
            let [first, middle, last] = [term[0], term[len / 2], term[len - 1]].map(u64::from);
            (first | middle << (8 * (len / 2)) | last << (8 * (len - 1)), 0)
        }
        4..=7 => (half(0) | half(len - 4) << (8 * (len - 4)), 0),
        8 => (word(0), 0),
        // The last eight bytes, shifted: only those behind the first eight are left.
        _ => (word(0), word(len - 8) >> (8 * (16 - len))),
    }
}

/// murmur3's finaliser, a permutation of the 64-bit integers.
#[inline]
pub(crate) fn mix(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ k >> 33
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_answers() {
        // MurmurHash3_x64_128 of the reference implementation.
        assert_eq!(term_hash(b"", 0), 0);
        assert_eq!(term_hash(b"hello", 0), 0xcbd8_a7b3_41bd_9b02);
        assert_eq!(term_hash(b"The quick brown fox jumps over the lazy dog", 0), 0xe34b_bc7b_bc07_1b6c);
    }

    proptest! {
        #[test]
        fn short_terms_hash_as_the_crate_hashes_them(
            term in proptest::collection::vec(any::<u8>(), 0..=SHORT_MAX), seed in prop_oneof![Just(0), any::<u32>()]
        ) {
            prop_assert_eq!(term_hash(&term, seed), long(&term, seed));
        }
    }
}
