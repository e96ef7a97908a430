//! The documents of a store in memory, by number and by id.

use std::hash::BuildHasher;
use std::ops::RangeBounds;

use hashbrown::{DefaultHashBuilder, HashTable};
use minhash::Signature;
use simhash::{BucketKey, Fingerprint};

use super::by_number::ByNumber;
use crate::leap::leap_bytes;
use crate::{
    Document, DocumentId, Error, Features, Result, Sketch, SketchKind, Source, StoredDocument, Timestamp,
};

/// The parts that a document may lack, as bits of its first byte.
const SIMHASH: u8 = 1;
const SIGNATURE: u8 = 2;
const SOURCE: u8 = 4;
/// Keys of the simhash that do not follow from the kind of the index.
const KEYS: u8 = 8;

/// A document as it lies in memory, without what follows from the rest of it: the buckets follow
/// from the features.
///
/// One byte says which parts there are. The time of insertion follows, then the id, then the parts.
#[derive(Clone, Copy)]
pub(super) struct Held<'a> {
    parts: u8,
    pub(super) inserted_at: Timestamp,
    id: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Held<'a> {
    fn write(document: &Document, inserted_at: Timestamp, kind: &SketchKind, bytes: &mut Vec<u8>) {
        let Document { id, sketch, source } = document;
        let Features { simhash, signature, .. } = sketch.features();
        let keys = (!kind.follows(sketch)).then(|| sketch.simhash_keys());
        let bit = |is_there: bool, bit: u8| if is_there { bit } else { 0 };
        bytes.push(
            bit(simhash.is_some(), SIMHASH)
                | bit(signature.is_some(), SIGNATURE)
                | bit(source.is_some(), SOURCE)
                | bit(keys.is_some(), KEYS),
        );
        bytes.extend(inserted_at.as_ms().to_be_bytes());
        put(bytes, id.as_str().as_bytes());
        bytes.extend(simhash.iter().flat_map(|simhash| simhash.0.to_be_bytes()));
        signature.iter().for_each(|signature| put(bytes, signature.as_bytes()));
        source.iter().for_each(|source| put(bytes, source.as_str().as_bytes()));
        let key_bytes = |key: &BucketKey| [&[key.flag][..], &key.segment.to_be_bytes()].concat();
        bytes.extend(keys.into_iter().flatten().flat_map(key_bytes));
    }

    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (&[parts, ref ms @ ..], mut rest) = bytes.split_first_chunk::<9>()?;
        let inserted_at = Timestamp::saturating(i64::from_be_bytes(*ms));
        let id = take(&mut rest)?;
        Some(Self { parts, inserted_at, id, rest })
    }

    pub(super) fn id(&self) -> Result<DocumentId> {
        let id = str::from_utf8(self.id).ok().and_then(|id| DocumentId::new(id).ok());
        id.ok_or_else(damaged)
    }

    /// The features, without a text.
    pub(super) fn features(&self) -> Result<Features> {
        self.split().map(|(features, _)| features)
    }

    /// The bytes of the signature.
    pub(super) fn signature_bytes(&self) -> Result<Option<&'a [u8]>> {
        self.split_bytes().map(|bytes| bytes.signature)
    }

    /// The document as it was given, without its text.
    pub(super) fn stored(&self, kind: &SketchKind) -> Result<StoredDocument> {
        let (features, mut rest) = self.split()?;
        let source = match self.parts & SOURCE {
            0 => None,
            _ => Some(take(&mut rest).and_then(|source| str::from_utf8(source).ok()).ok_or_else(damaged)?),
        };
        let source = source.map(Source::new).transpose().map_err(|_| damaged())?;
        let sketch = self.sketch(features, rest, kind);
        Ok(StoredDocument {
            document: Document { id: self.id()?, sketch, source },
            inserted_at: self.inserted_at,
        })
    }

    fn sketch(&self, features: Features, keys: &[u8], kind: &SketchKind) -> Sketch {
        if self.parts & KEYS == 0 {
            return kind.sketch(features);
        }
        let key =
            |&[flag, ref segment @ ..]: &[u8; 5]| BucketKey { flag, segment: u32::from_be_bytes(*segment) };
        kind.listed(features, keys.as_chunks().0.iter().map(key).collect())
    }

    /// The features, and the bytes after them.
    fn split(&self) -> Result<(Features, &'a [u8])> {
        let FeatureBytes { simhash, signature, rest } = self.split_bytes()?;
        let signature = signature.map(Signature::decode).transpose();
        let signature = signature.map_err(|error| damaged().caused_by(error))?;
        Ok((Features { simhash, signature, text: None }, rest))
    }

    fn split_bytes(&self) -> Result<FeatureBytes<'a>> {
        let (mut simhash, mut signature, mut rest) = (None, None, self.rest);
        if self.parts & SIMHASH != 0 {
            let (bytes, others) = rest.split_first_chunk().ok_or_else(damaged)?;
            simhash = Some(Fingerprint(u64::from_be_bytes(*bytes)));
            rest = others;
        }
        if self.parts & SIGNATURE != 0 {
            signature = Some(take(&mut rest).ok_or_else(damaged)?);
        }
        Ok(FeatureBytes { simhash, signature, rest })
    }
}

