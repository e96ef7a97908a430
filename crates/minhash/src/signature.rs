//! The bytes by which two documents that met are compared: exactly where the sets are small, else by estimate.
//!
//! The layout is drawn in `schema/signature.md`. Every reader may rely on what [`Signature::decode`] lets through.

use std::fmt;

use crate::{Bins, Similarity};

/// How many bins a long sketch has.
pub const LONG_BINS: usize = 256;

/// Bits kept of each bin, and how many bytes that makes of all.
const BITS: u32 = 4;
const SKETCH_LEN: usize = LONG_BINS * BITS as usize / 8;
/// Bytes of the size of a set. A larger size is kept as the largest.
const SIZE_LEN: usize = 3;
const LONG_LEN: usize = SIZE_LEN + SKETCH_LEN;
/// Bytes of an element of a small set.
const ELEMENT_LEN: usize = 3;
/// As many elements as a small set may have.
const SMALL_SET_MAX: usize = 255;

/// The version in the high half of the first byte.
const VERSION: u8 = 1;
const EQUALITY: u8 = VERSION << 4 | 1;
const SHORT: u8 = VERSION << 4 | 2;
const LONG: u8 = VERSION << 4 | 3;
const BOTH: u8 = VERSION << 4 | 4;

/// What of a document is kept to confirm a pair: 9 to 897 bytes, 132 for a long one.
///
/// One of four kinds: a hash, where only equality counts; the whole set as 24-bit hashes, where it is small; the size of
/// the set and 4 bits of each of 256 bins; or the last two, of a document that is near the border of both.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Signature {
    bytes: Box<[u8]>,
}

/// Bytes that are no signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureError {
    /// The first byte names a kind or version that this program does not know; or there is none.
    UnknownKind(Option<u8>),
    /// So many bytes are none of this kind.
    Length {
        /// The first byte.
        kind: u8,
        /// How many bytes there are.
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

/// What two signatures were compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Basis {
    /// Hashes of the whole: the similarity is 1 or 0, and wrongly 1 for one pair in 2^64.
    Equality,
    /// Both whole sets. A hash of 24 bits stands for an element, so of two sets of 40 elements one in 10,000 pairs has a
    /// count that is off by one.
    Sets,
    /// An estimate from 256 bins: see [`Comparison::deviation`].
    Estimate,
    /// The two have no kind in common: one is small and one is not. The similarity is given as 0.
    NoCommonKind,
}

/// How similar two documents are by their signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Jaccard: what is in both, of what is in either.
    pub similarity: Similarity,
    /// What is in both, of what is in a: 1 where a is contained in b.
    pub share_of_a: Similarity,
    /// What is in both, of what is in b.
    pub share_of_b: Similarity,
    /// What they were compared by.
    pub basis: Basis,
}

impl Comparison {
    /// Whether the similarity is no estimate.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.basis != Basis::Estimate
    }

    /// The standard deviation of the estimate of a similarity from 256 bins of 4 bits.
    ///
    /// Bins agree with the probability P = J + (1 − J) / 16, so the deviation is √(P (1 − P) / 256) / (1 − 1/16): .0194 at
    /// J = .9, .0260 at .8, .0300 at .7, .0323 at .6, .0333 at .5, .0161 at 0. Of sets of fewer elements than bins it is down to a
    /// third less.
    #[must_use]
    pub fn deviation(similarity: Similarity) -> f64 {
        let agreeing = similarity.get() + (1.0 - similarity.get()) * CHANCE;
        (agreeing * (1.0 - agreeing) / LONG_BINS as f64).sqrt() / (1.0 - CHANCE)
    }
}

/// How often bins of different elements agree in the bits that are kept.
const CHANCE: f64 = 1.0 / (1 << BITS) as f64;

impl Signature {
    /// For a document that equals another or does not: any 64-bit hash of it.
    #[must_use]
    pub fn equality(hash: u64) -> Self {
        Self { bytes: [&[EQUALITY][..], &hash.to_be_bytes()].concat().into() }
    }

    /// The whole set of a short document, or `None` for the empty set and for one of more than 255 elements.
    #[must_use]
    pub fn short(elements: &[u64]) -> Option<Self> {
        let mut bytes = vec![SHORT];
        push_set(elements, &mut bytes)?;
        Some(Self { bytes: bytes.into() })
    }

    /// The sketch of a long document and the size of its set, which is taken for 2^24 − 1 where it is more.
    #[must_use]
    pub fn long(bins: &Bins<LONG_BINS>, size: u64) -> Self {
        let mut bytes = Vec::with_capacity(1 + LONG_LEN);
        bytes.push(LONG);
        push_long(bins, size, &mut bytes);
        Self { bytes: bytes.into() }
    }

