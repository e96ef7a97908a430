use super::*;
use crate::testsuite::signed;
use simhash::Fingerprint;

#[test]
fn every_name_is_parsed_and_makes_the_sketches_of_its_scheme() {
    let fingerprint = Fingerprint(0x9e37_79b9_7f4a_7c15);
    for name in SketchKind::NAMES {
        let (kind, scheme): (SketchKind, TableScheme) = (name.parse().unwrap(), name.parse().unwrap());
        assert_eq!((kind.name(), kind.max_distance()), (name, scheme.max_distance()));
        let sketch = kind.sketch(fingerprint);
        assert_eq!(sketch.facets(), [(Family::Simhash, scheme.facet(fingerprint))]);
        assert_eq!((kind.n_keys(), kind.masks().len()), (sketch.n_keys(), sketch.n_keys()));
        assert!(sketch.rows().all(|row| kind.check(row).is_ok()));
    }
    assert_eq!(SketchKind::default().name(), SketchKind::NAMES[0]);
    let unknown = "9c9".parse::<SketchKind>().unwrap_err().to_string();
    assert!(unknown.contains("9c9") && unknown.contains("t11"), "{unknown}");
}

#[test]
fn what_follows_is_what_the_kind_makes() {
    let kind = SketchKind::default();
    let sketch = kind.sketch(Fingerprint(7));
    assert!(kind.follows(&sketch));
    let other = Sketch::new(Fingerprint(7), vec![BucketKey { flag: 1, segment: 9 }]);
    assert!(!kind.follows(&other));
    assert!(!kind.follows(&Sketch::new(Fingerprint(6), sketch.keys().collect())));
}

#[test]
fn profiles_file_by_what_they_say() {
    let sketch = signed(7, 0..300);
    let of = |profile| SketchKind::default().of_profile(profile).unwrap();
    for (profile, n_keys) in [(Profile::Classic, 10), (Profile::Minhash, 16), (Profile::Full, 26)] {
        let kind = of(profile);
        assert_eq!((kind.profile(), profile.name().parse().unwrap()), (profile, profile));
        let sketch = kind.sketch(sketch.features().clone());
        assert_eq!((sketch.n_keys(), kind.n_keys()), (n_keys, n_keys));
        assert!(kind.follows(&sketch) && sketch.rows().all(|row| kind.check(row).is_ok()));
        assert_eq!(kind.splits(16).unwrap().len(), 15);
    }
    let (classic, minhash) = (of(Profile::Classic), of(Profile::Minhash));
    assert!(classic.sketch(sketch.features().clone()).rows().all(|row| minhash.check(row).is_err()));
    assert!(minhash.sketch(sketch.features().clone()).rows().all(|row| classic.check(row).is_err()));
    assert!("both".parse::<Profile>().is_err());
    let clashing = SketchKind::simhash("one", Distance::ZERO, &[(64, u64::MAX >> 32)]).unwrap();
    assert!(clashing.clone().of_profile(Profile::Full).is_err());
    assert!(minhash.clone().of_profile(Profile::Classic).is_err());
    assert_eq!(minhash.clone().of_profile(Profile::Minhash).unwrap(), minhash);
    assert!(clashing.of_profile(Profile::Classic).is_ok());
}

#[test]
fn kinds_file_alike_by_their_keys_and_not_by_their_names() {
    let halves = [(1, 0xffff_ffff_0000_0000), (2, 0xffff_ffff)];
    let [one, other] =
        ["one", "other"].map(|name| SketchKind::simhash(name, Distance::of_differing(1), &halves).unwrap());
    assert!(one != other && one.has_tables_of(&other));
    assert!(!one.has_tables_of(&SketchKind::default()));
}
