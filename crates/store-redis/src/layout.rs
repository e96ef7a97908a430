//! The names of the keys, and the bytes stored under them. Drawn in `schema/redis.md`; the scripts
//! know the same layout.

mod answered;
mod signed;
#[cfg(test)]
mod tests;
mod text;

use index::{
    Document, DocumentId, Error, ErrorKind, Family, Features, Result, Rule, Sketch, SketchKind, Source,
    StoredDocument, Timestamp,
};
use minhash::Similarity;
use sha2::{Digest, Sha256};
use simhash::{BucketKey, Fingerprint};

pub(super) use self::answered::{Content, Own, decode_features, decode_id, decode_match, decode_own};
use self::text::DIGEST_LEN as TEXT_DIGEST_LEN;
pub(super) use self::text::{Packer, TextDigest, damaged_text, decode_text};

/// The version of records of documents with a simhash and nothing else. Version 1, without times,
/// was never released.
const VERSION: u8 = 2;
/// The version of all other records.
const SIGNED_VERSION: u8 = 3;
/// The same two versions, for documents with kept texts: such records have a digest of the text
/// before the checksum.
const TOLD_VERSION: u8 = 4;
const TOLD_SIGNED_VERSION: u8 = 5;

/// A flag of a rule: documents with different numbers are different documents.
const SAME_NUMBERS: u8 = 1;
/// A flag of a rule: texts are counted.
const COUNTS: u8 = 2;

/// Follows the fingerprint in a run whose keys follow from it by the index's kind of sketch.
const FOLLOWS: u8 = 0;
/// Follows the fingerprint in a run with other keys, before a digest of the keys.
const LISTED: u8 = 1;

/// The length of this digest in bytes.
const DIGEST_LEN: usize = 8;

/// The length of the checksum at the end of a record.
const CHECKSUM_LEN: usize = 4;

/// The keys of one index. The braces make a cluster keep all of them on one node.
pub(super) struct Keys {
    pub(super) metadata: Vec<u8>,
    /// All ids, a sorted set.
    pub(super) ids: Vec<u8>,
    /// The prefix of the keys of records, before a document's id.
    pub(super) documents: Vec<u8>,
    /// The prefix of the keys of runs' ids, before the run.
    pub(super) runs: Vec<u8>,
    /// The prefix of the keys of buckets, before flag and segment.
    pub(super) buckets: Vec<u8>,
    /// All ids by time, a sorted set; only in an index with a retention.
    pub(super) times: Vec<u8>,
    /// The prefix of the keys of large runs' ids by time, before the run.
    pub(super) run_times: Vec<u8>,
    /// The time of the last write; likewise only there.
    pub(super) last_write: Vec<u8>,
    /// The number of scripts that have written documents.
    pub(super) writes: Vec<u8>,
    /// A key that never exists. A write to it on condition that it exists changes nothing, and is
    /// refused where a write would be.
    pub(super) ready: Vec<u8>,
    /// The prefix of the keys of texts, before a document's id; only in an index with texts.
    pub(super) texts: Vec<u8>,
    /// The prefix of the keys of kept answers, before a token.
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
            writes: key("writes"),
            ready: key("ready"),
            texts: key("x:"),
            answers: key("a:"),
        }
    }

    /// The key of a document's record.
    pub(super) fn document(&self, id: &DocumentId) -> Vec<u8> {
        [&self.documents, id.as_str().as_bytes()].concat()
    }

    /// The key of a document's text.
    pub(super) fn text(&self, id: &DocumentId) -> Vec<u8> {
        [&self.texts, id.as_str().as_bytes()].concat()
    }

    /// The key of the answer kept by a writing script.
    pub(super) fn answer(&self, token: &str) -> Vec<u8> {
        [&self.answers, token.as_bytes()].concat()
    }
}

/// The two forms of a sketch in records and runs.
enum Form<'a> {
    /// A simhash and its keys alone.
    Simhash(Fingerprint, &'a [BucketKey]),
    /// Every other sketch.
    Signed,
}

impl<'a> Form<'a> {
    fn of(sketch: &'a Sketch) -> Self {
        match (sketch.features(), sketch.facets()) {
            (Features { simhash: Some(simhash), signature: None, .. }, [(_, facet)]) => {
                Self::Simhash(*simhash, facet.keys())
            }
            _ => Self::Signed,
        }
    }
}

/// Appends the run of documents with this simhash and these keys: the fingerprint, and a digest of
/// the keys where they do not follow from it. Documents with others have another run.
fn put_run(bytes: &mut Vec<u8>, simhash: Fingerprint, keys: &[BucketKey], follows: bool) {
    bytes.extend_from_slice(&simhash.0.to_be_bytes());
    if follows {
        bytes.push(FOLLOWS);
        return;
    }
    bytes.push(LISTED);
    let mut listed = Vec::with_capacity(5 * keys.len());
    put_keys(&mut listed, keys);
    bytes.extend_from_slice(&Sha256::digest(&listed)[..DIGEST_LEN]);
}

