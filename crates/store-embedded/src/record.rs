//! The bytes of one change, which is a document or a removal, and the keys of ids. Drawn in
//! `schema/embedded.md`.

use index::{
    Document, DocumentId, Error, ErrorKind, Features, Result, Sketch, SketchKind, Source, StoredDocument,
    Timestamp,
};
use minhash::Signature;
use sha2::{Digest, Sha256};
use simhash::{BucketKey, Fingerprint};

/// The version, in the first byte of every record. Version 1, without times, was never released.
const VERSION: u8 = 2;

const DOCUMENT: u8 = 0;
const REMOVAL: u8 = 1;
/// Set where the keys are listed, because they do not follow from the fingerprint.
const LISTED: u8 = 2;
/// Set where there is a signature.
const SIGNED: u8 = 4;
/// Set where there is no simhash: the fingerprint is all zeros and means nothing.
const WITHOUT_SIMHASH: u8 = 8;
/// Set where a document's text is stored, in a record of its own.
const TOLD: u8 = 16;

/// The most keys listed by a record: one byte counts them.
const MAX_LISTED_KEYS: usize = 255;

/// LMDB's longest key.
const MAX_KEY_BYTES: usize = 511;

/// The removal of a document, with all data by which a follower takes the document out of its
/// tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Removal {
    /// The number of the removed document.
    pub(super) number: u64,
    /// The sketch under which the document was filed.
    pub(super) sketch: Sketch,
}

/// Encodes a document stored under `number`, whose text is stored too if its sketch has one.
pub(super) fn encode_document(
    number: u64,
    document: &Document,
    inserted_at: Timestamp,
    kind: &SketchKind,
) -> Result<Vec<u8>> {
    let Document { id, sketch, source } = document;
    let told = if sketch.text().is_some() { TOLD } else { 0 };
    let source = source.as_ref().map_or("", Source::as_str);
    let source_len = u8::try_from(source.len()).map_err(|_| Error::invalid("a source is too long"))?;
    let signature_len = sketch.signature().map_or(0, |signature| 2 + signature.as_bytes().len());
    let mut bytes = Vec::with_capacity(23 + source.len() + signature_len + id.as_str().len());
    let flags = flags(sketch, kind);
    put_head(&mut bytes, DOCUMENT | flags | told, sketch);
    bytes.extend_from_slice(&inserted_at.as_ms().to_be_bytes());
    bytes.push(source_len);
    bytes.extend_from_slice(source.as_bytes());
    put_features(&mut bytes, sketch, flags)?;
    bytes.extend_from_slice(id.as_str().as_bytes());
    Ok(seal(bytes, number))
}

/// Encodes a removal stored under `number`.
pub(super) fn encode_removal(number: u64, removal: &Removal, kind: &SketchKind) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(22);
    let flags = flags(&removal.sketch, kind);
    put_head(&mut bytes, REMOVAL | flags, &removal.sketch);
    put_features(&mut bytes, &removal.sketch, flags)?;
    bytes.extend_from_slice(&removal.number.to_be_bytes());
    Ok(seal(bytes, number))
}

/// Decodes the record of a document.
pub(super) fn decode_document(number: u64, bytes: &[u8], kind: &SketchKind) -> Result<StoredDocument> {
    let parts = unseal(number, bytes, DOCUMENT)?;
    let source = match parts.source {
        [] => None,
        bytes => {
            let text = str::from_utf8(bytes)
                .map_err(|error| damaged(number, "its source is not UTF-8").caused_by(error))?;
            Some(Source::new(text).map_err(|error| damaged(number, "its source").caused_by(error))?)
        }
    };
    let document =
        Document { id: document_id(number, parts.rest)?, sketch: parts.sketch(number, kind)?, source };
    Ok(StoredDocument { document, inserted_at: parts.inserted_at })
}

/// Decodes only the sketch of a document's record.
pub(super) fn decode_sketch(number: u64, bytes: &[u8], kind: &SketchKind) -> Result<Sketch> {
    unseal(number, bytes, DOCUMENT)?.sketch(number, kind)
}

/// Decodes only the features of a document's record, without its text.
pub(super) fn decode_features(number: u64, bytes: &[u8]) -> Result<Features> {
    unseal(number, bytes, DOCUMENT)?.features(number)
}

/// Returns the bytes of the signature in a document's record, if it has one.
pub(super) fn signature_bytes(number: u64, bytes: &[u8]) -> Result<Option<&[u8]>> {
    unseal(number, bytes, DOCUMENT).map(|parts| parts.signature)
}

/// Decodes only the id of a document's record.
pub(super) fn decode_id(number: u64, bytes: &[u8]) -> Result<DocumentId> {
    document_id(number, unseal(number, bytes, DOCUMENT)?.rest)
}

