//! Numbers as ZIP stores them: little-endian.

/// Returns the number of `n` bytes at a place; 0 beyond the end.
pub(super) fn number(bytes: &[u8], at: usize, n: usize) -> u64 {
    let stored = bytes.get(at..at + n).unwrap_or_default();
    stored.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

pub(super) fn short(bytes: &[u8], at: usize) -> usize {
    number(bytes, at, 2) as usize
}

pub(super) fn long(bytes: &[u8], at: usize) -> u64 {
    number(bytes, at, 4)
}
