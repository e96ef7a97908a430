//! The header of an image: the change up to which it holds everything, and the index it is of.

use heed::RoTxn;
use sha2::{Digest, Sha256};

use super::HEADER_KEY;
use crate::environment::{METADATA_KEY, Opened};
use crate::errors::Failure;
use crate::record;

const VERSION: u8 = 1;
const DIGEST_BYTES: usize = 16;
const SECTION_BYTES: usize = 17;

/// The header of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// From 1 on; each build has one of its own.
    pub(crate) generation: u32,
    /// The image holds the documents of all changes up to this one that were there when it was
    /// written.
    pub(crate) up_to: u64,
    pub(crate) n_documents: u64,
    /// The digest of the metadata of the index.
    pub(crate) digest: [u8; DIGEST_BYTES],
    /// Ascending.
    pub(crate) sections: Vec<Section>,
}

/// A section with its amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) number: u8,
    pub(crate) n_blocks: u64,
    pub(crate) n_entries: u64,
}

/// The digest by which an image belongs to an index: of all its metadata, and so of its identity,
/// recipe and kind.
pub(crate) fn digest(opened: &Opened, txn: &RoTxn<'_>) -> Result<[u8; DIGEST_BYTES], heed::Error> {
    let metadata = opened.meta.get(txn, METADATA_KEY)?.unwrap_or_default();
    let mut digest = [0; DIGEST_BYTES];
    digest.copy_from_slice(&Sha256::digest(metadata)[..DIGEST_BYTES]);
    Ok(digest)
}

impl Header {
    /// Returns the header in a snapshot, `None` where there is no image; `Err` with the reason for
    /// which it does not fit.
    pub(crate) fn find(
        opened: &Opened,
        txn: &RoTxn<'_>,
    ) -> Result<Result<Option<Self>, &'static str>, Failure> {
        let Some(bytes) = opened.meta.get(txn, HEADER_KEY)? else { return Ok(Ok(None)) };
        if record::unsealed(0, bytes).is_some_and(|body| body.first() != Some(&VERSION)) {
            return Ok(Err("it is of another version of this program"));
        }
        let Some(header) = Self::decode(bytes) else { return Ok(Err("its header is damaged")) };
        if header.digest != digest(opened, txn)? {
            return Ok(Err("it is of another index"));
        }
        if header.up_to > opened.last_change(txn)? {
            return Ok(Err("it is ahead of the index"));
        }
        Ok(Ok(Some(header)))
    }

    /// Returns true if the image in a snapshot is this one.
    pub(crate) fn is_in(&self, opened: &Opened, txn: &RoTxn<'_>) -> Result<bool, heed::Error> {
        Ok(opened.meta.get(txn, HEADER_KEY)?.is_some_and(|bytes| *bytes == self.encode()))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.generation.to_be_bytes());
        bytes.extend_from_slice(&self.up_to.to_be_bytes());
        bytes.extend_from_slice(&self.n_documents.to_be_bytes());
        bytes.extend_from_slice(&self.digest);
        for section in &self.sections {
            bytes.push(section.number);
            bytes.extend_from_slice(&section.n_blocks.to_be_bytes());
            bytes.extend_from_slice(&section.n_entries.to_be_bytes());
        }
        record::seal(bytes, 0)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&version, rest) = record::unsealed(0, bytes)?.split_first()?;
        let (generation, rest) = rest.split_first_chunk()?;
        let (up_to, rest) = rest.split_first_chunk()?;
        let (n_documents, rest) = rest.split_first_chunk()?;
        let (digest, rest) = rest.split_first_chunk()?;
        let (sections, []) = rest.as_chunks::<SECTION_BYTES>() else { return None };
        let section = |bytes: &[u8; SECTION_BYTES]| {
            let (&number, rest) = bytes.split_first()?;
            let (n_blocks, n_entries) = rest.split_first_chunk()?;
            let n_entries = u64::from_be_bytes(n_entries.try_into().ok()?);
            Some(Section { number, n_blocks: u64::from_be_bytes(*n_blocks), n_entries })
        };
        Some(Self {
            generation: u32::from_be_bytes(*generation),
            up_to: u64::from_be_bytes(*up_to),
            n_documents: u64::from_be_bytes(*n_documents),
            digest: *digest,
            sections: sections.iter().map(section).collect::<Option<_>>()?,
        })
        .filter(|_| version == VERSION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes drawn in `schema/embedded.md`.
    #[test]
    fn the_golden_header() {
        let header = Header {
            generation: 2,
            up_to: 9,
            n_documents: 7,
            digest: *b"0123456789abcdef",
            sections: vec![
                Section { number: 0, n_blocks: 1, n_entries: 7 },
                Section { number: 64, n_blocks: 3, n_entries: 258 },
            ],
        };
        let bytes = header.encode();
        assert_eq!(Header::decode(&bytes), Some(header));
        assert_eq!(bytes.len(), 37 + 2 * SECTION_BYTES + 4);
        for bit in 0..8 * bytes.len() {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::decode(&bytes), None, "bit {bit}");
        }
    }
}
