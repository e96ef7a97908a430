use super::*;
use crate::testsuite::apart;

fn example() -> Metadata {
    Metadata {
        format_version: IDENTITY_VERSION,
        kind: SketchKind::simhash("halves", apart(1), &[(1, 0xffff_ffff_0000_0000), (2, 0xffff_ffff)])
            .unwrap(),
        max_distance: apart(1),
        min_similarity: None,
        texts: TextKeeping::None,
        same_numbers: false,
        key: None,
        retain: None,
        recipe: [("version", "1"), ("segmenter", "jieba \"0.11\"")]
            .map(|(field, value)| (field.to_owned(), value.to_owned()))
            .into(),
        identity: Identity::new(*b"the golden index"),
    }
}

/// Fixed bytes: a change here is a new format version.
const GOLDEN: &str = r#"{
  "format_version": 2,
  "scheme": {
    "name": "halves",
    "max_distance": 1,
    "tables": [
      {
        "flag": 1,
        "mask": "ffffffff00000000"
      },
      {
        "flag": 2,
        "mask": "00000000ffffffff"
      }
    ]
  },
  "max_distance": 1,
  "recipe": {
    "segmenter": "jieba \"0.11\"",
    "version": "1"
  },
  "identity": "74686520676f6c64656e20696e646578",
  "crc32": "9e4ab2b8"
}"#;

fn check_golden(metadata: &Metadata, expected: &str) {
    assert_eq!(String::from_utf8(metadata.encode().unwrap()).unwrap(), expected);
    assert_eq!(Metadata::decode(expected.as_bytes()).unwrap(), *metadata);
}

#[test]
fn golden() {
    check_golden(&example(), GOLDEN);
    let retaining = Metadata { retain: Retention::from_seconds(172_800), ..example() };
    let expected = GOLDEN.replace("  \"recipe\"", "  \"retain_seconds\": 172800,\n  \"recipe\"");
    check_golden(&retaining, &expected.replace("9e4ab2b8", "1e1cac59"));
}

/// An index with texts, which programs that know version 3 refuse by its version.
#[test]
fn golden_with_texts() {
    let min_similarity = Some(Similarity::clamped(0.8));
    let metadata = Metadata { texts: TextKeeping::Zstd, min_similarity, ..example() }.of_least_version();
    let lines = "  \"profile\": \"classic\",\n  \"signatures\": {\n    \"version\": 1,\n    \"min_similarity\": \
                 \"0.8\"\n  },\n  \"texts\": \"zstd\",\n  \"recipe\"";
    let expected = GOLDEN.replace("version\": 2", "version\": 4").replace("  \"recipe\"", lines);
    check_golden(&metadata, &expected.replace("9e4ab2b8", "e38c2155"));
    // Fields that do not fit together are damaged, also under a valid checksum.
    let mut without: Stored = serde_json::from_str(&expected).unwrap();
    without.signatures = None;
    without.crc32 = without.checksum().unwrap();
    let without = serde_json::to_vec(&without).unwrap();
    assert_eq!(Metadata::decode(&without).unwrap_err().kind(), ErrorKind::Corrupt);
}

/// The metadata of every profile, as written from version 3 on; an index without any of it stays
/// version 2.
#[test]
fn golden_with_signatures() {
    let tables = GOLDEN
        [GOLDEN.find("  \"scheme\"").unwrap()..GOLDEN.find("  \"max_distance\": 1,\n  \"rec").unwrap()]
        .to_owned();
    let signatures = "  \"signatures\": {\n    \"version\": 1,\n    \"min_similarity\": \"0.8\"\n  },\n";
    for (profile, crc32) in
        [(Profile::Classic, "14d493c0"), (Profile::Minhash, "72a42317"), (Profile::Full, "662819f0")]
    {
        let kind = example().kind.of_profile(profile).unwrap();
        let min_similarity = Some(Similarity::clamped(0.8));
        let max_distance = kind.max_distance();
        let metadata = Metadata { kind, min_similarity, max_distance, ..example() }.of_least_version();
        assert_eq!(metadata.format_version, SIGNATURE_VERSION);
        let lines = format!("  \"profile\": \"{profile}\",\n{signatures}  \"recipe\"");
        let mut expected = GOLDEN.replace("version\": 2", "version\": 3").replace("  \"recipe\"", &lines);
        if profile == Profile::Minhash {
            expected = expected.replace(&tables, "").replace("\"max_distance\": 1", "\"max_distance\": 0");
        }
        check_golden(&metadata, &expected.replace("9e4ab2b8", crc32));
    }
    assert_eq!(example().of_least_version().format_version, IDENTITY_VERSION);
}

