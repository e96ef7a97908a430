use index::Profile;
use proptest::prelude::*;

use super::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn at() -> Timestamp {
    Timestamp::new(1_763_735_000_123).unwrap()
}

fn listed() -> Sketch {
    let keys = [(1, 0xdead_beef), (14, 7)].map(|(flag, segment)| BucketKey { flag, segment });
    Sketch::new(Fingerprint(0x0123_4567_89ab_cdef), keys.to_vec())
}

/// Fixed bytes: a change here is a new version.
#[test]
fn golden_vectors() {
    let kind = SketchKind::default();
    let following = kind.sketch(Fingerprint(0x0123_4567_89ab_cdef));
    let id = DocumentId::new("é1").unwrap();
    for (sketch, source, document, removal) in [
        (
            following,
            None,
            "02000123456789abcdef0000019aa6cc543b00c3a931163832a4",
            "02010123456789abcdef0000000000000007ab0f3536",
        ),
        (
            listed(),
            Some("feed"),
            "02020123456789abcdef0000019aa6cc543b04666565640201deadbeef0e00000007c3a931355e5d3a",
            "02030123456789abcdef0201deadbeef0e00000007000000000000000724b49cbe",
        ),
    ] {
        let source = source.map(|source| Source::new(source).unwrap());
        let example = Document { id: id.clone(), sketch: sketch.clone(), source };
        let bytes = encode_document(9, &example, at(), &kind).unwrap();
        assert_eq!(hex(&bytes), document);
        let stored = StoredDocument { document: example, inserted_at: at() };
        assert_eq!(decode_document(9, &bytes, &kind).unwrap(), stored);
        assert_eq!(decode_time(9, &bytes).unwrap(), at());
        assert_eq!(decode_sketch(9, &bytes, &kind).unwrap(), sketch);
        assert_eq!(decode_id(9, &bytes).unwrap(), id);
        let example = Removal { number: 7, sketch };
        let bytes = encode_removal(9, &example, &kind).unwrap();
        assert_eq!(hex(&bytes), removal);
        assert_eq!(decode_removal(9, &bytes, &kind).unwrap(), example);
    }
}

/// Fixed bytes as well, of an index with signatures.
#[test]
fn golden_vectors_with_signatures() {
    let kind = SketchKind::default().of_profile(Profile::Full).unwrap();
    let features = |simhash: Option<u64>, signature| {
        kind.sketch(Features { simhash: simhash.map(Fingerprint), signature: Some(signature), text: None })
    };
    let listed = kind.listed(
        Features { simhash: Some(Fingerprint(1)), signature: Some(Signature::equality(2)), text: None },
        vec![BucketKey { flag: 14, segment: 7 }],
    );
    for (sketch, document, removal) in [
        (
            features(Some(0x0123_4567_89ab_cdef), Signature::short(&[1, 2, 3]).unwrap()),
            "02040123456789abcdef0000019aa6cc543b00000a12000001000002000003c3a93171ce8f31",
            "02050123456789abcdef000a120000010000020000030000000000000007c050511e",
        ),
        (
            features(None, Signature::equality(0xfedc_ba98_7654_3210)),
            "020c00000000000000000000019aa6cc543b00000911fedcba9876543210c3a93133573763",
            "020d0000000000000000000911fedcba987654321000000000000000074b4da054",
        ),
        (
            listed,
            "020600000000000000010000019aa6cc543b00010e000000070009110000000000000002c3a931b2fa1fd7",
            "02070000000000000001010e0000000700091100000000000000020000000000000007bf1f59cb",
        ),
    ] {
        let example = Document { id: DocumentId::new("é1").unwrap(), sketch: sketch.clone(), source: None };
        let bytes = encode_document(9, &example, at(), &kind).unwrap();
        assert_eq!(hex(&bytes), document);
        assert_eq!(decode_features(9, &bytes).unwrap(), *sketch.features());
        assert_eq!(decode_document(9, &bytes, &kind).unwrap().document, example);
        assert_eq!(decode_id(9, &bytes).unwrap(), example.id);
        let example = Removal { number: 7, sketch };
        let bytes = encode_removal(9, &example, &kind).unwrap();
        assert_eq!(hex(&bytes), removal);
        assert_eq!(decode_removal(9, &bytes, &kind).unwrap(), example);
    }
}

