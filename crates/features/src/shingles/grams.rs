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

/// Room for the n-grams of a piece of text: their two words, of which the first become hashes.
pub(super) struct Chunk {
    firsts: [u64; CHUNK_LEN],
    seconds: [u64; CHUNK_LEN],
}

impl Default for Chunk {
    fn default() -> Self {
        Self { firsts: [0; CHUNK_LEN], seconds: [0; CHUNK_LEN] }
    }
}

/// Hands the n-grams of a text to `emit`, up to [`CHUNK_LEN`] at once: of four characters from a
/// CJK character on, else of five. A shorter text has none.
pub(super) fn for_each_chunk(codes: &[Code], key: Key, chunk: &mut Chunk, mut emit: impl FnMut(&[u64])) {
    let Chunk { firsts, seconds } = chunk;
    let n_windows = codes.len().saturating_sub(4);
    for from in (0..n_windows).step_by(CHUNK_LEN) {
        let codes = &codes[from..codes.len().min(from + CHUNK_LEN + 4)];
        let n = codes.len() - 4;
        lanes::pack_windows(codes, [FOUR, FIVE], firsts, seconds);
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

impl FewDistinct {
    /// Returns the different bigrams, or the one character; `None` for more than `n_max`.
    pub(super) fn of(&mut self, codes: &[Code], key: Key, n_max: usize) -> Option<&[u64]> {
        self.found.clear();
        if codes.len() > n_max && are_more_distinct(codes, key, n_max) {
            return None;
        }
        if codes.len() == 1 {
            bigrams(codes, key, |hash| self.found.push(hash));
        }
        let mut filter = [0; FILTER_LEN];
        for window in codes.windows(2) {
            let hash = distinct(window, key);
            if insert(&mut filter, hash) == 1 || !self.found.contains(&hash) {
                if self.found.len() == n_max {
                    return None;
                }
                self.found.push(hash);
            }
        }
        Some(&self.found)
    }
}

/// Returns the hash by which a bigram is told from others: the hashes 0 and 1 are one here.
#[inline]
fn distinct(window: &[Code], key: Key) -> u64 {
    bigram(window[0], window[1], key).max(1)
}

/// Returns true if the filter alone tells that there are more than `n_max` different bigrams.
pub(super) fn are_more_distinct(codes: &[Code], key: Key, n_max: usize) -> bool {
    /// The bigrams looked at together, without a jump.
    const BLOCK_LEN: usize = 32;
    let (mut filter, mut n) = ([0; FILTER_LEN], 0);
    let (mut firsts, seconds) = ([0; BLOCK_LEN], [TWO ^ key[1]; BLOCK_LEN]);
    (0..codes.len() - 1).step_by(BLOCK_LEN).any(|from| {
        // A block begins with the last character of the block before.
        let block = &codes[from..codes.len().min(from + BLOCK_LEN + 1)];
        for (first, window) in firsts.iter_mut().zip(block.windows(2)) {
            *first = pack(window[0], window[1], 0) ^ key[0];
        }
        let hashes = &mut firsts[..block.len() - 1];
        hash_each(hashes, &seconds);
        n += hashes.iter().map(|&hash| insert(&mut filter, hash.max(1))).sum::<usize>();
        n > n_max
    })
}

/// Words of a filter of hashes: one that it does not have did not come before.
const FILTER_LEN: usize = 64;

/// Adds a hash to a filter. Returns 1 if it is new there, else 0.
#[inline]
fn insert(filter: &mut [u64; FILTER_LEN], hash: u64) -> usize {
    let word = &mut filter[hash as usize / 64 % FILTER_LEN];
    let is_new = !*word >> (hash % 64) & 1;
    *word |= 1 << (hash % 64);
    is_new as usize
}