/// The features of a document, its signature not decoded, and the bytes after them.
struct FeatureBytes<'a> {
    simhash: Option<Fingerprint>,
    signature: Option<&'a [u8]>,
    rest: &'a [u8],
}

/// Appends bytes and their number. An id has at most 4,096 of them, a source and a signature fewer.
fn put(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend((part.len() as u16).to_be_bytes());
    bytes.extend_from_slice(part);
}

/// Takes bytes written by [`put`] off the front.
fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (part, rest) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
    *bytes = rest;
    Some(part)
}

fn damaged() -> Error {
    Error::corrupt("a document in memory is damaged")
}

/// The number of a document and the hash of its id, in 10 bytes: a table that grows reads no ids.
#[derive(Clone, Copy)]
struct Named([u16; 5]);

impl Named {
    /// # Panics
    /// If the number is 2^48 or more.
    fn new(hash: u32, number: u64) -> Self {
        assert!(number < 1 << 48, "a store in memory has numbered fewer than 2^48 documents");
        Self([hash as u16, (hash >> 16) as u16, number as u16, (number >> 16) as u16, (number >> 32) as u16])
    }

    fn hash(self) -> u32 {
        u32::from(self.0[1]) << 16 | u32::from(self.0[0])
    }

    fn number(self) -> u64 {
        let [_, _, low, middle, high] = self.0.map(u64::from);
        high << 32 | middle << 16 | low
    }

