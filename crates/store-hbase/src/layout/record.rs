//! The words of a document's record, and those that a claim shares with it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use index::{Features, MAX_SKETCH_KEYS, Result, Sketch, SketchKind, Source};
use minhash::Signature;
use simhash::{BucketKey, Fingerprint};

use super::damaged;
use super::text::{digest_word, parse_digest};

/// The word for an absent simhash.
const NO_SIMHASH: &str = "-";

/// The stored form of a document, unless its claim holds a newer one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) sketch: Sketch,
    /// The timestamp of the document's cells in the index, in milliseconds.
    pub(crate) timestamp: i64,
    /// The origin of the document, if one was given.
    pub(crate) source: Option<Source>,
    /// A digest of the document's text, where the text is kept.
    pub(crate) text: Option<u64>,
}

impl Record {
    /// Writes the record as words, legible in the HBase shell: `live`, simhash, timestamp, the
    /// simhash's keys if they differ from those that `kind` gives, the signature in base64, the
    /// digest of the text and the source if there is one. Characters other than graphic ASCII are
    /// written like `%20`.
    pub(crate) fn encode(&self, kind: &SketchKind) -> Vec<u8> {
        let words = format!("live {} {}", simhash_word(&self.sketch), self.timestamp);
        (words + &more_words(&self.sketch, self.text, self.source.as_ref(), kind)).into_bytes()
    }

    /// Reads stored words back; accepts exactly the output of [`encode`](Self::encode).
    pub(crate) fn decode(bytes: &[u8], kind: &SketchKind) -> Result<Self> {
        let record = std::str::from_utf8(bytes).ok().and_then(|words| Self::parse(words, kind));
        record
            .filter(|record| record.encode(kind) == bytes)
            .ok_or_else(|| damaged("the record", bytes, "is not one of a document"))
    }

    fn parse(words: &str, kind: &SketchKind) -> Option<Self> {
        let mut words = words.strip_prefix("live ")?.split(' ');
        let simhash = parse_simhash(words.next()?)?;
        let timestamp = words.next()?.parse().ok()?;
        let More { sketch, text, source } = parse_more(simhash, words, kind)?;
        Some(Self { sketch, timestamp, source, text })
    }
}

pub(super) fn simhash_word(sketch: &Sketch) -> String {
    sketch.features().simhash.map_or_else(|| NO_SIMHASH.to_owned(), |simhash| simhash.to_string())
}

pub(super) fn parse_simhash(word: &str) -> Option<Option<Fingerprint>> {
    if word == NO_SIMHASH { Some(None) } else { word.parse().ok().map(Some) }
}

/// Returns the optional words of a document, each after a blank.
pub(super) fn more_words(
    sketch: &Sketch,
    text: Option<u64>,
    source: Option<&Source>,
    kind: &SketchKind,
) -> String {
    let mut words = String::new();
    if !kind.follows(sketch) {
        // The keys of the signature follow from the signature.
        let keys = sketch.simhash_keys().iter().map(|key| format!("{:02x}:{:08x}", key.flag, key.segment));
        words = format!(" keys={}", keys.collect::<Vec<_>>().join(","));
    }
    if let Some(signature) = sketch.signature() {
        words = format!("{words} sig={}", STANDARD_NO_PAD.encode(signature.as_bytes()));
    }
    if let Some(text) = text {
        words = format!("{words} text={}", digest_word(text));
    }
    if let Some(source) = source {
        words = format!("{words} source={}", escape(source.as_str()));
    }
    words
}

/// The fields that the optional words give.
pub(super) struct More {
    pub(super) sketch: Sketch,
    pub(super) text: Option<u64>,
    pub(super) source: Option<Source>,
}

