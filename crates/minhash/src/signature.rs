//! Signatures: the bytes by which two documents that met are compared, exactly for small sets, else
//! by estimate.
//!
//! The layout is drawn in `schema/signature.md`. Every reader may rely on the checks of
//! [`Signature::decode`].

mod maker;
mod sieve;

use std::fmt;
use std::sync::Arc;

use crate::{Bins, Similarity};

pub use maker::Maker;
pub use sieve::Sieve;

/// The number of bins of a long sketch.
pub const LONG_BINS: usize = 256;

/// The number of bins of a short sketch: those of the bands and of the suffix.
pub const SHORT_BINS: usize = 128;

/// The number of first bins, which make the bands and of which a byte is kept; two bits are kept of
/// each other bin.
pub(crate) const BYTE_BINS: usize = 80;
const PAIR_BINS: usize = LONG_BINS - BYTE_BINS;
const SKETCH_LEN: usize = BYTE_BINS + PAIR_BINS / 4;
/// Bytes of the size of a set. A larger size is kept as the largest.
const SIZE_LEN: usize = 3;
const LONG_LEN: usize = SIZE_LEN + SKETCH_LEN;
/// Bytes of an element of a small set.
const ELEMENT_LEN: usize = 3;
/// The most elements of a small set.
const SMALL_SET_MAX: usize = 255;

/// The version in the high half of the first byte: without numbers, or with them.
const VERSION: u8 = 1 << 4;
const VERSION_WITH_NUMBERS: u8 = 2 << 4;
/// The kind in the low half.
const EQUALITY: u8 = 1;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const BOTH: u8 = 4;
/// Bytes of the digest of the numbers, after the first byte.
const NUMBERS_LEN: usize = 4;

/// The part of a document that is kept to find it and to confirm a pair: 4 to 893 bytes, 128 for a
/// long one, and 4 more with a digest of its numbers.
///
/// There are four kinds: a hash, for equality only; the whole set as 24-bit hashes, for a small
/// one; the size of the set and its sketch, 8 bits of each of 80 bins and 2 bits of each of 176; or
/// the last two, for a document near the border of both. The filings of the document follow from
/// its signature: see [`FilingScheme::filings`](crate::FilingScheme::filings).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Signature {
    bytes: Arc<[u8]>,
}

/// Bytes that are no signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureError {
    /// The first byte names a kind or version that this program does not know, or is missing.
    UnknownKind(Option<u8>),
    /// A signature of this kind cannot have this length.
    Length {
        /// The first byte.
        kind: u8,
        /// The number of bytes.
        len: usize,
    },
    /// The elements of a small set do not ascend.
    NotAscending,
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKind(None) => write!(f, "a signature has at least one byte, got none"),
            Self::UnknownKind(Some(kind)) => write!(
                f,
                "a signature cannot begin with byte {kind:02x}: it is damaged, or of a newer version of this program"
            ),
            Self::Length { kind, len } => {
                write!(
                    f,
                    "a signature that begins with byte {kind:02x} cannot have {len} bytes: it is damaged"
                )
            }
            Self::NotAscending => write!(f, "the elements of a signature do not ascend: it is damaged"),
        }
    }
}

impl std::error::Error for SignatureError {}

/// The method by which two signatures were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Basis {
    /// Hashes of the whole: the similarity is 1 or 0, and wrongly 1 for one pair in 2^64.
    Equality,
    /// Both whole sets. Elements are 24-bit hashes: of two sets of 40 elements one in 10,000 pairs
    /// has a count that is off by one.
    Sets,
    /// An estimate from bins: see [`Comparison::deviation`].
    Estimate,
    /// The n-grams of both texts, counted.
    Counted,
    /// The two have no kind in common: one is small and one is not. The similarity is given as 0.
    NoCommonKind,
}

/// The similarity of two documents by their signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Jaccard: the elements in both, by the elements in either.
    pub similarity: Similarity,
    /// The elements in both, by the elements of a: 1 if a is contained in b.
    pub share_of_a: Similarity,
    /// The elements in both, by the elements of b.
    pub share_of_b: Similarity,
    /// The method of the comparison.
    pub basis: Basis,
}

