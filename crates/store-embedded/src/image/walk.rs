//! A walk through all blocks of an image, in their order.

use std::ops::Bound;

use heed::RoTxn;

use super::block::{Block, Place, entry_bytes};
use super::header::Section;
use crate::environment::Opened;
use crate::errors::Failure;

/// A walk that looks whether each block is as written, and goes on where the one before ends.
#[derive(Clone)]
pub(crate) struct Walk {
    generation: u32,
    /// The key of the last block, empty before the first.
    last: Vec<u8>,
    /// The sections found so far, with their amounts.
    sections: Vec<Section>,
    /// The first word of the next block; `None` where that begins a section.
    next: Option<u64>,
}

impl Walk {
    pub(crate) fn new(generation: u32) -> Self {
        Self { generation, last: Vec::new(), sections: Vec::new(), next: None }
    }

    /// Hands at most `n_max` blocks on. Returns false at the end; `Err` with the first block that
    /// is not as written, or does not go on where the one before ends.
    pub(crate) fn step(
        &mut self,
        opened: &Opened,
        txn: &RoTxn<'_>,
        n_max: usize,
        mut visit: impl FnMut(&Block<'_>),
    ) -> Result<Result<bool, Place>, Failure> {
        let Some(blocks) = opened.image() else { return Ok(Ok(false)) };
        let start = |generation| Place { generation, section: 0, from: 0 }.encode();
        let (first, end) = (start(self.generation), start(self.generation.saturating_add(1)));
        let from = match &self.last[..] {
            [] => Bound::Included(&first[..]),
            last => Bound::Excluded(last),
        };
        let mut n = 0;
        let mut last = None;
        for entry in blocks.range(txn, &(from, Bound::Excluded(&end[..])))?.take(n_max) {
            let (key, value) = entry?;
            let Some(block) = Block::decode(key, value).filter(|block| self.takes(block)) else {
                let none = Place { generation: 0, section: 0, from: 0 };
                return Ok(Err(Place::decode(key).unwrap_or(none)));
            };
            visit(&block);
            (n, last) = (n + 1, Some(key));
        }
        if let Some(last) = last {
            self.last = last.to_vec();
        }
        Ok(Ok(n == n_max))
    }

    /// The sections so far.
    pub(crate) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Counts a block. Returns false if it is not sound, or not the next one.
    fn takes(&mut self, block: &Block<'_>) -> bool {
        let Place { section: number, from, .. } = block.place;
        if self.sections.last().is_none_or(|section| section.number != number) {
            if !self.sections.is_empty() && self.next.is_some() {
                return false;
            }
            self.sections.push(Section { number, ..Section::default() });
            self.next = Some(0);
        }
        let is_sound = self.next == Some(from)
            && block.words().all(|word| (from..=block.until).contains(&word))
            && block.words().is_sorted_by(|one, next| one < next);
        self.next = block.until.checked_add(1);
        if let Some(section) = self.sections.last_mut() {
            section.n_blocks += 1;
            section.n_entries += (block.body_bytes() / entry_bytes(number)) as u64;
        }
        is_sound
    }
}