/// Reads the optional words, up to the last one.
pub(super) fn parse_more<'a>(
    simhash: Option<Fingerprint>,
    words: impl Iterator<Item = &'a str>,
    kind: &SketchKind,
) -> Option<More> {
    let mut words = words.peekable();
    let mut word = |name: &str| words.next_if(|word| word.starts_with(name)).map(|word| &word[name.len()..]);
    let keys = word("keys=").map(parse_keys);
    let signature = word("sig=").map(parse_signature);
    let text = word("text=").map(parse_digest);
    let source = word("source=").map(|source| Source::new(unescape(source)?).ok());
    if words.next().is_some() {
        return None;
    }
    // The inner `None` is a word that is there and malformed.
    let signature = signature.map_or(Some(None), |signature| signature.map(Some))?;
    let text = text.map_or(Some(None), |text| text.map(Some))?;
    let source = source.map_or(Some(None), |source| source.map(Some))?;
    let features = Features { simhash, signature, text: None };
    let sketch = match keys {
        None => kind.sketch(features),
        Some(keys) => kind.listed(features, keys?),
    };
    (sketch.n_keys() <= MAX_SKETCH_KEYS).then_some(More { sketch, text, source })
}

fn parse_signature(word: &str) -> Option<Signature> {
    Signature::decode(&STANDARD_NO_PAD.decode(word).ok()?).ok()
}

fn escape(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut escaped, byte| {
        if byte.is_ascii_graphic() && byte != b'%' {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02x}"));
        }
        escaped
    })
}