    /// Both, for a document that is compared with short ones and with long ones; `None` as of [`short`](Self::short).
    #[must_use]
    pub fn both(bins: &Bins<LONG_BINS>, size: u64, elements: &[u64]) -> Option<Self> {
        let mut bytes = Vec::with_capacity(1 + LONG_LEN + ELEMENT_LEN * elements.len());
        bytes.push(BOTH);
        push_long(bins, size, &mut bytes);
        push_set(elements, &mut bytes)?;
        Some(Self { bytes: bytes.into() })
    }

    /// The stored bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads stored bytes back; any bytes give a signature or an error.
    ///
    /// # Errors
    /// See [`SignatureError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, SignatureError> {
        let Some((&kind, rest)) = bytes.split_first() else { return Err(SignatureError::UnknownKind(None)) };
        let length = SignatureError::Length { kind, len: bytes.len() };
        let set = match kind {
            EQUALITY if rest.len() == 8 => &[],
            LONG if rest.len() == LONG_LEN => &[],
            SHORT => rest,
            BOTH => rest.get(LONG_LEN..).ok_or(length)?,
            EQUALITY | LONG => return Err(length),
            _ => return Err(SignatureError::UnknownKind(Some(kind))),
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

    /// How similar the documents of two signatures are: exactly if both have a set or a hash, else by estimate.
    #[must_use]
    pub fn compare(a: &Self, b: &Self) -> Comparison {
        if let (Some(a), Some(b)) = (a.set(), b.set()) {
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
        let are_hashes = [a, b].iter().all(|signature| signature.bytes[0] == EQUALITY);
        let similarity = if are_hashes && a == b { Similarity::ONE } else { Similarity::ZERO };
        let basis = if are_hashes { Basis::Equality } else { Basis::NoCommonKind };
        Comparison { similarity, share_of_a: similarity, share_of_b: similarity, basis }
    }

    fn set(&self) -> Option<&[[u8; ELEMENT_LEN]]> {
        let from = match self.bytes[0] {
            SHORT => 1,
            BOTH => 1 + LONG_LEN,
            _ => return None,
        };
        Some(self.bytes[from..].as_chunks().0)
    }

    /// Size and bits of the bins.
    fn sketch(&self) -> Option<(f64, &[u8])> {
        if !matches!(self.bytes[0], LONG | BOTH) {
            return None;
        }
        let (size, sketch) = self.bytes[1..=LONG_LEN].split_at(SIZE_LEN);
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

fn push_long(bins: &Bins<LONG_BINS>, size: u64, bytes: &mut Vec<u8>) {
    let [_, size @ ..] = (size.min((1 << (8 * SIZE_LEN)) - 1) as u32).to_be_bytes();
    bytes.extend(size);
    // The low bits: the high ones of a least value are mostly 0.
    bytes.extend(
        bins.values().as_chunks::<2>().0.iter().map(|[high, low]| (high << 4) as u8 | *low as u8 & 15),
    );
}

fn push_set(elements: &[u64], bytes: &mut Vec<u8>) -> Option<()> {
    let mut elements: Vec<[u8; ELEMENT_LEN]> = elements
        .iter()
        .map(|&element| {
            let [.., a, b, c] = element.to_be_bytes();
            [a, b, c]
        })
        .collect();
    elements.sort_unstable();
    elements.dedup();
    bytes.extend(elements.as_flattened());
    (1..=SMALL_SET_MAX).contains(&elements.len()).then_some(())
}

/// How many elements are in both of two ascending lists.
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

/// In how many bins the bits that are kept agree.
fn agreeing(a: &[u8], b: &[u8]) -> u32 {
    const LOWEST: u64 = u64::MAX / 15;
    let words = |bytes| <[u8]>::as_chunks::<8>(bytes).0;
    let differing: u32 = words(a)
        .iter()
        .zip(words(b))
        .map(|(a, b)| {
            let x = u64::from_be_bytes(*a) ^ u64::from_be_bytes(*b);
            let x = x | x >> 2;
            ((x | x >> 1) & LOWEST).count_ones()
        })
        .sum();
    LONG_BINS as u32 - differing
}

/// Of P = J + (1 − J) / 2^b the J (Li and König, "b-bit minwise hashing", WWW 2010, theorem 1, for sets that are small beside
/// the 2^64 elements there might be), and of J and the sizes what is common: J / (1 + J) · (|A| + |B|).
fn estimate(agreeing: u32, size_a: f64, size_b: f64) -> Comparison {
    let agreeing = f64::from(agreeing) / LONG_BINS as f64;
    let similarity = Similarity::clamped((agreeing - CHANCE) / (1.0 - CHANCE));
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