/// Returns true if the text of a document is stored.
pub(super) fn decode_told(number: u64, bytes: &[u8]) -> Result<bool> {
    unseal(number, bytes, DOCUMENT).map(|parts| parts.is_told)
}

/// Decodes only the time of a document's record.
pub(super) fn decode_time(number: u64, bytes: &[u8]) -> Result<Timestamp> {
    unseal(number, bytes, DOCUMENT).map(|parts| parts.inserted_at)
}

/// Decodes the record of a removal.
pub(super) fn decode_removal(number: u64, bytes: &[u8], kind: &SketchKind) -> Result<Removal> {
    let parts = unseal(number, bytes, REMOVAL)?;
    let removed = parts.rest.try_into().map_err(|_| damaged(number, "it has a wrong length"))?;
    Ok(Removal { number: u64::from_be_bytes(removed), sketch: parts.sketch(number, kind)? })
}

/// Returns the key of an id: the id itself where it fits, else its SHA-256 after a zero byte, with
/// which no id begins.
pub(super) fn id_key(id: &DocumentId) -> Vec<u8> {
    let bytes = id.as_str().as_bytes();
    if bytes.len() <= MAX_KEY_BYTES {
        return bytes.to_vec();
    }
    let mut key = vec![0];
    key.extend_from_slice(&Sha256::digest(bytes));
    key
}

/// Encodes a single number as a value of `meta`.
pub(super) fn encode_number(number: u64) -> Vec<u8> {
    encode_numbers(&[number])
}

/// Encodes numbers as a value of `meta`.
pub(super) fn encode_numbers(numbers: &[u64]) -> Vec<u8> {
    seal(numbers.iter().flat_map(|number| number.to_be_bytes()).collect(), 0)
}

/// Decodes a value of `meta` with a single number.
pub(super) fn decode_number(bytes: &[u8]) -> Result<u64> {
    match decode_numbers(bytes)?[..] {
        [number] => Ok(number),
        _ => Err(damaged_number()),
    }
}

/// Decodes a value of `meta` with numbers.
pub(super) fn decode_numbers(bytes: &[u8]) -> Result<Vec<u64>> {
    let (body, sealed) = bytes.split_last_chunk::<4>().ok_or_else(damaged_number)?;
    let (numbers, []) = body.as_chunks() else { return Err(damaged_number()) };
    if checksum(0, body) != u32::from_be_bytes(*sealed) {
        return Err(damaged_number());
    }
    Ok(numbers.iter().map(|number| u64::from_be_bytes(*number)).collect())
}

pub(super) fn damaged_number() -> Error {
    Error::corrupt("a number of the index is damaged; restore the index from a backup or build it anew")
}

fn damaged(number: u64, what: &str) -> Error {
    Error::corrupt(format!(
        "record {number} is damaged: {what}; restore the index from a backup or build it anew"
    ))
}

fn document_id(number: u64, bytes: &[u8]) -> Result<DocumentId> {
    let id =
        str::from_utf8(bytes).map_err(|error| damaged(number, "its id is not UTF-8").caused_by(error))?;
    DocumentId::new(id).map_err(|error| damaged(number, "its id").caused_by(error))
}

/// The flags of a sketch in a record.
fn flags(sketch: &Sketch, kind: &SketchKind) -> u8 {
    let listed = if kind.follows(sketch) { 0 } else { LISTED };
    let signed = if sketch.signature().is_some() { SIGNED } else { 0 };
    let without_simhash = if sketch.features().simhash.is_none() { WITHOUT_SIMHASH } else { 0 };
    listed | signed | without_simhash
}

fn put_head(bytes: &mut Vec<u8>, what: u8, sketch: &Sketch) {
    bytes.push(VERSION);
    bytes.push(what);
    bytes.extend_from_slice(&sketch.features().simhash.unwrap_or(Fingerprint(0)).0.to_be_bytes());
}

/// Appends the keys of the simhash, if listed, and the signature, if there is one.
fn put_features(bytes: &mut Vec<u8>, sketch: &Sketch, flags: u8) -> Result<()> {
    if flags & LISTED != 0 {
        let keys = sketch.simhash_keys();
        let len = u8::try_from(keys.len()).map_err(|_| {
            Error::invalid(format!(
                "a sketch has {} keys, at most {MAX_LISTED_KEYS} can be stored",
                keys.len()
            ))
        })?;
        bytes.push(len);
        for key in keys {
            bytes.push(key.flag);
            bytes.extend_from_slice(&key.segment.to_be_bytes());
        }
    }
    if let Some(signature) = sketch.signature() {
        let len = u16::try_from(signature.as_bytes().len());
        let len = len.map_err(|_| Error::invalid("a signature of 64 KiB cannot be stored"))?;
        bytes.extend_from_slice(&len.to_be_bytes());
        bytes.extend_from_slice(signature.as_bytes());
    }
    Ok(())
}

