//! The names of the keys, and the bytes below them. Drawn in `schema/redis.md`; the scripts know the same layout.

use index::{Document, DocumentId, Error, ErrorKind, Result, SketchKind, Source, StoredDocument, Timestamp};
use sha2::{Digest, Sha256};
use simhash::{BucketKey, Fingerprint, Sketch};

/// The version that every record begins with. Those of version 1, which had no times, were never released.
const VERSION: u8 = 2;

/// Follows the fingerprint in a run whose keys are those that the index's kind of sketch gives it.
const FOLLOWS: u8 = 0;
/// Follows the fingerprint in a run whose keys are others, before a digest of them.
const LISTED: u8 = 1;

/// The bytes of that digest.
const DIGEST_LEN: usize = 8;

/// The keys of one index. The braces make a cluster keep all of them on one node.
pub(super) struct Keys {
    pub(super) metadata: Vec<u8>,
    /// All ids, a sorted set.
    pub(super) ids: Vec<u8>,
    /// What the key of a document's record begins with, before its id.
    pub(super) documents: Vec<u8>,
    /// What the key of the ids of a run begins with, before the run.
    pub(super) runs: Vec<u8>,
    /// What the key of a bucket begins with, before its flag and segment.
    pub(super) buckets: Vec<u8>,
    /// All ids by time, a sorted set; only in an index that retains for some time.
    pub(super) times: Vec<u8>,
    /// What the key of the ids of a large run by time begins with, before the run.
    pub(super) run_times: Vec<u8>,
    /// When the index was last written to; only there as well.
    pub(super) last_write: Vec<u8>,
    /// Never there: a write to it only where it is there changes nothing, and is refused where a write would be.
    pub(super) ready: Vec<u8>,
    /// What the key of a kept answer begins with, before its token.
    answers: Vec<u8>,
}

impl Keys {
    pub(super) fn new(name: &str) -> Self {
        let key = |rest: &str| format!("pigeonhole:{{{name}}}:{rest}").into_bytes();
        Self {
            metadata: key("metadata"),
            ids: key("ids"),
            documents: key("d:"),
            runs: key("r:"),
            buckets: key("b:"),
            times: key("times"),
            run_times: key("t:"),
            last_write: key("last_write"),
            ready: key("ready"),
            answers: key("a:"),
        }
    }

    /// The key of a document's record.
    pub(super) fn document(&self, id: &DocumentId) -> Vec<u8> {
        [&self.documents, id.as_str().as_bytes()].concat()
    }

    /// The key of the answer that a writing script keeps.
    pub(super) fn answer(&self, token: &str) -> Vec<u8> {
        [&self.answers, token.as_bytes()].concat()
    }
}

/// What documents with equal sketches have in common, and no others: the fingerprint, and a digest of the keys where
/// they do not follow from it.
fn put_run(bytes: &mut Vec<u8>, sketch: &Sketch, kind: &SketchKind) {
    bytes.extend_from_slice(&sketch.fingerprint().0.to_be_bytes());
    if kind.follows(sketch) {
        bytes.push(FOLLOWS);
        return;
    }
    bytes.push(LISTED);
    let mut keys = Vec::with_capacity(5 * sketch.keys().len());
    put_keys(&mut keys, sketch.keys());
    bytes.extend_from_slice(&Sha256::digest(&keys)[..DIGEST_LEN]);
}

fn put_keys(bytes: &mut Vec<u8>, keys: &[BucketKey]) {
    for key in keys {
        bytes.push(key.flag);
        bytes.extend_from_slice(&key.segment.to_be_bytes());
    }
}

/// How long the run is that these bytes begin with.
fn run_len(bytes: &[u8]) -> Option<usize> {
    match *bytes.get(8)? {
        FOLLOWS => Some(9),
        LISTED => Some(9 + DIGEST_LEN),
        _ => None,
    }
}

/// The record of a document.
pub(super) fn encode_record(document: &Document, inserted_at: Timestamp, kind: &SketchKind) -> Vec<u8> {
    let Document { id, sketch, source } = document;
    let source = source.as_ref().map_or("", Source::as_str);
    let mut bytes = Vec::with_capacity(31 + source.len() + 5 * sketch.keys().len());
    bytes.push(VERSION);
    put_run(&mut bytes, sketch, kind);
    bytes.extend_from_slice(&inserted_at.as_ms().to_be_bytes());
    // At most 255 bytes, which is what a source is.
    bytes.push(source.len() as u8);
    bytes.extend_from_slice(source.as_bytes());
    put_keys(&mut bytes, sketch.keys());
    let checksum = checksum(id, &bytes);
    bytes.extend_from_slice(&checksum.to_be_bytes());
    bytes
}

/// Whether a record says that its keys are those that the index's kind of sketch gives its fingerprint, and another kind gave them.
pub(super) fn is_foreign(record: &[u8], sketch: &Sketch, kind: &SketchKind) -> bool {
    // After the version and the fingerprint.
    record.get(9) == Some(&FOLLOWS) && !kind.follows(sketch)
}

