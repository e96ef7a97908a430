//! Blocks of cells of a few sizes, cut from one array and used again after they were freed.

use super::chunks::Chunks;

/// The unit of the length and start of a block, in cells of two bytes: 32 bits address 2^32 of it.
const UNIT: usize = 16;

/// The number of lengths of blocks: 1 to this many units.
const N_CLASSES: usize = 16;

/// The least rest, in units, for which a larger free block is cut: a shorter one would hardly be
/// used again.
const REST_MIN: usize = 2;

/// An arena of blocks. The size of a block is never stored: it follows from the number of cells in
/// use, which the owner of the block knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Arena {
    cells: Chunks<u16>,
    /// Freed blocks, by class.
    free: [Vec<u32>; N_CLASSES],
}

impl Arena {
    /// The most cells a block can hold.
    pub(super) const BLOCK_LEN_MAX: usize = N_CLASSES * UNIT;

    /// Returns the smallest class whose blocks hold `len` cells, which is not 0.
    fn class_of(len: usize) -> usize {
        (len - 1) / UNIT
    }

    /// Returns the number of cells in a block of this class.
    fn class_len(class: usize) -> usize {
        (class + 1) * UNIT
    }

    /// The first `len` cells of a block.
    #[inline]
    pub(super) fn cells(&self, block: u32, len: usize) -> &[u16] {
        self.cells.slice(block as usize * UNIT, len)
    }

    /// The first `len` cells of a block.
    pub(super) fn cells_mut(&mut self, block: u32, len: usize) -> &mut [u16] {
        self.cells.slice_mut(block as usize * UNIT, len)
    }

    /// Returns a block with room for `len` cells, 1 to [`BLOCK_LEN_MAX`](Self::BLOCK_LEN_MAX).
    pub(super) fn allocate(&mut self, len: usize) -> u32 {
        let class = Self::class_of(len);
        if let Some(block) = self.free[class].pop() {
            return block;
        }
        if let Some(block) = self.cut(class) {
            return block;
        }
        let len = Self::class_len(class);
        if self.cells.left_in_chunk() < len {
            self.fill_chunk();
        }
        let start = self.cells.len();
        self.cells.grow(len);
        Self::block_at(start)
    }

    /// Returns a block of this class, cut from a free one, whose rest stays free.
    ///
    /// Buckets are halved by splits: without this their freed blocks would be of no use until the
    /// halves have grown.
    fn cut(&mut self, class: usize) -> Option<u32> {
        let larger = (class + REST_MIN..N_CLASSES).find(|&larger| !self.free[larger].is_empty())?;
        let block = self.free[larger].pop()?;
        let n_units = class as u32 + 1;
        self.free[larger - n_units as usize].push(block + n_units);
        Some(block)
    }

    /// Gives back a block that was allocated for `len` cells, or has been resized to `len`.
    pub(super) fn release(&mut self, block: u32, len: usize) {
        self.free[Self::class_of(len)].push(block);
    }

    /// Makes room for `more` cells in a block of `len`. Returns the block, which may have moved.
    #[inline]
    pub(super) fn grow(&mut self, block: u32, len: usize, more: usize) -> u32 {
        if Self::class_of(len) == Self::class_of(len + more) {
            return block;
        }
        let to = self.allocate(len + more);
        self.move_to(to, block, len, len)
    }

    /// Gives back the room of the last cells, `less` of `len`. Returns the block, which may have
    /// moved; of nothing left, it is of no meaning.
    pub(super) fn shrink(&mut self, block: u32, len: usize, less: usize) -> u32 {
        if len == less {
            self.release(block, len);
            return 0;
        }
        if Self::class_of(len) == Self::class_of(len - less) {
            return block;
        }
        let to = self.allocate(len - less);
        self.move_to(to, block, len, len - less)
    }

    /// Copies the first `n_kept` of the `len` cells of a block to another, and gives the first one
    /// back.
    fn move_to(&mut self, to: u32, block: u32, len: usize, n_kept: usize) -> u32 {
        self.cells.copy(block as usize * UNIT, to as usize * UNIT, n_kept);
        self.release(block, len);
        to
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let free: usize = self.free.iter().map(Vec::capacity).sum();
        self.cells.heap_bytes() + free * size_of::<u32>()
    }

    /// Cuts the rest of the last chunk, too little for the block at hand, into free blocks.
    fn fill_chunk(&mut self) {
        // A block lies in one chunk.
        const { assert!(Chunks::<u16>::LEN.is_multiple_of(UNIT) && Self::BLOCK_LEN_MAX <= Chunks::<u16>::LEN) }
        let mut left = self.cells.left_in_chunk();
        while left > 0 {
            let class = Self::class_of(left.min(Self::BLOCK_LEN_MAX));
            let start = self.cells.len();
            self.cells.grow(Self::class_len(class));
            self.free[class].push(Self::block_at(start));
            left -= Self::class_len(class);
        }
    }

    fn block_at(start: usize) -> u32 {
        u32::try_from(start / UNIT).expect("a table has fewer than 2^32 units of blocks")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK_LEN_MAX: usize = Arena::BLOCK_LEN_MAX;

    #[test]
    fn a_class_is_the_smallest_that_holds_its_cells() {
        assert_eq!(Arena::class_of(BLOCK_LEN_MAX), N_CLASSES - 1);
        for len in 1..=BLOCK_LEN_MAX {
            let class = Arena::class_of(len);
            assert_eq!(Arena::class_len(class), len.next_multiple_of(UNIT));
        }
    }

    #[test]
    fn blocks_are_used_again_and_never_overlap() {
        let mut arena = Arena::default();
        let mut held = [0; 2];
        for held in &mut held {
            let lens: Vec<usize> = (0..5000).map(|i| i * 7919 % (BLOCK_LEN_MAX - 3) + 1).collect();
            let mut blocks: Vec<u32> = lens.iter().map(|&len| arena.allocate(len)).collect();
            for (i, (&block, &len)) in blocks.iter().zip(&lens).enumerate() {
                arena.cells_mut(block, len).fill(i as u16);
            }
            for (block, &len) in blocks.iter_mut().zip(&lens) {
                *block = arena.grow(*block, len, 3);
            }
            for (i, (&block, &len)) in blocks.iter().zip(&lens).enumerate() {
                assert!(arena.cells(block, len).iter().all(|&cell| cell == i as u16));
                arena.release(block, len + 3);
            }
            *held = arena.cells.len();
        }
        assert_eq!(held[0], held[1]);
    }
}
