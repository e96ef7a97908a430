//! Blocks of items of a few sizes, cut from one array and used again after they were freed.

use super::chunks::{CHUNK_LEN, Chunks};

/// The most items a block can hold.
pub(super) const BLOCK_LEN_MAX: usize = 64;

/// The unit of the length and start of a block, with which 32 bits address 2^34 items.
const UNIT: usize = 4;

const N_CLASSES: usize = BLOCK_LEN_MAX / UNIT;

/// Returns the smallest class whose blocks hold `len` items, which is 1 to [`BLOCK_LEN_MAX`].
fn class_of(len: usize) -> usize {
    (len - 1) / UNIT
}

/// Returns the number of items in a block of this class.
fn class_len(class: usize) -> usize {
    (class + 1) * UNIT
}

/// An arena of blocks. The size of a block is never stored: it follows from the number of items in
/// use, which the owner of the block knows.
#[derive(Clone, Debug)]
pub(super) struct Arena<T> {
    items: Chunks<T>,
    /// Freed blocks, by class.
    free: [Vec<u32>; N_CLASSES],
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { items: Chunks::default(), free: std::array::from_fn(|_| Vec::new()) }
    }
}

impl<T: Copy + Default> Arena<T> {
    /// The first `len` items of a block.
    #[inline]
    pub(super) fn items(&self, block: u32, len: usize) -> &[T] {
        self.items.slice(block as usize * UNIT, len)
    }

    /// The first `len` items of a block.
    pub(super) fn items_mut(&mut self, block: u32, len: usize) -> &mut [T] {
        self.items.slice_mut(block as usize * UNIT, len)
    }

    /// Returns a block with room for `len` items, 1 to [`BLOCK_LEN_MAX`].
    pub(super) fn allocate(&mut self, len: usize) -> u32 {
        let class = class_of(len);
        if let Some(block) = self.free[class].pop() {
            return block;
        }
        let len = class_len(class);
        if self.items.left_in_chunk() < len {
            self.fill_chunk();
        }
        let start = self.items.len();
        self.items.grow(len);
        block_at(start)
    }

    /// Gives back a block that was allocated for `len` items, or has been resized to `len`.
    pub(super) fn release(&mut self, block: u32, len: usize) {
        self.free[class_of(len)].push(block);
    }

    /// Makes room for one item more in a block of `len`. Returns the block, which may have moved.
    #[inline]
    pub(super) fn grow(&mut self, block: u32, len: usize) -> u32 {
        if class_of(len) == class_of(len + 1) {
            return block;
        }
        let grown = self.allocate(len + 1);
        self.items.copy(block as usize * UNIT, grown as usize * UNIT, len);
        self.release(block, len);
        grown
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let free: usize = self.free.iter().map(Vec::capacity).sum();
        self.items.heap_bytes() + free * size_of::<u32>()
    }

    /// Cuts the rest of the last chunk, too little for the block at hand, into free blocks.
    fn fill_chunk(&mut self) {
        let mut left = self.items.left_in_chunk();
        while left > 0 {
            let class = class_of(left.min(BLOCK_LEN_MAX));
            let start = self.items.len();
            self.items.grow(class_len(class));
            self.free[class].push(block_at(start));
            left -= class_len(class);
        }
    }
}

fn block_at(start: usize) -> u32 {
    u32::try_from(start / UNIT).expect("a table is used for fewer than 2^34 items")
}

// A block lies in one chunk.
const _: () = assert!(CHUNK_LEN.is_multiple_of(UNIT) && BLOCK_LEN_MAX <= CHUNK_LEN);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_the_smallest_that_holds_its_items() {
        assert_eq!(class_of(BLOCK_LEN_MAX), N_CLASSES - 1);
        for len in 1..=BLOCK_LEN_MAX {
            assert_eq!(class_len(class_of(len)), len.next_multiple_of(UNIT));
        }
    }

    #[test]
    fn blocks_are_used_again_and_never_overlap() {
        let mut arena = Arena::<u64>::default();
        let mut held = [0; 2];
        for held in &mut held {
            let lens: Vec<usize> = (0..5000).map(|i| i * 7919 % (BLOCK_LEN_MAX - 1) + 1).collect();
            let mut blocks: Vec<u32> = lens.iter().map(|&len| arena.allocate(len)).collect();
            for (i, (&block, &len)) in blocks.iter().zip(&lens).enumerate() {
                arena.items_mut(block, len).fill(i as u64);
            }
            for (block, &len) in blocks.iter_mut().zip(&lens) {
                *block = arena.grow(*block, len);
            }
            for (i, (&block, &len)) in blocks.iter().zip(&lens).enumerate() {
                assert!(arena.items(block, len).iter().all(|&item| item == i as u64));
                arena.release(block, len + 1);
            }
            *held = arena.items.len();
        }
        assert_eq!(held[0], held[1]);
    }
}
