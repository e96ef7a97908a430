//! The header of a layer: the change up to which the image holds everything with it, and the index
//! it is of.

use heed::RoTxn;
use sha2::{Digest, Sha256};

use super::HEADER_KEYS;
use crate::environment::{METADATA_KEY, Opened};
use crate::errors::Failure;
use crate::record;

/// The version of the header of the lowest layer.
const VERSION: u8 = 1;
/// The version of the headers above it, which name the layer below.
const VERSION_ABOVE: u8 = 2;
const DIGEST_BYTES: usize = 16;
const SECTION_BYTES: usize = 17;

/// The header of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// From 1 on; each build has one of its own.
    pub(crate) generation: u32,
    /// The generation of the layer below, 0 for the lowest one.
    pub(crate) below: u32,
    /// The layer holds the documents of the changes after the layer below up to this one that were
    /// there when it was written.
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

/// The headers of an image's layers in a snapshot.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    /// Those that fit, from the lowest layer on.
    pub(crate) sound: Vec<Header>,
    /// The reason for which the next one does not fit.
    pub(crate) defect: Option<&'static str>,
    /// All as they stand, also those that do not fit.
    pub(crate) stored: Vec<Vec<u8>>,
}

impl Headers {
    pub(crate) fn find(opened: &Opened, txn: &RoTxn<'_>) -> Result<Self, Failure> {
        let mut found = Self { stored: stored(opened, txn)?, ..Self::default() };
        if found.stored.is_empty() {
            return Ok(found);
        }
        let (digest, last_change) = (digest(opened, txn)?, opened.last_change(txn)?);
        for bytes in &found.stored {
            let below = found.sound.last();
            match Header::read(bytes, below, &digest, last_change) {
                Ok(Some(header)) => found.sound.push(header),
                Ok(None) => break,
                Err(defect) => {
                    found.defect = Some(defect);
                    break;
                }
            }
        }
        Ok(found)
    }
}

/// The headers as they stand in a snapshot.
pub(crate) fn stored(opened: &Opened, txn: &RoTxn<'_>) -> Result<Vec<Vec<u8>>, heed::Error> {
    let bytes = HEADER_KEYS.iter().map(|key| Ok(opened.meta.get(txn, key)?.map(<[u8]>::to_vec)));
    bytes.map_while(Result::transpose).collect()
}

/// Returns true if the headers in a snapshot are these, as [`stored`] returns them.
pub(crate) fn are_stored(headers: &[Vec<u8>], opened: &Opened, txn: &RoTxn<'_>) -> Result<bool, heed::Error> {
    for (place, key) in HEADER_KEYS.iter().enumerate() {
        let found = opened.meta.get(txn, key)?;
        if found != headers.get(place).map(Vec::as_slice) {
            return Ok(false);
        }
        if found.is_none() {
            break;
        }
    }
    Ok(true)
}

impl Header {
    /// Reads the header of the layer above `below`, `None` where it is above another one: a program
    /// that knows no layers has replaced the image. `Err` with the reason why it does not fit.
    fn read(
        bytes: &[u8],
        below: Option<&Self>,
        digest: &[u8; DIGEST_BYTES],
        last_change: u64,
    ) -> Result<Option<Self>, &'static str> {
        let version = if below.is_some() { VERSION_ABOVE } else { VERSION };
        if record::unsealed(0, bytes).is_some_and(|body| body.first() != Some(&version)) {
            return Err("it is of another version of this program");
        }
        let header = Self::decode(bytes).ok_or("its header is damaged")?;
        if header.below != below.map_or(0, |below| below.generation) {
            return Ok(None);
        }
        if header.digest != *digest {
            return Err("it is of another index");
        }
        if header.up_to > last_change || below.is_some_and(|below| below.up_to >= header.up_to) {
            return Err("it is ahead of the index");
        }
        Ok(Some(header))
    }

    /// Returns true if the layer is among those in a snapshot.
    pub(crate) fn is_in(&self, opened: &Opened, txn: &RoTxn<'_>) -> Result<bool, heed::Error> {
        let bytes = self.encode();
        for key in HEADER_KEYS {
            match opened.meta.get(txn, key)? {
                Some(found) if found == bytes => return Ok(true),
                Some(_) => {}
                None => break,
            }
        }
        Ok(false)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![if self.below == 0 { VERSION } else { VERSION_ABOVE }];
        bytes.extend_from_slice(&self.generation.to_be_bytes());
        if self.below != 0 {
            bytes.extend_from_slice(&self.below.to_be_bytes());
        }
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
        let (below, rest) = match version {
            VERSION => (0, rest),
            VERSION_ABOVE => {
                let (below, rest) = rest.split_first_chunk()?;
                (u32::from_be_bytes(*below), rest)
            }
            _ => return None,
        };
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
            below,
            up_to: u64::from_be_bytes(*up_to),
            n_documents: u64::from_be_bytes(*n_documents),
            digest: *digest,
            sections: sections.iter().map(section).collect::<Option<_>>()?,
        })
        .filter(|header| (header.below == 0) == (version == VERSION))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes drawn in `schema/embedded.md`.
    #[test]
    fn the_golden_headers() {
        let lowest = Header {
            generation: 2,
            below: 0,
            up_to: 9,
            n_documents: 7,
            digest: *b"0123456789abcdef",
            sections: vec![
                Section { number: 0, n_blocks: 1, n_entries: 7 },
                Section { number: 64, n_blocks: 3, n_entries: 258 },
            ],
        };
        let above = Header { generation: 5, below: 2, up_to: 12, ..lowest.clone() };
        for (header, n_bytes) in [(lowest, 37), (above, 41)] {
            let bytes = header.encode();
            assert_eq!(Header::decode(&bytes), Some(header));
            assert_eq!(bytes.len(), n_bytes + 2 * SECTION_BYTES + 4);
            for bit in 0..8 * bytes.len() {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Header::decode(&bytes), None, "bit {bit}");
            }
        }
    }
}