impl Comparison {
    /// Returns true if the similarity is no estimate.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.basis != Basis::Estimate
    }

    /// Returns the standard deviation of the estimate of a similarity.
    ///
    /// A bin with b bits kept agrees with the probability P = J + (1 − J) / 2^b. The deviation is
    /// √(80 P₈ (1 − P₈) + 176 P₂ (1 − P₂)) / (256 − 80/256 − 176/4): .0208 at J = .9, .0280 at .8,
    /// .0325 at .7, .0354 at .6, .0370 at .5, .0273 at 0. For sets of fewer elements than bins it
    /// is down to a third less. Two bits of many bins tell more about similarities of .5 and above
    /// than four bits of half as many (Li and König, WWW 2010, section 3).
    #[must_use]
    pub fn deviation(similarity: Similarity) -> f64 {
        let variance = |n_bins: usize, chance: f64| {
            let agreeing = similarity.get() + (1.0 - similarity.get()) * chance;
            n_bins as f64 * agreeing * (1.0 - agreeing)
        };
        (variance(BYTE_BINS, BYTE_CHANCE) + variance(PAIR_BINS, PAIR_CHANCE)).sqrt() / ESTIMATE_SCALE
    }
}

/// The probability that bins of different elements agree in the kept bits.
const BYTE_CHANCE: f64 = 1.0 / 256.0;
const PAIR_CHANCE: f64 = 1.0 / 4.0;

/// The number of bins that agree by chance if nothing is in common: 44.3125.
const AGREEING_BY_CHANCE: f64 = BYTE_BINS as f64 * BYTE_CHANCE + PAIR_BINS as f64 * PAIR_CHANCE;

/// The number of further bins that agree if all is in common: 211.6875.
const ESTIMATE_SCALE: f64 = LONG_BINS as f64 - AGREEING_BY_CHANCE;

/// The elements of a small set, ascending.
type Set<'s> = &'s [[u8; ELEMENT_LEN]];

impl Signature {
    /// Makes the signature of a document that equals another or does not, from any 64-bit hash of
    /// the document.
    #[must_use]
    pub fn equality(hash: u64) -> Self {
        Maker::default().equality(hash)
    }

    /// Makes the signature of a short document, with its whole set; `None` for the empty set and
    /// for one of more than 255 elements.
    #[must_use]
    pub fn short(elements: &[u64]) -> Option<Self> {
        Maker::default().short(elements)
    }

    /// Makes the signature of a long document, with its sketch and the size of its set. A size
    /// above 2^24 − 1 is kept as 2^24 − 1.
    #[must_use]
    pub fn long(bins: &Bins<LONG_BINS>, size: u64) -> Self {
        Maker::default().long(bins, size)
    }

    /// Makes the signature, with both, of a document that is compared with short ones and with long
    /// ones; `None` as of [`short`](Self::short).
    #[must_use]
    pub fn both(bins: &Bins<LONG_BINS>, size: u64, elements: &[u64]) -> Option<Self> {
        Maker::default().both(bins, size, elements)
    }

    /// Returns the signature with a digest of the document's numbers, which tells apart documents
    /// that are otherwise similar. Nothing is found or compared by the digest here.
    #[must_use]
    pub fn with_numbers(self, digest: u32) -> Self {
        Maker { numbers: Some(digest) }.copy(self.kind(), self.body())
    }

    /// The digest of the document's numbers, if one was kept.
    #[must_use]
    pub fn numbers(&self) -> Option<u32> {
        let digest = self.bytes[1..].first_chunk()?;
        self.has_numbers().then(|| u32::from_be_bytes(*digest))
    }

    fn has_numbers(&self) -> bool {
        self.bytes[0] & 0xf0 == VERSION_WITH_NUMBERS
    }

    fn kind(&self) -> u8 {
        self.bytes[0] & 0xf
    }

    /// Returns the bytes after the first byte and the digest.
    fn body(&self) -> &[u8] {
        &self.bytes[if self.has_numbers() { 1 + NUMBERS_LEN } else { 1 }..]
    }

