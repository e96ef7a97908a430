//! Numbers as people read them.

use std::time::Duration;

use minhash::Similarity;

pub(crate) use corpus::Grouped;

/// Bytes in MB of 10^6.
pub(crate) fn megabytes(n_bytes: u64) -> f64 {
    n_bytes as f64 / 1e6
}

/// MB/s of 10^6 bytes; 0 for no time at all.
pub(crate) fn megabytes_per_second(n_bytes: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { megabytes(n_bytes) / time.as_secs_f64() }
}

/// A similarity as it is written: an estimate has no more than four decimals. Rounded down, so that only what is the same is 1.
pub(crate) fn four_decimals(similarity: Similarity) -> f64 {
    (similarity.get() * 1e4 + 1e-5).floor() / 1e4
}

/// For what is written down only where there is any.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference to the field")]
pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}
