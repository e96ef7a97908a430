//! Look-ups in an image, in a snapshot.

use std::ops::Bound;

use heed::RoTxn;
use heed::types::DecodeIgnore;
use index::{Family, SketchKind};
use simhash::{BucketKey, Distance, Facet, Fingerprint};

use super::block::{Block, FINGERPRINTS, Place};
use super::filter::Filters;
use super::{Header, place_of};
use crate::environment::{Blocks, Opened};

/// The reason for which a look-up failed.
#[derive(Debug)]
pub(super) enum Fault {
    Lmdb(heed::Error),
    /// The image does not hold what its header says.
    Damaged,
}

impl From<heed::Error> for Fault {
    fn from(error: heed::Error) -> Self {
        Self::Lmdb(error)
    }
}

/// An image in a snapshot.
#[derive(Clone, Copy)]
pub(super) struct View<'a, 'txn> {
    pub(super) header: &'a Header,
    pub(super) filters: &'a Filters,
    pub(super) blocks: Blocks,
    pub(super) opened: &'a Opened,
    pub(super) txn: &'a RoTxn<'txn>,
    pub(super) kind: &'a SketchKind,
}

impl<'a> View<'a, '_> {
    /// Calls `visit` with each document that shares a bucket with the query and is within the
    /// distance, once and ascending. Returns the number of entries in the buckets.
    pub(super) fn near(
        &self,
        query: &Facet,
        max_distance: Distance,
        visit: &mut dyn FnMut(u64, Fingerprint),
    ) -> Result<u64, Fault> {
        let mut found = Vec::new();
        for &key in query.keys() {
            self.add_bucket(key, &mut found)?;
        }
        let n_entries = found.len() as u64;
        // Each bucket is in order already, which this sort makes use of.
        found.sort();
        found.dedup();
        let (mut block, mut last) = (None, None);
        for word in found {
            let (number, fingerprint) = (word >> 8, self.fingerprint(word, &mut block)?);
            let is_near = fingerprint.distance(query.fingerprint()) <= max_distance;
            if is_near && last != Some(number) && self.is_there(number)? {
                visit(number, fingerprint);
                last = Some(number);
            }
        }
        Ok(n_entries)
    }

    /// Adds the documents in a bucket, by their words in the section of fingerprints. Some may have
    /// no record any more.
    fn add_bucket(&self, key: BucketKey, found: &mut Vec<u64>) -> Result<(), Fault> {
        if !self.filters.may_hold(key, self)? {
            return Ok(());
        }
        let family = self.kind.family(key.flag);
        let mut word = u64::from(key.segment) << 32;
        let last = word | u64::from(u32::MAX);
        loop {
            let block = self.block(key.flag, word)?;
            let words = block.words_from(word).take_while(|&word| word <= last);
            found.extend(words.map(|word| word_of(word & u64::from(u32::MAX), family)));
            if block.until >= last {
                return Ok(());
            }
            word = block.until + 1;
        }
    }

    /// The 64 bits filed under a word. `block` is the block of the last look-up, if any.
    fn fingerprint(&self, word: u64, block: &mut Option<Block<'a>>) -> Result<Fingerprint, Fault> {
        if let Some(bits) = self.filters.bits_of(word, self)? {
            return Ok(bits);
        }
        let holds = |block: &Block<'_>| block.place.from <= word && word <= block.until;
        let block = match block.take().filter(holds) {
            Some(at_hand) => block.insert(at_hand),
            None => block.insert(self.block(FINGERPRINTS, word)?),
        };
        block.bits_of(word).map(Fingerprint).ok_or(Fault::Damaged)
    }

    /// The block that answers for a word.
    pub(super) fn block(&self, section: u8, word: u64) -> Result<Block<'a>, Fault> {
        let place = Place { generation: self.header.generation, section, from: word };
        let found = self.blocks.get_lower_than_or_equal_to(self.txn, &place.encode())?;
        let block = found.and_then(|(key, value)| Block::decode(key, value));
        let holds = |block: &Block<'_>| {
            let Place { generation, section, .. } = block.place;
            (generation, section) == (place.generation, place.section) && word <= block.until
        };
        block.filter(holds).ok_or(Fault::Damaged)
    }

    /// The blocks of a section from the one that begins with a word on, each the next of the last.
    pub(super) fn blocks_from(
        &self,
        section: u8,
        word: u64,
    ) -> Result<impl Iterator<Item = Result<Block<'a>, Fault>> + use<'a, '_>, Fault> {
        let generation = self.header.generation;
        let first = Place { generation, section, from: word }.encode();
        let mut next = Some(word);
        let blocks = self.blocks.range(self.txn, &(Bound::Included(&first[..]), Bound::Unbounded))?;
        Ok(blocks.map(move |entry| {
            let (key, value) = entry?;
            let of = |from| Place { generation, section, from };
            let block = Block::decode(key, value).filter(|block| next.map(of) == Some(block.place));
            let block = block.ok_or(Fault::Damaged)?;
            next = block.until.checked_add(1);
            Ok(block)
        }))
    }

    fn is_there(&self, number: u64) -> Result<bool, heed::Error> {
        Ok(self.opened.log.remap_data_type::<DecodeIgnore>().get(self.txn, &number)?.is_some())
    }
}

/// The word of a document's facet in the section of fingerprints.
pub(crate) fn word_of(number: u64, family: Family) -> u64 {
    number << 8 | u64::from(place_of(family))
}
