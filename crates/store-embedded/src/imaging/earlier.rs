//! The image in use, whose entries the next one takes over: they are sorted already. Each block is
//! looked at as it is read. Where one is damaged, the next image is made from the records alone.

use std::collections::VecDeque;

use heed::types::DecodeIgnore;
use index::Result;

use crate::errors::Failure;
use crate::image::{Block, FINGERPRINTS, Header, Place, Walk};
use crate::shared::Shared;

/// The blocks read in one snapshot: a megabyte.
const STEP_BLOCKS: usize = 1 << 10;

/// The numbers read in one snapshot.
const STEP_NUMBERS: usize = 1 << 16;

/// The most bytes for the numbers of live documents, at one bit each.
const LIVE_BYTES_MAX: u64 = 64 << 20;

/// Entries of one section, ascending.
pub(super) struct Entries {
    pub(super) section: u8,
    pub(super) words: Vec<u64>,
    /// The bits of each word in the section of fingerprints.
    pub(super) bits: Vec<u64>,
}

/// The entries of an image, of documents that are still there.
pub(super) struct Earlier<'a> {
    shared: &'a Shared,
    header: Header,
    n_documents: u64,
    /// `None` where all documents of the image are still there.
    live: Option<Live>,
    walk: Walk,
    waiting: VecDeque<Entries>,
    ending: Option<Ending>,
}

/// The reason for which there are no more entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    Damaged,
    /// Another writer has put an image in its place.
    Replaced,
}

impl<'a> Earlier<'a> {
    /// The image in use, of whose documents `n_gone` have no record any more. `None` where their
    /// numbers lie too far apart to tell which.
    pub(super) fn new(shared: &'a Shared, header: Header, n_gone: u64) -> Result<Option<Self>> {
        let live = if n_gone == 0 { None } else { Live::read(shared, header.up_to)? };
        if n_gone > 0 && live.is_none() {
            return Ok(None);
        }
        let n_documents = live.as_ref().map_or(header.n_documents, |live| live.n);
        let walk = Walk::new(header.generation);
        Ok(Some(Self { shared, header, n_documents, live, walk, waiting: VecDeque::new(), ending: None }))
    }

    /// The change up to which all documents are in it.
    pub(super) fn up_to(&self) -> u64 {
        self.header.up_to
    }

    /// The documents that are still there.
    pub(super) fn n_documents(&self) -> u64 {
        self.n_documents
    }

    /// The keys at most.
    pub(super) fn n_keys(&self) -> u64 {
        let of_keys = self.header.sections.iter().filter(|section| section.number != FINGERPRINTS);
        of_keys.map(|section| section.n_entries).sum()
    }

    pub(super) fn generation(&self) -> u32 {
        self.header.generation
    }

    /// `None` while there may be entries left.
    pub(super) fn ending(&self) -> Option<Ending> {
        self.ending.filter(|_| self.waiting.is_empty())
    }

    /// Some further fingerprints, `None` after the last or at an ending before it.
    pub(super) fn next_fingerprints(&mut self) -> Result<Option<Entries>> {
        self.fill()?;
        let is_next = self.waiting.front().is_some_and(|entries| entries.section == FINGERPRINTS);
        Ok(if is_next { self.waiting.pop_front() } else { None })
    }

    /// Some further keys, `None` at the ending.
    pub(super) fn next_keys(&mut self) -> Result<Option<Entries>> {
        self.fill()?;
        Ok(self.waiting.pop_front())
    }

    /// Reads on until entries wait, or until the ending.
    fn fill(&mut self) -> Result<()> {
        while self.waiting.is_empty() && self.ending.is_none() {
            let (walk, entries, ending) = self.shared.read(|opened, txn, _| {
                let (mut walk, mut entries) = (self.walk.clone(), VecDeque::new());
                let n_blocks_max = self.shared.limits.blocks_at_once.min(STEP_BLOCKS);
                let step = walk.step(opened, txn, n_blocks_max, |block| self.add(block, &mut entries))?;
                let ending = match step {
                    Ok(true) => None,
                    Ok(false) if walk.sections() == self.header.sections => Some(Ending::Whole),
                    _ if !self.header.is_in(opened, txn)? => Some(Ending::Replaced),
                    _ => Some(Ending::Damaged),
                };
                Ok((walk, entries, ending))
            })?;
            self.ending = ending;
            self.walk = walk;
            self.waiting = entries;
            self.waiting.retain(|entries| !entries.words.is_empty());
        }
        Ok(())
    }

