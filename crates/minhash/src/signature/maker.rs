//! The writer of signatures.

use super::{
    BOTH, BYTE_BINS, ELEMENT_LEN, EQUALITY, LONG, LONG_BINS, LONG_LEN, NUMBERS_LEN, SHORT, SIZE_LEN,
    SMALL_SET_MAX, Signature, VERSION, VERSION_WITH_NUMBERS,
};
use crate::Bins;

/// A maker of signatures with a digest of the document's numbers, or without:
/// [`with_numbers`](Signature::with_numbers) would copy a signature, the maker writes it at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Maker {
    /// The digest of the numbers.
    pub numbers: Option<u32>,
}

impl Maker {
    /// Makes a signature as [`Signature::equality`] does.
    #[must_use]
    pub fn equality(self, hash: u64) -> Signature {
        let mut bytes = self.start(EQUALITY, 8);
        bytes.extend_from_slice(&hash.to_be_bytes());
        Signature { bytes: bytes.into() }
    }

    /// Makes a signature as [`Signature::short`] does.
    #[must_use]
    pub fn short(self, elements: &[u64]) -> Option<Signature> {
        let mut bytes = self.start(SHORT, ELEMENT_LEN * elements.len());
        push_set(elements, &mut bytes)?;
        Some(Signature { bytes: bytes.into() })
    }

    /// Makes a signature as [`Signature::long`] does.
    #[must_use]
    pub fn long(self, bins: &Bins<LONG_BINS>, size: u64) -> Signature {
        let mut bytes = self.start(LONG, LONG_LEN);
        push_long(bins, size, &mut bytes);
        Signature { bytes: bytes.into() }
    }

    /// Makes a signature as [`Signature::both`] does.
    #[must_use]
    pub fn both(self, bins: &Bins<LONG_BINS>, size: u64, elements: &[u64]) -> Option<Signature> {
        let mut bytes = self.start(BOTH, LONG_LEN + ELEMENT_LEN * elements.len());
        push_long(bins, size, &mut bytes);
        push_set(elements, &mut bytes)?;
        Some(Signature { bytes: bytes.into() })
    }

    /// Makes the signature of this kind and body.
    pub(super) fn copy(self, kind: u8, body: &[u8]) -> Signature {
        let mut bytes = self.start(kind, body.len());
        bytes.extend_from_slice(body);
        Signature { bytes: bytes.into() }
    }

    /// Returns the bytes before the body, with space for a body of `body_len` bytes.
    fn start(self, kind: u8, body_len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(1 + NUMBERS_LEN * usize::from(self.numbers.is_some()) + body_len);
        match self.numbers {
            None => bytes.push(VERSION | kind),
            Some(digest) => {
                bytes.push(VERSION_WITH_NUMBERS | kind);
                bytes.extend_from_slice(&digest.to_be_bytes());
            }
        }
        bytes
    }
}

fn push_long(bins: &Bins<LONG_BINS>, size: u64, bytes: &mut Vec<u8>) {
    let [_, size @ ..] = (size.min((1 << (8 * SIZE_LEN)) - 1) as u32).to_be_bytes();
    bytes.extend(size);
    // The low bits: the high ones of a least value are mostly 0.
    let (first, others) = bins.values().split_at(BYTE_BINS);
    bytes.extend(first.iter().map(|&value| value as u8));
    let packed = |byte: u8, value: &u64| byte << 2 | (*value & 3) as u8;
    bytes.extend(others.as_chunks::<4>().0.iter().map(|four| four.iter().fold(0, packed)));
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
    bytes.extend_from_slice(elements.as_flattened());
    (1..=SMALL_SET_MAX).contains(&elements.len()).then_some(())
}
