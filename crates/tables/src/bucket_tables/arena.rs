//! Blocks of items of a few sizes, cut from one array and used again after they were freed.

use super::chunks::{CHUNK_LEN, Chunks};

/// The most items a block can hold.
pub(super) const BLOCK_LEN_MAX: usize = 1024;

/// Blocks begin at multiples of this many items, so that 32 bits address 2^34.
const UNIT: usize = 4;

/// Sizes of blocks: 4, 8, 12, 16, and from there four to each doubling, up to [`BLOCK_LEN_MAX`].
const N_CLASSES: usize = 28;

/// The smallest class whose blocks hold `len` items, which is 1 to [`BLOCK_LEN_MAX`].
fn class_of(len: usize) -> usize {
    if len <= 16 {
        return (len - 1) / UNIT;
    }
    let octave = (len - 1).ilog2();
    ((octave - 3) * 4) as usize + ((len - 1) >> (octave - 2) & 3)
}

/// How many items a block of this class holds.
fn class_len(class: usize) -> usize {
    if class < 4 { (class + 1) * UNIT } else { (class % 4 + 5) << (class / 4 + 1) }
}

/// An arena of blocks. It does not know how many items are in use in a block: the size of a block is derived from the
/// number of items its owner says it has, and never stored.
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
        if len == 0 { &[] } else { self.items.slice(block as usize * UNIT, len) }
    }

    /// The first `len` items of a block.
    pub(super) fn items_mut(&mut self, block: u32, len: usize) -> &mut [T] {
        if len == 0 { &mut [] } else { self.items.slice_mut(block as usize * UNIT, len) }
    }

    /// A block with room for `len` items, 0 to [`BLOCK_LEN_MAX`]. For no items it is no block.
    pub(super) fn allocate(&mut self, len: usize) -> u32 {
        if len == 0 {
            return 0;
        }
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

    /// Gives back a block that was allocated for `len` items, or has been resized to that many.
    pub(super) fn release(&mut self, block: u32, len: usize) {
        if len > 0 {
            self.free[class_of(len)].push(block);
        }
    }

    /// Makes a block of `from` items one of `to`, and returns where it is now; the items that fit are kept.
    #[inline]
    pub(super) fn resize(&mut self, block: u32, from: usize, to: usize) -> u32 {
        if from > 0 && to > 0 && class_of(from) == class_of(to) {
            return block;
        }
        let resized = self.allocate(to);
        self.copy(block, 0, resized, from.min(to));
        self.release(block, from);
        resized
    }

    /// A new block with the items from `start` on of a block of `len`.
    pub(super) fn copy_tail(&mut self, block: u32, len: usize, start: usize) -> u32 {
        let copy = self.allocate(len - start);
        self.copy(block, start, copy, len - start);
        copy
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let free: usize = self.free.iter().map(Vec::capacity).sum();
        self.items.heap_bytes() + free * size_of::<u32>()
    }

    fn copy(&mut self, from: u32, start: usize, to: u32, len: usize) {
        if len > 0 {
            self.items.copy(from as usize * UNIT + start, to as usize * UNIT, len);
        }
    }

    /// Cuts what is left of the last chunk, too little for the block at hand, into free blocks.
    fn fill_chunk(&mut self) {
        let mut left = self.items.left_in_chunk();
        while left > 0 {
            let mut class = class_of(left.min(BLOCK_LEN_MAX));
            if class_len(class) > left {
                class -= 1;
            }
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
            let class = class_of(len);
            assert!(class_len(class) >= len, "{len}");
            assert!(class == 0 || class_len(class - 1) < len, "{len}");
            assert!(class_len(class).is_multiple_of(UNIT));
            assert!(class_len(class) <= len + len.div_ceil(4).max(UNIT - 1), "{len}");
        }
    }

    #[test]
    fn blocks_are_used_again_and_never_overlap() {
        let mut arena = Arena::<u64>::default();
        let lens: Vec<usize> = (0..2000).map(|i| i * 7919 % (BLOCK_LEN_MAX + 1)).collect();
        let mut blocks: Vec<u32> = lens.iter().map(|&len| arena.allocate(len)).collect();
        for (i, (&block, &len)) in blocks.iter().zip(&lens).enumerate() {
            arena.items_mut(block, len).fill(i as u64);
        }
        // Half as long and back: the second time round there is nothing to allocate.
        let mut held = [0; 2];
        for held in &mut held {
            for (block, &len) in blocks.iter_mut().zip(&lens) {
                *block = arena.resize(*block, len, len / 2);
            }
            for (block, &len) in blocks.iter_mut().zip(&lens) {
                *block = arena.resize(*block, len / 2, len);
            }
            *held = arena.items.len();
        }
        assert_eq!(held[0], held[1]);
        for (i, (&block, &len)) in blocks.iter().zip(&lens).enumerate() {
            assert!(arena.items(block, len)[..len / 2].iter().all(|&item| item == i as u64));
        }
    }
}
