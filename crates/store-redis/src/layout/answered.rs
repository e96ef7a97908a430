//! The bytes in the answers of scripts: parts of records, ids and matches.

use index::{DocumentId, Error, Features, Result};
use simhash::Fingerprint;

use super::text::{DIGEST_LEN, TextDigest};
use super::{TOLD_SIGNED_VERSION, run_len, signed};

/// The content stored under the id of a document to be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    /// No document, or another one.
    Other,
    /// The same sketch with another text, which may count as the same.
    Text(TextDigest),
    /// The same document.
    Same,
}

/// The data of a document on which a count depends: the run of a signed document, and the digest of
/// its text. Documents with the same content count the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Content([u8; signed::RUN_LEN + DIGEST_LEN]);

impl Content {
    /// The content of a run and a digest from the answer of a script; `None` if the digest is
    /// empty.
    pub(crate) fn new(run: &[u8], digest: &[u8]) -> Result<Option<Self>> {
        if digest.is_empty() {
            return Ok(None);
        }
        let content = [run, digest].concat().try_into().map(Self);
        content
            .map(Some)
            .map_err(|_| Error::corrupt("a record of the index is damaged; build the index anew"))
    }

    /// The content of a document, if it is signed and has a text.
    pub(crate) fn of(record: &[u8], text: Option<TextDigest>) -> Option<Self> {
        let (&version, rest) = record.split_first()?;
        let run = rest.get(..signed::RUN_LEN).filter(|_| version == TOLD_SIGNED_VERSION)?;
        Self::new(run, &text?.0).ok()?
    }

    /// The run, then the digest.
    pub(crate) fn as_bytes(&self) -> &[u8; signed::RUN_LEN + DIGEST_LEN] {
        &self.0
    }
}

/// Decodes the answer of a script about a document's own id.
pub(crate) fn decode_own(bytes: &[u8]) -> Result<Own> {
    match bytes {
        b"" => Ok(Own::Other),
        b"U" => Ok(Own::Same),
        digest => match digest.try_into() {
            Ok(digest) => Ok(Own::Text(TextDigest(digest))),
            Err(_) => Err(Error::corrupt("a record of the index is damaged; build the index anew")),
        },
    }
}

/// Decodes a match by simhash from the answer of a script: a run, then the id of a document.
pub(crate) fn decode_match(bytes: &[u8]) -> Result<(Features, DocumentId)> {
    let damaged = || Error::corrupt("a bucket of the index is damaged; build the index anew");
    let fingerprint = bytes.first_chunk().map(|bytes| Fingerprint(u64::from_be_bytes(*bytes)));
    let id = run_len(bytes).and_then(|len| bytes.get(len..)).ok_or_else(damaged)?;
    Ok((fingerprint.ok_or_else(damaged)?.into(), decode_id(id)?))
}

/// Decodes the features in the answer of a script, which are the first bytes of a signed sketch.
pub(crate) fn decode_features(bytes: &[u8]) -> Result<Features> {
    match signed::decode_features(bytes) {
        Ok((features, [])) => Ok(features),
        _ => Err(Error::corrupt("a signature of the index is damaged; build the index anew")),
    }
}

/// Decodes an id from the set of all ids.
pub(crate) fn decode_id(bytes: &[u8]) -> Result<DocumentId> {
    let damaged = || Error::corrupt("an id in the index is damaged; build the index anew");
    let id = str::from_utf8(bytes).map_err(|error| damaged().caused_by(error))?;
    DocumentId::new(id).map_err(|error| damaged().caused_by(error))
}
