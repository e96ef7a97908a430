mod formula;

use super::*;
use crate::Sketcher;

fn elements(seed: u64, range: std::ops::Range<u64>) -> Vec<u64> {
    range.map(|i| hash_words(i, seed)).collect()
}

fn at(similarity: f64) -> Similarity {
    Similarity::clamped(similarity)
}

#[test]
fn the_table_is_what_the_formula_gives() {
    let computed = |(step, _): (f64, &str)| {
        let long = formula::cheapest::<LONG_BINS>(at(step), LONG_FLAG, BYTE_BINS);
        let short = match step {
            0.8 => BandScheme::short(),
            _ => formula::cheapest::<SHORT_BINS>(at(step), SHORT_FLAG, SHORT_BAND_BINS),
        };
        (step, format!("{long}/{short}"))
    };
    let stated: Vec<_> = STEPS.into_iter().map(|(step, name)| (step, name.to_owned())).collect();
    let (whole, of_bands) = stated.split_last().unwrap();
    assert_eq!(of_bands, STEPS.into_iter().take(of_bands.len()).map(computed).collect::<Vec<_>>());
    assert_eq!(*whole, (1.0, WHOLE.to_owned()));
}

#[test]
fn every_step_finds_what_is_promised_at_it_and_above() {
    for hundredths in 50..=100 {
        let asked = at(f64::from(hundredths) / 100.0);
        let scheme = FilingScheme::for_similarity(asked);
        for of_pair in hundredths..=100 {
            let of_pair = at(f64::from(of_pair) / 100.0);
            let recall = scheme.recall(of_pair);
            assert!(recall >= FilingScheme::promise(asked), "{asked} {of_pair}: {recall}");
            assert!(scheme.n_keys() <= 64);
        }
    }
    let half = FilingScheme::for_similarity(at(0.5));
    assert_eq!(FilingScheme::for_similarity(at(0.1)), half);
    assert!(half.recall(at(0.4)) < 0.9);
    let whole = FilingScheme::for_similarity(Similarity::ONE);
    assert_eq!((whole.recall(Similarity::ONE), whole.recall(at(0.999))), (1.0, 0.0));
}

#[test]
fn a_similarity_has_the_scheme_of_its_step() {
    let name = |similarity: f64| FilingScheme::for_similarity(at(similarity)).to_string();
    for (n, (step, expected)) in STEPS.into_iter().enumerate() {
        assert_eq!(step, at((10 + n) as f64 / 20.0).get(), "steps of .05, as they are written");
        assert_eq!(name(step), expected);
        assert_eq!(name((step + 0.049).min(1.0)), expected);
    }
    assert_eq!(name(0.8), FilingScheme::default().to_string());
    assert_eq!(name(0.9999), name(0.95));
}

/// The figures in the pages of `dedup --contained`.
#[test]
fn what_is_less_similar_meets_less_often() {
    let scheme = FilingScheme::default();
    for (similarity, met, recall) in [
        (0.3, 0.038, 0.002),
        (0.4, 0.152, 0.036),
        (0.5, 0.398, 0.226),
        (0.6, 0.726, 0.635),
        (0.7, 0.947, 0.936),
    ] {
        let (of_bands, of_both) = (scheme.met_in_a_band(at(similarity)), scheme.recall(at(similarity)));
        assert!(
            (of_bands - met).abs() < 6e-4 && (of_both - recall).abs() < 6e-4,
            "{similarity}: {of_bands} {of_both}"
        );
    }
    assert_eq!(FilingScheme::WHOLE.met_in_a_band(at(0.9)), 0.0);
}

#[test]
fn names_are_parsed_back_and_others_refused() {
    for (_, name) in STEPS {
        let scheme: FilingScheme = name.parse().unwrap();
        assert_eq!(scheme.to_string(), name);
    }
    for name in [
        "",
        "16x5-16",
        "/",
        "16x5-16/16x4-17/",
        "16x5-65/16x4-17",
        "0x5-16/16x4-17",
        "73x3-16/16x4-17",
        "65x1-16/16x4-17",
        "016x5-16/16x4-17",
        "+16x5-16/16x4-17",
        "16x5-16/16x6-17",
        "Whole",
    ] {
        let error = name.parse::<FilingScheme>().unwrap_err().to_string();
        assert!(error.contains(&format!("{name:?}")), "{error}");
    }
}