/// Adds the checksum, which also covers the number that the record is stored under.
pub(super) fn seal(mut bytes: Vec<u8>, number: u64) -> Vec<u8> {
    let checksum = checksum(number, &bytes);
    bytes.extend_from_slice(&checksum.to_be_bytes());
    bytes
}

/// Returns the bytes [sealed](seal) under a number, if the checksum fits.
pub(super) fn unsealed(number: u64, bytes: &[u8]) -> Option<&[u8]> {
    let (body, sealed) = bytes.split_last_chunk::<4>()?;
    (checksum(number, body) == u32::from_be_bytes(*sealed)).then_some(body)
}

fn checksum(number: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_be_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// The parts of a record with a checksum that fits.
struct Parts<'a> {
    simhash: Option<Fingerprint>,
    /// The time of a document; without meaning in a removal.
    inserted_at: Timestamp,
    /// The source of a document; empty in a document without a source and in a removal.
    source: &'a [u8],
    /// The bytes of the keys, if listed.
    keys: Option<&'a [u8]>,
    /// The bytes of the signature, if there is one.
    signature: Option<&'a [u8]>,
    /// True if the document's text is stored.
    is_told: bool,
    /// The id of a document, or the number removed by a removal.
    rest: &'a [u8],
}

impl Parts<'_> {
    fn features(&self, number: u64) -> Result<Features> {
        let signature = self.signature.map(Signature::decode).transpose();
        let signature = signature.map_err(|error| damaged(number, "its signature").caused_by(error))?;
        Ok(Features { simhash: self.simhash, signature, text: None })
    }

    fn sketch(&self, number: u64, kind: &SketchKind) -> Result<Sketch> {
        let features = self.features(number)?;
        let Some(keys) = self.keys else { return Ok(kind.sketch(features)) };
        let key =
            |&[flag, ref segment @ ..]: &[u8; 5]| BucketKey { flag, segment: u32::from_be_bytes(*segment) };
        Ok(kind.listed(features, keys.as_chunks().0.iter().map(key).collect()))
    }
}

/// Checks a record of `kind` and splits it into parts.
fn unseal(number: u64, bytes: &[u8], kind: u8) -> Result<Parts<'_>> {
    let body = unsealed(number, bytes).ok_or_else(|| damaged(number, "its checksum does not fit"))?;
    let Some((&[version, got_kind, ref fingerprint @ ..], mut rest)) = body.split_first_chunk::<10>() else {
        return Err(damaged(number, "it is too short"));
    };
    if version != VERSION {
        return Err(Error::new(
            ErrorKind::Mismatch,
            format!(
                "record {number} of the index has version {version}, this program reads version {VERSION}; use the \
                 program that wrote it, or build the index anew"
            ),
        ));
    }
    let told = if kind == DOCUMENT { TOLD } else { 0 };
    if got_kind & !(LISTED | SIGNED | WITHOUT_SIMHASH | told) != kind {
        return Err(damaged(number, &format!("its kind is {got_kind}")));
    }
    let (mut inserted_at, mut source) = (Timestamp::MIN, &[][..]);
    if kind == DOCUMENT {
        let Some((time, after)) = rest.split_first_chunk::<8>() else {
            return Err(damaged(number, "it is too short"));
        };
        inserted_at = Timestamp::new(i64::from_be_bytes(*time)).ok_or_else(|| damaged(number, "its time"))?;
        (source, rest) = split_counted(after, 1).ok_or_else(|| damaged(number, "its source is cut off"))?;
    }
    let mut keys = None;
    if got_kind & LISTED != 0 {
        let (listed, after) =
            split_counted(rest, 5).ok_or_else(|| damaged(number, "its keys are cut off"))?;
        (keys, rest) = (Some(listed), after);
    }
    let mut signature = None;
    if got_kind & SIGNED != 0 {
        let cut_off = || damaged(number, "its signature is cut off");
        let (len, after) = rest.split_first_chunk::<2>().ok_or_else(cut_off)?;
        let (signed, after) = after.split_at_checked(u16::from_be_bytes(*len).into()).ok_or_else(cut_off)?;
        (signature, rest) = (Some(signed), after);
    }
    let fingerprint = Fingerprint(u64::from_be_bytes(*fingerprint));
    let simhash = (got_kind & WITHOUT_SIMHASH == 0).then_some(fingerprint);
    let is_told = got_kind & TOLD != 0;
    Ok(Parts { simhash, inserted_at, source, keys, signature, is_told, rest })
}

/// Splits off as many units of `unit` bytes as the first byte says, and returns them and the rest.
fn split_counted(bytes: &[u8], unit: usize) -> Option<(&[u8], &[u8])> {
    let (&len, rest) = bytes.split_first()?;
    rest.split_at_checked(unit * usize::from(len))
}

#[cfg(test)]
mod tests;
