use super::*;
use index::Profile;
use index::testsuite::apart;
use minhash::Signature;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn id() -> DocumentId {
    DocumentId::new("é1").unwrap()
}

fn listed() -> Sketch {
    let keys = [(1, 0xdead_beef), (14, 7)].map(|(flag, segment)| BucketKey { flag, segment });
    Sketch::new(Fingerprint(0x0123_4567_89ab_cdef), keys.to_vec())
}

fn halves() -> SketchKind {
    SketchKind::simhash("halves", apart(1), &[(1, 0xffff_ffff_0000_0000), (2, 0xffff_ffff)]).unwrap()
}

fn at() -> Timestamp {
    Timestamp::new(1_763_735_000_123).unwrap()
}

fn document(sketch: Sketch, source: Option<&str>) -> Document {
    Document { id: id(), sketch, source: source.map(|source| Source::new(source).unwrap()) }
}

/// Fixed bytes: a change here is a new version. The scripts read them at fixed places too.
#[test]
fn golden_vectors() {
    let following = halves().sketch(Fingerprint(0x0123_4567_89ab_cdef));
    for (sketch, source, expected) in [
        (following, None, "020123456789abcdef000000019aa6cc543b0001012345670289abcdef190951a4"),
        (
            listed(),
            Some("feed"),
            "020123456789abcdef010593b1b356cae29a0000019aa6cc543b046665656401deadbeef0e00000007f6d3402b",
        ),
        (
            Sketch::new(Fingerprint(1), Vec::new()),
            None,
            "02000000000000000101e3b0c44298fc1c140000019aa6cc543b00c0b3a929",
        ),
    ] {
        let document = document(sketch, source);
        let bytes = encode_record(&document, None, at(), &halves());
        assert_eq!(hex(&bytes), expected);
        let stored = StoredDocument { document, inserted_at: at() };
        assert_eq!(decode_record(&id(), &bytes, &halves()).unwrap(), stored);
    }
}

/// Every change of one byte is found, and so is a record under another id.
#[test]
fn one_changed_byte() {
    let bytes = encode_record(&document(listed(), Some("feed")), None, at(), &halves());
    for position in 0..bytes.len() {
        for flip in 1..=255_u8 {
            let mut changed = bytes.clone();
            changed[position] ^= flip;
            assert!(decode_record(&id(), &changed, &halves()).is_err(), "byte {position} ^ {flip:02x}");
        }
    }
    for len in 0..bytes.len() {
        assert!(decode_record(&id(), &bytes[..len], &halves()).is_err(), "cut to {len}");
    }
    assert!(decode_record(&DocumentId::new("é2").unwrap(), &bytes, &halves()).is_err());
}

/// A record of an older program is not damage.
#[test]
fn version_1_is_refused_by_name() {
    let digits = "010123456789abcdef0001012345670289abcdefec2e039f".as_bytes();
    let bytes = digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap());
    let refused = decode_record(&id(), &bytes.collect::<Vec<_>>(), &halves()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Mismatch);
    assert!(refused.to_string().contains("build the index anew"), "{refused}");
}

#[test]
fn matches() {
    for (keys, follows) in [(listed(), false), (halves().sketch(Fingerprint(7)), true)] {
        let Form::Simhash(simhash, keys) = Form::of(&keys) else { panic!("it has no signature") };
        let mut member = Vec::new();
        put_run(&mut member, simhash, keys, follows);
        member.extend_from_slice("é1".as_bytes());
        assert_eq!(decode_match(&member).unwrap(), (simhash.into(), id()));
    }
    for damaged in [&b"12345678"[..], b"12345678\0", b"12345678\x02id", b"12345678\x01id", b"12345678\0\xff"]
    {
        assert!(decode_match(damaged).is_err(), "{damaged:?}");
    }
}

/// A simhash with listed keys, one whose keys follow, a signature alone, and a sketch that cannot
/// be compared.
fn signed() -> [(SketchKind, Sketch); 4] {
    let kind = |profile| halves().of_profile(profile).unwrap();
    let features = |simhash: Option<u64>, signature| Features {
        simhash: simhash.map(Fingerprint),
        signature,
        text: None,
    };
    let small = Signature::short(&[1, 0x00ab_cdef]);
    let hash = Some(Signature::equality(0x0123_4567_89ab_cdef));
    let listed = listed().keys().collect();
    [
        (kind(Profile::Full), kind(Profile::Full).listed(features(Some(5), small), listed)),
        (kind(Profile::Full), kind(Profile::Full).sketch(features(Some(1 << 32), hash.clone()))),
        (kind(Profile::Minhash), kind(Profile::Minhash).sketch(features(Some(7), hash))),
        (kind(Profile::Full), kind(Profile::Full).sketch(Features::default())),
    ]
}

/// Fixed bytes, as above.
#[test]
fn golden_vectors_of_signed_documents() {
    for ((kind, sketch), expected) in signed().into_iter().zip(GOLDEN_SIGNED) {
        let document = document(sketch, Some("feed"));
        let bytes = encode_record(&document, None, at(), &kind);
        assert_eq!(hex(&bytes), expected);
        let stored = StoredDocument { document, inserted_at: at() };
        assert_eq!(decode_record(&id(), &bytes, &kind).unwrap(), stored);
    }
}

