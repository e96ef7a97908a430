//! Decimals of a column as numbers to compare: precision beyond a double's is lost.

/// A column of decimals, each stored as a number of units of 10^-scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) scale: i32,
}

impl Decimal {
    pub(super) fn of_integer(self, unscaled: i64) -> f64 {
        unscaled as f64 / 10f64.powi(self.scale)
    }

    /// Returns the number of a two's complement integer, big-endian, of any length.
    pub(super) fn of_bytes(self, unscaled: &[u8]) -> f64 {
        let Some((first, rest)) = unscaled.split_first() else { return 0.0 };
        let first = f64::from(first.cast_signed());
        rest.iter().fold(first, |number, byte| number * 256.0 + f64::from(*byte)) / 10f64.powi(self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_integers_say_the_same() {
        let decimal = Decimal { scale: 2 };
        for unscaled in [0, 1, -1, 255, 256, -256, 123_456_789, i64::from(i32::MIN), 1 << 52] {
            let expected = unscaled as f64 / 100.0;
            assert_eq!(decimal.of_integer(unscaled), expected);
            assert_eq!(decimal.of_bytes(&unscaled.to_be_bytes()), expected);
            assert_eq!(decimal.of_bytes(&i128::from(unscaled).to_be_bytes()), expected);
        }
        assert_eq!(Decimal { scale: 0 }.of_bytes(&[]), 0.0);
    }
}
