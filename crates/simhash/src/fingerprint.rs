//! The 64-bit fingerprint and the distance between two.

use std::fmt;
use std::str::FromStr;

use crate::Distance;

/// A 64-bit simhash (Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC
/// 2002, section 3).
///
/// Its text form is exactly 16 hexadecimal digits, most significant first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// The number of bits of a fingerprint.
    pub const BITS: u32 = u64::BITS;

    /// Returns the Hamming distance: the number of bits of 64 in which the two differ.
    #[inline]
    #[must_use]
    pub const fn distance(self, other: Self) -> Distance {
        Distance::of_differing(self.0 ^ other.0)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// A text that is not exactly 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFingerprintError {
    got: String,
}

impl fmt::Display for ParseFingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a fingerprint is 16 hexadecimal digits, got {:?}", self.got)
    }
}

impl std::error::Error for ParseFingerprintError {}

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `from_str_radix` alone would also take a sign and fewer digits.
        if text.len() == 16
            && text.bytes().all(|b| b.is_ascii_hexdigit())
            && let Ok(bits) = u64::from_str_radix(text, 16)
        {
            return Ok(Self(bits));
        }
        Err(ParseFingerprintError { got: text.chars().take(40).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_form_is_sixteen_hex_digits() {
        for (bits, text) in [
            (0, "0000000000000000"),
            (u64::MAX, "ffffffffffffffff"),
            (0x0123_4567_89ab_cdef, "0123456789abcdef"),
        ] {
            assert_eq!(Fingerprint(bits).to_string(), text);
            assert_eq!(text.parse(), Ok(Fingerprint(bits)));
            assert_eq!(text.to_uppercase().parse(), Ok(Fingerprint(bits)));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "0",
            "0123456789abcde",
            "0123456789abcdef0",
            "+123456789abcdef",
            "0123456789abcdeg",
            "０１２３４５",
        ] {
            assert!(text.parse::<Fingerprint>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn distance_is_a_metric(a: u64, b: u64, c: u64) {
            let [a, b, c] = [a, b, c].map(Fingerprint);
            prop_assert_eq!(a.distance(a), Distance::ZERO);
            prop_assert_eq!(a.distance(b), b.distance(a));
            prop_assert!(a.distance(c).as_bits() <= a.distance(b).as_bits() + b.distance(c).as_bits());
            prop_assert_eq!(a.distance(Fingerprint(!a.0)), Distance::MAX);
        }
    }
}
