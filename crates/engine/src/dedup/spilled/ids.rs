//! The kept documents under the id of a document, in the order of the decisions.
//!
//! Documents whose ids have one hash become pairs of a later and an earlier document, sorted by the
//! turn of the later one; above [`PAIRED_MAX`] of them each names its crowd, of which the kept
//! documents are in memory: one, but where ids share a hash. So ids that come again take no memory,
//! and those that come very often 4 bytes each.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use runs::{SortedWords, WordSorter};

use super::turns::{Order, TurnSorter, halves, word};
use crate::dedup::hash;

/// The documents of one hash that become pairs.
const PAIRED_MAX: usize = 8;

/// Stands for no document: there are fewer.
const NONE: u32 = u32::MAX;

/// The parts by which hashes of ids are sorted, and those of the pairs.
const PARTS: usize = 16;

/// The ids of documents, while these are taken: 32 bits of the hash in the upper half of a word,
/// below those that tell its part, and the document in the lower half.
pub(super) struct Ids(WordSorter);

/// The kept documents under the id of each document.
pub(super) struct KeptIds {
    /// The turn of a document in the upper half of a word, an earlier one in the lower half.
    pairs: SortedWords,
    /// The turn of a document in the upper half of a word, its crowd in the lower half.
    members: SortedWords,
    /// The first kept document of each crowd, or [`NONE`].
    first: Vec<u32>,
    /// Further ones, whose ids share a hash with that of the first one.
    others: HashMap<u32, Vec<u32>>,
    /// The kept documents before the open one that may have its id.
    of_open: Vec<u32>,
    crowd_of_open: Option<u32>,
}

impl Ids {
    pub(super) fn new(folder: &Path) -> Self {
        Self(WordSorter::new(folder, PARTS))
    }

    pub(super) fn n_bytes(&self) -> u64 {
        self.0.len() * size_of::<u64>() as u64
    }

    pub(super) fn push(&mut self, number: u32, id: &str) -> io::Result<()> {
        self.push_hash(number, hash(id).get())
    }

    fn push_hash(&mut self, number: u32, hash: u64) -> io::Result<()> {
        let part = (hash >> (u64::BITS - PARTS.ilog2())) as usize;
        self.0.push(part, word((hash >> (u32::BITS - PARTS.ilog2())) as u32, number))
    }

    /// Finds the documents whose ids have one hash. Memory is at most `n_bytes_max` here, and a
    /// quarter of that later.
    pub(super) fn of_turns(
        self,
        folder: &Path,
        n_documents: u32,
        order: Option<&Order>,
        n_bytes_max: usize,
    ) -> io::Result<KeptIds> {
        let [mut pairs, mut members] = [(); 2].map(|()| TurnSorter::new(folder, n_documents, order, PARTS));
        let mut words = self.0.finish(n_bytes_max);
        let (mut n_crowds, mut group) = (0_u32, Vec::new());
        while let Some(first) = words.next_word()? {
            let (part, key, mut crowd) = (words.part(), halves(first).0, None);
            group.clear();
            group.push(halves(first).1);
            while let Some(next) = words.peek()?
                && words.part() == part
                && halves(next).0 == key
            {
                words.next_word()?;
                group.push(halves(next).1);
                if group.len() > PAIRED_MAX || crowd.is_some() {
                    let crowd = *crowd.get_or_insert_with(|| {
                        n_crowds += 1;
                        n_crowds - 1
                    });
                    group.drain(..).try_for_each(|number| members.push(number, crowd))?;
                }
            }
            pairs.push_pairs(&mut group)?;
        }
        Ok(KeptIds {
            pairs: pairs.finish(n_bytes_max / 8),
            members: members.finish(n_bytes_max / 8),
            first: vec![NONE; n_crowds as usize],
            others: HashMap::new(),
            of_open: Vec::new(),
            crowd_of_open: None,
        })
    }
}

impl KeptIds {
    /// Goes on to the document of a turn. Turns ascend from call to call.
    pub(super) fn open(&mut self, turn: u32, is_kept: impl Fn(u32) -> bool) -> io::Result<()> {
        let Self { pairs, members, first, others, of_open, crowd_of_open } = self;
        of_open.clear();
        while let Some((of, earlier)) = pairs.peek()?.map(halves).filter(|(of, _)| *of <= turn) {
            pairs.next_word()?;
            of_open.extend((of == turn && is_kept(earlier)).then_some(earlier));
        }
        *crowd_of_open = None;
        while let Some((of, crowd)) = members.peek()?.map(halves).filter(|(of, _)| *of <= turn) {
            members.next_word()?;
            *crowd_of_open = (of == turn).then_some(crowd);
        }
        if let Some(crowd) = crowd_of_open {
            of_open.extend(Some(first[*crowd as usize]).filter(|first| *first != NONE));
            of_open.extend(others.get(crowd).into_iter().flatten());
        }
        Ok(())
    }

    /// The kept documents before the open one that may have its id.
    pub(super) fn of_open(&self) -> &[u32] {
        &self.of_open
    }

    /// Marks the open document as kept.
    pub(super) fn keep(&mut self, number: u32) {
        let Some(crowd) = self.crowd_of_open else { return };
        match &mut self.first[crowd as usize] {
            first if *first == NONE => *first = number,
            _ => self.others.entry(crowd).or_default().push(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Held against a look at all documents. A hash may be of several ids, and then several
        /// documents are kept.
        #[test]
        fn kept_documents_of_a_hash_are_those_before(
            documents in proptest::collection::vec((0_u64..12, any::<bool>()), 0..120),
            has_ranks in any::<bool>(),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let n_documents = documents.len() as u32;
            // Most differ in bits of one end.
            let hash_of = |n: u64| if n < 6 { n << 28 } else { (n << 60) | 77 };
            let mut ids = Ids::new(folder.path());
            for (number, (n, _)) in (0..).zip(&documents) {
                ids.push_hash(number, hash_of(*n)).unwrap();
            }
            let mut numbers: Vec<u32> = (0..n_documents).collect();
            numbers.sort_by_key(|number| if has_ranks { number * 7 % 5 } else { 0 });
            let mut turns = vec![0; documents.len()];
            (0..).zip(&numbers).for_each(|(turn, number)| turns[*number as usize] = turn);
            let order = has_ranks.then(|| Order { numbers: numbers.clone(), turns });
            let mut ids = ids.of_turns(folder.path(), n_documents, order.as_ref(), 1 << 16).unwrap();
            let mut kept = vec![false; documents.len()];
            for (turn, &number) in (0..).zip(&numbers) {
                ids.open(turn, |number| kept[number as usize]).unwrap();
                let (of, is_kept) = documents[number as usize];
                let mut of_open = ids.of_open().to_vec();
                of_open.sort_unstable();
                let has_hash = |other: &u32| kept[*other as usize] && documents[*other as usize].0 == of;
                prop_assert_eq!(of_open, (0..n_documents).filter(has_hash).collect::<Vec<_>>());
                if is_kept {
                    kept[number as usize] = true;
                    ids.keep(number);
                }
            }
        }
    }
}
