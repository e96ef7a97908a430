//! Runs of characters, hashed.

use minhash::{hash_each, hash_words};

use super::characters::{CJK, CODE_MASK, Code};

/// The number of hashes handed on at once.
const CHUNK_LEN: usize = 256;

/// Marks of the kinds of grams, above the codes of two characters in the second word.
const ONE: u64 = 1 << 60;
const TWO: u64 = 2 << 60;
const FOUR: u64 = 4 << 60;
const FIVE: u64 = 5 << 60;
const SYMBOLS: u64 = 15 << 60;

/// Packs three codes of 21 bits in a word.
#[inline]
fn pack(a: Code, b: Code, c: Code) -> u64 {
    let code = |code| u64::from(code & CODE_MASK);
    code(a) | code(b) << 21 | code(c) << 42
}

/// The key of a hash of characters: [`PUBLIC`], unless an index has a secret one.
pub(super) type Key = [u64; 2];

/// The key of indexes without a secret one.
pub(super) const PUBLIC: Key = [0; 2];

#[inline]
fn keyed([first, second]: [u64; 2], key: Key) -> u64 {
    hash_words(first ^ key[0], second ^ key[1])
}

/// Packs four characters, or five if the first is no CJK.
#[inline]
fn packed([a, b, c, d, e]: [Code; 5]) -> [u64; 2] {
    let is_cjk = a & CJK != 0;
    let (e, mark) = if is_cjk { (0, FOUR) } else { (e, FIVE) };
    [pack(a, b, c), pack(d, e, 0) | mark]
}

/// Hands the n-grams of a text to `emit`, up to [`CHUNK_LEN`] at once: of four characters from a
/// CJK character on, else of five. A shorter text has none.
pub(super) fn for_each_chunk(codes: &[Code], key: Key, mut emit: impl FnMut(&[u64])) {
    let (mut firsts, mut seconds) = ([0; CHUNK_LEN], [0; CHUNK_LEN]);
    let n_windows = codes.len().saturating_sub(4);
    for from in (0..n_windows).step_by(CHUNK_LEN) {
        let codes = &codes[from..codes.len().min(from + CHUNK_LEN + 4)];
        let n = codes.len() - 4;
        lanes::pack_windows(codes, [FOUR, FIVE], &mut firsts, &mut seconds);
        if key != PUBLIC {
            firsts.iter_mut().for_each(|word| *word ^= key[0]);
            seconds.iter_mut().for_each(|word| *word ^= key[1]);
        }
        hash_each(&mut firsts[..n], &seconds[..n]);
        emit(&firsts[..n]);
    }
    if let [.., a, b, c, d] = *codes
        && a & CJK != 0
    {
        emit(&[keyed(packed([a, b, c, d, 0]), key)]);
    }
}

/// Returns the hash of the n-gram at the start of `window`.
#[inline]
pub(super) fn hash(window: [Code; 5], key: Key) -> u64 {
    keyed(packed(window), key)
}

/// Hands each bigram of a text to `emit`, packed and not hashed, until `emit` returns false. The
/// only character of a text counts as its bigram.
pub(super) fn packed_bigrams(codes: &[Code], mut emit: impl FnMut(u64) -> bool) {
    if let [only] = *codes {
        emit(pack(only, 0, 0));
    }
    for window in codes.windows(2) {
        if !emit(pack(window[0], window[1], 0) | TWO) {
            break;
        }
    }
}

/// Hands the hash of each bigram of a text to `emit`. The only character of a text counts as its
/// bigram.
pub(super) fn bigrams(codes: &[Code], key: Key, mut emit: impl FnMut(u64)) {
    if let [only] = *codes {
        emit(keyed([pack(only, 0, 0), ONE], key));
    }
    codes.windows(2).for_each(|window| emit(bigram(window[0], window[1], key)));
}

#[inline]
fn bigram(a: Code, b: Code, key: Key) -> u64 {
    keyed([pack(a, b, 0), TWO], key)
}

/// Returns one hash of all codes, in order.
pub(super) fn hash_all(codes: &[Code], key: Key) -> u64 {
    codes.chunks(3).fold(SYMBOLS, |hash, codes| {
        let code = |at| codes.get(at).copied().unwrap_or(0);
        keyed([pack(code(0), code(1), code(2)), hash], key)
    })
}

/// A finder of the different bigrams of a text, for as long as they are few.
#[derive(Default)]
pub(super) struct FewDistinct {
    found: Vec<u64>,
}

/// The number of bigrams looked at together: bits of a word.
const BLOCK_LEN: usize = 64;

impl FewDistinct {
    /// Returns the different bigrams, or the one character; `None` for more than `n_max`.
    pub(super) fn of(&mut self, codes: &[Code], key: Key, n_max: usize) -> Option<&[u64]> {
        self.found.clear();
        if codes.len() == 1 {
            bigrams(codes, key, |hash| self.found.push(hash));
        }
        let (mut filter, mut hashes) = ([0_u64; FILTER_LEN], [0; BLOCK_LEN]);
        let n_bigrams = codes.len().saturating_sub(1);
        for from in (0..n_bigrams).step_by(BLOCK_LEN) {
            // A block begins with the last character of the block before.
            let codes = &codes[from..codes.len().min(from + BLOCK_LEN + 1)];
            let mut are_new = 0_u64;
            for (at, (hash, window)) in hashes.iter_mut().zip(codes.windows(2)).enumerate() {
                // The hashes 0 and 1 are one here.
                *hash = bigram(window[0], window[1], key).max(1);
                are_new |= insert(&mut filter, *hash) << at;
            }
            if self.found.len() + are_new.count_ones() as usize > n_max {
                return None;
            }
            for (at, &hash) in hashes[..codes.len() - 1].iter().enumerate() {
                if are_new >> at & 1 == 1 || !self.found.contains(&hash) {
                    if self.found.len() == n_max {
                        return None;
                    }
                    self.found.push(hash);
                }
            }
        }
        Some(&self.found)
    }
}

/// Words of a filter of hashes: one that it does not have did not come before.
const FILTER_LEN: usize = 64;

/// Adds a hash to a filter. Returns 1 if it is new there, else 0.
#[inline]
fn insert(filter: &mut [u64; FILTER_LEN], hash: u64) -> u64 {
    let word = &mut filter[hash as usize / 64 % FILTER_LEN];
    let is_new = !*word >> (hash % 64) & 1;
    *word |= 1 << (hash % 64);
    is_new
}
