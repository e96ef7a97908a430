//! Random numbers that tell the work of one process from that of others.

use std::hash::{BuildHasher, RandomState};

/// Draws a random number to identify one owner of claims, one mark or one note; no two draw the
/// same.
pub(super) fn drawn() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
