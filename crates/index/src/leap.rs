//! Memory that a hash table takes at once when it doubles.

/// Places of a table for each entry that it has room for, at most.
const PLACES: usize = 2;

/// Returns the bytes of memory that a table of `len` entries may take at once for `n` more, with
/// room for `capacity`: 0 where they have room.
#[must_use]
pub fn leap_bytes(capacity: usize, len: usize, n: usize, n_bytes_each: usize) -> u64 {
    if capacity - len >= n {
        return 0;
    }
    // Of eight places at most seven are taken, and each has a byte of its own.
    let n_places = PLACES * capacity.max(n) * 8 / 7;
    (n_places * (n_bytes_each + 1)) as u64
}
