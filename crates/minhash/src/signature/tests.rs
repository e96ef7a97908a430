use super::*;
use crate::FilingScheme;
use crate::hash_words;
use proptest::prelude::*;

fn elements(range: std::ops::Range<u64>) -> Vec<u64> {
    range.map(|i| hash_words(i, 5)).collect()
}

fn bins(elements: &[u64]) -> Bins<LONG_BINS> {
    Bins::of(elements).unwrap()
}

fn hex(signature: &Signature) -> String {
    signature.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Fixed bytes: a change here is a new version.
#[test]
fn golden_vectors() {
    let [small, large] = [elements(0..3), elements(0..500)];
    let lines = [
        hex(&Signature::equality(0x0123_4567_89ab_cdef)),
        hex(&Signature::short(&small).unwrap()),
        hex(&Signature::long(&bins(&large), 500)),
        hex(&Signature::both(&bins(&small), 3, &small).unwrap()),
        hex(&Signature::long(&bins(&large), 1 << 40))[..8].to_owned(),
    ];
    assert_eq!(lines.join("\n") + "\n", include_str!("golden.txt"));
    assert_eq!(lines[2].len(), 2 * 128, "sixteen row keys of 13 bytes and this are 336");
}

/// The second version is the first with a digest after the first byte.
#[test]
fn golden_vectors_with_numbers() {
    let small = elements(0..3);
    let lines = [
        hex(&Signature::equality(0x0123_4567_89ab_cdef).with_numbers(0xfedc_ba98)),
        hex(&Signature::short(&small).unwrap().with_numbers(0)),
        hex(&Signature::long(&bins(&elements(0..500)), 500).with_numbers(0x0123_4567)),
        hex(&Signature::both(&bins(&small), 3, &small).unwrap().with_numbers(u32::MAX)),
    ];
    assert_eq!(lines.join("\n") + "\n", include_str!("golden_numbers.txt"));
    let first: Vec<&str> = include_str!("golden.txt").lines().collect();
    for (line, first) in lines.iter().zip(first) {
        assert_eq!(format!("1{}{}", &line[1..2], &line[10..]), first);
    }
}

#[test]
fn numbers_are_kept_and_change_nothing_else() {
    let [small, large] = [elements(0..45), elements(0..500)];
    let kinds = [
        Signature::equality(small[0]),
        Signature::short(&small).unwrap(),
        Signature::long(&bins(&large), 500),
        Signature::both(&bins(&small), 45, &small).unwrap(),
    ];
    for a in &kinds {
        assert_eq!(a.numbers(), None);
        let with = a.clone().with_numbers(7);
        assert_eq!((with.numbers(), with.as_bytes().len()), (Some(7), a.as_bytes().len() + 4));
        assert_eq!(with.clone().with_numbers(8).numbers(), Some(8));
        assert_eq!(with.clone().with_numbers(8), a.clone().with_numbers(8));
        assert_eq!(Signature::decode(with.as_bytes()), Ok(with.clone()));
        let scheme = FilingScheme::default();
        assert!(scheme.filings(&with).eq(scheme.filings(a)));
        for b in &kinds {
            let expected = Signature::compare(a, b);
            assert_eq!(Signature::compare(&with, b), expected, "{a:?} {b:?}");
            assert_eq!(Signature::compare(b, &with), Signature::compare(b, a), "{a:?} {b:?}");
            let numbered = b.clone().with_numbers(9);
            if expected.basis != Basis::NoCommonKind {
                assert_eq!(Signature::compare(&with, &numbered), expected, "{a:?} {b:?}");
            }
        }
    }
    for len in 1..5 {
        let kind = VERSION_WITH_NUMBERS | SHORT;
        let bytes = [&[kind][..], &[9; 4]].concat();
        assert_eq!(
            Signature::decode(&bytes[..len]).err(),
            Some(SignatureError::Length { kind, len }),
            "cut inside the digest"
        );
    }
}

/// The hash of a signature of equality is that of the only element of a set.
#[test]
fn a_hash_beside_a_set() {
    let small = elements(0..4);
    let one = Signature::equality(small[2]);
    for set in [Signature::short(&small).unwrap(), Signature::both(&bins(&small), 4, &small).unwrap()] {
        assert_eq!(Signature::compare(&one, &set).basis, Basis::NoCommonKind, "as ever");
        let [one, set] = [&one, &set].map(|signature| signature.clone().with_numbers(0));
        let compared = Signature::compare(&one, &set);
        assert_eq!((compared.similarity, compared.basis), (Similarity::of_sets(1, 1, 4), Basis::Sets));
        assert_eq!((compared.share_of_a, compared.share_of_b), (Similarity::ONE, Similarity::clamped(0.25)));
        assert_eq!(Signature::compare(&set, &one).share_of_a, compared.share_of_b);
        let other = Signature::equality(hash_words(9, 9)).with_numbers(0);
        assert_eq!(Signature::compare(&other, &set).similarity, Similarity::ZERO);
    }
}

#[test]
fn what_is_no_signature() {
    use SignatureError::{Length, NotAscending, UnknownKind};
    let good = Signature::both(&bins(&elements(0..9)), 9, &elements(0..9)).unwrap();
    let of = |kind: u8, len: usize| {
        let mut bytes = vec![0; len];
        bytes[0] = kind;
        Signature::decode(&bytes).err()
    };
    assert_eq!(Signature::decode(&[]).err(), Some(UnknownKind(None)));
    for kind in [0, 0x01, 0x10, 0x15, 0x20, 0x25, 0x31, 0xff] {
        assert_eq!(of(kind, 129), Some(UnknownKind(Some(kind))));
    }
    for (kind, len) in [
        // Of both versions: so many bytes, and four more.
        (EQUALITY, 8),
        (EQUALITY, 10),
        (LONG, 127),
        (LONG, 129),
        (SHORT, 1),
        (SHORT, 3),
        (SHORT, 1 + 256 * 3),
        (BOTH, 1),
        (BOTH, 128),
        (BOTH, 130),
    ] {
        for (kind, len) in [(VERSION | kind, len), (VERSION_WITH_NUMBERS | kind, len + 4)] {
            assert_eq!(of(kind, len), Some(Length { kind, len }));
        }
    }
    assert_eq!(of(VERSION | SHORT, 7), Some(NotAscending), "0 and 0");
    assert_eq!(of(VERSION_WITH_NUMBERS | SHORT, 11), Some(NotAscending), "0 and 0");
    assert_eq!(Signature::decode(good.as_bytes()), Ok(good));
    assert_eq!(Signature::short(&[]), None);
    assert_eq!(Signature::short(&elements(0..256)), None);
    assert!(Signature::short(&elements(0..255)).is_some());
}

#[test]
fn what_meets_and_what_does_not() {
    let [small, other, large] = [elements(0..45), elements(5..50), elements(0..500)];
    let (of_small, of_large) = (bins(&small), bins(&large));
    let equality = Signature::equality(7);
    let short = Signature::short(&small).unwrap();
    let both = Signature::both(&bins(&other), 45, &other).unwrap();
    let long = Signature::long(&of_small, 45);
    let longer = Signature::long(&of_large, 500);
    let check = |a: &Signature, b: &Signature, similarity: f64, basis| {
        let [ab, ba] = [Signature::compare(a, b), Signature::compare(b, a)];
        assert_eq!((ab.similarity, ab.basis), (ba.similarity, ba.basis));
        assert_eq!((ab.share_of_a, ab.share_of_b), (ba.share_of_b, ba.share_of_a));
        assert_eq!(ab.basis, basis);
        let error = (ab.similarity.get() - similarity).abs();
        assert!(error <= if ab.is_exact() { 0.0 } else { 0.08 }, "{a:?} {b:?}: {ab:?}");
        ab
    };
    let common = check(&short, &both, 40.0 / 50.0, Basis::Sets);
    assert_eq!(common.share_of_a, Similarity::clamped(40.0 / 45.0));
    check(&both, &long, 40.0 / 50.0, Basis::Estimate);
    let contained = check(&long, &longer, 45.0 / 500.0, Basis::Estimate);
    assert!(contained.share_of_a.get() > 0.6 && contained.share_of_b.get() < 0.15, "{contained:?}");
    check(&longer, &longer, 1.0, Basis::Estimate);
    check(&short, &long, 0.0, Basis::NoCommonKind);
    check(&equality, &short, 0.0, Basis::NoCommonKind);
    check(&equality, &long, 0.0, Basis::NoCommonKind);
    check(&equality, &equality, 1.0, Basis::Equality);
    check(&equality, &Signature::equality(8), 0.0, Basis::Equality);
}

/// The mean is right, and the deviation follows the formula: a little less for small sets.
#[test]
fn the_estimate_is_unbiased_and_deviates_as_computed() {
    const SEEDS: u64 = 400;
    for (n, common) in
        [(50, 40), (100, 80), (400, 320), (2000, 1600), (2000, 1000), (3000, 2700), (1000, 0_u64)]
    {
        let exact = common as f64 / n as f64;
        let estimates: Vec<f64> = (0..SEEDS)
            .map(|seed| {
                let union: Vec<u64> = (0..n).map(|i| hash_words(i, seed + 99)).collect();
                let (both, rest) = union.split_at(common as usize);
                let (a, b) = rest.split_at(rest.len() / 2);
                let [a, b] = [a, b].map(|own| {
                    Signature::long(&bins(&[both, own].concat()), (own.len() + both.len()) as u64)
                });
                // Not clamped, for the mean at 0.
                let (a, b) = (a.sketch().unwrap().1, b.sketch().unwrap().1);
                (f64::from(agreeing(a, b)) - AGREEING_BY_CHANCE) / ESTIMATE_SCALE
            })
            .collect();
        let mean = estimates.iter().sum::<f64>() / SEEDS as f64;
        let deviation =
            (estimates.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (SEEDS - 1) as f64).sqrt();
        let computed = Comparison::deviation(Similarity::clamped(exact));
        assert!((mean - exact).abs() < 4.0 * computed / (SEEDS as f64).sqrt(), "{n} {exact}: {mean}");
        assert!(
            (0.7..1.13).contains(&(deviation / computed)),
            "{n} {exact}: {deviation:.4}, computed {computed:.4}"
        );
    }
}

#[test]
fn deviations_of_the_docs() {
    for (similarity, deviation) in
        [(0.9, 0.0208), (0.8, 0.0280), (0.7, 0.0325), (0.6, 0.0354), (0.5, 0.0370), (0.0, 0.0273)]
    {
        let computed = Comparison::deviation(Similarity::clamped(similarity));
        assert!((computed - deviation).abs() < 5e-5, "{similarity}: {computed:.4}");
    }
}

proptest! {
    #[test]
    fn any_bytes_give_a_signature_or_an_error(kind in prop_oneof![0x10_u8..=0x15, 0x20_u8..=0x25, any::<u8>()],
        rest in proptest::collection::vec(any::<u8>(), 0..300), other in proptest::collection::vec(any::<u8>(), 0..140)) {
        let bytes = [&[kind][..], &rest].concat();
        if let Ok(signature) = Signature::decode(&bytes) {
            prop_assert_eq!(signature.as_bytes(), &bytes);
            let own = Signature::compare(&signature, &signature);
            prop_assert_eq!(own.similarity, Similarity::ONE);
            if let Ok(other) = Signature::decode(&other) {
                let _ = Signature::compare(&signature, &other);
            }
        }
    }

    #[test]
    fn sets_are_compared_as_sets(a in proptest::collection::btree_set(0..80_u64, 1..60),
        b in proptest::collection::btree_set(0..80_u64, 1..60)) {
        let common = a.intersection(&b).count();
        let [of_a, of_b] = [&a, &b].map(|set| {
            Signature::short(&set.iter().map(|&i| hash_words(i, 5)).collect::<Vec<_>>()).unwrap()
        });
        prop_assert_eq!(Signature::decode(of_a.as_bytes()), Ok(of_a.clone()));
        let expected = Similarity::of_sets(common, a.len(), b.len());
        prop_assert_eq!(Signature::compare(&of_a, &of_b).similarity, expected);
    }

    #[test]
    fn one_changed_byte_is_an_error_or_another_signature(at in 0..278_usize, flip in 1..=255_u8) {
        let set = elements(0..50);
        let signature = Signature::both(&bins(&set), 50, &set).unwrap();
        let mut bytes = signature.as_bytes().to_vec();
        prop_assert_eq!(bytes.len(), 278);
        bytes[at] ^= flip;
        prop_assert_ne!(Signature::decode(&bytes), Ok(signature));
    }
}

proptest! {
    /// A sieve excludes nothing similar enough, and of what is compared as a set and is far from it
    /// nearly all.
    #[test]
    fn a_sieve_lets_all_that_is_similar_pass(
        size in 1_u64..256,
        others in prop::collection::vec((0_u64..300, 1_u64..256, any::<bool>()), 1..40),
        least in 0.0..1.0,
    ) {
        let set = elements(0..size);
        let of = Signature::short(&set).unwrap();
        let least = Similarity::clamped(least);
        let (mut n_far, mut n_excluded) = (0, 0);
        for with_numbers in [false, true] {
            let of = if with_numbers { of.clone().with_numbers(1) } else { of.clone() };
            let sieve = Sieve::new(&of, least).unwrap();
            for &(from, n, has_both) in &others {
                let other = elements(from..from + n);
                let other = match has_both {
                    true => Signature::both(&bins(&other), n, &other).unwrap().with_numbers(7),
                    false => Signature::short(&other).unwrap(),
                };
                let similarity = Signature::compare(&of, &other).similarity;
                let is_excluded = sieve.excludes(other.as_bytes());
                prop_assert!(!is_excluded || similarity < least);
                n_far += u32::from(similarity.get() < least.get() - 0.15);
                n_excluded += u32::from(is_excluded && similarity.get() < least.get() - 0.15);
            }
        }
        prop_assert!(n_excluded * 10 >= n_far * 9, "{n_excluded} of {n_far}");
    }
}

#[test]
fn a_sieve_is_of_sets_alone() {
    let (small, large) = (elements(0..20), elements(0..500));
    let long = Signature::long(&bins(&large), 500);
    assert!(Sieve::new(&long, Similarity::ONE).is_none());
    assert!(Sieve::new(&Signature::equality(1), Similarity::ONE).is_none());
    let sieve = Sieve::new(&Signature::short(&small).unwrap(), Similarity::ONE).unwrap();
    for bytes in [&[][..], &[0], long.as_bytes(), Signature::equality(1).as_bytes()] {
        assert!(!sieve.excludes(bytes), "{bytes:?}");
    }
}