/// For every kind of signature, two documents meet by a hash only if they are equal; and the bits
/// after the segment begin with the segment.
#[test]
fn by_a_hash_equal_ones_meet() {
    let small = elements(5, 0..45);
    let signatures: Vec<Signature> = [0..45, 0..46, 1..46]
        .into_iter()
        .flat_map(|range| {
            let set = elements(5, range);
            let bins = Bins::of(&set).unwrap();
            [
                Signature::long(&bins, set.len() as u64),
                Signature::short(&set).unwrap(),
                Signature::both(&bins, 45, &small).unwrap(),
                Signature::equality(set[0] ^ set.len() as u64),
            ]
        })
        .collect();
    let filed = |signature: &Signature| {
        let filings: Vec<_> = FilingScheme::WHOLE.filings(signature).collect();
        let [filing] = &filings[..] else { panic!("{} filings", filings.len()) };
        let key = BandKey { flag: 192, segment: (filing.suffix >> 32) as u32 };
        assert_eq!((filing.kind, filing.keys().collect::<Vec<_>>()), (SetKind::Whole, vec![key]));
        filing.suffix
    };
    for a in &signatures {
        for b in &signatures {
            assert_eq!(filed(a) == filed(b), a == b, "{a:?} {b:?}");
        }
    }
    assert_eq!(filed(&Signature::equality(9)), 9);
}

#[test]
fn every_kind_is_filed_under_flags_of_its_own() {
    let small = elements(5, 0..45);
    let bins = Bins::of(&small).unwrap();
    let of_both = Signature::both(&bins, 45, &small).unwrap();
    for (step, _) in STEPS {
        let scheme = FilingScheme::for_similarity(at(step));
        let mut flags = Vec::new();
        for signature in [&of_both, &Signature::equality(9)] {
            let suffixes = scheme.filings(signature).map(|filing| (filing.kind, filing.suffix));
            let by_bands = step < 1.0 || *signature != of_both;
            assert_eq!(suffixes.collect::<Vec<_>>() == signature.suffixes(), by_bands, "{step}");
        }
        for filing in [&of_both, &Signature::equality(9)].iter().flat_map(|one| scheme.filings(one)) {
            assert!(filing.keys().all(|key| scheme.kind_of_flag(key.flag) == Some(filing.kind)));
            assert!(filing.keys().is_sorted());
            flags.extend(filing.keys().map(|key| key.flag));
        }
        flags.dedup();
        let known: Vec<u8> = (0..=255).filter(|&flag| scheme.kind_of_flag(flag).is_some()).collect();
        assert_eq!(flags, known, "{step}");
    }
}

/// Fixed: stored rows are made of these. A line for each step: the scheme, then a hash over all
/// keys and suffixes of a long, a short and a whole document.
#[test]
fn golden_vectors() {
    let (long, short) = (elements(0, 0..300), elements(0, 0..20));
    let signatures = [
        Signature::long(&Bins::of(&long).unwrap(), 300),
        Signature::short(&short).unwrap(),
        Signature::equality(9),
    ];
    let lines: String = STEPS
        .into_iter()
        .map(|(step, _)| {
            let scheme = FilingScheme::for_similarity(at(step));
            let of = |signature: &Signature| {
                let hash = scheme.filings(signature).fold(0, |hash, filing| {
                    filing.keys().fold(hash_words(filing.suffix, hash), |hash, key| {
                        hash_words(u64::from(key.segment) << 8 | u64::from(key.flag), hash)
                    })
                });
                format!(" {hash:016x}")
            };
            format!("{step} {scheme}{}\n", signatures.iter().map(of).collect::<String>())
        })
        .collect();
    assert_eq!(lines, include_str!("golden.txt"));
}