    /// The stored bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads stored bytes back. Any bytes give a signature or an error.
    ///
    /// # Errors
    /// See [`SignatureError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, SignatureError> {
        let Some((&first, rest)) = bytes.split_first() else { return Err(SignatureError::UnknownKind(None)) };
        let unknown = SignatureError::UnknownKind(Some(first));
        let length = SignatureError::Length { kind: first, len: bytes.len() };
        let kind = first & 0xf;
        if !(EQUALITY..=BOTH).contains(&kind) {
            return Err(unknown);
        }
        let body = match first & 0xf0 {
            VERSION => rest,
            VERSION_WITH_NUMBERS => rest.get(NUMBERS_LEN..).ok_or(length)?,
            _ => return Err(unknown),
        };
        let set = match kind {
            EQUALITY if body.len() == 8 => &[],
            LONG if body.len() == LONG_LEN => &[],
            SHORT => body,
            BOTH => body.get(LONG_LEN..).ok_or(length)?,
            _ => return Err(length),
        };
        if matches!(kind, SHORT | BOTH) {
            let (elements, left_over) = set.as_chunks::<ELEMENT_LEN>();
            if !left_over.is_empty() || !(1..=SMALL_SET_MAX).contains(&elements.len()) {
                return Err(length);
            }
            if !elements.is_sorted_by(|a, b| a < b) {
                return Err(SignatureError::NotAscending);
            }
        }
        Ok(Self { bytes: bytes.into() })
    }

    /// Returns the similarity of the documents of two signatures, whatever their versions: exactly
    /// if both have a set or a hash, else by estimate. If both have numbers, a hash and a set are
    /// compared as sets: the hash is that of the only element.
    #[must_use]
    pub fn compare(a: &Self, b: &Self) -> Comparison {
        if let Some((a, b)) = Self::sets(a, b) {
            let n_common = n_common(a, b);
            return Comparison {
                similarity: Similarity::of_sets(n_common, a.len(), b.len()),
                share_of_a: Similarity::clamped(n_common as f64 / a.len() as f64),
                share_of_b: Similarity::clamped(n_common as f64 / b.len() as f64),
                basis: Basis::Sets,
            };
        }
        if let (Some((size_a, a)), Some((size_b, b))) = (a.sketch(), b.sketch()) {
            return estimate(agreeing(a, b), size_a, size_b);
        }
        let are_hashes = [a, b].iter().all(|signature| signature.kind() == EQUALITY);
        let similarity = if are_hashes && a.body() == b.body() { Similarity::ONE } else { Similarity::ZERO };
        let basis = if are_hashes { Basis::Equality } else { Basis::NoCommonKind };
        Comparison { similarity, share_of_a: similarity, share_of_b: similarity, basis }
    }

    /// Returns the estimate for `n_bins` bins whose kept bits agree.
    #[must_use]
    pub fn similarity_of_agreeing(n_bins: u32) -> Similarity {
        Similarity::clamped((f64::from(n_bins) - AGREEING_BY_CHANCE) / ESTIMATE_SCALE)
    }

    /// Returns the sets of both, if they are compared as sets.
    fn sets<'s>(a: &'s Self, b: &'s Self) -> Option<(Set<'s>, Set<'s>)> {
        match (a.set(), b.set()) {
            (Some(a), Some(b)) => Some((a, b)),
            (None, Some(set)) if a.has_numbers() && b.has_numbers() => Some((a.only_element()?, set)),
            (Some(set), None) if a.has_numbers() && b.has_numbers() => Some((set, b.only_element()?)),
            _ => None,
        }
    }

    fn set(&self) -> Option<Set<'_>> {
        set_of(&self.bytes)
    }

    /// Returns the bytes of a hash that a set would keep of its only element.
    fn only_element(&self) -> Option<Set<'_>> {
        (self.kind() == EQUALITY).then(|| self.body()[8 - ELEMENT_LEN..].as_chunks().0)
    }

    /// Returns the elements of a small set, ascending, of 24 bits each.
    pub(crate) fn elements(&self) -> Option<impl Iterator<Item = u64> + Clone> {
        Some(self.set()?.iter().map(|&[a, b, c]| u64::from(u32::from_be_bytes([0, a, b, c]))))
    }

    /// Returns a byte of each of the first bins, and one bit of each of the 64 after them, the
    /// first on top.
    pub(crate) fn first_bins(&self) -> Option<(&[u8], u64)> {
        let (bytes, pairs) = self.sketch()?.1.split_at(BYTE_BINS);
        let low_bits = |byte: u8| u64::from(byte >> 3 & 8 | byte >> 2 & 4 | byte >> 1 & 2 | byte & 1);
        Some((bytes, pairs[..16].iter().fold(0, |suffix, &byte| suffix << 4 | low_bits(byte))))
    }

    /// Returns the hash of a signature of equality.
    pub(crate) fn hash(&self) -> Option<u64> {
        let hash = <[u8; 8]>::try_from(self.body()).ok()?;
        (self.kind() == EQUALITY).then(|| u64::from_be_bytes(hash))
    }

    /// Returns the size, and the kept bits of the bins.
    fn sketch(&self) -> Option<(f64, &[u8])> {
        if !matches!(self.kind(), LONG | BOTH) {
            return None;
        }
        let (size, sketch) = self.body()[..LONG_LEN].split_at(SIZE_LEN);
        let size = size.iter().fold(0_u32, |size, &byte| size << 8 | u32::from(byte));
        Some((f64::from(size), sketch))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.bytes.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        write!(f, "Signature({shown}…, {} B)", self.bytes.len())
    }
}

