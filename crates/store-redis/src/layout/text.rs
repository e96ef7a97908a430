//! The value with the text of a document, and the digest by which the document's record names it.

use index::{DocumentId, Error, ErrorKind, Result, Text};
use sha2::{Digest, Sha256};
use zstd::bulk::Compressor;

use super::{CHECKSUM_LEN, checksum};

/// The version, in the first byte of every value.
const VERSION: u8 = 1;

/// Zstandard's own default: the bytes stay for as long as the index does.
const LEVEL: i32 = 3;

/// The length of a digest in bytes.
pub(crate) const DIGEST_LEN: usize = 16;

/// The first bytes of the SHA-256 of a text. Texts with equal digests count as the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TextDigest(pub(crate) [u8; DIGEST_LEN]);

impl TextDigest {
    /// The digest of a text.
    pub(crate) fn of(text: &Text) -> Self {
        let mut digest = [0; DIGEST_LEN];
        digest.copy_from_slice(&Sha256::digest(text.as_bytes())[..DIGEST_LEN]);
        Self(digest)
    }
}

/// Encodes the texts of a call as values.
#[derive(Default)]
pub(crate) struct Packer(Option<Compressor<'static>>);

impl Packer {
    /// Encodes the text of a document.
    pub(crate) fn encode(&mut self, id: &DocumentId, text: &Text) -> Result<Vec<u8>> {
        let failed = |error| {
            let what = format!("the text of document \"{id}\" cannot be compressed");
            Error::new(ErrorKind::Internal, what).caused_by(error)
        };
        let compressor = match &mut self.0 {
            Some(compressor) => compressor,
            none => none.insert(Compressor::new(LEVEL).map_err(failed)?),
        };
        let mut bytes = vec![VERSION];
        bytes.append(&mut compressor.compress(text.as_bytes()).map_err(failed)?);
        bytes.extend_from_slice(&checksum(id, &bytes).to_be_bytes());
        Ok(bytes)
    }
}

/// Decodes the text of a document, which must be the one named by the document's record.
pub(crate) fn decode_text(id: &DocumentId, bytes: &[u8], digest: TextDigest) -> Result<Text> {
    let body = bytes.split_last_chunk::<CHECKSUM_LEN>();
    let body = body.filter(|(body, sealed)| checksum(id, body) == u32::from_be_bytes(**sealed));
    let Some((&version, packed)) = body.and_then(|(body, _)| body.split_first()) else {
        return Err(damaged_text(id, "its checksum does not fit"));
    };
    if version != VERSION {
        return Err(Error::new(
            ErrorKind::Mismatch,
            format!(
                "the text of document \"{id}\" has version {version}, this program reads version {VERSION}; use the \
                 program that wrote it"
            ),
        ));
    }
    let len = zstd::zstd_safe::get_frame_content_size(packed).ok().flatten();
    let len = len.and_then(|len| usize::try_from(len).ok());
    let len = len.ok_or_else(|| damaged_text(id, "it has no length"))?;
    let bytes = zstd::bulk::decompress(packed, len)
        .map_err(|error| damaged_text(id, "it cannot be decompressed").caused_by(error))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| damaged_text(id, "it is not UTF-8").caused_by(error.utf8_error()))?;
    let text = Text::from(text);
    if TextDigest::of(&text) != digest {
        return Err(damaged_text(id, "it is not the one that the record names"));
    }
    Ok(text)
}

/// The error of a text that is missing or has changed.
pub(crate) fn damaged_text(id: &DocumentId, what: &str) -> Error {
    Error::corrupt(format!(
        "the text of document \"{id}\" is damaged: {what}; `pigeonhole verify` says of which documents: index them again or \
         remove them"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> DocumentId {
        DocumentId::new(name).unwrap()
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Bytes written earlier are read; another Zstandard may write other bytes.
    #[test]
    fn golden_vector() {
        let text = Text::from("é1 é1 é1");
        let digest = TextDigest::of(&text);
        assert_eq!(hex(&digest.0), "fe31c9f1c10fe5009c351b7bb0c68ac3");
        let golden = "0128b52ffd200b590000c3a93120c3a93120c3a931759500d5";
        let written = hex(&Packer::default().encode(&id("é1"), &text).unwrap());
        let bytes: Vec<u8> = (0..golden.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&golden[at..at + 2], 16).unwrap())
            .collect();
        assert_eq!(decode_text(&id("é1"), &bytes, digest).ok(), Some(text), "{written}");
        let corrupt = |id: &DocumentId, bytes: &[u8], digest| {
            assert_eq!(decode_text(id, bytes, digest).unwrap_err().kind(), ErrorKind::Corrupt);
        };
        corrupt(&id("é2"), &bytes, digest);
        corrupt(&id("é1"), &bytes, TextDigest::of(&Text::from("é1")));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            corrupt(&id("é1"), &changed, digest);
            corrupt(&id("é1"), &bytes[..at], digest);
        }
    }

    #[test]
    fn texts_come_back() {
        let mut packer = Packer::default();
        for text in ["", "a", "地铁七号线", &"the harbour office closes at noon ".repeat(10_000)] {
            let text = Text::from(text);
            let bytes = packer.encode(&id("a"), &text).unwrap();
            assert_eq!(decode_text(&id("a"), &bytes, TextDigest::of(&text)).unwrap(), text);
            assert!(text.len() < 1_000 || bytes.len() < text.len() / 100);
        }
        let later = [&[2, 0][..], &checksum(&id("a"), &[2, 0]).to_be_bytes()].concat();
        let digest = TextDigest::of(&Text::from(""));
        assert_eq!(decode_text(&id("a"), &later, digest).unwrap_err().kind(), ErrorKind::Mismatch);
    }
}