/// Pairs meet as often as computed: at the step of each scheme, above it and far below, long ones
/// and short ones, bands with bins in common too.
#[test]
fn the_curves_are_true() {
    const SEEDS: u64 = 500;
    for (step, _) in STEPS.into_iter().filter(|(step, _)| *step < 1.0) {
        let scheme = FilingScheme::for_similarity(at(step));
        for (kind, n) in [(SetKind::Long, 400), (SetKind::Short, 40), (SetKind::Short, 20)] {
            for similarity in [step, step - 0.15, step / 2.0] {
                let shared = (similarity * n as f64).round() as u64;
                let own = (n - shared) / 2;
                let (shared, n) = (n - 2 * own - (n - shared) % 2, n - (n - shared) % 2);
                let signature = |seed, range| {
                    let set = elements(seed, range);
                    let of_short = Signature::short(&set);
                    let of_long = || Signature::long(&Bins::of(&set).unwrap(), n);
                    if kind == SetKind::Long { of_long() } else { of_short.unwrap() }
                };
                let meet = |seed: &u64| {
                    let signatures = [signature(*seed, 0..shared + own), signature(*seed, own..n)];
                    let [a, b] = [0, 1].map(|n| scheme.filings(&signatures[n]).next().unwrap());
                    (a.suffix ^ b.suffix).count_ones() <= scheme.suffix_distance_max(kind)
                        && a.keys().zip(b.keys()).any(|(a, b)| a == b)
                };
                let met = (0..SEEDS).filter(meet).count() as f64 / SEEDS as f64;
                let similarity = at(shared as f64 / n as f64);
                let computed = match kind {
                    SetKind::Long => scheme.long().unwrap().recall(similarity),
                    _ => scheme.short().unwrap().recall(similarity),
                };
                let deviation = (computed * (1.0 - computed) / SEEDS as f64).sqrt();
                assert!(
                    (met - computed).abs() < 4.0 * deviation + 0.015,
                    "{scheme} {kind:?} {shared}/{n}: {met} {computed}"
                );
            }
        }
    }
}

/// The filing of a signature of the long kind equals the filing of its bins.
#[test]
fn a_signature_is_filed_as_its_bins_are() {
    let set = elements(5, 0..500);
    let mut sketcher = Sketcher::<LONG_BINS>::new();
    sketcher.extend(&set);
    let sketched = sketcher.finish().unwrap();
    let scheme = BandScheme::long();
    let expected = (SetKind::Long, scheme.suffix(&sketched.bins), scheme.keys(&sketched.bins));
    let signature = Signature::long(&sketched.bins, 500);
    let filing = |filing: Filing<'_>| (filing.kind, filing.suffix, filing.keys().collect());
    assert!(FilingScheme::default().filings(&signature).map(filing).eq([expected]));
}

#[test]
fn long_and_short_have_sixteen_bands_each() {
    let scheme = FilingScheme::default();
    let small = elements(5, 0..45);
    let bins = Bins::of(&small).unwrap();
    let kinds = |signature: &Signature| {
        let of_filing = |filing: Filing<'_>| {
            assert!(filing.keys().all(|key| scheme.kind_of_flag(key.flag) == Some(filing.kind)));
            assert!(filing.keys().is_sorted());
            (filing.kind, filing.keys().count())
        };
        scheme.filings(signature).map(of_filing).collect::<Vec<_>>()
    };
    let (long, short, whole) = ((SetKind::Long, 16), (SetKind::Short, 16), (SetKind::Whole, 1));
    assert_eq!(kinds(&Signature::both(&bins, 45, &small).unwrap()), [long, short]);
    assert_eq!(kinds(&Signature::short(&small).unwrap()), [short]);
    assert_eq!(kinds(&Signature::long(&bins, 45)), [long]);
    assert_eq!(kinds(&Signature::equality(9)), [whole]);
    for flag in [0, 1, 63, 80, 127, 144, 191, 193, 255] {
        assert_eq!(scheme.kind_of_flag(flag), None, "{flag}");
    }
}