/// Returns the small set in the bytes of a signature, if there is one.
fn set_of(bytes: &[u8]) -> Option<Set<'_>> {
    let first = *bytes.first()?;
    let body = bytes.get(if first & 0xf0 == VERSION_WITH_NUMBERS { 1 + NUMBERS_LEN } else { 1 }..)?;
    let set = match first & 0xf {
        SHORT => body,
        BOTH => body.get(LONG_LEN..)?,
        _ => return None,
    };
    Some(set.as_chunks().0)
}

/// Returns the number of elements in both of two ascending lists.
fn n_common(mut a: &[[u8; ELEMENT_LEN]], mut b: &[[u8; ELEMENT_LEN]]) -> usize {
    let mut n = 0;
    while let ([first_a, rest_a @ ..], [first_b, rest_b @ ..]) = (a, b) {
        n += usize::from(first_a == first_b);
        if first_a <= first_b {
            a = rest_a;
        }
        if first_b <= first_a {
            b = rest_b;
        }
    }
    n
}

/// Returns the number of bins whose kept bits agree.
fn agreeing(a: &[u8], b: &[u8]) -> u32 {
    const LOW_OF_BYTES: u32 = u32::MAX / 255;
    const LOW_OF_PAIRS: u32 = u32::MAX / 3;
    let differing = |(a, b): (&[u8; 4], &[u8; 4])| u32::from_be_bytes(*a) ^ u32::from_be_bytes(*b);
    let [(bytes_a, pairs_a), (bytes_b, pairs_b)] = [a, b].map(|bytes| {
        let (bytes, pairs) = bytes.split_at(BYTE_BINS);
        (bytes.as_chunks::<4>().0, pairs.as_chunks::<4>().0)
    });
    let bytes = bytes_a.iter().zip(bytes_b).map(differing).map(|x| {
        let x = x | x >> 4;
        let x = x | x >> 2;
        (x | x >> 1) & LOW_OF_BYTES
    });
    let pairs = pairs_a.iter().zip(pairs_b).map(differing).map(|x| (x | x >> 1) & LOW_OF_PAIRS);
    LONG_BINS as u32 - bytes.chain(pairs).map(u32::count_ones).sum::<u32>()
}

/// Estimates J from P = J + (1 − J) / 2^b (Li and König, "b-bit minwise hashing", WWW 2010, theorem
/// 1, for sets that are small beside the 2^64 possible elements). Each bin counts alike, which for
/// J from .5 on is near the least variance. The number of common elements follows from J and the
/// sizes: J / (1 + J) · (|A| + |B|).
fn estimate(agreeing: u32, size_a: f64, size_b: f64) -> Comparison {
    let similarity = Signature::similarity_of_agreeing(agreeing);
    let n_common = similarity.get() / (1.0 + similarity.get()) * (size_a + size_b);
    let share_of = |size: f64| Similarity::clamped(if size > 0.0 { n_common / size } else { 0.0 });
    Comparison {
        similarity,
        share_of_a: share_of(size_a),
        share_of_b: share_of(size_b),
        basis: Basis::Estimate,
    }
}

#[cfg(test)]
mod tests;
