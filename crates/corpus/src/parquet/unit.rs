//! What a column of dates or timestamps counts.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit};

/// What a column of times counts since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
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

    /// Milliseconds since 1970; what is finer is cut off.
    pub(super) fn to_ms(self, n: i64) -> i64 {
        match self {
            Self::Days => n.saturating_mul(24 * 60 * 60 * 1_000),
            Self::Milliseconds => n,
            Self::Microseconds => n.div_euclid(1_000),
            Self::Nanoseconds => n.div_euclid(1_000_000),
        }
    }
}