/// A secret key, which makes version 4.
#[test]
fn golden_with_a_key() {
    let key = Key::parse("000102030405060708090a0b0c0d0e0f");
    let min_similarity = Some(Similarity::clamped(0.8));
    let metadata = Metadata { key, min_similarity, ..example() }.of_least_version();
    let text = String::from_utf8(metadata.encode().unwrap()).unwrap();
    assert!(text.contains("\n  \"key\": \"000102030405060708090a0b0c0d0e0f\",\n  \"recipe\""), "{text}");
    assert_eq!((metadata.format_version, Metadata::decode(text.as_bytes()).unwrap()), (4, metadata));
    for (from, to) in [("0d0e0f", "0d0e0F"), ("\"format_version\": 4", "\"format_version\": 3")] {
        let mut stored: Stored = serde_json::from_str(&text.replace(from, to)).unwrap();
        stored.crc32 = stored.checksum().unwrap();
        let stored = serde_json::to_vec(&stored).unwrap();
        assert_eq!(Metadata::decode(&stored).unwrap_err().kind(), ErrorKind::Corrupt, "{to}");
    }
}

/// Bands of another similarity than .8 are stored by their name, and make version 4.
#[test]
fn golden_with_bands() {
    for (similarity, profile, crc32) in
        [(0.5, Profile::Full, "a13de2df"), (1.0, Profile::Minhash, "50a96c51")]
    {
        let filing = FilingScheme::for_similarity(Similarity::clamped(similarity));
        let kind = example().kind.of_profile(profile).unwrap().with_filing(filing).unwrap();
        let min_similarity = Some(Similarity::clamped(similarity));
        let max_distance = kind.max_distance();
        let metadata = Metadata { kind, min_similarity, max_distance, ..example() }.of_least_version();
        assert_eq!(metadata.format_version, BANDS_VERSION);
        let text = String::from_utf8(metadata.encode().unwrap()).unwrap();
        let stored = format!("\n  }},\n  \"bands\": \"{filing}\",\n  \"recipe\"");
        assert!(text.contains(&stored) && text.contains("\"format_version\": 4"), "{text}");
        assert!(text.ends_with(&format!("\"crc32\": \"{crc32}\"\n}}")), "{text}");
        assert_eq!(Metadata::decode(text.as_bytes()).unwrap(), metadata);
    }
}

/// Metadata with a valid checksum that no program has ever written.
#[test]
fn what_does_not_fit_together() {
    let full = Metadata {
        format_version: SIGNATURE_VERSION,
        kind: example().kind.of_profile(Profile::Full).unwrap(),
        min_similarity: Some(Similarity::clamped(0.8)),
        ..example()
    };
    let decode = |change: &dyn Fn(&mut Stored)| {
        let mut stored: Stored = serde_json::from_slice(&full.encode().unwrap()).unwrap();
        change(&mut stored);
        stored.crc32 = stored.checksum().unwrap();
        Metadata::decode(&serde_json::to_vec(&stored).unwrap())
    };
    assert_eq!(decode(&|_| {}).unwrap(), full);
    let signatures = |version, min_similarity: &str| {
        Some(StoredSignatures { version, min_similarity: min_similarity.to_owned() })
    };
    for change in [
        &(|stored: &mut Stored| stored.profile = None) as &dyn Fn(&mut Stored),
        &|stored| stored.profile = Some("whole".to_owned()),
        &|stored| stored.profile = Some("minhash".to_owned()),
        &|stored| stored.signatures = None,
        &|stored| stored.signatures = signatures(1, "1.5"),
        &|stored| stored.signatures = signatures(1, "much"),
        &|stored| stored.scheme = None,
        &|stored| stored.format_version = 2,
        &|stored| stored.bands = Some("5x6-7/5x6-7".to_owned()),
        &|stored| (stored.format_version, stored.bands) = (4, Some("5x6-7".to_owned())),
        &|stored| {
            stored.format_version = 4;
            (stored.profile, stored.bands) = (Some("classic".to_owned()), Some("whole".to_owned()));
        },
    ] {
        assert_eq!(decode(change).unwrap_err().kind(), ErrorKind::Corrupt);
    }
    let newer = decode(&|stored| stored.signatures = signatures(2, "0.8")).unwrap_err();
    assert_eq!(newer.kind(), ErrorKind::Mismatch);
}