    /// Adds the entries of a block.
    fn add(&self, block: &Block<'_>, to: &mut VecDeque<Entries>) {
        let Place { section, .. } = block.place;
        if to.back().is_none_or(|entries| entries.section != section) {
            to.push_back(Entries { section, words: Vec::new(), bits: Vec::new() });
        }
        let Some(Entries { words, bits, .. }) = to.back_mut() else { return };
        if section == FINGERPRINTS {
            let of_live = block.fingerprints().filter(|&(word, _)| self.is_live(word >> 8));
            for (word, of_word) in of_live {
                words.push(word);
                bits.push(of_word);
            }
        } else if self.live.is_none() {
            words.extend(block.words());
        } else {
            words.extend(block.words().filter(|word| self.is_live(word & u64::from(u32::MAX))));
        }
    }

    fn is_live(&self, number: u64) -> bool {
        self.live.as_ref().is_none_or(|live| live.contains(number))
    }
}

/// The numbers of documents with a record, a bit each.
struct Live {
    /// A multiple of 64.
    first: u64,
    bits: Vec<u64>,
    n: u64,
}

impl Live {
    /// Reads the numbers up to a change in steps, a snapshot each. A document removed meanwhile may
    /// be among them. `None` where they lie too far apart.
    fn read(shared: &Shared, up_to: u64) -> Result<Option<Self>> {
        let first = shared.read(|opened, txn, _| {
            let first = opened.log.remap_data_type::<DecodeIgnore>().first(txn)?;
            Ok(first.map_or(up_to, |(number, ())| number.min(up_to)) / 64 * 64)
        })?;
        let n_words = (up_to - first) / 64 + 1;
        if n_words * size_of::<u64>() as u64 > LIVE_BYTES_MAX {
            return Ok(None);
        }
        let mut live = Self { first, bits: vec![0; n_words as usize], n: 0 };
        let mut next = Some(first);
        while let Some(from) = next {
            let numbers = shared.read(|opened, txn, _| {
                let numbers = opened.log.remap_data_type::<DecodeIgnore>().range(txn, &(from..=up_to))?;
                numbers.take(STEP_NUMBERS).map(|entry| Ok(entry?.0)).collect::<Result<Vec<u64>, Failure>>()
            })?;
            for number in &numbers {
                let at = number - first;
                live.bits[(at / 64) as usize] |= 1 << (at % 64);
            }
            live.n += numbers.len() as u64;
            next = numbers.last().map(|number| number + 1);
        }
        Ok(Some(live))
    }

    fn contains(&self, number: u64) -> bool {
        let Some(at) = number.checked_sub(self.first) else { return false };
        self.bits.get((at / 64) as usize).is_some_and(|bits| bits >> (at % 64) & 1 == 1)
    }
}

/// The keys of an image and of later documents, in the order of both.
pub(super) struct Merged<'m, 'a> {
    later: runs::SortedWords,
    earlier: Option<&'m mut Earlier<'a>>,
    /// The keys of `earlier` at hand.
    at_hand: Entries,
    next: usize,
}

impl<'m, 'a> Merged<'m, 'a> {
    pub(super) fn new(later: runs::SortedWords, earlier: Option<&'m mut Earlier<'a>>) -> Self {
        let at_hand = Entries { section: 0, words: Vec::new(), bits: Vec::new() };
        Self { later, earlier, at_hand, next: 0 }
    }

    /// The flag and the word of the next key.
    pub(super) fn next_key(&mut self) -> Result<Option<(u8, u64)>> {
        if self.next == self.at_hand.words.len()
            && let Some(earlier) = &mut self.earlier
        {
            self.next = 0;
            self.at_hand.words = Vec::new();
            match earlier.next_keys()? {
                Some(entries) => self.at_hand = entries,
                None => self.earlier = None,
            }
        }
        let old = self.at_hand.words.get(self.next).map(|&word| (self.at_hand.section, word));
        let unsorted = |error| super::unsorted(&error);
        let new = self.later.peek().map_err(unsorted)?.map(|word| (self.later.part() as u8, word));
        match (old, new) {
            (Some(old), Some(new)) if old < new => self.next += 1,
            (Some(_), None) => self.next += 1,
            (_, Some(new)) => {
                self.later.next_word().map_err(unsorted)?;
                return Ok(Some(new));
            }
            (None, None) => {}
        }
        Ok(old)
    }
}
