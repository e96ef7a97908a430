//! Blocks of cells of a few sizes, cut from one array and used again after they were freed.

use super::chunks::Chunks;

/// The elements of an arena.
pub(super) trait Cell: Copy + Default {
    /// The unit of the length and start of a block: 32 bits address 2^32 of it.
    const UNIT: usize;

    /// Writes the number of a block in the place of an item.
    fn write_link(cells: &mut [Self], block: u32);

    /// Returns the number given to [`write_link`](Self::write_link).
    fn read_link(cells: &[Self]) -> u32;
}

/// The number of lengths of blocks: 1 to this many units.
const N_CLASSES: usize = 16;

/// The least rest, in units, for which a larger free block is cut: a shorter one would hardly be
/// used again.
const REST_MIN: usize = 2;

/// An arena of blocks. The size of a block is never stored: it follows from the number of cells in
/// use, which the owner of the block knows.
#[derive(Clone, Debug)]
pub(super) struct Arena<T> {
    cells: Chunks<T>,
    /// Freed blocks, by class.
    free: [Vec<u32>; N_CLASSES],
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { cells: Chunks::default(), free: std::array::from_fn(|_| Vec::new()) }
    }
}

impl<T: Cell> Arena<T> {
    /// The most cells a block can hold.
    pub(super) const BLOCK_LEN_MAX: usize = N_CLASSES * T::UNIT;

    /// Returns the smallest class whose blocks hold `len` cells, which is not 0.
    fn class_of(len: usize) -> usize {
        (len - 1) / T::UNIT
    }

    /// Returns the number of cells in a block of this class.
    fn class_len(class: usize) -> usize {
        (class + 1) * T::UNIT
    }

    /// The first `len` cells of a block.
    #[inline]
    pub(super) fn cells(&self, block: u32, len: usize) -> &[T] {
        self.cells.slice(block as usize * T::UNIT, len)
    }

    /// The first `len` cells of a block.
    pub(super) fn cells_mut(&mut self, block: u32, len: usize) -> &mut [T] {
        self.cells.slice_mut(block as usize * T::UNIT, len)
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
        self.cells.copy(block as usize * T::UNIT, to as usize * T::UNIT, n_kept);
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
        const { assert!(Chunks::<T>::LEN.is_multiple_of(T::UNIT) && Self::BLOCK_LEN_MAX <= Chunks::<T>::LEN) }
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
        u32::try_from(start / T::UNIT).expect("a table has fewer than 2^32 units of blocks")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Cell for u64 {
        const UNIT: usize = 4;

        fn write_link(cells: &mut [Self], block: u32) {
            cells[0] = block.into();
        }

        fn read_link(cells: &[Self]) -> u32 {
            cells[0] as u32
        }
    }

    const BLOCK_LEN_MAX: usize = Arena::<u64>::BLOCK_LEN_MAX;

    #[test]
    fn a_class_is_the_smallest_that_holds_its_cells() {
        assert_eq!(Arena::<u64>::class_of(BLOCK_LEN_MAX), N_CLASSES - 1);
        for len in 1..=BLOCK_LEN_MAX {
            let class = Arena::<u64>::class_of(len);
            assert_eq!(Arena::<u64>::class_len(class), len.next_multiple_of(u64::UNIT));
        }
    }

    #[test]
    fn blocks_are_used_again_and_never_overlap() {
        let mut arena = Arena::<u64>::default();
        let mut held = [0; 2];
        for held in &mut held {
            let lens: Vec<usize> = (0..5000).map(|i| i * 7919 % (BLOCK_LEN_MAX - 3) + 1).collect();
            let mut blocks: Vec<u32> = lens.iter().map(|&len| arena.allocate(len)).collect();
            for (i, (&block, &len)) in blocks.iter().zip(&lens).enumerate() {
                arena.cells_mut(block, len).fill(i as u64);
            }
            for (block, &len) in blocks.iter_mut().zip(&lens) {
                *block = arena.grow(*block, len, 3);
            }
            for (i, (&block, &len)) in blocks.iter().zip(&lens).enumerate() {
                assert!(arena.cells(block, len).iter().all(|&cell| cell == i as u64));
                arena.release(block, len + 3);
            }
            *held = arena.cells.len();
        }
        assert_eq!(held[0], held[1]);
    }
}
