//! Estimates of the heap memory of the standard B-trees, which do not report it.

/// Returns the bytes that a `BTreeSet` or `BTreeMap` of `len` elements of `element_bytes` holds, or
/// slightly more.
///
/// A node has room for 11 elements behind a pointer and two lengths, and an inner node for 12
/// children more. Up to 11 elements the result is exact. Above, elements that came in ascending
/// order lie thinnest: a full node is cut after its sixth, which makes 7 elements a leaf (6 in it,
/// 1 above) and 49 an inner node.
pub(crate) fn btree_bytes(len: usize, element_bytes: usize) -> usize {
    let leaf_bytes = (8 + 4 + 11 * element_bytes).next_multiple_of(8);
    match len {
        0 => 0,
        1..=11 => leaf_bytes,
        _ => len.div_ceil(7) * leaf_bytes + len.div_ceil(49) * (leaf_bytes + 12 * 8),
    }
}