/// Fixed bytes of documents with kept texts, for every form of sketch.
#[test]
fn records_that_name_a_text() {
    let digest = TextDigest::of(&index::Text::from("é1 é1 é1"));
    let text = Some(digest);
    let mut all: Vec<_> = signed().into_iter().collect();
    all.push((halves(), halves().sketch(Fingerprint(0x0123_4567_89ab_cdef))));
    for ((kind, sketch), version) in all.into_iter().zip([5, 5, 5, 5, 4]) {
        let document = document(sketch, Some("feed"));
        let bare = encode_record(&document, None, at(), &kind);
        let bytes = encode_record(&document, text, at(), &kind);
        assert_eq!((bytes[0], bare[0]), (version, version - 2));
        let (body, bare) = (&bytes[1..bytes.len() - CHECKSUM_LEN], &bare[1..bare.len() - CHECKSUM_LEN]);
        assert_eq!(hex(body), hex(bare) + "fe31c9f1c10fe5009c351b7bb0c68ac3");
        let stored = StoredDocument { document: document.clone(), inserted_at: at() };
        assert_eq!(decode_told(&id(), &bytes, &kind).unwrap(), (stored, text));
        assert_eq!(decode_digest(&id(), &bytes).unwrap(), text);
        assert!(!is_foreign(&bytes, &document.sketch, &kind));
        let content = (version == 5).then(|| [&bytes[1..17], &digest.0[..]].concat());
        assert_eq!(Content::of(&bytes, text).map(|content| content.as_bytes().to_vec()), content);
        for position in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[position] ^= 0x11;
            assert!(decode_told(&id(), &changed, &kind).is_err(), "byte {position}");
            assert!(decode_told(&id(), &bytes[..position], &kind).is_err(), "cut to {position}");
        }
    }
}

const GOLDEN_SIGNED: [&str; 4] = [
    "0302833b93c8560e0c376358c170cefe650000019aa6cc543b0466656564030000000000000005000712000001abcdef\
     0100000000000000050201deadbeef0e0000000703e63bc0eb225e151010805a850c6d81cf14504a82cacbcfab834c9b\
     db8d84083f0395852498cfcc86c092a52e871f9872f688ae616bba89f05913678a2d783ec38b399a16ff8c5c083b2f8d\
     658826808e23969dad8ffb30ccffd5ec1a9d",
    "03027cbdcf783cd60552e318ad5cb1386b0000019aa6cc543b04666565640100000001000000000009110123456789ab\
     cdef0100000001000000000201000000010200000000040123456789abcdef01c001234567f0f61257",
    "03022dbd9671681a687861718b21e033c70000019aa6cc543b04666565640100000000000000070009110123456789ab\
     cdef040123456789abcdef01c001234567fb4592b8",
    "030271b6c1d53832f789a7f2435a7c62920000019aa6cc543b0466656564000000000000000000000028d2295c",
];

/// A sketch filed otherwise than its signature says is not this program's, though its checksum
/// fits.
#[test]
fn what_does_not_fit_together() {
    let reseal = |bytes: &mut Vec<u8>| {
        bytes.truncate(bytes.len() - CHECKSUM_LEN);
        let sealed = checksum(&id(), bytes);
        bytes.extend_from_slice(&sealed.to_be_bytes());
    };
    for (kind, sketch) in signed() {
        let bytes = encode_record(&document(sketch.clone(), None), None, at(), &kind);
        for position in 0..bytes.len() - CHECKSUM_LEN {
            let mut changed = bytes.clone();
            changed[position] ^= 0x11;
            assert!(decode_record(&id(), &changed, &kind).is_err(), "byte {position}");
            reseal(&mut changed);
            // No panic, and no other bytes of the same sketch except the run, which is a digest.
            if let Ok(read) = decode_record(&id(), &changed, &kind) {
                let run = 1..=signed::RUN_LEN;
                assert!(
                    run.contains(&position) || read.document.sketch != sketch || read.inserted_at != at()
                );
            }
        }
        for len in 0..bytes.len() - CHECKSUM_LEN {
            let mut cut = bytes[..len + CHECKSUM_LEN].to_vec();
            reseal(&mut cut);
            if let Ok(read) = decode_record(&id(), &cut, &kind) {
                assert_ne!(read.document.sketch, sketch, "cut to {len}");
            }
        }
    }
}

#[test]
fn foreign_keys_are_told() {
    let full = || halves().of_profile(Profile::Full).unwrap();
    for (at_fault, (kind, sketch)) in [false, true, true, false].into_iter().zip(signed()) {
        let bytes = encode_record(&document(sketch.clone(), None), None, at(), &kind);
        assert!(!is_foreign(&bytes, &sketch, &kind));
        let other = if kind == full() { SketchKind::default() } else { full() };
        assert_eq!(is_foreign(&bytes, &sketch, &other), at_fault);
    }
    let sketch = halves().sketch(Fingerprint(9));
    let bytes = encode_record(&document(sketch.clone(), None), None, at(), &halves());
    assert!(is_foreign(&bytes, &sketch, &SketchKind::default()) && !is_foreign(&bytes, &sketch, &full()));
}

#[test]
fn names() {
    let keys = Keys::new("news");
    assert_eq!(keys.metadata, b"pigeonhole:{news}:metadata");
    assert_eq!(keys.ids, b"pigeonhole:{news}:ids");
    assert_eq!(keys.document(&id()), "pigeonhole:{news}:d:é1".as_bytes());
    assert_eq!(keys.runs, b"pigeonhole:{news}:r:");
    assert_eq!(keys.buckets, b"pigeonhole:{news}:b:");
    assert_eq!(keys.times, b"pigeonhole:{news}:times");
    assert_eq!(keys.run_times, b"pigeonhole:{news}:t:");
    assert_eq!(keys.last_write, b"pigeonhole:{news}:last_write");
    assert_eq!(keys.text(&id()), "pigeonhole:{news}:x:é1".as_bytes());
    assert_eq!(keys.answer("00ff"), b"pigeonhole:{news}:a:00ff");
}
