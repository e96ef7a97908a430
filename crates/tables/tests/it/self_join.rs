//! The self-join against each with each.

use pigeonhole_tables::{Groups, Pair, self_join};
use proptest::prelude::*;
use simhash::{Fingerprint, TableScheme};

use crate::corpora::{apart, fingerprints, schemes};

fn check_groups(corpus: &[Fingerprint], groups: &Groups) {
    let mut seen = vec![false; corpus.len()];
    for group in 0..groups.len() {
        assert!(group == 0 || groups.fingerprint(group - 1) < groups.fingerprint(group));
        assert_eq!(groups.find(groups.fingerprint(group)), Some(group));
        assert!(groups.members(group).is_sorted());
        assert!(!groups.members(group).is_empty());
        for &member in groups.members(group) {
            assert_eq!(corpus[member as usize], groups.fingerprint(group));
            assert!(!std::mem::replace(&mut seen[member as usize], true));
        }
    }
    assert!(seen.iter().all(|&seen| seen));
}

/// Checks that every pair is reported once, and no other.
fn check(bits: &[u64], schemes: &[TableScheme]) {
    let corpus: Vec<Fingerprint> = bits.iter().copied().map(Fingerprint).collect();
    let groups = Groups::new(&corpus);
    check_groups(&corpus, &groups);
    for scheme in schemes {
        let mut pairs = Vec::new();
        self_join(&groups, scheme, &mut |pair| pairs.push(pair));
        pairs.sort();
        let mut expected = Vec::new();
        for first in 0..groups.len() {
            for second in first + 1..groups.len() {
                let distance = groups.fingerprint(first).distance(groups.fingerprint(second));
                if distance <= scheme.max_distance() {
                    expected.push(Pair { first, second, distance });
                }
            }
        }
        assert!(pairs == expected, "{}: {} pairs for {}", scheme.name(), pairs.len(), expected.len());
    }
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