fn put_keys(bytes: &mut Vec<u8>, keys: &[BucketKey]) {
    for key in keys {
        bytes.push(key.flag);
        bytes.extend_from_slice(&key.segment.to_be_bytes());
    }
}

fn put_origin(bytes: &mut Vec<u8>, inserted_at: Timestamp, source: Option<&Source>) {
    let source = source.map_or("", Source::as_str);
    bytes.extend_from_slice(&inserted_at.as_ms().to_be_bytes());
    // At most 255 bytes, the limit of a source.
    bytes.push(source.len() as u8);
    bytes.extend_from_slice(source.as_bytes());
}

/// Returns the length of the run at the beginning of these bytes.
fn run_len(bytes: &[u8]) -> Option<usize> {
    match *bytes.get(8)? {
        FOLLOWS => Some(9),
        LISTED => Some(9 + DIGEST_LEN),
        _ => None,
    }
}

/// Encodes a document as a record, which names its text by a digest, if there is one.
pub(super) fn encode_record(
    document: &Document,
    text: Option<TextDigest>,
    inserted_at: Timestamp,
    kind: &SketchKind,
) -> Vec<u8> {
    let Document { id, sketch, source } = document;
    let follows = kind.follows(sketch);
    let mut bytes = Vec::with_capacity(64 + 5 * sketch.n_keys());
    match Form::of(sketch) {
        Form::Simhash(simhash, keys) => {
            bytes.push(if text.is_some() { TOLD_VERSION } else { VERSION });
            put_run(&mut bytes, simhash, keys, follows);
            put_origin(&mut bytes, inserted_at, source.as_ref());
            put_keys(&mut bytes, keys);
        }
        Form::Signed => {
            bytes.push(if text.is_some() { TOLD_SIGNED_VERSION } else { SIGNED_VERSION });
            let of_sketch = signed::encode(sketch, follows);
            signed::put_run(&mut bytes, &of_sketch);
            put_origin(&mut bytes, inserted_at, source.as_ref());
            bytes.extend_from_slice(&of_sketch);
        }
    }
    bytes.extend(text.iter().flat_map(|TextDigest(digest)| digest));
    let checksum = checksum(id, &bytes);
    bytes.extend_from_slice(&checksum.to_be_bytes());
    bytes
}

/// Encodes a query for the scripts: as a record in which only the sketch and the existence of a
/// text matter.
pub(super) fn encode_query(sketch: &Sketch) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64 + 5 * sketch.n_keys());
    let is_told = sketch.text().is_some();
    match Form::of(sketch) {
        Form::Simhash(simhash, keys) => {
            bytes.push(if is_told { TOLD_VERSION } else { VERSION });
            put_run(&mut bytes, simhash, keys, true);
            put_origin(&mut bytes, Timestamp::MIN, None);
            put_keys(&mut bytes, keys);
        }
        Form::Signed => {
            bytes.push(if is_told { TOLD_SIGNED_VERSION } else { SIGNED_VERSION });
            bytes.extend_from_slice(&[0; signed::RUN_LEN]);
            put_origin(&mut bytes, Timestamp::MIN, None);
            bytes.extend_from_slice(&signed::encode(sketch, true));
        }
    }
    if is_told {
        bytes.extend_from_slice(&[0; TEXT_DIGEST_LEN]);
    }
    bytes.extend_from_slice(&[0; CHECKSUM_LEN]);
    bytes
}

/// Encodes a rule for the scripts: for each family, the number of bits in which candidates may
/// differ; the number of bins that must agree and the least similarity, below 0 where nothing is
/// verified; these two again for documents worth a count; and flags.
pub(super) fn encode_rule(rule: &Rule) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(41);
    for family in Family::ALL {
        bytes.extend_from_slice(&rule.within(family).as_bits().to_be_bytes());
    }
    for rule in [&Rule { counter: None, ..*rule }, rule] {
        let min_bins = rule.min_agreeing_bins();
        bytes.extend_from_slice(&min_bins.to_be_bytes());
        let min_similarity = rule.least_of_sets().map_or(-1.0, Similarity::get);
        bytes.extend_from_slice(&min_similarity.to_be_bytes());
    }
    let same_numbers = if rule.wants_same_numbers() { SAME_NUMBERS } else { 0 };
    bytes.push(same_numbers | rule.counter.map_or(0, |_| COUNTS));
    bytes
}

/// Returns true if a record says that its keys follow from its features by the index's kind of
/// sketch, but another kind gave them.
pub(super) fn is_foreign(record: &[u8], sketch: &Sketch, kind: &SketchKind) -> bool {
    let says_so = match record.split_first() {
        // After the fingerprint.
        Some((&(VERSION | TOLD_VERSION), rest)) => rest.get(8) == Some(&FOLLOWS),
        Some((&(SIGNED_VERSION | TOLD_SIGNED_VERSION), rest)) => {
            Parts::split(rest, signed::RUN_LEN).is_some_and(|parts| signed::follows(parts.sketch))
        }
        _ => false,
    };
    says_so && !kind.follows(sketch)
}

