//! The self-join against each with each.

use pigeonhole_tables::SelfJoin;
use proptest::prelude::*;
use simhash::{Distance, Fingerprint, TableScheme};

use crate::corpora::{apart, fingerprints, schemes};

/// Checks that every pair is reported once, and no other, whole and in shares.
fn check(bits: &[u64], schemes: &[TableScheme]) {
    let mut different = bits.to_vec();
    different.sort_unstable();
    different.dedup();
    for scheme in schemes {
        let masks: Vec<u64> = scheme.tables().iter().map(|table| table.mask()).collect();
        for max_distance in [scheme.max_distance(), apart(scheme.max_distance().as_bits() / 2)] {
            let expected = naive(&different, max_distance);
            for n_shares in [1, 3] {
                let mut pairs = joined(&different, SelfJoin::new(masks.clone(), max_distance), n_shares);
                pairs.sort_unstable();
                let (name, found) = (scheme.name(), pairs.len());
                assert!(pairs == expected, "{name}, {n_shares}: {found} pairs for {}", expected.len());
            }
        }
    }
}

fn naive(different: &[u64], max_distance: Distance) -> Vec<(u64, u64)> {
    let is_near = |a: u64, b: u64| Fingerprint(a).distance(Fingerprint(b)) <= max_distance;
    let after = |(n, &a)| different[n + 1..].iter().filter(move |&&b| is_near(a, b)).map(move |&b| (a, b));
    different.iter().enumerate().flat_map(after).collect()
}

fn joined(different: &[u64], mut join: SelfJoin, n_shares: usize) -> Vec<(u64, u64)> {
    let mut pairs = Vec::new();
    for table in 0..join.n_tables() {
        let mut n_seen = 0;
        for share in 0..n_shares {
            let is_of_share = |bits: &u64| join.share(table, *bits, n_shares) == share;
            let of_share: Vec<u64> = different.iter().copied().filter(is_of_share).collect();
            n_seen += of_share.len();
            join.in_table(table, &of_share, &mut |a, b| pairs.push((a, b)));
        }
        assert_eq!(n_seen, different.len());
    }
    pairs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn small_corpora(fingerprints in fingerprints(300)) {
        check(&fingerprints, &schemes());
    }

    /// Other distances than 3, up to the greatest: `k + 1` blocks find every pair within `k`.
    #[test]
    fn every_distance(fingerprints in fingerprints(300), max_distance in 0..=7_u32) {
        let masks: Vec<(u8, u64)> = (0..=max_distance)
            .map(|i| {
                let (start, end) = (64 * i / (max_distance + 1), 64 * (i + 1) / (max_distance + 1));
                ((i + 1) as u8, (u64::MAX >> (64 - (end - start).min(32))) << start)
            })
            .collect();
        let scheme = TableScheme::new("blocks", apart(max_distance), &masks).unwrap();
        check(&fingerprints, &[scheme]);
    }

    /// Thousands in one bin: buckets are cut again, and again within.
    #[test]
    fn crowded_buckets(
        centre: u64, varying in any::<u64>(), thin in any::<u64>(), seeds in proptest::collection::vec(any::<u64>(), 1500)
    ) {
        let varying = varying & thin;
        let crowd: Vec<u64> = seeds.iter().map(|seed| centre ^ seed & varying).collect();
        check(&crowd, &schemes()[..2]);
    }
}

#[test]
fn nothing_one_and_all_equal() {
    for n in [0, 1, 2, 1000] {
        for bits in [0, u64::MAX, 0x0123_4567_89ab_cdef] {
            check(&vec![bits; n], &schemes());
        }
    }
}

/// All fingerprints differ in one block only: in most tables they share one bucket.
#[test]
fn one_block_with_all_its_values() {
    for shift in [0, 20, 52] {
        let dense: Vec<u64> = (0..2048).map(|low| 0xabcd << 40 ^ low << shift).collect();
        check(&dense, &schemes());
    }
}

/// Two bits more than the distance, all their subsets: every table and block is met by many pairs
/// at once.
#[test]
fn a_cube_of_scattered_bits() {
    let places = [0, 9, 13, 25, 31, 38, 44, 51, 57, 63];
    let cube: Vec<u64> = (0..1 << places.len())
        .map(|set: u64| (0..).zip(places).fold(7 << 4, |bits, (i, place)| bits | (set >> i & 1) << place))
        .collect();
    check(&cube, &schemes());
}