    /// The hash by which the table goes: its lowest and its highest bits count there.
    fn spread(hash: u32) -> u64 {
        u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Documents by number, found by their ids too. An id is held once.
#[derive(Default)]
pub(super) struct HeldDocuments {
    by_number: ByNumber,
    by_id: HashTable<Named>,
    hasher: DefaultHashBuilder,
    /// The document that is being added.
    bytes: Vec<u8>,
}

impl HeldDocuments {
    /// The number of documents.
    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    /// See [`Store::leap_bytes`](crate::Store::leap_bytes).
    pub(super) fn leap_bytes(&self, n: usize) -> u64 {
        leap_bytes(self.by_id.capacity(), self.by_id.len(), n, size_of::<Named>())
    }

    pub(super) fn get(&self, number: u64) -> Option<Held<'_>> {
        self.by_number.get(number).and_then(Held::read)
    }

    fn hash_of(&self, id: &[u8]) -> u32 {
        (self.hasher.hash_one(id) >> 32) as u32
    }

    /// The number of the document with this id.
    pub(super) fn number_of(&self, id: &DocumentId) -> Option<u64> {
        let id = id.as_str().as_bytes();
        let hash = self.hash_of(id);
        let is_it = |named: &Named| {
            named.hash() == hash && self.get(named.number()).is_some_and(|held| held.id == id)
        };
        self.by_id.find(Named::spread(hash), is_it).map(|named| named.number())
    }

    /// Adds a document under a number above all that were ever used. Its id must be new.
    pub(super) fn push(
        &mut self,
        number: u64,
        document: &Document,
        inserted_at: Timestamp,
        kind: &SketchKind,
    ) {
        self.bytes.clear();
        Held::write(document, inserted_at, kind, &mut self.bytes);
        self.by_number.push(number, &self.bytes);
        let hash = self.hash_of(document.id.as_str().as_bytes());
        let spread_of = |named: &Named| Named::spread(named.hash());
        self.by_id.insert_unique(Named::spread(hash), Named::new(hash, number), spread_of);
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Some(hash) = self.get(number).map(|held| self.hash_of(held.id))
            && let Ok(entry) = self.by_id.find_entry(Named::spread(hash), |other| other.number() == number)
        {
            entry.remove();
        }
        self.by_number.remove(number);
    }

    /// The documents of a range of numbers, ascending.
    pub(super) fn range(&self, numbers: impl RangeBounds<u64>) -> impl Iterator<Item = (u64, Held<'_>)> {
        self.by_number.range(numbers).filter_map(|(number, bytes)| Some((number, Held::read(bytes)?)))
    }

    /// The document of the greatest number below this one.
    pub(super) fn last_below(&self, number: u64) -> Option<(u64, Held<'_>)> {
        self.by_number.last_below(number).and_then(|(number, bytes)| Some((number, Held::read(bytes)?)))
    }

    /// The document of the greatest number.
    pub(super) fn last(&self) -> Option<Held<'_>> {
        self.by_number.last().and_then(|(_, bytes)| Held::read(bytes))
    }

    #[cfg(test)]
    pub(super) fn n_ids(&self) -> usize {
        self.by_id.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::testsuite::document;

    #[test]
    fn a_name_gives_back_what_it_was_made_of() {
        for hash in [0, 1, 0x89ab_cdef, u32::MAX] {
            for number in [0, 1, 1 << 16, 1 << 32, (1 << 48) - 1] {
                let named = Named::new(hash, number);
                assert_eq!((named.hash(), named.number()), (hash, number));
            }
        }
    }

    /// The table of ids doubles: what it takes then is foreseen.
    #[test]
    fn leaps_of_memory_are_foreseen() {
        let (mut held, kind) = (HeldDocuments::default(), SketchKind::default());
        for number in 0..4_000 {
            let (before, foreseen) = (held.by_id.capacity(), held.leap_bytes(1));
            held.push(number, &document(&number.to_string(), 7), Timestamp::saturating(0), &kind);
            let after = held.by_id.capacity();
            assert_eq!(foreseen > 0, after > before, "{number}");
            assert!(after == before || after < 14 || foreseen as usize >= held.by_id.allocation_size() - 64);
        }
    }

    /// Among some 80,000 ids two have one hash.
    #[test]
    fn ids_of_one_hash_are_told_apart() {
        let mut held = HeldDocuments::default();
        let mut by_hash = HashMap::new();
        let alike = (0_u32..).find_map(|n| {
            let id = n.to_string();
            by_hash.insert(held.hash_of(id.as_bytes()), id.clone()).map(|other| [other, id])
        });
        let kind = SketchKind::default();
        let [a, b] = alike.unwrap().map(|id| document(&id, 7));
        held.push(1, &a, Timestamp::saturating(0), &kind);
        assert_eq!((held.number_of(&a.id), held.number_of(&b.id)), (Some(1), None));
        held.push(2, &b, Timestamp::saturating(0), &kind);
        assert_eq!((held.number_of(&a.id), held.number_of(&b.id)), (Some(1), Some(2)));
        held.remove(1);
        assert_eq!((held.number_of(&a.id), held.number_of(&b.id)), (None, Some(2)));
    }
}
