//! Signatures: the bytes by which two documents that met are compared, exactly for small sets, else
//! by estimate.
//!
//! The layout is drawn in `schema/signature.md`. Every reader may rely on the checks of
//! [`Signature::decode`].

mod comparison;
mod maker;
mod sieve;

use std::fmt;
use std::sync::Arc;

use crate::{Bins, Similarity};

use comparison::{AGREEING_BY_CHANCE, ESTIMATE_SCALE, agreeing, estimate, n_common};

pub use comparison::{Basis, Comparison};
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

#[cfg(test)]
mod tests;
