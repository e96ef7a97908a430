//! Decimals of a column: whole ones as integers, others as numbers to compare, whose precision
//! beyond a double's is lost.

use super::super::records::Cell;

/// A column of decimals, each stored as a number of units of 10^-scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) scale: i32,
}

impl Decimal {
    pub(super) fn of_integer(self, unscaled: i64) -> Cell {
        self.whole(unscaled.into()).unwrap_or(Cell::Float(unscaled as f64 / 10f64.powi(self.scale)))
    }

    /// Returns the cell of a two's complement integer, big-endian, of any length.
    pub(crate) fn of_bytes(self, unscaled: &[u8]) -> Cell {
        let Some((first, rest)) = unscaled.split_first() else { return Cell::Integer(0) };
        let first = first.cast_signed();
        let exact = (unscaled.len() <= size_of::<i128>())
            .then(|| rest.iter().fold(i128::from(first), |number, byte| number << 8 | i128::from(*byte)));
        exact.and_then(|exact| self.whole(exact)).unwrap_or_else(|| {
            let number = rest.iter().fold(f64::from(first), |number, byte| number * 256.0 + f64::from(*byte));
            Cell::Float(number / 10f64.powi(self.scale))
        })
    }

    /// Returns the integer, if the decimal is a whole number of 64 bits.
    fn whole(self, unscaled: i128) -> Option<Cell> {
        let unit = 10_i128.checked_pow(u32::try_from(self.scale).ok()?)?;
        let number = (unscaled % unit == 0).then_some(unscaled / unit)?;
        let signed = i64::try_from(number).ok().map(Cell::Integer);
        signed.or_else(|| u64::try_from(number).ok().map(Cell::Unsigned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_integers_say_the_same() {
        let decimal = Decimal { scale: 2 };
        for unscaled in [0, 1, -1, 255, 256, -256, 123_456_789, i64::from(i32::MIN), 1 << 52] {
            let expected = match unscaled % 100 {
                0 => Cell::Integer(unscaled / 100),
                _ => Cell::Float(unscaled as f64 / 100.0),
            };
            assert_eq!(decimal.of_integer(unscaled), expected);
            assert_eq!(decimal.of_bytes(&unscaled.to_be_bytes()), expected);
            assert_eq!(decimal.of_bytes(&i128::from(unscaled).to_be_bytes()), expected);
        }
        let whole = Decimal { scale: 0 };
        assert_eq!(whole.of_bytes(&[]), Cell::Integer(0));
        assert_eq!(whole.of_bytes(&[0, 255, 255, 255, 255, 255, 255, 255, 255]), Cell::Unsigned(u64::MAX));
        assert_eq!(whole.of_bytes(&[1, 0, 0, 0, 0, 0, 0, 0, 0]), Cell::Float(2f64.powi(64)));
        assert_eq!(Decimal { scale: 10 }.of_integer(70_000_000_000), Cell::Integer(7));
        assert_eq!(whole.of_bytes(&[127; 17]), Cell::Float(127.0 * (256f64.powi(17) - 1.0) / 255.0));
    }
}