/// The outer parts of a record.
struct Opened<'a> {
    is_signed: bool,
    /// The bytes after the version, without digest and checksum.
    rest: &'a [u8],
    text: Option<TextDigest>,
}

/// Checks the checksum and version of a record, and opens it.
fn open<'a>(id: &DocumentId, bytes: &'a [u8]) -> Result<Opened<'a>> {
    let too_short = || damaged(id, "it is too short");
    let (body, sealed) = bytes.split_last_chunk::<CHECKSUM_LEN>().ok_or_else(too_short)?;
    if checksum(id, body) != u32::from_be_bytes(*sealed) {
        return Err(damaged(id, "its checksum does not fit"));
    }
    let (&version, rest) = body.split_first().ok_or_else(too_short)?;
    let is_signed = matches!(version, SIGNED_VERSION | TOLD_SIGNED_VERSION);
    match version {
        VERSION | SIGNED_VERSION => Ok(Opened { is_signed, rest, text: None }),
        TOLD_VERSION | TOLD_SIGNED_VERSION => {
            let (rest, digest) = rest.split_last_chunk().ok_or_else(too_short)?;
            Ok(Opened { is_signed, rest, text: Some(TextDigest(*digest)) })
        }
        _ => Err(Error::new(
            ErrorKind::Mismatch,
            format!(
                "the record of document \"{id}\" has version {version}, this program reads versions {VERSION} to \
                 {TOLD_SIGNED_VERSION}; use the program that wrote it, or build the index anew"
            ),
        )),
    }
}

/// Decodes the record of a document, in an index of this kind.
pub(super) fn decode_record(id: &DocumentId, bytes: &[u8], kind: &SketchKind) -> Result<StoredDocument> {
    decode_told(id, bytes, kind).map(|(stored, _)| stored)
}

/// As [`decode_record`], with the digest of the kept text.
pub(super) fn decode_told(
    id: &DocumentId,
    bytes: &[u8],
    kind: &SketchKind,
) -> Result<(StoredDocument, Option<TextDigest>)> {
    let Opened { is_signed, rest, text } = open(id, bytes)?;
    let wrong_length = || damaged(id, "it has a wrong length");
    let stored = if is_signed {
        let parts = Parts::split(rest, signed::RUN_LEN).ok_or_else(wrong_length)?;
        let sketch = signed::decode(parts.sketch, kind).map_err(|what| damaged(id, what))?;
        parts.document(id, sketch)?
    } else {
        let parts = run_len(rest).and_then(|len| Parts::split(rest, len)).ok_or_else(wrong_length)?;
        let simhash = rest.first_chunk().ok_or_else(wrong_length)?;
        let (keys, []) = parts.sketch.as_chunks() else { return Err(wrong_length()) };
        let keys = keys.iter().map(decode_key).collect();
        parts.document(id, Sketch::new(Fingerprint(u64::from_be_bytes(*simhash)), keys))?
    };
    Ok((stored, text))
}

/// Decodes only the digest of the text named by a record.
pub(super) fn decode_digest(id: &DocumentId, bytes: &[u8]) -> Result<Option<TextDigest>> {
    open(id, bytes).map(|opened| opened.text)
}

/// The parts of a record between its run and its checksum.
struct Parts<'a> {
    ms: i64,
    source: &'a [u8],
    sketch: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Splits the bytes after the version.
    fn split(bytes: &'a [u8], run_len: usize) -> Option<Self> {
        let (time, rest) = bytes.get(run_len..)?.split_first_chunk()?;
        let (&source_len, rest) = rest.split_first()?;
        let (source, sketch) = rest.split_at_checked(source_len.into())?;
        Some(Self { ms: i64::from_be_bytes(*time), source, sketch })
    }

    fn document(&self, id: &DocumentId, sketch: Sketch) -> Result<StoredDocument> {
        let inserted_at = Timestamp::new(self.ms).ok_or_else(|| damaged(id, "its time"))?;
        let source = match self.source {
            [] => None,
            source => {
                let source = str::from_utf8(source).ok().and_then(|source| Source::new(source).ok());
                Some(source.ok_or_else(|| damaged(id, "its source"))?)
            }
        };
        Ok(StoredDocument { document: Document { id: id.clone(), sketch, source }, inserted_at })
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

/// The error of a record that this program cannot have written.
pub(super) fn damaged(id: impl std::fmt::Display, what: &str) -> Error {
    Error::corrupt(format!(
        "the record of document \"{id}\" is damaged: {what}; restore Redis's files from a backup or build the index anew"
    ))
}
