//! How many bytes the standard B-trees hold, which they do not tell.

/// What a `BTreeSet` or `BTreeMap` of `len` elements of `element_bytes` holds, close above the truth.
///
/// A node has room for 11 elements behind a pointer and two lengths, and an inner node for 12 children more. Up to 11
/// elements that is exact. Above, elements that came in ascending order lie thinnest: a full node is cut after its
/// sixth, so it takes 7 elements to pay for a leaf (6 in it, 1 above) and 49 to pay for an inner node.
pub(crate) fn btree_bytes(len: usize, element_bytes: usize) -> usize {
    let leaf_bytes = (8 + 4 + 11 * element_bytes).next_multiple_of(8);
    match len {
        0 => 0,
        1..=11 => leaf_bytes,
        _ => len.div_ceil(7) * leaf_bytes + len.div_ceil(49) * (leaf_bytes + 12 * 8),
    }
}
