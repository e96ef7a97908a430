//! The similarity of two sets.

use std::fmt;

/// A share from 0 to 1, such as the Jaccard similarity of two sets: the number of common elements
/// by the number of elements in either.
///
/// Shown with four decimals.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Similarity(f64);

impl Similarity {
    /// Nothing in common.
    pub const ZERO: Self = Self(0.0);
    /// Everything in common.
    pub const ONE: Self = Self(1.0);

    /// Returns `None` for a share outside 0 to 1.
    #[must_use]
    pub fn new(share: f64) -> Option<Self> {
        // -0.0 becomes 0.0.
        (0.0..=1.0).contains(&share).then_some(Self(share + 0.0))
    }

    /// Returns the nearest share from 0 to 1, 0 for NaN.
    #[must_use]
    pub fn clamped(share: f64) -> Self {
        Self(if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) + 0.0 })
    }

    /// Returns the Jaccard similarity of two sets of `size_a` and `size_b` elements, `n_common` of
    /// which are in both. Two empty sets have 0.
    #[must_use]
    pub fn of_sets(n_common: usize, size_a: usize, size_b: usize) -> Self {
        Self::clamped(n_common as f64 / (size_a + size_b).saturating_sub(n_common) as f64)
    }

    /// Returns the share for output: an estimate has no more than four decimals. Rounded down: 1 is
    /// for equal sets only.
    #[must_use]
    pub fn four_decimals(self) -> f64 {
        (self.0 * 1e4 + 1e-5).floor() / 1e4
    }

    /// The share.
    #[inline]
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

// A share is never NaN, see the constructors.
impl Eq for Similarity {}

impl std::hash::Hash for Similarity {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        // There is one form of 0.
        self.0.to_bits().hash(state);
    }
}

impl PartialOrd for Similarity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Similarity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Display for Similarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded down: 1 is for equal sets only.
        write!(f, "{:.4}", (self.0 * 1e4 + 1e-9).floor() / 1e4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_0_to_1_only() {
        for share in [-0.1, 1.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Similarity::new(share), None);
            assert!((0.0..=1.0).contains(&Similarity::clamped(share).get()), "{share}");
        }
        assert_eq!(Similarity::new(0.8), Some(Similarity::clamped(0.8)));
        assert_eq!(Similarity::of_sets(0, 0, 0), Similarity::ZERO);
        assert_eq!(Similarity::of_sets(4, 4, 5), Similarity::clamped(0.8));
        assert_eq!(Similarity::of_sets(40, 45, 45), Similarity::clamped(0.8));
        assert_eq!(Similarity::clamped(-0.0).cmp(&Similarity::ZERO), std::cmp::Ordering::Equal);
    }

    #[test]
    fn four_decimals_and_no_1_that_is_none() {
        for (share, shown) in
            [(0.0, "0.0000"), (0.8, "0.8000"), (2.0 / 3.0, "0.6666"), (0.99999, "0.9999"), (1.0, "1.0000")]
        {
            assert_eq!(Similarity::clamped(share).to_string(), shown);
            assert_eq!(Similarity::clamped(share).four_decimals(), shown.parse().unwrap());
        }
    }
}
