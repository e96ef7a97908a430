//! Numbers in a form for people.

use std::time::Duration;

pub(crate) use corpus::Grouped;

/// Converts bytes to MB of 10^6.
pub(crate) fn megabytes(n_bytes: u64) -> f64 {
    n_bytes as f64 / 1e6
}

/// The rate in MB/s of 10^6 bytes; 0 for no time at all.
pub(crate) fn megabytes_per_second(n_bytes: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { megabytes(n_bytes) / time.as_secs_f64() }
}

/// Skips a field in serialization if its value is 0.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference to the field")]
pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}