/// Reads the record of a document back.
pub(super) fn decode_record(id: &DocumentId, bytes: &[u8]) -> Result<StoredDocument> {
    let Some((body, sealed)) = bytes.split_last_chunk::<4>() else {
        return Err(damaged(id, "it is too short"));
    };
    if checksum(id, body) != u32::from_be_bytes(*sealed) {
        return Err(damaged(id, "its checksum does not fit"));
    }
    match body.split_first() {
        Some((&VERSION, rest)) => {
            let Parts { fingerprint, ms, source, keys } =
                Parts::split(rest).ok_or_else(|| damaged(id, "it has a wrong length"))?;
            let inserted_at = Timestamp::new(ms).ok_or_else(|| damaged(id, "its time"))?;
            let source = match source {
                [] => None,
                source => {
                    let source = str::from_utf8(source).ok().and_then(|source| Source::new(source).ok());
                    Some(source.ok_or_else(|| damaged(id, "its source"))?)
                }
            };
            let sketch = Sketch::new(fingerprint, keys.iter().map(decode_key).collect());
            Ok(StoredDocument { document: Document { id: id.clone(), sketch, source }, inserted_at })
        }
        Some((version, _)) => Err(Error::new(
            ErrorKind::Mismatch,
            format!(
                "the record of document \"{id}\" has version {version}, this program reads version {VERSION}; use the \
                 program that wrote it, or build the index anew"
            ),
        )),
        None => Err(damaged(id, "it is too short")),
    }
}

/// What a record has between its version and its checksum.
struct Parts<'a> {
    fingerprint: Fingerprint,
    ms: i64,
    source: &'a [u8],
    keys: &'a [[u8; 5]],
}

impl<'a> Parts<'a> {
    fn split(bytes: &'a [u8]) -> Option<Self> {
        let fingerprint = Fingerprint(u64::from_be_bytes(*bytes.first_chunk()?));
        let (time, rest) = bytes.get(run_len(bytes)?..)?.split_first_chunk()?;
        let (&source_len, rest) = rest.split_first()?;
        let (source, keys) = rest.split_at_checked(source_len.into())?;
        let (keys, []) = keys.as_chunks() else { return None };
        Some(Self { fingerprint, ms: i64::from_be_bytes(*time), source, keys })
    }
}

fn decode_key(&[flag, ref segment @ ..]: &[u8; 5]) -> BucketKey {
    BucketKey { flag, segment: u32::from_be_bytes(*segment) }
}

fn checksum(id: &DocumentId, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(id.as_str().as_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// What a record is not that no program of ours wrote.
pub(super) fn damaged(id: impl std::fmt::Display, what: &str) -> Error {
    Error::corrupt(format!(
        "the record of document \"{id}\" is damaged: {what}; restore Redis's files from a backup or build the index anew"
    ))
}

/// Reads a match, as the scripts answer it: a run, and the id of a document after it.
pub(super) fn decode_match(bytes: &[u8]) -> Result<(Fingerprint, DocumentId)> {
    let damaged = || Error::corrupt("a bucket of the index is damaged; build the index anew");
    let fingerprint = bytes.first_chunk().map(|bytes| Fingerprint(u64::from_be_bytes(*bytes)));
    let id = run_len(bytes).and_then(|len| bytes.get(len..)).ok_or_else(damaged)?;
    Ok((fingerprint.ok_or_else(damaged)?, decode_id(id)?))
}

/// Reads an id, as it is in the set of all of them.
pub(super) fn decode_id(bytes: &[u8]) -> Result<DocumentId> {
    let damaged = || Error::corrupt("an id in the index is damaged; build the index anew");
    let id = str::from_utf8(bytes).map_err(|error| damaged().caused_by(error))?;
    DocumentId::new(id).map_err(|error| damaged().caused_by(error))
}

/// A query, as the script reads it: the fingerprint, then the keys.
pub(super) fn encode_query(sketch: &Sketch) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + 5 * sketch.keys().len());
    bytes.extend_from_slice(&sketch.fingerprint().0.to_be_bytes());
    put_keys(&mut bytes, sketch.keys());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use index::testsuite::apart;

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
            let bytes = encode_record(&document, at(), &halves());
            assert_eq!(hex(&bytes), expected);
            let stored = StoredDocument { document, inserted_at: at() };
            assert_eq!(decode_record(&id(), &bytes).unwrap(), stored);
        }
    }

    /// Every change of one byte is found, and so is a whole record under another id.
    #[test]
    fn one_changed_byte() {
        let bytes = encode_record(&document(listed(), Some("feed")), at(), &halves());
        for position in 0..bytes.len() {
            for flip in 1..=255_u8 {
                let mut changed = bytes.clone();
                changed[position] ^= flip;
                assert!(decode_record(&id(), &changed).is_err(), "byte {position} ^ {flip:02x}");
            }
        }
        for len in 0..bytes.len() {
            assert!(decode_record(&id(), &bytes[..len]).is_err(), "cut to {len}");
        }
        assert!(decode_record(&DocumentId::new("é2").unwrap(), &bytes).is_err());
    }

    /// An older program's record is no damage.
    #[test]
    fn version_1_is_refused_by_name() {
        let digits = "010123456789abcdef0001012345670289abcdefec2e039f".as_bytes();
        let bytes =
            digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap());
        let refused = decode_record(&id(), &bytes.collect::<Vec<_>>()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Mismatch);
        assert!(refused.to_string().contains("build the index anew"), "{refused}");
    }

    #[test]
    fn matches() {
        for sketch in [listed(), halves().sketch(Fingerprint(7))] {
            let mut member = Vec::new();
            put_run(&mut member, &sketch, &halves());
            member.extend_from_slice("é1".as_bytes());
            assert_eq!(decode_match(&member).unwrap(), (sketch.fingerprint(), id()));
        }
        for damaged in
            [&b"12345678"[..], b"12345678\0", b"12345678\x02id", b"12345678\x01id", b"12345678\0\xff"]
        {
            assert!(decode_match(damaged).is_err(), "{damaged:?}");
        }
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
        assert_eq!(keys.answer("00ff"), b"pigeonhole:{news}:a:00ff");
    }
}
