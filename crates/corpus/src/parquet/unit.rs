//! Units of dates and timestamps in columns.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit};

/// Unit of a column of times, which are counted from 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Days,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Unit {
    pub(super) fn find(logical: Option<&LogicalType>, converted: ConvertedType) -> Option<Self> {
        Some(match (logical, converted) {
            (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => Self::Days,
            (None, ConvertedType::TIMESTAMP_MILLIS) => Self::Milliseconds,
            (None, ConvertedType::TIMESTAMP_MICROS) => Self::Microseconds,
            (Some(LogicalType::Timestamp(timestamp)), _) => match timestamp.unit {
                TimeUnit::MILLIS => Self::Milliseconds,
                TimeUnit::MICROS => Self::Microseconds,
                TimeUnit::NANOS => Self::Nanoseconds,
            },
            _ => return None,
        })
    }

    /// Converts `n` to milliseconds since 1970, rounded down.
    pub(crate) fn to_ms(self, n: i64) -> i64 {
        match self {
            Self::Days => n.saturating_mul(24 * 60 * 60 * 1_000),
            Self::Milliseconds => n,
            Self::Microseconds => n.div_euclid(1_000),
            Self::Nanoseconds => n.div_euclid(1_000_000),
        }
    }
}
