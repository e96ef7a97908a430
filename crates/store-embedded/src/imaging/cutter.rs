//! Cuts ascending entries into blocks.

use crate::image::{self, FINGERPRINTS, Place, Section};

/// The key and the value of a block.
pub(super) type Ready = (Vec<u8>, Vec<u8>);

/// The block being filled, and those ready to be written. The blocks of a section answer for all
/// words, so that a look-up knows a missing one from words that are not there.
pub(super) struct Cutter {
    pub(super) ready: Vec<Ready>,
    place: Place,
    /// The last word taken, in a section with one.
    last: Option<u64>,
    body: Vec<u8>,
    body_bytes_max: usize,
    sections: Vec<Section>,
}

impl Cutter {
    pub(super) fn new(generation: u32, body_bytes_max: usize) -> Self {
        let place = Place { generation, section: FINGERPRINTS, from: 0 };
        Self { ready: Vec::new(), place, last: None, body: Vec::new(), body_bytes_max, sections: Vec::new() }
    }

    /// Takes an entry. Sections ascend, and words in them. A repeated word counts once.
    pub(super) fn push(&mut self, section: u8, word: u64, bits: Option<u64>) {
        if self.place.section != section {
            self.close(u64::MAX);
            self.place = Place { section, from: 0, ..self.place };
            self.last = None;
        }
        if self.last == Some(word) {
            return;
        }
        if self.body.len() + image::entry_bytes(section) > self.body_bytes_max && self.last.is_some() {
            self.close(word - 1);
            self.place.from = word;
        }
        self.last = Some(word);
        self.body.extend_from_slice(&word.to_be_bytes());
        self.body.extend(bits.into_iter().flat_map(u64::to_be_bytes));
    }

    /// Ends the block, which answers for words up to `until`; a section without entries has none.
    fn close(&mut self, until: u64) {
        if self.last.is_none() {
            return;
        }
        let number = self.place.section;
        if self.sections.last().is_none_or(|section| section.number != number) {
            self.sections.push(Section { number, ..Section::default() });
        }
        if let Some(section) = self.sections.last_mut() {
            section.n_blocks += 1;
            section.n_entries += (self.body.len() / image::entry_bytes(number)) as u64;
        }
        self.ready.push((self.place.encode().to_vec(), image::encode(self.place, until, &self.body)));
        self.body.clear();
    }

    /// Ends the last block, and returns the amounts of all sections.
    pub(super) fn finish(&mut self) -> Vec<Section> {
        self.close(u64::MAX);
        self.last = None;
        std::mem::take(&mut self.sections)
    }
}
