//! The way of a block to the file.

use std::io;
use std::mem;
use std::sync::Arc;

use super::block::Open;
use super::packer::Packer;
use super::{Block, FREE_BYTES_MAX, LEVEL, Packing, Records, SHORT_LEVEL};
use crate::sealed::seal;

impl Records {
    pub(super) fn close_block(&mut self) -> io::Result<()> {
        let level = if self.is_short() { SHORT_LEVEL } else { LEVEL };
        let too_large = |_| io::Error::other("a block of records is above 4 GiB");
        let n_bytes = u32::try_from(self.open.len()).map_err(too_large)?;
        self.blocks.push(Block { offset: 0, first: self.n_records - self.n_open, n_bytes });
        let n_records = mem::take(&mut self.n_open);
        match self.packing {
            Packing::Plain => {
                let n_free = self.n_free();
                let mut bytes = mem::take(&mut self.open);
                seal(&mut bytes, 0);
                if n_free <= FREE_BYTES_MAX {
                    bytes.resize(bytes.len() + n_free, 0);
                }
                self.write(self.blocks.len() - 1, &bytes)?;
                bytes.clear();
                self.open = bytes;
            }
            Packing::Zstandard => {
                let mut block = Open::new(mem::take(&mut self.open));
                block.find_records(n_records)?;
                self.n_waiting_bytes += block.heap_bytes();
                self.unwritten.push_back((Arc::new(block), level));
                self.pack_waiting()?;
            }
        }
        Ok(())
    }

    /// Has the first blocks compressed where too many wait, and writes those that are.
    fn pack_waiting(&mut self) -> io::Result<()> {
        loop {
            while let Some(packed) = self.packer.as_mut().and_then(Packer::next) {
                let mut packed = packed?;
                seal(&mut packed, 0);
                self.write(self.n_written(), &packed)?;
                self.n_packing -= 1;
                let written = self.unwritten.pop_front();
                // Memory is used again.
                if let Some(block) = written.and_then(|(block, _)| Arc::into_inner(block))
                    && self.open.capacity() == 0
                {
                    self.open = block.into_empty();
                }
            }
            if self.n_waiting_bytes <= self.n_waiting_bytes_max {
                return Ok(());
            }
            let packer = match &mut self.packer {
                Some(packer) => packer,
                none => none.insert(Packer::new()?),
            };
            let (block, level) = &self.unwritten[self.n_packing];
            packer.push(Arc::clone(block), *level)?;
            self.n_packing += 1;
            self.n_waiting_bytes -= block.heap_bytes();
        }
    }

    /// Writes the next block, which is this one, to the file.
    fn write(&mut self, at: usize, stored: &[u8]) -> io::Result<()> {
        self.file.write(stored)?;
        self.blocks[at].offset = self.n_stored;
        self.n_stored += stored.len() as u64;
        Ok(())
    }

    /// A closed block that is not in the file.
    pub(super) fn unwritten(&self, at: u32) -> Option<&Arc<Open>> {
        let place = (at as usize).checked_sub(self.n_written())?;
        self.unwritten.get(place).map(|(block, _)| block)
    }

    /// The number of blocks in the file.
    pub(super) fn n_written(&self) -> usize {
        self.blocks.len() - self.unwritten.len()
    }
}