fn unescape(escaped: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let (digits, after) = after.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

fn parse_keys(keys: &str) -> Option<Vec<BucketKey>> {
    if keys.is_empty() {
        return Some(Vec::new());
    }
    let parse = |key: &str| {
        let (flag, segment) = key.split_once(':')?;
        let flag = u8::from_str_radix(flag, 16).ok()?;
        Some(BucketKey { flag, segment: u32::from_str_radix(segment, 16).ok()? })
    };
    keys.split(',').map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_records() {
        let kind = SketchKind::default();
        let fingerprint = Fingerprint(0x9e37_79b9_7f4a_7c15);
        let keys = vec![BucketKey { flag: 2, segment: 0x12 }, BucketKey { flag: 1, segment: u32::MAX }];
        for (sketch, source, expected) in [
            (kind.sketch(fingerprint), None, "live 9e3779b97f4a7c15 1763735000123"),
            (
                Sketch::new(fingerprint, keys.clone()),
                None,
                "live 9e3779b97f4a7c15 1763735000123 keys=01:ffffffff,02:00000012",
            ),
            (Sketch::new(fingerprint, Vec::new()), None, "live 9e3779b97f4a7c15 1763735000123 keys="),
            (
                kind.sketch(fingerprint),
                Some("a b%é"),
                "live 9e3779b97f4a7c15 1763735000123 source=a%20b%25%c3%a9",
            ),
            (
                Sketch::new(fingerprint, keys),
                Some("feed/1"),
                "live 9e3779b97f4a7c15 1763735000123 keys=01:ffffffff,02:00000012 source=feed/1",
            ),
        ] {
            let source = source.map(|source| Source::new(source).unwrap());
            let record = Record { sketch, timestamp: 1_763_735_000_123, source, text: None };
            assert_eq!(String::from_utf8(record.encode(&kind)).unwrap(), expected);
            assert_eq!(Record::decode(expected.as_bytes(), &kind).unwrap(), record);
        }
    }

    /// An index that verifies: the signature is one more word, and a text of symbols has no
    /// simhash.
    #[test]
    fn golden_records_with_signatures() {
        let kind = SketchKind::default().of_profile(index::Profile::Full).unwrap();
        let simhash = Some(Fingerprint(0x9e37_79b9_7f4a_7c15));
        let whole = Some(Signature::equality(0x0123_4567_89ab_cdef));
        let short = Signature::short(&[0xff_fffe, 0x01_0203]);
        let listed = |features| kind.listed(features, vec![BucketKey { flag: 2, segment: 0x12 }]);
        let features = |simhash, signature: &Option<Signature>| Features {
            simhash,
            signature: signature.clone(),
            text: None,
        };
        for (sketch, source, expected) in [
            (kind.sketch(features(simhash, &None)), None, "live 9e3779b97f4a7c15 1763735000123"),
            (
                kind.sketch(features(simhash, &whole)),
                None,
                "live 9e3779b97f4a7c15 1763735000123 sig=EQEjRWeJq83v",
            ),
            (
                kind.sketch(features(None, &short)),
                Some("feed/1"),
                "live - 1763735000123 sig=EgECA////g source=feed/1",
            ),
            (
                listed(features(simhash, &short)),
                None,
                "live 9e3779b97f4a7c15 1763735000123 keys=02:00000012 sig=EgECA////g",
            ),
            (kind.sketch(Features::default()), None, "live - 1763735000123"),
        ] {
            let source = source.map(|source| Source::new(source).unwrap());
            let record = Record { sketch, timestamp: 1_763_735_000_123, source, text: None };
            assert_eq!(String::from_utf8(record.encode(&kind)).unwrap(), expected);
            assert_eq!(Record::decode(expected.as_bytes(), &kind).unwrap(), record);
        }
        for words in [
            "live -- 1",
            "live - 1 sig=",
            "live - 1 sig=EQEjRWeJq83v=",
            "live - 1 sig=EQEjRWeJq83",
            "live - 1 sig=EQEjRWeJq83v sig=EQEjRWeJq83v",
            "live - 1 sig=EgECA////h",
            "live - 1 sig=EgECA____g",
            "live - 1 sig=IQEjRWeJq83v",
            "live - 1 source=a sig=EQEjRWeJq83v",
            "live - 1 sig=EQEjRWeJq83v keys=",
        ] {
            let error = Record::decode(words.as_bytes(), &kind).expect_err(words);
            assert_eq!(error.kind(), index::ErrorKind::Corrupt);
        }
    }

    #[test]
    fn what_nobody_wrote_is_refused() {
        let kind = SketchKind::default();
        for words in [
            "",
            "live",
            "live 9e3779b97f4a7c15",
            "live 9e3779b97f4a7c15 x",
            "live 9e3779b97f4a7c1 1",
            "Live 9e3779b97f4a7c15 1",
            "removed 9e3779b97f4a7c15 1",
            "live  9e3779b97f4a7c15 1",
            "live 9e3779b97f4a7c15 1 ",
            "live 9e3779b97f4a7c15 +1",
            "live 9e3779b97f4a7c15 1 keys=1:00000001",
            "live 9e3779b97f4a7c15 1 keys=02:00000001,01:00000001",
            "live 9e3779b97f4a7c15 1 other=1",
            "live 9e3779b97f4a7c15 1 keys= more",
            "live 9e3779b97f4a7c15 1 source=",
            "live 9e3779b97f4a7c15 1 source=a source=a",
            "live 9e3779b97f4a7c15 1 source=a keys=",
            "live 9e3779b97f4a7c15 1 source=%41",
            "live 9e3779b97f4a7c15 1 source=%C3%A9",
            "live 9e3779b97f4a7c15 1 source=%c3",
            "live 9e3779b97f4a7c15 1 source=%1",
            "live 9e3779b97f4a7c15 1 source=%0a",
            "live 9e3779b97f4a7c15 1 source=é",
        ] {
            let error = Record::decode(words.as_bytes(), &kind).expect_err(words);
            assert_eq!(error.kind(), index::ErrorKind::Corrupt);
        }
        // Keys that the scheme gives are never listed.
        let fingerprint = Fingerprint(1);
        let keys = kind.sketch(fingerprint);
        let keys = keys.keys().map(|key| format!("{:02x}:{:08x}", key.flag, key.segment));
        let listed = format!("live {fingerprint} 1 keys={}", keys.collect::<Vec<_>>().join(","));
        assert!(Record::decode(listed.as_bytes(), &kind).is_err());
    }
}
