//! The number of bits in which two fingerprints differ.

use std::fmt;
use std::str::FromStr;

/// A number of differing bits, 0 to 64: the distance of two fingerprints, or the reach of a search.
///
/// Its text form is the number in decimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Distance(u8);

impl Distance {
    /// The distance of equal fingerprints.
    pub const ZERO: Self = Self(0);

    /// The distance of a fingerprint to its complement.
    pub const MAX: Self = Self(u64::BITS as u8);

    /// Creates a distance of `n_bits`.
    ///
    /// # Errors
    /// [`InvalidDistance`] above [`MAX`](Self::MAX).
    pub const fn new(n_bits: u32) -> Result<Self, InvalidDistance> {
        if n_bits > Self::MAX.as_bits() { Err(InvalidDistance) } else { Ok(Self(n_bits as u8)) }
    }

    /// Returns the distance of two fingerprints whose bits differ where `differing` has ones.
    #[inline]
    #[must_use]
    pub const fn of_differing(differing: u64) -> Self {
        Self(differing.count_ones() as u8)
    }

    /// The number of bits.
    #[inline]
    #[must_use]
    pub const fn as_bits(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A number of bits above 64, or a text that is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidDistance;

impl fmt::Display for InvalidDistance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a distance is a number of differing bits, 0 to {}", Distance::MAX)
    }
}

impl std::error::Error for InvalidDistance {}

impl FromStr for Distance {
    type Err = InvalidDistance;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map_err(|_| InvalidDistance).and_then(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_is_the_number() {
        for (text, expected) in [
            ("0", Ok(Distance::ZERO)),
            ("3", Ok(Distance(3))),
            ("64", Ok(Distance::MAX)),
            ("65", Err(InvalidDistance)),
            ("256", Err(InvalidDistance)),
            ("4294967297", Err(InvalidDistance)),
            ("-1", Err(InvalidDistance)),
            ("", Err(InvalidDistance)),
            ("3 bits", Err(InvalidDistance)),
        ] {
            assert_eq!(text.parse(), expected, "{text:?}");
        }
        assert_eq!(format!("{:>3}", Distance::MAX), " 64");
        assert_eq!(InvalidDistance.to_string(), "a distance is a number of differing bits, 0 to 64");
    }

    #[test]
    fn order_is_that_of_the_numbers() {
        for n_bits in 0..=64 {
            let distance = Distance::of_differing(u64::MAX.checked_shr(64 - n_bits).unwrap_or(0));
            assert_eq!(Distance::new(n_bits), Ok(distance));
            assert_eq!(distance.as_bits(), n_bits);
            assert_eq!(distance < Distance::MAX, n_bits < 64);
        }
    }
}