/// Every change of one byte is found, and so is a record under another's number or of another kind.
#[test]
fn one_changed_byte() {
    let kind = SketchKind::default();
    let id = DocumentId::new("https://example.org/1").unwrap();
    let document = Document { id, sketch: listed(), source: Some(Source::new("feed").unwrap()) };
    let bytes = encode_document(9, &document, at(), &kind).unwrap();
    for position in 0..bytes.len() {
        for flip in 1..=255_u8 {
            let mut changed = bytes.clone();
            changed[position] ^= flip;
            assert!(decode_document(9, &changed, &kind).is_err(), "byte {position} ^ {flip:02x}");
        }
    }
    for len in 0..bytes.len() {
        assert!(decode_document(9, &bytes[..len], &kind).is_err(), "cut to {len}");
    }
    assert!(decode_document(8, &bytes, &kind).is_err());
    assert!(decode_removal(9, &bytes, &kind).is_err());
    let removal = encode_removal(9, &Removal { number: 7, sketch: listed() }, &kind).unwrap();
    assert!(decode_document(9, &removal, &kind).is_err());
}

/// A record of an older program is not damage.
#[test]
fn version_1_is_refused_by_name() {
    let bytes = seal(b"\x01\x00\x01\x23\x45\x67\x89\xab\xcd\xef\xc3\xa91".to_vec(), 9);
    assert_eq!(hex(&bytes), "01000123456789abcdefc3a9315535773c");
    let refused = decode_document(9, &bytes, &SketchKind::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Mismatch);
    assert!(refused.to_string().contains("build the index anew"), "{refused}");
}

#[test]
fn a_number_by_itself() {
    let bytes = encode_number(0x0123_4567_89ab_cdef);
    assert_eq!(hex(&bytes), "0123456789abcdefa15e4592");
    assert_eq!(decode_number(&bytes).unwrap(), 0x0123_4567_89ab_cdef);
    for position in 0..bytes.len() {
        for flip in 1..=255_u8 {
            let mut changed = bytes.clone();
            changed[position] ^= flip;
            assert!(decode_number(&changed).is_err(), "byte {position} ^ {flip:02x}");
        }
    }
}

#[test]
fn more_keys_than_a_byte_counts_are_refused() {
    let keys = |len| (0..len).map(|segment| BucketKey { flag: 1, segment }).collect();
    for (len, fits) in [(0, true), (255, true), (256, false)] {
        let sketch = Sketch::new(Fingerprint(1), keys(len));
        let document = Document { id: DocumentId::new("a").unwrap(), sketch, source: None };
        assert_eq!(encode_document(1, &document, at(), &SketchKind::default()).is_ok(), fits, "{len} keys");
    }
}

proptest! {
    #[test]
    fn comes_back(
        number: u64, bits: u64, follows: bool, id in "\\PC{1,40}", source in "\\PC{0,60}",
        ms in 0..=Timestamp::MAX.as_ms(),
        keys in proptest::collection::vec((1..=255_u8, any::<u32>()), 0..20),
    ) {
        let kind = SketchKind::default();
        let sketch = if follows {
            kind.sketch(Fingerprint(bits))
        } else {
            let keys = keys.into_iter().map(|(flag, segment)| BucketKey { flag, segment });
            Sketch::new(Fingerprint(bits), keys.collect())
        };
        let inserted_at = Timestamp::new(ms).unwrap();
        let source = Source::new(source).ok();
        let document = Document { id: DocumentId::new(id).unwrap(), sketch: sketch.clone(), source };
        let bytes = encode_document(number, &document, inserted_at, &kind).unwrap();
        let stored = StoredDocument { document, inserted_at };
        prop_assert_eq!(decode_document(number, &bytes, &kind).unwrap(), stored);
        let removal = Removal { number, sketch };
        let bytes = encode_removal(number, &removal, &kind).unwrap();
        prop_assert_eq!(decode_removal(number, &bytes, &kind).unwrap(), removal);
    }
}