/// Metadata of version 1 is read, and written again unchanged. Its identity is a digest.
#[test]
fn golden_without_an_identity() {
    let expected = GOLDEN.replace("version\": 2", "version\": 1");
    let expected = expected.replace("  \"identity\": \"74686520676f6c64656e20696e646578\",\n", "");
    let expected = expected.replace("9e4ab2b8", "56256c66");
    let old = Metadata::decode(expected.as_bytes()).unwrap();
    assert_eq!(old.identity.to_string(), "6a977deac28026c381802c470641eee7");
    check_golden(&old, &expected);
    assert_eq!(Metadata { format_version: IDENTITY_VERSION, identity: example().identity, ..old }, example());
    let indented_otherwise = expected.replace("  ", "\t");
    assert_eq!(
        Metadata::decode(indented_otherwise.as_bytes()).unwrap().identity.to_string(),
        "6a977deac28026c381802c470641eee7"
    );
    let retaining = expected.replace("  \"recipe\"", "  \"retain_seconds\": 172800,\n  \"recipe\"");
    let retaining = Metadata::decode(retaining.replace("56256c66", "23ba4e86").as_bytes()).unwrap();
    assert_eq!(retaining.retain, Retention::from_seconds(172_800));
    // No version is taken for the other.
    for changed in
        [expected.replace("version\": 1", "version\": 2"), GOLDEN.replace("version\": 2", "version\": 1")]
    {
        assert_eq!(Metadata::decode(changed.as_bytes()).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}

#[test]
fn every_named_scheme_comes_back() {
    for name in SketchKind::NAMES {
        let metadata = Metadata { kind: name.parse().unwrap(), ..example() };
        assert_eq!(Metadata::decode(&metadata.encode().unwrap()).unwrap(), metadata);
    }
}

/// A changed byte is found, or changes only white space.
#[test]
fn one_changed_byte() {
    let example = Metadata { retain: Retention::from_seconds(172_800), ..example() };
    let bytes = example.encode().unwrap();
    for position in 0..bytes.len() {
        for flip in 1..=255_u8 {
            let mut changed = bytes.clone();
            changed[position] ^= flip;
            match Metadata::decode(&changed) {
                Ok(read) => {
                    assert_eq!(read, example);
                    assert!(bytes[position].is_ascii_whitespace(), "byte {position} ^ {flip:02x}");
                }
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Mismatch), "{error}");
                }
            }
        }
    }
}

#[test]
fn the_future_is_told_from_damage() {
    let future = br#"{"format_version": 5, "shape": "unknown"}"#;
    assert_eq!(Metadata::decode(future).unwrap_err().kind(), ErrorKind::Mismatch);
    for bytes in [
        "",
        "{}",
        "null",
        r#"{"format_version": 0}"#,
        r#"{"format_version": 1}"#,
        r#"{"format_version": 2}"#,
        r#"{"format_version": 3}"#,
        r#"{"format_version": 4}"#,
    ] {
        assert_eq!(Metadata::decode(bytes.as_bytes()).unwrap_err().kind(), ErrorKind::Corrupt, "{bytes}");
    }
}
