//! Names, keys and values of the two tables; `schema/README.md` draws them.

mod claim;
mod text;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use minhash::Signature;
use simhash::{BucketKey, Fingerprint, ROW_KEY_LEN, RowKey};

pub(crate) use self::claim::{decode_claim, encode_claim};
pub(crate) use self::text::{
    TEXT_COLUMNS, TEXT_FAMILY, decode_text, decode_text_qualifier, digest, encode_text, text_column,
    text_qualifier,
};
use self::text::{digest_word, parse_digest};
use index::{DocumentId, Error, Features, MAX_SKETCH_KEYS, Result, Segments, Sketch, SketchKind, Source};

/// The family of the index table, with a cell for each document that is filed in a row.
pub(crate) const INDEX_FAMILY: u8 = b'f';

/// The family of the documents' records and claims.
pub(crate) const DOCUMENT_FAMILY: u8 = b'd';

/// The column of a document's record, which is written without a check.
pub(crate) const RECORD_COLUMN: &[u8] = b"d:record";

/// The column of the latest claim on a document, which is only ever compared and set.
pub(crate) const CLAIM_COLUMN: &[u8] = b"d:claim";

/// The row of the index's metadata, beyond all documents. Its family never has a time to live.
pub(crate) const METADATA_ROW: &[u8] = b"pigeonhole";

/// The family of the metadata row.
pub(crate) const METADATA_FAMILY: u8 = b'm';

/// The column of the index's metadata.
pub(crate) const METADATA_COLUMN: &[u8] = b"m:metadata";

/// The column of the last mark of a job, which is only ever compared and set.
pub(crate) const MARK_COLUMN: &[u8] = b"m:mark";

/// The column of the last note of cells with an old timestamp.
pub(crate) const OLDER_COLUMN: &[u8] = b"m:older";

/// The column that is written to learn the time of HBase.
pub(crate) const TIME_COLUMN: &[u8] = b"m:time";

/// The qualifier of a bulk load's mark, beside the metadata, before the timestamp of the load's
/// cells.
pub(crate) const LOAD_PREFIX: &str = "load.";

/// The word for an absent simhash.
const NO_SIMHASH: &str = "-";

/// Beyond the last document's row, whose key starts with a hexadecimal digit.
pub(crate) const DOCUMENTS_END: &[u8] = b"g";

/// Returns the column of a document in the rows of the index.
pub(crate) fn index_column(id: &DocumentId) -> Vec<u8> {
    [&[INDEX_FAMILY, b':'], id.as_str().as_bytes()].concat()
}

/// Returns the row of a document: the upper half of the id's CRC-32, which spreads ascending ids
/// over the regions, and the id.
pub(crate) fn document_row(id: &DocumentId) -> Vec<u8> {
    let id = id.as_str();
    format!("{:04x}:{id}", crc32fast::hash(id.as_bytes()) >> 16).into_bytes()
}

/// Reads the id in a cell of the index.
pub(crate) fn decode_id(bytes: &[u8]) -> Result<DocumentId> {
    let id = std::str::from_utf8(bytes).ok().and_then(|id| DocumentId::new(id).ok());
    id.ok_or_else(|| damaged("the column", bytes, "is not a document id"))
}

/// Reads as [`decode_id`] does, from owned bytes.
pub(crate) fn decode_owned_id(bytes: Vec<u8>) -> Result<DocumentId> {
    match String::from_utf8(bytes).map(DocumentId::new) {
        Ok(Ok(id)) => Ok(id),
        Ok(Err(why)) => Err(Error::corrupt(format!("{why}; somebody else has written to the table"))),
        Err(error) => decode_id(error.as_bytes()),
    }
}

/// Reads the id in the key of a document's row.
pub(crate) fn decode_document_row(key: &[u8]) -> Result<DocumentId> {
    let id = key.get(5..).map(decode_id).transpose()?;
    id.filter(|id| document_row(id) == key)
        .ok_or_else(|| damaged("the row", key, "does not begin with the hash of its id"))
}

/// Reads the key of an index row that was found in `bucket`.
pub(crate) fn decode_index_row(key: &[u8], bucket: BucketKey) -> Result<RowKey> {
    match RowKey::decode(key) {
        Ok(row) if row.bucket() == bucket => Ok(row),
        _ => Err(damaged("the row", key, "is not one of the bucket that it lies in")),
    }
}

/// Reads the key of an index row.
pub(crate) fn decode_row(key: &[u8]) -> Result<RowKey> {
    RowKey::decode(key).map_err(|error| {
        let why = "somebody else has written to the table: delete it in the HBase shell";
        in_row(key, Error::corrupt(format!("{error}; {why}")))
    })
}

/// Returns the first key of the index rows of some segments, and the first key after them.
pub(crate) fn bounds(segments: Segments) -> (Vec<u8>, Vec<u8>) {
    let end = segments.end().map_or_else(|| vec![0xff; ROW_KEY_LEN + 1], |end| end.to_be_bytes().to_vec());
    (segments.start().to_be_bytes().to_vec(), end)
}

/// Adds the row to an error that was met in it.
pub(crate) fn in_row(key: &[u8], error: Error) -> Error {
    Error::new(error.kind(), format!("failed to read the row {}", key.escape_ascii())).caused_by(error)
}

pub(crate) fn damaged(what: &str, bytes: &[u8], why: &str) -> Error {
    Error::corrupt(format!(
        "{what} {} {why}; somebody else has written to the table: delete it in the HBase shell",
        bytes.escape_ascii()
    ))
}

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

fn simhash_word(sketch: &Sketch) -> String {
    sketch.features().simhash.map_or_else(|| NO_SIMHASH.to_owned(), |simhash| simhash.to_string())
}

fn parse_simhash(word: &str) -> Option<Option<Fingerprint>> {
    if word == NO_SIMHASH { Some(None) } else { word.parse().ok().map(Some) }
}

/// Returns the optional words of a document, each after a blank.
fn more_words(sketch: &Sketch, text: Option<u64>, source: Option<&Source>, kind: &SketchKind) -> String {
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
struct More {
    sketch: Sketch,
    text: Option<u64>,
    source: Option<Source>,
}

/// Reads the optional words, up to the last one.
fn parse_more<'a>(
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

    /// Fixed bytes: a change here is a new format version.
    #[test]
    fn golden_rows() {
        let id = DocumentId::new("https://example.org/é").unwrap();
        assert_eq!(document_row(&id), "d6e2:https://example.org/é".as_bytes());
        assert_eq!(decode_document_row(&document_row(&id)).unwrap(), id);
        assert_eq!(index_column(&id), "f:https://example.org/é".as_bytes());
        for key in ["", "d6e2:", "d6e3:https://example.org/é", "D6E2:https://example.org/é", "pigeonhole"] {
            assert!(decode_document_row(key.as_bytes()).is_err(), "{key}");
        }
    }

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
