//! The layers whose entries the next one takes over: they are sorted already. Each block is looked
//! at as it is read. Where one is damaged, the next layer is made from the records.

use std::collections::VecDeque;

use heed::types::DecodeIgnore;
use index::Result;
use runs::SortedWords;

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

/// The entries of a layer, of documents that are still there.
pub(super) struct Earlier<'a> {
    shared: &'a Shared,
    header: Header,
    n_documents: u64,
    /// `None` where all documents of the layer are still there.
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
    /// The layer is in use no more.
    Replaced,
}

impl<'a> Earlier<'a> {
    /// Layers, the lowest of the changes from `first` on; `has_gone` as for [`new`](Self::new).
    /// Empty where that returns `None` for one of them.
    pub(super) fn of_all(
        shared: &'a Shared,
        mut first: u64,
        layers: Vec<Header>,
        has_gone: bool,
    ) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for header in layers {
            let next = header.up_to + 1;
            let Some(of_layer) = Self::new(shared, header, first, has_gone)? else { return Ok(Vec::new()) };
            all.push(of_layer);
            first = next;
        }
        Ok(all)
    }

    /// A layer of the changes from `first` on. `has_gone` where documents of the image have no
    /// record any more. `None` where the numbers lie too far apart to tell which.
    fn new(shared: &'a Shared, header: Header, first: u64, has_gone: bool) -> Result<Option<Self>> {
        let live = if has_gone { Live::read(shared, first, header.up_to)? } else { None };
        if has_gone && live.is_none() {
            return Ok(None);
        }
        let n_documents = live.as_ref().map_or(header.n_documents, |live| live.n);
        let walk = Walk::new(header.generation);
        Ok(Some(Self { shared, header, n_documents, live, walk, waiting: VecDeque::new(), ending: None }))
    }

    /// The change up to which all documents are in it, or in the layers below.
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
    /// Reads the numbers of some changes in steps, a snapshot each. A document that is removed
    /// meanwhile may be among them. `None` where they lie too far apart.
    fn read(shared: &Shared, from: u64, up_to: u64) -> Result<Option<Self>> {
        let first_number = shared.read(|opened, txn, _| {
            let numbers = opened.log.remap_data_type::<DecodeIgnore>();
            let first = numbers.range(txn, &(from..=up_to))?.next().transpose()?;
            Ok(first.map_or(up_to, |(number, ())| number))
        })?;
        let first = first_number / 64 * 64;
        let n_words = (up_to - first) / 64 + 1;
        if n_words * size_of::<u64>() as u64 > LIVE_BYTES_MAX {
            return Ok(None);
        }
        let mut live = Self { first, bits: vec![0; n_words as usize], n: 0 };
        let mut next = Some(first_number);
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

/// The keys of layers and of later documents, in the order of all.
pub(super) struct Merged<'m, 'a> {
    later: SortedWords,
    earlier: Vec<Keys<'m, 'a>>,
}

/// The keys of a layer.
struct Keys<'m, 'a> {
    of: &'m mut Earlier<'a>,
    /// Those that were read, `None` after the last.
    at_hand: Option<Entries>,
    next: usize,
}

impl<'m, 'a> Merged<'m, 'a> {
    pub(super) fn new(later: SortedWords, earlier: &'m mut [Earlier<'a>]) -> Result<Self> {
        let keys = |of: &'m mut Earlier<'a>| Ok(Keys { at_hand: of.next_keys()?, of, next: 0 });
        Ok(Self { later, earlier: earlier.iter_mut().map(keys).collect::<Result<_>>()? })
    }

    /// The flag and the word of the next key.
    pub(super) fn next_key(&mut self) -> Result<Option<(u8, u64)>> {
        let unsorted = |error| super::unsorted(&error);
        let new = self.later.peek().map_err(unsorted)?.map(|word| (self.later.part() as u8, word));
        let old =
            self.earlier.iter_mut().filter_map(|keys| Some((keys.peek()?, keys))).min_by_key(|(key, _)| *key);
        match (old, new) {
            (Some((key, keys)), new) if new.is_none_or(|new| key < new) => {
                keys.advance()?;
                Ok(Some(key))
            }
            (_, Some(_)) => {
                self.later.next_word().map_err(unsorted)?;
                Ok(new)
            }
            _ => Ok(None),
        }
    }
}

impl Keys<'_, '_> {
    fn peek(&self) -> Option<(u8, u64)> {
        let Entries { section, words, .. } = self.at_hand.as_ref()?;
        words.get(self.next).map(|&word| (*section, word))
    }

    fn advance(&mut self) -> Result<()> {
        self.next += 1;
        if self.at_hand.as_ref().is_some_and(|entries| self.next == entries.words.len()) {
            self.at_hand = self.of.next_keys()?;
            self.next = 0;
        }
        Ok(())
    }
}
