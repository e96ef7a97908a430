//! Sketches that hash badly, crowd together or lie just inside and just outside the distance.

use proptest::prelude::*;
use simhash::{BucketKey, Distance, Facet, Fingerprint, SCHEME_NAMES, TableScheme};

/// Returns a distance of `n_bits`.
pub(crate) fn apart(n_bits: u32) -> Distance {
    Distance::new(n_bits).expect("at most 64")
}

/// Every scheme that goes by name.
pub(crate) fn schemes() -> Vec<TableScheme> {
    SCHEME_NAMES.map(|name| name.parse().expect("a named scheme")).into()
}

/// Returns `bits` with the bits at `flips` flipped, each given once or more.
pub(crate) fn flipped(bits: u64, flips: &[u32]) -> u64 {
    bits ^ flips.iter().fold(0, |mask, flip| mask | 1 << flip)
}

/// Fingerprints around a few centres: equal ones, all zero, all one, some that differ in one block
/// only, and neighbours at every distance up to 5.
pub(crate) fn fingerprints(n_max: usize) -> impl Strategy<Value = Vec<u64>> {
    let centre = prop_oneof![Just(0), Just(u64::MAX), Just(0x0123_4567_89ab_cdef), any::<u64>()];
    let near = |centre: u64| {
        let neighbour = proptest::collection::vec(0..64_u32, 0..=5).prop_map(move |f| flipped(centre, &f));
        let one_block = any::<u16>().prop_map(move |low| centre ^ u64::from(low));
        prop_oneof![4 => neighbour, 1 => one_block, 1 => any::<u64>()]
    };
    proptest::collection::vec(centre, 1..4).prop_flat_map(move |centres| {
        let near_one = proptest::sample::select(centres).prop_flat_map(near);
        proptest::collection::vec(near_one, 1..n_max)
    })
}

/// Sketches whose keys are independent of their fingerprints, with few enough keys for any two to
/// share some.
pub(crate) fn explicit_sketches(n_max: usize) -> impl Strategy<Value = Vec<Facet>> {
    let flag = prop_oneof![4 => 0..4_u8, 1 => Just(u8::MAX)];
    let segment = prop_oneof![Just(0), Just(1), Just(0x0100_0000), Just(u32::MAX)];
    let key = (flag, segment).prop_map(|(flag, segment)| BucketKey { flag, segment });
    let bits = prop_oneof![Just(0), Just(1), Just(0b111), Just(u64::MAX)];
    let sketch = (bits, proptest::collection::vec(key, 0..5))
        .prop_map(|(bits, keys)| Facet::new(Fingerprint(bits), keys));
    proptest::collection::vec(sketch, 1..n_max)
}
